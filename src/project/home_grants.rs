//! Reads the folders that the home project trusts.

use super::{Grants, Project, TrustStore};
use crate::diagnostic::{Diagnostic, Diagnostics};

impl Grants {
    /// Returns the folders that the home project trusts, and warnings; none if other users could have written it.
    pub(super) fn of_home(home: &Project) -> (Self, Diagnostics) {
        let mut warnings = Diagnostics::default();
        let store = TrustStore::of(&home.root);
        let records = store.read().unwrap_or_else(|error| {
            let message = format!(
                "no folder is trusted by `unfurl trust`, because the list cannot be used: {error}"
            );
            let help = "delete the file, and run `unfurl trust` again for the folders";
            warnings.push(Diagnostic::warning(message).help(help));
            Vec::new()
        });
        let grants = Self {
            entries: home.trusted.clone(),
            records,
        };
        if grants == Self::default() {
            return (grants, warnings);
        }
        let Some(problem) = store.exposure() else {
            return (grants, warnings);
        };
        let help = "make yourself the owner with `chown`, and take the right to write from others with `chmod go-w`";
        warnings.push(Diagnostic::warning(problem).help(help));
        (Self::default(), warnings)
    }
}
