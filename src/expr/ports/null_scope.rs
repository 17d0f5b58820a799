//! An empty [`Scope`], for templates that belong to no topology.

use std::sync::Arc;

use crate::expr::scope::{Attribute, Scope};
use crate::value::{Handle, Value};

/// A topology without content: templates see only the variables that they are given.
///
/// The text is the key that messages and memos use for the template's owner.
#[derive(Debug, Clone, Copy)]
pub struct NullScope(pub &'static str);

impl Scope for NullScope {
    fn attribute(&self, _of: Handle, _name: &str) -> Option<Attribute> {
        None
    }

    fn attribute_names(&self, _of: Handle) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn special(&self, _of: Handle, _key: &str) -> Option<Value> {
        None
    }

    fn find(&self, _from: Handle, _name: &str) -> Option<Handle> {
        None
    }

    fn instances(&self, _from: Handle) -> Vec<Handle> {
        Vec::new()
    }

    fn root(&self, of: Handle) -> Handle {
        of
    }

    fn key(&self, _of: Handle) -> Arc<str> {
        self.0.into()
    }

    fn is_type(&self, _of: Handle, _type_name: &str) -> bool {
        false
    }

    fn generation(&self) -> u64 {
        0
    }

    fn version(&self, _of: Handle, _name: &str) -> u64 {
        0
    }
}
