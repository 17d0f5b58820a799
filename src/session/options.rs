//! Options that say which ensemble is meant.

use std::path::PathBuf;

/// Which ensemble, and in which surroundings.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// The file, folder, alias or name of the ensemble; empty to search.
    pub ensemble: String,
    /// The environment to use.
    pub environment: Option<String>,
    /// The home project; empty for none.
    pub home: Option<PathBuf>,
    /// `--var` options: names and values.
    pub vars: Vec<(String, String)>,
    /// Whether types that no template uses are checked too.
    pub check_unused: bool,
    /// Whether inputs that are required may be missing.
    pub incomplete: bool,
    /// The user's own log file.
    pub logfile: Option<PathBuf>,
    /// What the project may do, by name (`--allow`).
    pub allowed: Vec<String>,
}
