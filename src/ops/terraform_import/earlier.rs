//! An import that was cut off: how far it came, so that the same command goes on from there.

use std::path::Path;

use crate::ops::add::is_recorded;
use crate::ops::failure::{Failure, FailureKind};
use crate::secret::StateKeys;
use crate::session::Session;
use crate::system::fs;

/// The maximum size of a state, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// The progress of an earlier run of the same import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EarlierImport {
    /// The files alone are written.
    Files,
    /// The files and the node templates are written.
    Templates,
    /// Everything is written.
    Record,
}

/// A file that an import writes, with its content in clear text.
#[derive(Clone, Copy)]
pub(super) struct WantedFile<'a> {
    pub(super) path: &'a Path,
    pub(super) content: &'a [u8],
}

impl EarlierImport {
    /// Finds out how far an earlier import came. None if there was none.
    ///
    /// `state` is the state as an import writes it. A file with another one is not that of such an import.
    ///
    /// # Errors
    ///
    /// A file exists that is not that of an earlier import.
    pub(super) fn find(
        session: &Session,
        name: &str,
        state: WantedFile<'_>,
        lock: Option<WantedFile<'_>>,
    ) -> Result<Option<Self>, Failure> {
        let path = state.path;
        let is_same_state = fs::exists(path) && {
            let keys = StateKeys::new(session.location.keys.clone(), session.manifest.base_dir());
            let sealed = fs::read_within(path, MAX_BYTES)?;
            keys.open(path, &sealed)
                .is_ok_and(|known| *known == state.content)
        };
        let has_template = session.service.topology.nodes.contains_key(name);
        if !is_same_state {
            if fs::exists(path) && !has_template {
                return Err(existing(path));
            }
            return Ok(None);
        }
        if let Some(lock) = lock
            && fs::exists(lock.path)
            && !has_template
            && fs::read(lock.path)? != lock.content
        {
            return Err(existing(lock.path));
        }
        Ok(Some(match (has_template, is_recorded(session, name)) {
            (true, true) => Self::Record,
            (true, false) => Self::Templates,
            (false, _) => Self::Files,
        }))
    }
}

fn existing(path: &Path) -> Failure {
    let message = format!("`{}` exists already", path.display());
    let help = "choose another name with `--name`, or move the file away".to_owned();
    Failure::new(FailureKind::Refused, message, Some(help))
}
