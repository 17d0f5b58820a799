//! Secrets in files, as container engines and CI systems mount them.

use std::path::Path;

use zeroize::Zeroizing;

use super::contract::{Backend, BackendContext, Secret};
use super::error::Problem;
use super::name::SecretName;
use crate::system::fs;

/// The maximum size of a secret, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Reads each secret from a file of its own. The line break at the end of the file does not belong to it.
#[derive(Debug)]
pub(super) struct FileBackend {
    /// The path of the file, with the placeholder.
    pub(super) pattern: String,
}

impl Backend for FileBackend {
    fn needs_permission(&self) -> bool {
        false
    }

    fn fetch(&self, name: &SecretName, context: &BackendContext<'_>) -> Result<Secret, Problem> {
        let path = fs::absolute(Path::new(&name.fill_in(&self.pattern)), context.folder);
        let shown = path.display();
        let real = (context.files)(&path)
            .map_err(|help| Problem::new(format!("`{shown}` lies outside of the project"), help))?;
        let bytes = fs::read_within(&real, MAX_BYTES as u64).map_err(|error| {
            let help = error.hint();
            let help = help.unwrap_or_else(|| format!("put the secret into the file `{shown}`"));
            Problem::new(error.to_string(), help)
        })?;
        text_of(bytes).ok_or_else(|| {
            let reason = format!("`{shown}` is not text in UTF-8");
            Problem::new(reason, "store the secret as text, for example in base64")
        })
    }
}

/// Returns bytes as a text without the line break at its end. None if they are not UTF-8.
pub(super) fn text_of(bytes: Vec<u8>) -> Option<Secret> {
    let bytes = Zeroizing::new(bytes);
    let text = std::str::from_utf8(&bytes).ok()?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Some(Secret::Text(Zeroizing::new(text.to_owned())))
}
