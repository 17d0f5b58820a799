//! The use case.

use super::ensemble::{ensemble, project};
use super::service::{csar, service_template};
use super::subject::{Subject, subject};
use crate::diagnostic::{Diagnostics, Sources};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::session::SessionOptions;
use crate::project::FileLoader;
use crate::system::env::{self, Env};
use crate::yaml::Limits;

/// What was found in one ensemble or service template.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Every problem, in no order.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
}

/// Checks what `options.ensemble` names: an ensemble, a project with its ensembles, a service
/// template or a CSAR. Gives one result for each ensemble or service template.
pub fn validate(options: &SessionOptions) -> Result<Vec<Checked>, Failure> {
    let cwd = env::current_dir().map_err(|error| {
        let message = format!("the current folder cannot be found: {error}");
        Failure::new(FailureKind::Refused, message, None)
    })?;
    let vars = Env::of_this_process();
    let mut sources = Sources::default();
    let mut loader = FileLoader::new(&mut sources, &vars, Limits::default());
    let problems = match subject(&options.ensemble, &cwd, &mut loader) {
        Subject::Ensemble => return Ok(vec![ensemble(options)]),
        Subject::Project(file) => return Ok(project(&file, options)),
        Subject::ServiceTemplate(file) => service_template(&file, &mut loader),
        Subject::Csar(found) => csar(&found, &mut loader),
    };
    drop(loader);
    Ok(vec![Checked { problems, sources }])
}
