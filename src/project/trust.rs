//! The effects that a project may have: run programs, use the network, write files while planning.
//!
//! [`Trust`] alone decides this. Code that is about to have such an effect asks it by the name of the effect.
//! The names are not defined here.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::Grants;

/// The effects that the user permits to a project: by name, or all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    allowed: BTreeSet<String>,
    trusted: bool,
    /// The folders that the user trusts.
    grants: Arc<Grants>,
}

/// The name for `--allow` that lets settings and hooks of repositories run programs.
pub const GIT_SETTINGS: &str = "git-config";

impl Trust {
    /// Creates permissions from the names of `--allow`, and whether the project is trusted altogether.
    pub fn new(allowed: impl IntoIterator<Item = String>, trusted: bool) -> Self {
        let allowed = allowed.into_iter();
        let allowed = allowed.map(|name| name.trim().to_owned());
        Self {
            allowed: allowed.filter(|name| !name.is_empty()).collect(),
            trusted,
            grants: Arc::default(),
        }
    }

    /// Adds the folders that the user trusts, so that repositories can be looked up.
    #[must_use]
    pub fn with_grants(mut self, grants: Grants) -> Self {
        self.grants = Arc::new(grants);
        self
    }

    /// Whether settings and hooks of the repository with this root may run programs.
    pub fn covers(&self, root: &Path) -> bool {
        self.allowed.contains(GIT_SETTINGS) || self.grants.cover(&[root])
    }

    /// Whether the project may use the effect with the name.
    pub fn permits(&self, name: &str) -> bool {
        self.trusted || self.allowed.contains(name)
    }

    /// Whether the user permitted the effect by its name. A trusted project alone does not.
    pub fn permits_by_name(&self, name: &str) -> bool {
        self.allowed.contains(name)
    }

    /// Returns the hint for a user whose project lacks a permission.
    pub fn help(name: &str) -> String {
        format!(
            "allow it with `--allow {name}`, or trust the project: `unfurl trust FOLDER`, or `trusted` in \
             `unfurl.yaml` of your home project"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_permitted_and_nothing_else() {
        let trust = Trust::new(
            ["pipe".to_owned(), " url ".to_owned(), String::new()],
            false,
        );
        assert!(trust.permits("pipe") && trust.permits("url"));
        assert!(!trust.permits("python") && !trust.permits(""));
        assert!(!Trust::default().permits("pipe"));
        assert!(Trust::new([], true).permits("pipe"));
        assert!(!Trust::new([], true).covers(Path::new("/")));
        assert!(Trust::new(["git-config".to_owned()], false).covers(Path::new("/")));
    }
}
