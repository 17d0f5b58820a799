//! Refuses working folders that another user made.

use std::path::{Path, PathBuf};

use super::own_files::OWN_NAMES;
use crate::system::{fs, user};

/// The permission bits that let others create files in a folder.
const OTHERS_MAY_WRITE: u32 = 0o002;
const GROUP_MAY_WRITE: u32 = 0o020;
/// The permission bit of folders in which nobody may replace the files of others.
const STICKY: u32 = 0o1000;

/// A file or folder of another user among those that only jobs write.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}` is refused: the user `{owner}` owns it and may have put it there, because other users can create \
     files in `{}`", path.display(), folder.display()
)]
pub struct ForeignFile {
    path: PathBuf,
    folder: PathBuf,
    owner: String,
}

impl ForeignFile {
    /// Returns a hint on how to fix the problem.
    pub fn hint(&self) -> String {
        format!(
            "check and remove `{}`, and let only the users of the ensemble write to its folder: \
             `chmod o-w,-t {}`",
            self.path.display(),
            self.folder.display()
        )
    }
}

/// Fails if another user could have prepared a folder into which jobs write.
///
/// In a folder that a group shares, members may replace all files anyway, so their folders are accepted.
pub fn refuse_foreign_folders(manifest: &Path) -> Result<(), ForeignFile> {
    let folder = fs::parent_of(manifest);
    // A folder that cannot be inspected is reported when the manifest is read.
    let (Ok(mode), Ok(base)) = (fs::mode_of(folder), fs::identity_of(folder)) else {
        return Ok(());
    };
    let is_sticky = mode & STICKY != 0;
    if mode & OTHERS_MAY_WRITE == 0 && !(is_sticky && mode & GROUP_MAY_WRITE != 0) {
        return Ok(());
    }
    let accepted = [user::effective_id(), base.owner, 0];
    for name in OWN_NAMES {
        let path = folder.join(name);
        if let Ok(found) = fs::identity_of(&path)
            && !accepted.contains(&found.owner)
        {
            return Err(ForeignFile {
                path,
                folder: folder.to_owned(),
                owner: user::name_of(found.owner),
            });
        }
    }
    Ok(())
}
