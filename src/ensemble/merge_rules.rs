//! Sets up git to merge records with `unfurl merge-driver` and `jobs.tsv` and `drift.tsv` with the `union`
//! driver.

use std::path::{Path, PathBuf};

use super::record_files::RecordFiles;
use crate::git::{Error, MergeDriver, MergeRule, Repository, own_merge_command};

/// The name of the merge driver in git's settings.
const DRIVER: &str = "unfurl";

/// The file in `.git/unfurl` that exists once a message has named the missing merge driver.
const NOTICE_MARKER: &str = "merge-driver-notice";

/// Installs the merge driver and the attribute rules in the repository of an ensemble. Returns the changed files.
///
/// # Errors
///
/// Git's configuration cannot be written.
pub(crate) fn set_up_merging(
    repository: &Repository,
    record: &RecordFiles,
) -> Result<Vec<PathBuf>, Error> {
    let Some(command) = own_merge_command() else {
        return Ok(Vec::new());
    };
    let Some(manifest) = repository.relative(record.manifest()) else {
        return Ok(Vec::new());
    };
    let (pattern, probe) = (
        pattern_of(&manifest),
        manifest.to_string_lossy().into_owned(),
    );
    let jobs = record.base().join("jobs.tsv");
    let jobs = repository.relative(&jobs).unwrap_or_default();
    let jobs = jobs.to_string_lossy();
    let drift = repository
        .relative(&record.drift_record())
        .unwrap_or_default();
    let drift = drift.to_string_lossy();
    let rules = [
        MergeRule {
            pattern: &pattern,
            probe: &probe,
            driver: DRIVER,
        },
        MergeRule {
            pattern: "**/*jobs.tsv",
            probe: &jobs,
            driver: "union",
        },
        drift_rule(&drift),
    ];
    let driver = MergeDriver {
        name: DRIVER,
        description: "merges the records of ensembles",
        command: &command,
    };
    repository.ensure_merge_rules(&driver, &rules)
}

/// Returns the rule for drift records. `probe` is the path of one.
pub(super) fn drift_rule(probe: &str) -> MergeRule<'_> {
    MergeRule {
        pattern: "**/drift.tsv",
        probe,
        driver: "union",
    }
}

/// Returns true if git in this clone merges records with the merge driver.
pub(crate) fn has_merge_driver(repository: &Repository) -> bool {
    repository.merge_driver(DRIVER).is_some()
}

/// Returns a message for the user if the clone lacks the merge driver, once for each clone.
pub(super) fn missing_driver_notice(repository: &Repository) -> Option<String> {
    if has_merge_driver(repository) || !repository.is_first_time(NOTICE_MARKER) {
        return None;
    }
    Some(format!(
        "git in `{}` merges records line by line, because the merge driver is not set up; \
         `unfurl git-setup` sets it up",
        repository.root().display()
    ))
}

/// Returns the `.gitattributes` pattern that matches a single file. `ensemble.yaml` matches in every folder.
fn pattern_of(path: &Path) -> String {
    if path.file_name().is_some_and(|name| name == "ensemble.yaml") {
        return "ensemble.yaml".to_owned();
    }
    let escaped = escaped_pattern(path);
    if escaped.contains([' ', '\t', '"', '#', '!']) {
        return format!("\"{}\"", escaped.replace('\\', "\\\\").replace('"', "\\\""));
    }
    escaped
}

/// Returns the pattern of git that matches a single file, from the root of the repository.
pub(super) fn escaped_pattern(path: &Path) -> String {
    let mut escaped = String::from("/");
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_one_file() {
        let pattern = |path: &str| pattern_of(Path::new(path));
        assert_eq!(pattern("a/ensemble.yaml"), "ensemble.yaml");
        assert_eq!(pattern("a/b*.yaml"), "/a/b\\*.yaml");
        assert_eq!(pattern("a b/c.yaml"), "\"/a b/c.yaml\"");
    }
}
