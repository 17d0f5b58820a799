//! The command-line options that select an ensemble and its environment.

use std::path::PathBuf;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A file with values of inputs that the user named with `--var-file`.
#[derive(Debug, Clone)]
pub struct VarFile {
    pub path: PathBuf,
    pub text: Arc<str>,
}

/// A variable that the user gave with `--var`.
#[derive(Clone)]
pub struct GivenVariable {
    pub name: String,
    pub text: Zeroizing<String>,
    /// True if the text is the value of an input that takes texts, and not YAML: if it comes from a file or from
    /// the standard input.
    pub is_literal: bool,
}

impl std::fmt::Debug for GivenVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GivenVariable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The selection of an ensemble and its environment.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct SessionOptions {
    /// The file, folder, alias or name of the ensemble; empty to search for it.
    pub ensemble: String,
    pub environment: Option<String>,
    /// The folder of the home project; an empty path disables it.
    pub home: Option<PathBuf>,
    /// The `--var` options.
    pub vars: Vec<GivenVariable>,
    /// The files of `--var-file`, in order.
    pub var_files: Vec<VarFile>,
    /// Whether another ensemble uses this one, so that values given with the command are not for this one.
    pub is_external: bool,
    /// Whether to check types that no template uses.
    pub check_unused: bool,
    /// Whether required inputs may be missing.
    pub incomplete: bool,
    /// The path of a log file chosen by the user.
    pub logfile: Option<PathBuf>,
    /// The permissions given to the project by name (`--allow`).
    pub allowed: Vec<String>,
    /// Whether all repositories must have the commits of the section `lock`.
    pub locked: bool,
}
