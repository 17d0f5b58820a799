//! Finds the commits that names of branches, tags and commits mean.

use git2::{ObjectType, Oid};

/// The least number of digits of an abbreviated commit id.
const MIN_ID_LENGTH: usize = 7;

/// A commit with the name by which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub commit: String,
    /// The id of the tree of all its files.
    pub tree: String,
    /// The branch, if the name was that of a branch.
    pub branch: Option<String>,
    /// The tag, if the name was that of a tag.
    pub tag: Option<String>,
}

/// Finds the commit that a tag, a branch or a commit id means; without a name, that of `HEAD`.
///
/// `branches` is the start of the references that hold the branches.
pub(super) fn resolve(
    inner: &git2::Repository,
    branches: &str,
    name: Option<&str>,
) -> Option<Revision> {
    let Some(name) = name else {
        return default_revision(inner, branches);
    };
    if let Some(id) = commit_of(inner, &format!("refs/tags/{name}")) {
        return revision_of(inner, id, None, Some(name));
    }
    if let Some(id) = commit_of(inner, &format!("{branches}{name}")) {
        return revision_of(inner, id, Some(name), None);
    }
    let is_id = name.len() >= MIN_ID_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let object = is_id.then(|| inner.revparse_single(name).ok()).flatten()?;
    let commit = object.peel_to_commit().ok()?;
    revision_of(inner, commit.id(), None, None)
}

/// Returns the revision of `HEAD`. If its branch does not exist, the first branch counts.
fn default_revision(inner: &git2::Repository, branches: &str) -> Option<Revision> {
    let head = inner.find_reference("HEAD").ok()?;
    let target = head.symbolic_target().ok().flatten().map(str::to_owned);
    let named = target.and_then(|target| target.strip_prefix("refs/heads/").map(str::to_owned));
    if let Some(branch) = named
        && let Some(id) = commit_of(inner, &format!("{branches}{branch}"))
    {
        return revision_of(inner, id, Some(&branch), None);
    }
    if head.kind() == Some(git2::ReferenceType::Direct) {
        return revision_of(inner, head.peel_to_commit().ok()?.id(), None, None);
    }
    let mut all = inner.references_glob(&format!("{branches}*")).ok()?;
    let mut names = all
        .names()
        .filter_map(|name| Some(name.ok()?.strip_prefix(branches)?.to_owned()));
    let first = names.next()?;
    let id = commit_of(inner, &format!("{branches}{first}"))?;
    revision_of(inner, id, Some(&first), None)
}

fn commit_of(inner: &git2::Repository, reference: &str) -> Option<Oid> {
    if !git2::Reference::is_valid_name(reference) {
        return None;
    }
    let object = inner
        .find_reference(reference)
        .ok()?
        .peel(ObjectType::Commit);
    object.ok().map(|object| object.id())
}

fn revision_of(
    inner: &git2::Repository,
    id: Oid,
    branch: Option<&str>,
    tag: Option<&str>,
) -> Option<Revision> {
    let commit = inner.find_commit(id).ok()?;
    Some(Revision {
        commit: id.to_string(),
        tree: commit.tree_id().to_string(),
        branch: branch.map(str::to_owned),
        tag: tag.map(str::to_owned),
    })
}

/// Returns the names of all tags.
pub(super) fn tag_names(inner: &git2::Repository) -> Vec<String> {
    let names = inner.tag_names(None).ok();
    let names = names.iter().flat_map(|names| names.iter());
    names
        .filter_map(|name| name.ok().flatten().map(str::to_owned))
        .collect()
}
