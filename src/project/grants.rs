//! The folders that the user trusts: entries of `trusted` in the home project, and those of `unfurl trust`.
//!
//! Nothing in a repository grants trust. In particular, the URL of its remote `origin` does not.

use std::path::{Path, PathBuf};

use super::trust_entry::{TrustEntry, normalize_url};
use super::trust_record::{TrustReason, TrustRecord};
use crate::git::Repository;
use crate::system::fs;
use crate::text::without_logins;

/// The folders that the user trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    pub(super) entries: Vec<TrustEntry>,
    pub(super) records: Vec<TrustRecord>,
}

impl Grants {
    /// Whether every one of the folders is trusted.
    pub fn cover(&self, folders: &[&Path]) -> bool {
        let is_empty = self.entries.is_empty() && self.records.is_empty();
        !is_empty && folders.iter().all(|folder| self.covers(folder))
    }

    fn covers(&self, folder: &Path) -> bool {
        let Ok(folder) = fs::canonicalize(folder) else {
            return false;
        };
        if self.entries.iter().any(|entry| entry.covers(&folder)) {
            return true;
        }
        let around = self.records_around(&folder);
        around.is_some_and(|records| {
            let mut valid = records.iter().filter(|record| record.mismatch().is_none());
            valid.any(|record| self.grants(record))
        })
    }

    /// Returns the reasons why entries around the folders are no longer valid, with the trusted folders.
    pub fn mismatches(&self, folders: &[&Path]) -> Vec<(PathBuf, &'static str)> {
        let mut found = Vec::new();
        for folder in folders {
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| (*folder).to_owned());
            let around = self.records.iter();
            let around = around.filter(|record| folder.starts_with(&record.folder));
            for record in around.filter(|record| self.grants(record)) {
                if let Some(reason) = record.mismatch() {
                    let problem = (record.folder.clone(), reason);
                    if !found.contains(&problem) {
                        found.push(problem);
                    }
                }
            }
        }
        found
    }

    /// Whether a valid record means trust: a clone is trusted only if the user lists its URL.
    fn grants(&self, record: &TrustRecord) -> bool {
        if record.reason != TrustReason::Cloned {
            return true;
        }
        let origin = record.origin.as_deref().map(normalize_url);
        origin.is_some_and(|origin| {
            let is_url = |entry: &TrustEntry| matches!(entry, TrustEntry::Url(url) if without_logins(url) == origin);
            self.entries.iter().any(is_url)
        })
    }

    /// Returns the records of folders around this one that belong to the same repository and owner.
    ///
    /// A repository inside a trusted folder needs its own record: somebody may have unpacked it there.
    fn records_around(&self, folder: &Path) -> Option<Vec<&TrustRecord>> {
        let around = self.records.iter();
        let mut around: Vec<_> = around
            .filter(|record| folder.starts_with(&record.folder))
            .collect();
        if around.is_empty() {
            return None;
        }
        let repository = Repository::discover(folder).ok()?;
        let root = repository.map(|repository| repository.root().to_owned());
        let owner = fs::identity_of(folder).ok()?.owner;
        let is_nested = |record: &TrustRecord| {
            let mut root = root.iter();
            root.any(|root| *root != record.folder && root.starts_with(&record.folder))
        };
        around.retain(|record| record.owner == owner && !is_nested(record));
        Some(around)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(entries: &[TrustEntry], records: &[TrustRecord], folders: &[&Path]) -> bool {
        let grants = Grants {
            entries: entries.to_vec(),
            records: records.to_vec(),
        };
        grants.cover(folders)
    }

    #[test]
    fn a_folder_is_trusted_if_it_lies_in_a_trusted_one() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        for name in ["a/b", "ab"] {
            fs::create_dir_all(&root.join(name)).unwrap();
        }
        let entries = [TrustEntry::Folder(root.join("a"))];
        let record = TrustRecord::of(&root.join("a"), TrustReason::Granted).unwrap();
        for (entries, records) in [(&entries[..], &[][..]), (&[], &[record])] {
            let covers = |folders: &[&Path]| covers(entries, records, folders);
            assert!(covers(&[&root.join("a")]));
            assert!(covers(&[&root.join("a"), &root.join("a/b")]));
            assert!(!covers(&[&root.join("a"), &root.join("ab")]));
            assert!(!covers(&[&root.join("a/none")]));
        }
        assert!(!covers(&[], &[], &[&root.join("a")]));
    }

    #[test]
    fn a_clone_is_trusted_by_its_url_only_if_it_is_recorded() {
        let place = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(place.path()).unwrap();
        repository.remote("origin", "https://x/y.git").unwrap();
        let url = |url: &str| [TrustEntry::Url(url.to_owned())];
        let record = TrustRecord::of(place.path(), TrustReason::Cloned).unwrap();
        let recorded = std::slice::from_ref(&record);
        assert!(covers(&url("https://x/y"), recorded, &[place.path()]));
        assert!(!covers(&url("https://x/y"), &[], &[place.path()]));
        assert!(!covers(&url("https://x/z"), recorded, &[place.path()]));
        assert!(!covers(&[], recorded, &[place.path()]));
        repository.remote_set_url("origin", "https://x/z").unwrap();
        assert!(!covers(&url("https://x/z"), recorded, &[place.path()]));
    }

    #[test]
    fn a_repository_in_a_trusted_folder_needs_its_own_entry() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("inner");
        git2::Repository::init(place.path()).unwrap();
        let outer = TrustRecord::of(place.path(), TrustReason::Granted).unwrap();
        fs::create_dir_all(&inner).unwrap();
        assert!(covers(&[], std::slice::from_ref(&outer), &[&inner]));
        git2::Repository::init(&inner).unwrap();
        assert!(!covers(&[], std::slice::from_ref(&outer), &[&inner]));
        let own = TrustRecord::of(&inner, TrustReason::Granted).unwrap();
        assert!(covers(&[], &[outer, own], &[&inner]));
    }
}
