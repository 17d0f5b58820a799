//! The place of a value that a command names.

use std::path::PathBuf;

use super::project::SecretProject;
use super::text_file::{TextFile, route_of};
use crate::ops::failure::{Failure, FailureKind};
use crate::project::PROJECT_FILE;
use crate::session::current_dir;
use crate::system::fs;
use crate::yaml::Route;

/// The place that a command names.
#[derive(Debug, Clone)]
pub struct SecretTarget {
    /// The name of the secret, or the path of the value in `file`.
    pub name: String,
    pub file: Option<PathBuf>,
    /// The environment that gets the secret.
    pub environment: Option<String>,
}

impl SecretTarget {
    /// Returns the file and the route of the value.
    pub(super) fn locate(&self, project: &SecretProject) -> Result<(TextFile, Route), Failure> {
        if let Some(file) = &self.file {
            let path = fs::absolute(file, &current_dir()?);
            let path = fs::canonicalize(&path).unwrap_or(path);
            let text = TextFile::read(&path)?;
            let route = route_of(&text.root, &self.name);
            return Ok((text, route));
        }
        let path = project.root.join(PROJECT_FILE);
        if !fs::is_file(&path) {
            let message = format!("there is no project file `{}`", path.display());
            let help =
                "name the file and the path of the value, for example `--file ensemble.yaml`";
            return Err(Failure::new(
                FailureKind::Refused,
                message,
                Some(help.to_owned()),
            ));
        }
        let environment = self.environment.as_deref().unwrap_or("defaults");
        let route = Route::keys(["environments", environment, "secrets", &self.name]);
        Ok((TextFile::read(&path)?, route))
    }
}
