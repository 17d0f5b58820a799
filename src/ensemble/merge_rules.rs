//! Configures git to merge records with `unfurl merge-driver` and `jobs.tsv` with the `union` driver.

use std::path::Path;

use super::record_files::RecordFiles;
use crate::git::{Error, MergeDriver, MergeRule, Repository, own_merge_command};

/// Installs the merge driver and the attribute rules in the repository of an ensemble.
///
/// # Errors
///
/// Git's configuration cannot be written.
pub(super) fn install(repository: &Repository, record: &RecordFiles) -> Result<(), Error> {
    let Some(command) = own_merge_command() else {
        return Ok(());
    };
    let Some(manifest) = repository.relative(record.manifest()) else {
        return Ok(());
    };
    let (pattern, probe) = (
        pattern_of(&manifest),
        manifest.to_string_lossy().into_owned(),
    );
    let jobs = record.base().join("jobs.tsv");
    let jobs = repository.relative(&jobs).unwrap_or_default();
    let jobs = jobs.to_string_lossy();
    let rules = [
        MergeRule {
            pattern: &pattern,
            probe: &probe,
            driver: "unfurl",
        },
        MergeRule {
            pattern: "**/*jobs.tsv",
            probe: &jobs,
            driver: "union",
        },
    ];
    let driver = MergeDriver {
        name: "unfurl",
        description: "merges the records of ensembles",
        command: &command,
    };
    repository.ensure_merge_rules(&driver, &rules)
}

/// Returns the `.gitattributes` pattern that matches a single file. `ensemble.yaml` matches in every folder.
fn pattern_of(path: &Path) -> String {
    if path.file_name().is_some_and(|name| name == "ensemble.yaml") {
        return "ensemble.yaml".to_owned();
    }
    let mut escaped = String::from("/");
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    if escaped.contains([' ', '\t', '"', '#', '!']) {
        return format!("\"{}\"", escaped.replace('\\', "\\\\").replace('"', "\\\""));
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
