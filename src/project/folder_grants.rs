//! Reads the trusted folders for files that need not belong to a project.

use std::path::Path;

use super::{FileLoader, Grants, Project, home_project_folder};
use crate::diagnostic::Sources;
use crate::system::env::Env;
use crate::system::fs;
use crate::yaml::Limits;

impl Grants {
    /// Returns the folders that the home project trusts, for files outside of ensembles. A home project that cannot be
    /// read trusts none.
    pub fn of_home_folder(home: Option<&Path>, folder: &Path, env: &Env) -> Self {
        let home = home.filter(|home| !home.as_os_str().is_empty());
        let Some((_, file)) = home.map(|home| home_project_folder(home, folder)) else {
            return Self::default();
        };
        let mut sources = Sources::default();
        let mut loader = FileLoader::new(&mut sources, env, Limits::default());
        loader.tolerate_closed_values();
        loader.scope().add_file(&file);
        match Project::load(&file, &mut loader, &Limits::default()) {
            Ok(project) if fs::is_file(&file) => Self::of_home(&project).0,
            _ => Self::default(),
        }
    }
}
