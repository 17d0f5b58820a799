//! Values that stand for something outside: a file, a path, a container image.

use super::{Map, Value};

/// What kind of thing an external value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExternalKind {
    /// A file whose contents count (`file`).
    File,
    /// A path whose tree counts (`abspath`, `get_dir`).
    Path,
    /// A container image.
    Image,
    /// Anything else with parts, such as a port specification or a scalar with a unit.
    Other,
}

/// A value that stands for something outside of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    /// What kind of thing it is.
    pub kind: ExternalKind,
    /// What the expression gives where nothing is selected from it.
    pub value: Value,
    /// The parts that `select` or a path can name. The contents of a file are not here: they are
    /// read when asked for.
    pub parts: Map,
    /// The expression that gives it again, for the record: `{eval: {…}}`; null where `value`
    /// itself is recorded.
    pub expression: Value,
    /// What takes part in upstream's digests instead of the value: the contents, a tree's id.
    pub digest: Option<Value>,
    /// What takes part in our digests, where that differs from both: what a path holds, whether
    /// git has it or not.
    pub exact: Option<Value>,
}
