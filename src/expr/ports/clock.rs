//! The time that expressions see.

use std::sync::Arc;

/// Tells the time.
pub trait Clock {
    /// The time now.
    fn now(&self) -> jiff::Timestamp;
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> jiff::Timestamp {
        T::now(self)
    }
}
