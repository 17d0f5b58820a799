//! Searches for repositories below a folder.

use std::path::Path;

use super::Repository;
use crate::system::fs;

/// Visits the repositories in a folder and in its subfolders down to a depth, until `visit` returns something.
///
/// Hidden folders and links are not entered. A folder that cannot be read counts as empty.
pub fn find_repository_below<T>(
    folder: &Path,
    depth: usize,
    visit: &mut dyn FnMut(&Repository) -> Option<T>,
) -> Option<T> {
    if fs::exists(&folder.join(".git"))
        && let Ok(Some(repository)) = Repository::discover(folder)
        && let Some(found) = visit(&repository)
    {
        return Some(found);
    }
    if depth == 0 {
        return None;
    }
    let entries = fs::list(folder).unwrap_or_default().into_iter();
    entries
        .filter(|entry| entry.kind == fs::EntryKind::Folder && !entry.name.starts_with('.'))
        .find_map(|entry| find_repository_below(&entry.path, depth - 1, visit))
}
