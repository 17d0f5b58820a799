//! The source of a clone: an address of git, an archive, or a path on this machine.

use std::path::{Path, PathBuf};

use crate::ops::failure::{Failure, FailureKind};
use crate::package::{SourceUrl, is_git_address};
use crate::project::base_name;
use crate::session::current_dir;
use crate::system::fs;

/// The source of a clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A repository, with a revision and a path in it.
    Git(SourceUrl),
    /// A CSAR.
    Archive(PathBuf),
    /// A project, an ensemble or a template.
    Path(PathBuf),
}

impl Source {
    /// Finds out what the argument of the user means.
    pub(super) fn of(text: &str) -> Result<Self, Failure> {
        if let Some(name) = text.strip_prefix("cloudmap:") {
            let message = format!(
                "`cloudmap:{}` is not supported: there are no cloud maps here",
                name.escape_debug()
            );
            return Err(Failure::usage_with(
                message,
                "give the URL of the repository, such as `https://HOST/PATH.git`",
            ));
        }
        let here = current_dir()?;
        let path = fs::absolute(Path::new(text), &here);
        let is_bare = text.trim_end_matches('/').strip_suffix(".git").is_some();
        if !fs::exists(&path) || is_bare {
            if is_git_address(text) {
                return Ok(Self::Git(local_address_made_absolute(
                    SourceUrl::parse(text),
                    &here,
                )));
            }
            let message = format!("`{}` does not exist", path.display());
            let help = "give the path of a project, an ensemble, a template or a CSAR, or the URL of a git repository";
            return Err(Failure::new(
                FailureKind::Refused,
                message,
                Some(help.to_owned()),
            ));
        }
        let path = fs::canonicalize(&path)?;
        let end = path.extension().unwrap_or_default().to_ascii_lowercase();
        if fs::is_file(&path) && (end == "csar" || end == "zip") {
            return Ok(Self::Archive(path));
        }
        Ok(Self::Path(path))
    }

    /// Returns the name of the folder if the user names none.
    pub(super) fn default_name(&self) -> String {
        match self {
            Self::Git(url) => base_name(&url.address),
            Self::Archive(path) => base_name(&path.with_extension("").display().to_string()),
            Self::Path(path) => {
                let folder = if fs::is_dir(path) {
                    path
                } else {
                    fs::parent_of(path)
                };
                base_name(&folder.display().to_string())
            }
        }
    }
}

/// Git gets absolute paths, because it does not run in the current folder of the user.
fn local_address_made_absolute(mut url: SourceUrl, here: &Path) -> SourceUrl {
    let path = url
        .address
        .strip_prefix("file:")
        .filter(|path| !path.starts_with("//"));
    let path = path.unwrap_or(&url.address);
    let is_path = !path.contains("://")
        && path
            .split_once(':')
            .is_none_or(|(host, _)| host.contains('/'));
    if is_path {
        url.address = fs::absolute(Path::new(path), here).display().to_string();
    }
    url
}
