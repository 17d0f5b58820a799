//! Performs work on private files: in a folder in memory, and in the folder of an ensemble.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host::{Exit, PrivateOutput, PrivateStep, PrivateWork};
use crate::system::env::Env;
use crate::system::fs::{self, Beneath};
use crate::system::private_root;

/// The maximum size of a file that is read, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// Performs the steps in order until one fails.
pub(super) fn perform(work: &PrivateWork) -> PrivateOutput {
    let root = match private_root::find(&Env::of_this_process()) {
        Ok(root) => root,
        Err(error) => return PrivateOutput::not_done(Exit::Failed(error.to_string())),
    };
    let mut run = PrivateRun {
        folder: root.join(&work.folder),
        base: &work.base,
        contents: Vec::new(),
    };
    let done = work.steps.iter().try_for_each(|step| run.perform(step));
    PrivateOutput {
        exit: match done {
            Ok(()) => Exit::Code(0),
            Err(error) => Exit::Failed(error.to_string()),
        },
        folder: run.folder,
        contents: run.contents,
        elapsed: Duration::ZERO,
    }
}

struct PrivateRun<'a> {
    folder: PathBuf,
    base: &'a Path,
    contents: Vec<Option<Vec<u8>>>,
}

impl PrivateRun<'_> {
    fn perform(&mut self, step: &PrivateStep) -> Result<(), fs::Error> {
        match step {
            PrivateStep::Create => fs::create_private_dir(&self.folder)?,
            PrivateStep::Write { file, bytes } => {
                let folder = Beneath::open(&self.folder)?;
                folder.write_atomic(Path::new(file), bytes, Some(fs::SECRET_MODE))?;
            }
            PrivateStep::Read { file } => {
                let folder = self.folder.clone();
                self.contents.push(read(&folder, Path::new(file))?);
            }
            PrivateStep::Discard { file } => {
                Beneath::open(&self.folder)?.remove_file_if_exists(Path::new(file))?;
            }
            PrivateStep::Remove => fs::remove_dir_all(&self.folder)?,
            PrivateStep::Load { path } => self.contents.push(read(self.base, path)?),
            PrivateStep::Keep { path, bytes, mode } => {
                let base = Beneath::open(self.base)?;
                base.create_dir_all(path.parent().unwrap_or(path))?;
                base.write_atomic(path, bytes, Some(*mode))?;
                self.sync_parents(path)?;
            }
            PrivateStep::Drop { path } => {
                let base = Beneath::open(self.base)?;
                if base.info(fs::parent_of(path))?.is_some() {
                    base.remove_file_if_exists(path)?;
                }
            }
            PrivateStep::Folder { path } => Beneath::open(self.base)?.create_dir_all(path)?,
        }
        Ok(())
    }

    /// Makes the entries of the folders above a file durable, because some of them may be new.
    fn sync_parents(&self, path: &Path) -> Result<(), fs::Error> {
        let mut above = path.ancestors().skip(1);
        above.try_for_each(|folder| fs::sync_dir(&self.base.join(folder)))
    }
}

/// Returns the content of a file. None if it does not exist.
fn read(base: &Path, path: &Path) -> Result<Option<Vec<u8>>, fs::Error> {
    let content = Beneath::open(base).and_then(|folder| folder.read(path, MAX_BYTES));
    match content {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
