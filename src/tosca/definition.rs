//! Definitions of properties, attributes and parameters: their schema, default and constraints.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::name::TypeName;
use crate::value::{Map, Value};

use super::constraint::Constraint;

/// Defines a property or an attribute of a type, or an input of a topology or an operation.
#[derive(Debug, Clone)]
pub struct PropertyDef {
    /// Its name.
    pub name: Arc<str>,
    /// What its values must be.
    pub schema: Arc<Schema>,
    /// Whether a value must be given.
    pub required: bool,
    /// The value when none is given, raw: it may contain expressions.
    pub default: Option<Value>,
    /// What people call it.
    pub title: Option<Arc<str>>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Metadata such as `sensitive`, `tfvar` or `env_vars`.
    pub metadata: Map,
    /// The definition of a base type that this one refines.
    pub base: Option<Arc<Self>>,
    /// Where it is declared.
    pub span: Span,
    /// Where its default stands.
    pub default_span: Span,
}

/// Defines an input.
pub type ParameterDef = PropertyDef;

impl PropertyDef {
    /// Whether its value must not be shown.
    pub fn is_sensitive(&self) -> bool {
        self.flag("sensitive")
    }

    /// Whether a key of its metadata is set to something true.
    pub fn flag(&self, key: &str) -> bool {
        self.metadata.get(key).is_some_and(Value::is_truthy)
    }
}

/// What a value must be.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The type's name, as written.
    pub type_name: TypeName,
    /// What kind of type that is.
    pub kind: DataKind,
    /// What else must hold.
    pub constraints: Vec<Constraint>,
    /// What the items of a list or the values of a map must be.
    pub entry: Option<Arc<Self>>,
    /// What the keys of a map must be.
    pub key: Option<Arc<Self>>,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataKind {
    /// Anything.
    Any,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Float,
    /// True or false.
    Boolean,
    /// A point in time.
    Timestamp,
    /// A lower and an upper bound.
    Range,
    /// A version such as `1.2.0`.
    Version,
    /// A list.
    List,
    /// A map.
    Map,
    /// JSON, as text or as data.
    Json,
    /// XML text.
    Xml,
    /// A number with a unit.
    Scalar(ScalarKind),
    /// A data type that a file declares.
    Data(TypeKey),
}

/// What a number with a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// Bytes.
    Size,
    /// Seconds.
    Time,
    /// Hertz.
    Frequency,
    /// Bits per second.
    Bitrate,
}

/// Names one declared type among [`super::Types`], wherever it was imported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeKey(pub(super) u32);
