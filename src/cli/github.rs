//! The log of a GitHub workflow: where its repository is, and tokens that output of tasks cannot contain.

use std::path::PathBuf;

use crate::system::env::{self, Env};
use crate::system::random;
use crate::ui::GithubLog;

/// Returns the view for the log of a GitHub workflow.
pub(super) fn github_log(variables: &Env) -> GithubLog {
    let here = env::current_dir().unwrap_or_default();
    let workspace = variables.get("GITHUB_WORKSPACE").map(PathBuf::from);
    let workspace = workspace.unwrap_or_else(|| here.clone());
    GithubLog::new(here, workspace, Box::new(token))
}

/// Returns a random token that output of tasks cannot contain.
pub(super) fn token() -> String {
    let mut bytes = [0; 16];
    if random::fill(&mut bytes).is_err() {
        return ulid::Ulid::generate().to_string();
    }
    format!("{:032x}", u128::from_be_bytes(bytes))
}
