//! Files without a name, for data that must not outlive its process.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::modes::SECRET_MODE;
use super::{Error, FileAction};
use crate::system::fault::{self, SystemCall};

/// A file with mode 0600 and without a name. The system removes it with its last handle, also when the process is
/// killed.
#[derive(Debug)]
pub struct UnnamedFile {
    file: File,
    length: u64,
    /// A path in the folder of the file, for messages and the fault layer.
    path: PathBuf,
}

impl UnnamedFile {
    /// Creates an empty file on the file system of a folder. `label` names its purpose in messages.
    pub fn create_in(folder: &Path, label: &str) -> Result<Self, Error> {
        let path = folder.join(label);
        let open = || open_unnamed(folder, &path);
        match fault::call(SystemCall::Open(&path), open) {
            Ok(file) => Ok(Self {
                file,
                length: 0,
                path,
            }),
            Err(source) => Err(Error::new(FileAction::Write, &path, source)),
        }
    }

    /// Appends bytes. After an error the file holds an unknown part of them.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        fault::write_all(&self.file, &self.path, bytes)
            .map_err(|source| Error::new(FileAction::Write, &self.path, source))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Returns everything that was appended.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        let read = || {
            let length = usize::try_from(self.length).map_err(io::Error::other)?;
            let mut bytes = vec![0; length];
            self.file.read_exact_at(&mut bytes, 0)?;
            Ok(bytes)
        };
        read().map_err(|source| Error::new(FileAction::Read, &self.path, source))
    }
}

fn open_unnamed(folder: &Path, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(SECRET_MODE);
    #[cfg(target_os = "linux")]
    {
        let mut unnamed = options.clone();
        unnamed.custom_flags(nix::fcntl::OFlag::O_TMPFILE.bits());
        if let Ok(file) = unnamed.open(folder) {
            return Ok(file);
        }
    }
    // The file system may not support unnamed files, so an empty file loses its name at once.
    let path = super::temporary_name(path);
    let file = options.create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_unnamed_file_is_private_and_in_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = UnnamedFile::create_in(folder.path(), "output").unwrap();
        file.append(b"ab").unwrap();
        file.append(b"c").unwrap();
        assert_eq!(file.read().unwrap(), b"abc");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mode = file.file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn an_unnamed_file_in_a_missing_folder_is_an_error_that_names_it() {
        let error = UnnamedFile::create_in(Path::new("/no/such/folder"), "output").unwrap_err();
        assert!(
            error.to_string().contains("/no/such/folder/output"),
            "{error}"
        );
    }
}
