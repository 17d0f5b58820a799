//! Wildcards in the paths of transfers: `*`, `?` and `[...]` in any component. Hidden files match only patterns that begin
//! with a dot.

use std::path::{Path, PathBuf};

use super::download_limits::DownloadLimits;
use super::remote_fs::RemoteFs;
use super::transfer_files::{Error, TransferKind, join_path};
use crate::system::fs;
use crate::text::Glob;

/// The maximum number of paths that a pattern may match.
const MAX_MATCHES: usize = 100_000;

/// Returns true if a local path exists, or is a pattern that something matches.
pub fn has_local_match(path: &Path) -> bool {
    expand_local(path).is_ok_and(|found| found.iter().any(|path| fs::exists(path)))
}

/// Returns the local paths that a path means: itself if it exists or has no wildcards, else all that match.
pub(super) fn expand_local(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let text = path.to_string_lossy();
    if !Glob::is_pattern(&text) || fs::exists(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = vec![start(&text).map_or_else(PathBuf::new, PathBuf::from)];
    for component in text.split('/').filter(|component| !component.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            if !Glob::is_pattern(component) {
                next.push(folder.join(component));
                continue;
            }
            let here = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &folder
            };
            if !fs::is_dir(here) {
                continue;
            }
            let entries = fs::list(here)
                .map_err(|error| Error::new("read", here, &std::io::Error::other(error)))?;
            let names = entries.into_iter().map(|entry| entry.name);
            next.extend(
                names
                    .filter(|name| matches(component, name))
                    .map(|name| folder.join(name)),
            );
        }
        check_count(&text, next.len())?;
        found = next;
    }
    found.retain(|path| fs::exists(path));
    some(&text, found)
}

/// Returns the paths of a host that a path means: itself if it exists or has no wildcards, else all that match.
pub(super) async fn expand_remote(
    remote_fs: &RemoteFs<'_>,
    path: &str,
    limits: &DownloadLimits,
) -> Result<Vec<String>, Error> {
    if !Glob::is_pattern(path) || remote_fs.kind(path).await?.is_some() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = vec![start(path).unwrap_or_default().to_owned()];
    for component in path.split('/').filter(|component| !component.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            if !Glob::is_pattern(component) {
                next.push(below(&folder, component));
                continue;
            }
            let here = if folder.is_empty() { "." } else { &folder };
            if !remote_fs
                .kind(here)
                .await?
                .is_some_and(TransferKind::is_folder)
            {
                continue;
            }
            let mut names: Vec<String> = Vec::new();
            for (name, _) in remote_fs.list(here, limits).await? {
                if matches(component, &name) {
                    names.push(name);
                }
            }
            names.sort_unstable();
            next.extend(names.iter().map(|name| below(&folder, name)));
        }
        check_count(path, next.len())?;
        found = next;
    }
    let mut existing = Vec::new();
    let is_last_wild = path.rsplit('/').next().is_some_and(Glob::is_pattern);
    for path in found {
        if is_last_wild || remote_fs.kind(&path).await?.is_some() {
            existing.push(path);
        }
    }
    some(path, existing)
}

/// Returns the root if a path is absolute.
fn start(path: &str) -> Option<&'static str> {
    path.starts_with('/').then_some("/")
}

fn below(folder: &str, name: &str) -> String {
    match folder {
        "/" => format!("/{name}"),
        folder => join_path(folder, name),
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let is_hidden = name.starts_with('.') && !pattern.starts_with('.');
    !is_hidden && Glob::for_file_name(pattern).matches(name)
}

fn check_count(pattern: &str, count: usize) -> Result<(), Error> {
    if count > MAX_MATCHES {
        return Err(Error::TooManyEntries(pattern.to_owned()));
    }
    Ok(())
}

fn some<T>(pattern: &str, found: Vec<T>) -> Result<Vec<T>, Error> {
    if found.is_empty() {
        return Err(Error::Failed {
            operation: "find",
            path: pattern.to_owned(),
            why: "nothing matches the pattern".to_owned(),
        });
    }
    Ok(found)
}
