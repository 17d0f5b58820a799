//! Unpacks a CSAR into a project.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostics, Sources};
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{Csar, FileLoader};
use crate::system::archive;
use crate::system::env::Env;
use crate::system::fs;
use crate::yaml::Limits;

/// The maximum size of an archive, in bytes.
const MAX_ARCHIVE_BYTES: u64 = 256 << 20;

/// An archive in memory.
pub(super) struct OpenArchive {
    files: archive::ArchiveFiles,
    /// The path of the service template in the archive.
    pub(super) template: PathBuf,
}

/// Reads an archive and finds its service template. Nothing is written.
pub(super) fn open(path: &Path) -> Result<OpenArchive, Failure> {
    let env = Env::of_this_process();
    let mut sources = Sources::default();
    let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
    let csar = Csar {
        root: path.to_owned(),
        archive: true,
    };
    let opened = loader.open_archive(path).map_err(Diagnostics::from);
    let entry = opened.and_then(|()| csar.entry_file(&mut loader));
    drop(loader);
    let entry = match entry {
        Ok(entry) => entry,
        Err(problems) => {
            return Err(Failure::with_sources(
                FailureKind::Refused,
                problems,
                sources,
            ));
        }
    };
    let bytes = fs::read_within(path, MAX_ARCHIVE_BYTES)?;
    let files =
        archive::read(&bytes, |_| true).map_err(|error| refused(path, &error.to_string()))?;
    let template = entry.strip_prefix(path).unwrap_or(&entry).to_owned();
    Ok(OpenArchive { files, template })
}

fn refused(path: &Path, reason: &str) -> Failure {
    let message = format!("`{}` cannot be unpacked: {reason}", path.display());
    Failure::new(
        FailureKind::Refused,
        message,
        Some("pack the CSAR again".to_owned()),
    )
}

impl OpenArchive {
    /// Writes the files into a folder. No file there is replaced.
    pub(super) fn unpack(&self, folder: &Path) -> Result<(), Failure> {
        for path in self.files.keys() {
            let is_git = path
                .components()
                .any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
            let target = folder.join(path);
            if is_git || fs::exists(&target) || fs::is_symlink(&target) {
                let reason = format!(
                    "its file `{}` would replace one of the project",
                    path.display()
                );
                return Err(refused(folder, &reason));
            }
        }
        for (path, content) in &self.files {
            let target = folder.join(path);
            fs::create_dir_all(fs::parent_of(&target))?;
            fs::write_plain(&target, content.as_deref().unwrap_or_default(), None)?;
        }
        Ok(())
    }
}
