//! Rebases local commits onto fetched ones in memory. The working tree changes only once the whole result is
//! known to be free of conflicts.

use std::path::{Path, PathBuf};

use git2::{FileMode, Oid};

use super::Error;
use super::objects::{TreeChange, file_mode};
use super::remote::Upstream;
use super::repository::Repository;

/// The three versions of a file that both sides changed; `None` where the file does not exist.
#[derive(Debug, Clone)]
pub struct FileVersions {
    pub base: Option<Vec<u8>>,
    /// The other side's version, onto which the local change is applied.
    pub theirs: Option<Vec<u8>>,
    pub ours: Option<Vec<u8>>,
}

/// The result of merging a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedFile {
    Text(Vec<u8>),
    Conflict,
    /// The caller has no special rule: merge the file line by line, as git does.
    LineByLine,
}

/// The decisions of the caller during a rebase.
pub trait RebaseRules {
    /// Whether a local commit with this file may be moved.
    fn may_move(&self, path: &Path) -> bool;

    /// Merges a file that both sides changed.
    fn merge(&mut self, path: &Path, versions: &FileVersions) -> MergedFile;

    /// Returns the new path and content of a file of a local commit; `None` if both stay.
    fn rewrite(&self, path: &Path, content: &[u8]) -> Option<(PathBuf, Vec<u8>)>;

    /// Returns the new message of a local commit.
    fn message(&self, message: &str) -> String;
}

/// The result of a rebase: the moved commits and the changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebaseOutcome {
    /// The number of local commits on top of the other side's commits.
    pub commits: usize,
    /// The files that changed in the working tree.
    pub files: Vec<PathBuf>,
}

impl Repository {
    /// Rebases local commits onto the fetched ones. On a conflict nothing is changed.
    pub fn rebase(
        &self,
        upstream: &Upstream,
        rules: &mut dyn RebaseRules,
    ) -> Result<RebaseOutcome, Error> {
        let (Some(there), Some(tip)) = (self.fetched_commit(upstream), self.tip()?) else {
            return Ok(RebaseOutcome {
                commits: 0,
                files: Vec::new(),
            });
        };
        let own = self.local_commits(tip.id(), there)?;
        let mut onto = self.find_commit(there)?;
        let mut commits = 0;
        for id in own {
            let commit = self.find_commit(id)?;
            self.check_rebasable(&commit, upstream, rules)?;
            let tree = self.merged_tree(&commit, &onto, upstream, rules)?;
            if tree == onto.tree_id() {
                continue;
            }
            let message = rules.message(&String::from_utf8_lossy(commit.message_bytes()));
            let author = commit.author();
            let create = || self.create_commit(tree, Some(&onto), &message, Some(&author));
            let new = self.stored(create)?;
            let base = onto.tree().map_err(self.failed("read the commit"))?;
            let files = self.differences(Some(&base), tree)?;
            self.sync_objects(new, tree, &files)?;
            onto = self.find_commit(new)?;
            commits += 1;
        }
        let files = self.checkout_commit(onto.id(), &format!("unfurl: rebase onto {upstream}"))?;
        Ok(RebaseOutcome { commits, files })
    }

    /// Returns the commits that only the local branch has, oldest first.
    fn local_commits(&self, tip: Oid, without: Oid) -> Result<Vec<Oid>, Error> {
        let walk = || {
            let mut walk = self.inner.revwalk()?;
            walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
            walk.push(tip)?;
            walk.hide(without)?;
            walk.collect::<Result<Vec<Oid>, _>>()
        };
        walk().map_err(self.failed("compare"))
    }

    fn check_rebasable(
        &self,
        commit: &git2::Commit<'_>,
        upstream: &Upstream,
        rules: &dyn RebaseRules,
    ) -> Result<(), Error> {
        let foreign = || Error::ForeignCommit {
            path: self.root().to_owned(),
            upstream: upstream.to_string(),
            commit: format!(
                "{} {}",
                &commit.id().to_string()[..7],
                commit.summary().ok().flatten().unwrap_or_default()
            ),
        };
        if commit.parent_count() != 1 {
            return Err(foreign());
        }
        let base = commit.parent(0).and_then(|parent| parent.tree());
        let base = base.map_err(self.failed("read the commit"))?;
        let files = self.differences(Some(&base), commit.tree_id())?;
        if files.iter().all(|file| rules.may_move(file)) {
            return Ok(());
        }
        Err(foreign())
    }

    /// Returns the tree of `onto` with the changes of `commit` applied.
    fn merged_tree(
        &self,
        commit: &git2::Commit<'_>,
        onto: &git2::Commit<'_>,
        upstream: &Upstream,
        rules: &mut dyn RebaseRules,
    ) -> Result<Oid, Error> {
        let failed = || self.failed("read the commit");
        let base = commit
            .parent(0)
            .and_then(|parent| parent.tree())
            .map_err(failed())?;
        let ours = commit.tree().map_err(failed())?;
        let theirs = onto.tree().map_err(failed())?;
        let mut contents = Vec::new();
        let mut conflicts = Vec::new();
        for path in self.differences(Some(&base), ours.id())? {
            let [old, own] = [&base, &ours].map(|tree| self.local_file(rules, tree, &path));
            let (old, own) = (old?, own?);
            let path = own.path;
            let there = tree_entry(&theirs, &path);
            if there == old.entry || there == own.entry {
                if let Some(content) = own.content.filter(|_| own.is_rewritten) {
                    self.store_content(&content)?;
                }
                contents.push((
                    path,
                    own.entry
                        .map_or(TreeChange::Remove, |(id, mode)| TreeChange::Set(id, mode)),
                ));
                continue;
            }
            let versions = FileVersions {
                base: old.content,
                theirs: self.content_of(there),
                ours: own.content,
            };
            let merged = match rules.merge(&path, &versions) {
                MergedFile::LineByLine => merge_line_by_line(&versions),
                other => other,
            };
            let MergedFile::Text(bytes) = merged else {
                conflicts.push(path);
                continue;
            };
            let id = self.store_content(&bytes)?;
            let mode = own.entry.or(there).map_or(FileMode::Blob, |(_, mode)| mode);
            contents.push((path, TreeChange::Set(id, mode)));
        }
        if conflicts.is_empty() {
            return self.tree_with(Some(&theirs), &contents);
        }
        Err(Error::Conflict {
            path: self.root().to_owned(),
            upstream: upstream.to_string(),
            files: conflicts,
        })
    }

    fn content_of(&self, file: Option<TreeFile>) -> Option<Vec<u8>> {
        let blob = self.inner.find_blob(file?.0).ok()?;
        Some(blob.content().to_vec())
    }

    fn store_content(&self, content: &[u8]) -> Result<Oid, Error> {
        let write = || self.inner.blob(content);
        self.stored(|| write().map_err(self.failed("write a file")))
    }

    /// Returns a file of a local commit after the rules have rewritten it.
    fn local_file(
        &self,
        rules: &dyn RebaseRules,
        tree: &git2::Tree<'_>,
        path: &Path,
    ) -> Result<LocalFile, Error> {
        let entry = tree_entry(tree, path);
        let content = self.content_of(entry);
        let new = rules.rewrite(path, content.as_deref().unwrap_or_default());
        let Some((path, new)) = new else {
            return Ok(LocalFile {
                path: path.to_owned(),
                entry,
                content,
                is_rewritten: false,
            });
        };
        let id = Oid::hash_object(git2::ObjectType::Blob, &new);
        let id = id.map_err(self.failed("write a file"))?;
        Ok(LocalFile {
            path,
            entry: entry.map(|(_, mode)| (id, mode)),
            content: content.map(|_| new),
            is_rewritten: true,
        })
    }

    /// Returns the versions of the files that satisfy `selects` and that local commits changed since the local
    /// branch and the fetched one separated.
    pub fn diverged_files(
        &self,
        upstream: &Upstream,
        selects: &dyn Fn(&Path) -> bool,
    ) -> Result<Vec<(PathBuf, FileVersions)>, Error> {
        let (Some(there), Some(tip)) = (self.fetched_commit(upstream), self.tip()?) else {
            return Ok(Vec::new());
        };
        let failed = || self.failed("read the commit");
        let fork = match self.inner.merge_base(tip.id(), there) {
            Ok(fork) => Some(self.find_commit(fork)?.tree().map_err(failed())?),
            Err(error) if error.code() == git2::ErrorCode::NotFound => None,
            Err(error) => return Err(failed()(error)),
        };
        let theirs = self.find_commit(there)?.tree().map_err(failed())?;
        let ours = tip.tree().map_err(failed())?;
        let mut files = self.differences(fork.as_ref(), ours.id())?;
        files.retain(|path| selects(path));
        let content =
            |tree: Option<&git2::Tree<'_>>, path: &Path| self.content_of(tree_entry(tree?, path));
        let versions = files.into_iter().map(|path| {
            let versions = FileVersions {
                base: content(fork.as_ref(), &path),
                theirs: content(Some(&theirs), &path),
                ours: content(Some(&ours), &path),
            };
            (path, versions)
        });
        Ok(versions.collect())
    }
}

/// A file of a local commit, as the rules have rewritten it.
struct LocalFile {
    path: PathBuf,
    entry: Option<TreeFile>,
    content: Option<Vec<u8>>,
    /// Whether the content may be missing among the objects.
    is_rewritten: bool,
}

/// A file in a tree: the id of its content and its mode.
type TreeFile = (Oid, FileMode);

fn tree_entry(tree: &git2::Tree<'_>, path: &Path) -> Option<TreeFile> {
    let entry = tree.get_path(path).ok()?;
    let mode = u32::try_from(entry.filemode()).unwrap_or_default();
    Some((entry.id(), file_mode(mode)))
}

/// Merges texts line by line, as git does. Different changes of the same lines are a conflict.
fn merge_line_by_line(versions: &FileVersions) -> MergedFile {
    let (Some(theirs), Some(ours)) = (&versions.theirs, &versions.ours) else {
        return MergedFile::Conflict;
    };
    merge_lines(
        versions.base.as_deref().unwrap_or_default(),
        theirs,
        ours,
        ["theirs", "ours"],
    )
    .map_or(MergedFile::Conflict, |(text, clean)| {
        if clean {
            MergedFile::Text(text)
        } else {
            MergedFile::Conflict
        }
    })
}

/// Merges two versions of a text line by line. Returns the text and whether it is free of conflicts.
///
/// Conflicting parts appear between git's conflict markers. Returns `None` for binary content.
pub fn merge_lines(
    base: &[u8],
    first: &[u8],
    second: &[u8],
    labels: [&str; 2],
) -> Option<(Vec<u8>, bool)> {
    if [base, first, second].iter().any(|text| text.contains(&0)) {
        return None;
    }
    if first == second || second == base {
        return Some((first.to_vec(), true));
    }
    if first == base {
        return Some((second.to_vec(), true));
    }
    // Opening any object initializes libgit2, which `merge_file` alone does not.
    drop(git2::Config::new().ok()?);
    let input = |content| {
        let mut input = git2::MergeFileInput::new();
        input.content(content);
        input
    };
    let mut options = git2::MergeFileOptions::new();
    options.our_label(labels[0]).their_label(labels[1]);
    let merged = git2::merge_file(
        &input(base),
        &input(first),
        &input(second),
        Some(&mut options),
    );
    let merged = merged.ok()?;
    Some((merged.content().to_vec(), merged.is_automergeable()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, first: &str, second: &str) -> (String, bool) {
        let merged = merge_lines(
            base.as_bytes(),
            first.as_bytes(),
            second.as_bytes(),
            ["a", "b"],
        );
        let (text, clean) = merged.unwrap();
        (String::from_utf8(text).unwrap(), clean)
    }

    #[test]
    fn lines_are_merged_as_git_does() {
        let clean = |text: &str| (text.to_owned(), true);
        assert_eq!(
            merged("1\n2\n3\n", "0\n2\n3\n", "1\n2\n4\n"),
            clean("0\n2\n4\n")
        );
        for (base, first, second, result) in [
            ("x", "x", "y", "y"),
            ("x", "y", "x", "y"),
            ("x", "y", "y", "y"),
            ("", "", "", ""),
        ] {
            assert_eq!(merged(base, first, second), clean(result));
        }
        let (text, clean) = merged("", "1\n", "2\n");
        assert!(!clean);
        assert_eq!(text, "<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n");
        assert!(merge_lines(b"\0", b"1", b"2", ["", ""]).is_none());
    }
}
