//! Replaces the text of a file, unless another program has saved the file since it was read.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use crate::system::fs::{self, Beneath, Replacement};

/// Saves the new text of a file whose text was `old`.
///
/// # Errors
///
/// The file has another text by now, or cannot be written. Nothing was changed then.
pub(super) fn replace_text(path: &Path, text: &str, old: &str) -> Result<(), Failure> {
    let folder = Beneath::open(fs::parent_of(path))?;
    let name = Path::new(path.file_name().unwrap_or_default());
    match folder.replace_if_unchanged(name, text.as_bytes(), old.as_bytes())? {
        Replacement::Done => Ok(()),
        Replacement::Overtaken => {
            let path = path.display();
            let message = format!("another program saved `{path}` at the same moment");
            let help = "nothing was changed; try again".to_owned();
            Err(Failure::new(FailureKind::Refused, message, Some(help)))
        }
    }
}
