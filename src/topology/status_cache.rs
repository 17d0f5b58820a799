//! The cache of effective statuses, which a topology fills on demand and clears on changes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::name::Status;
use crate::value::Handle;

/// Effective statuses by handle, computed so far.
#[derive(Debug, Default)]
pub(super) struct StatusCache(Vec<Option<Status>>);

/// A status cache shared by the views of a topology. A cloned topology starts with an empty cache.
#[derive(Debug, Default)]
pub(super) struct SharedCache(Mutex<StatusCache>);

impl Clone for SharedCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl SharedCache {
    pub(super) fn lock(&self) -> MutexGuard<'_, StatusCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get_mut(&mut self) -> &mut StatusCache {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatusCache {
    pub(super) fn get(&self, of: Handle) -> Option<Status> {
        self.0.get(of.0 as usize).copied().flatten()
    }

    pub(super) fn set(&mut self, of: Handle, status: Option<Status>) {
        let place = of.0 as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        self.0[place] = status;
    }
}
