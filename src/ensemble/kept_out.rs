//! What jobs write and no repository takes in.

use std::path::Path;

use crate::git::Repository;

/// What never belongs to git; the patterns of older projects miss it.
const KEPT_OUT: [(&str, &str); 11] = [
    ("**/planned/", "planned/x/y"),
    ("**/jobs/", "jobs/x"),
    ("**/failed/", "failed/x/y"),
    ("**/active/tasks/", "active/tasks/x"),
    ("**/active/secrets/", "active/secrets/x"),
    ("**/active/local/", "active/local/x"),
    ("*.tmp.*", "ensemble.yaml.tmp.0"),
    ("*.yaml.lock", "ensemble.yaml.lock"),
    ("*.rescue", "ensemble.yaml.A.rescue"),
    ("*.owner.lock", "ensemble.yaml.owner.lock"),
    ("**/local/digest.key", "local/digest.key"),
];

/// Keeps what jobs leave for themselves out of git, in this clone alone.
pub(crate) fn keep_out_of_git(base: &Path) {
    if let Ok(Some(repository)) = Repository::discover(base) {
        for (pattern, probe) in KEPT_OUT {
            // A repository that cannot be written is no reason to stop a job that has run.
            repository.ensure_excluded(pattern, &base.join(probe)).ok();
        }
    }
}
