//! Implements `unfurl git-setup`: sets up git in this clone to merge the records of ensembles.

use std::path::PathBuf;

use super::failure::{Failure, FailureKind};
use super::git::{GitScope, find_scope};
use crate::ensemble::{RecordFiles, set_up_merging};
use crate::git::Repository;
use crate::session::SessionOptions;

/// The result of setting up git in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetup {
    /// The root of the repository's working tree.
    pub repository: PathBuf,
    /// The files of git that were changed; none if everything was set up already.
    pub changed: Vec<PathBuf>,
}

/// Sets up the merge driver in the repository of an ensemble or project.
pub fn set_up(options: &SessionOptions) -> Result<GitSetup, Failure> {
    let (record, repository) = match find_scope(options)? {
        GitScope::Ensemble { record, all, .. } => {
            let own = all.into_iter().find(|it| it.name == "self");
            (Some(record), own.map(|own| own.repository))
        }
        GitScope::Folder(found) => (None, found.map(|found| found.repository)),
    };
    let Some(repository) = repository else {
        let help = "create one with `git init`".to_owned();
        let message = format!("`{}` is in no git repository", options.ensemble);
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    };
    let record = record.unwrap_or_else(|| whole_record(&repository));
    let changed = set_up_merging(&repository, &record)?;
    Ok(GitSetup {
        repository: repository.root().to_owned(),
        changed,
    })
}

/// Returns the record of an ensemble at the root. Its rules are those of all ensembles with usual names.
fn whole_record(repository: &Repository) -> RecordFiles {
    RecordFiles::of(&repository.root().join("ensemble.yaml"))
}
