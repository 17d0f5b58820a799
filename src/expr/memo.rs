//! What was evaluated before, and what that read.

use std::sync::Arc;

use crate::value::{Handle, Value};

use super::reads::Reads;

/// The attributes evaluated during a job, with what each of them read.
#[derive(Debug, Default)]
pub struct Memo {}

impl Memo {
    /// The attributes that reads depend on, directly and through other attributes, at most `cap`:
    /// entities in the order of first access, and so the attributes of each.
    pub fn closure(&self, _reads: &Reads, _cap: usize) -> Vec<(Handle, Arc<str>, Value)> {
        Vec::new()
    }
}
