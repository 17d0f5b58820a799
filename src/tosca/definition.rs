//! Definitions of properties, attributes and parameters: their schema, default and constraints.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::TypeName;
use crate::value::{Map, Value};

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

/// Definitions by name.
pub(super) type Defs = IndexMap<Arc<str>, Arc<PropertyDef>>;

/// Properties by name.
pub(super) type Properties = IndexMap<Arc<str>, Property>;

/// Attributes by name.
pub(super) type Attributes = IndexMap<Arc<str>, AttributeDecl>;

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

/// The kind that a simple type's name means.
pub(super) fn simple_kind(name: &str) -> Option<DataKind> {
    Some(match name {
        "any" => DataKind::Any,
        "string" => DataKind::String,
        "integer" => DataKind::Integer,
        "float" | "number" => DataKind::Float,
        "boolean" => DataKind::Boolean,
        "timestamp" => DataKind::Timestamp,
        "range" => DataKind::Range,
        "version" => DataKind::Version,
        "list" => DataKind::List,
        "map" => DataKind::Map,
        "json" => DataKind::Json,
        "xml" => DataKind::Xml,
        "scalar-unit.size" => DataKind::Scalar(ScalarKind::Size),
        "scalar-unit.time" => DataKind::Scalar(ScalarKind::Time),
        "scalar-unit.frequency" => DataKind::Scalar(ScalarKind::Frequency),
        "scalar-unit.bitrate" => DataKind::Scalar(ScalarKind::Bitrate),
        _ => return None,
    })
}

/// Something that must hold for a value.
#[derive(Debug, Clone)]
pub struct Constraint {
    /// What must hold.
    pub rule: Rule,
    /// Where it stands.
    pub span: Span,
}

/// What must hold for a value.
#[derive(Debug, Clone)]
pub enum Rule {
    /// It equals this.
    Equal(Value),
    /// It is greater.
    GreaterThan(Value),
    /// It is as great or greater.
    GreaterOrEqual(Value),
    /// It is less.
    LessThan(Value),
    /// It is as great or less.
    LessOrEqual(Value),
    /// It lies between both, inclusive; what is missing is `UNBOUNDED`.
    InRange(Option<Value>, Option<Value>),
    /// It is one of these.
    ValidValues(Vec<Value>),
    /// It has so many characters, items or keys.
    Length(u64),
    /// It has at least so many.
    MinLength(u64),
    /// It has at most so many.
    MaxLength(u64),
    /// All of it matches a regular expression.
    Pattern(Arc<str>, regex::Regex),
    /// It meets a JSON schema, raw.
    Schema(Value),
    /// It is a version that a requirement such as `^1.2` or `>=1, <2` admits.
    Version(Arc<str>),
}

/// A property's value.
#[derive(Debug, Clone)]
pub struct Property {
    /// The value, raw: it may contain expressions.
    pub value: Value,
    /// Its definition; none for an undeclared property of an open type.
    pub definition: Option<Arc<PropertyDef>>,
    /// Whether the template sets it; otherwise this is the default.
    pub set_on_template: bool,
    /// Where the value stands.
    pub span: Span,
}

/// An attribute a type declares, or a template sets.
#[derive(Debug, Clone)]
pub struct AttributeDecl {
    /// The value it starts with, raw.
    pub default: Option<Value>,
    /// Its definition, if it is declared.
    pub definition: Option<Arc<PropertyDef>>,
    /// Whether its value must not be shown.
    pub sensitive: bool,
}

/// How many there may be; no upper bound means any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrences {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: Option<u32>,
}

impl Occurrences {
    /// Exactly one, what TOSCA assumes of a requirement.
    pub const ONE: Self = Self {
        min: 1,
        max: Some(1),
    };
}

/// What every type has.
#[derive(Debug, Clone)]
pub struct TypeInfo {
    /// Its name: as the service template's file knows it, or as its own file does.
    pub name: TypeName,
    /// Its identity.
    pub key: TypeKey,
    /// The names of the types it derives from directly.
    pub parents: Vec<TypeName>,
    /// The names it answers to, and its ancestors': itself first, then the nearest.
    pub ancestors: Vec<TypeName>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Its `metadata`, its ancestors' below its own.
    pub metadata: Map,
    /// Its `version`.
    pub version: Option<Arc<str>>,
    /// Whether it takes properties that it does not declare.
    pub open: bool,
    /// Where it is declared.
    pub span: Span,
}

impl TypeInfo {
    /// Whether it is, or derives from, the type of that name.
    pub fn is_derived_from(&self, name: &str) -> bool {
        if let Some(short) = name.strip_prefix("tosca:") {
            // `tosca:Root` means `tosca.nodes.Root` of a node, and so on.
            return self.ancestors.iter().any(|ancestor| {
                let local = ancestor.as_str().strip_prefix("tosca.");
                let parts = local.and_then(|local| local.split_once('.'));
                parts.is_some_and(|(_, rest)| rest == short)
            });
        }
        self.ancestors
            .iter()
            .any(|ancestor| ancestor.as_str() == name)
    }
}
