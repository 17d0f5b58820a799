//! The chance that expressions have.

use std::sync::Arc;

/// Gives random bytes.
pub trait Random {
    /// Fills the buffer with bytes that nobody can guess.
    fn random(&self, bytes: &mut [u8]);
}

impl<T: Random + ?Sized> Random for Arc<T> {
    fn random(&self, bytes: &mut [u8]) {
        T::random(self, bytes);
    }
}
