//! Definitions of properties, attributes and parameters: schema, default value and constraints.
//!
//! This file holds plain data that the other files of the module share: [`PropertyDef`] and [`Schema`] for
//! declarations, [`Property`] for values, and [`TypeInfo`], the part that types of every kind have.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::TypeName;
use crate::text::Pattern;
use crate::value::{Map, Value};

use super::import_graph::PrefixedNames;

/// The definition of a property or an attribute of a type, or of an input of a topology or an operation.
#[derive(Debug, Clone)]
pub struct PropertyDef {
    pub name: Arc<str>,
    pub schema: Arc<Schema>,
    /// Whether a template must set a value.
    pub required: bool,
    /// The default value, unevaluated: it may contain expressions.
    pub default: Option<Value>,
    /// The name to show to users.
    pub title: Option<Arc<str>>,
    pub description: Option<Arc<str>>,
    /// Metadata such as `sensitive`, `tfvar` or `env_vars`.
    pub metadata: Map,
    /// The definition of an ancestor type that this one refines.
    pub base: Option<Arc<Self>>,
    /// The location of the declaration in the YAML text.
    pub span: Span,
    /// The location of the default value in the YAML text.
    pub default_span: Span,
}

/// Property definitions by name, in their declared order.
pub(super) type Defs = IndexMap<Arc<str>, Arc<PropertyDef>>;

/// Property values by name, in their declared order.
pub(super) type Properties = IndexMap<Arc<str>, Property>;

/// Attributes by name, in their declared order.
pub(super) type Attributes = IndexMap<Arc<str>, AttributeDecl>;

/// The definition of an input or an output. It has the same parts as a property's.
pub type ParameterDef = PropertyDef;

impl PropertyDef {
    /// Whether the value is secret and must be redacted in output.
    pub fn is_sensitive(&self) -> bool {
        self.flag("sensitive")
    }

    /// Whether a key of the metadata has a truthy value.
    pub fn flag(&self, key: &str) -> bool {
        self.metadata.get(key).is_some_and(Value::is_truthy)
    }
}

/// The constraints on a value: its type, its entries and further rules.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The name of the type, as written in the template.
    pub type_name: TypeName,
    pub kind: DataKind,
    pub constraints: Vec<Constraint>,
    /// The schema of the items of a list or of the values of a map.
    pub entry: Option<Arc<Self>>,
    /// The schema of the keys of a map.
    pub key: Option<Arc<Self>>,
}

/// The kind of type that a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataKind {
    Any,
    String,
    Integer,
    Float,
    Boolean,
    Timestamp,
    /// A list of two: the lower and the upper bound.
    Range,
    /// A version number such as `1.2.0` or `1.2.0.beta-3`.
    Version,
    List,
    Map,
    /// JSON, as text or as structured data.
    Json,
    Xml,
    /// A number with a unit, such as `10 GB`.
    Scalar(ScalarKind),
    /// A data type that a file declares.
    Data(TypeKey),
}

/// The quantity that a number with a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// A size. The base unit is the byte.
    Size,
    /// A duration. The base unit is the second.
    Time,
    /// A frequency. The base unit is the hertz.
    Frequency,
    /// A bit rate. The base unit is bits per second.
    Bitrate,
}

/// The identity of a declared type within [`super::Types`].
///
/// A type that several files import under different names has one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeKey(pub(super) u32);

/// Returns the kind that the name of a simple type stands for.
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

/// A constraint on a value, with its location.
#[derive(Debug, Clone)]
pub struct Constraint {
    pub rule: Rule,
    pub span: Span,
}

/// The condition that a constraint states.
#[derive(Debug, Clone)]
pub enum Rule {
    Equal(Value),
    GreaterThan(Value),
    GreaterOrEqual(Value),
    LessThan(Value),
    LessOrEqual(Value),
    /// The value lies between the bounds, inclusive. `None` stands for `UNBOUNDED`.
    InRange(Option<Value>, Option<Value>),
    /// The value is equal to a member of the list.
    ValidValues(Vec<Value>),
    /// The number of characters, items or keys is equal to the number.
    Length(u64),
    /// The number of characters, items or keys is at least the number.
    MinLength(u64),
    /// The number of characters, items or keys is at most the number.
    MaxLength(u64),
    /// The entire text matches the regular expression. The text of the expression comes first.
    Pattern(Arc<str>, Pattern),
    /// A JSON schema, uninterpreted: checks accept any value.
    Schema(Value),
    /// The value is a version that a requirement such as `^1.2` or `>=1, <2` admits.
    Version(Arc<str>),
}

/// The value of a property, with its definition.
#[derive(Debug, Clone)]
pub struct Property {
    /// The unevaluated value: it may contain expressions.
    pub value: Value,
    /// The definition. `None` for an undeclared property of an open type.
    pub definition: Option<Arc<PropertyDef>>,
    /// Whether the template sets the value. Otherwise the value is the default.
    pub set_on_template: bool,
    /// The location of the value in the YAML text.
    pub span: Span,
}

/// An attribute that a type declares or a template sets.
#[derive(Debug, Clone)]
pub struct AttributeDecl {
    /// The initial value, unevaluated. `None` if the attribute has none.
    pub default: Option<Value>,
    /// The definition, or `None` if the type does not declare the attribute.
    pub definition: Option<Arc<PropertyDef>>,
    /// Whether the value is secret and must be redacted in output.
    pub sensitive: bool,
}

/// A lower and an upper bound on how often an item occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrences {
    pub min: u32,
    /// The upper bound. `None` means unbounded.
    pub max: Option<u32>,
}

impl Occurrences {
    /// Exactly one: the default of TOSCA for a requirement.
    pub const ONE: Self = Self {
        min: 1,
        max: Some(1),
    };
}

/// The parts that types of every kind have in common.
#[derive(Debug, Clone)]
pub struct TypeInfo {
    /// The name that the service template's file has for the type. If it has none, the name in the declaring
    /// file.
    pub name: TypeName,
    pub key: TypeKey,
    /// The names of the types that this one derives from directly.
    pub parents: Vec<TypeName>,
    /// The names of the type and of its ancestors, the nearest first.
    pub ancestors: Vec<TypeName>,
    pub description: Option<Arc<str>>,
    /// The `metadata` of the type, merged over the metadata of its ancestors.
    pub metadata: Map,
    pub version: Option<Arc<str>>,
    /// Whether templates may set properties that the type does not declare.
    pub open: bool,
    /// The location of the declaration in the YAML text.
    pub span: Span,
    /// The prefixed names of the type and of its ancestors. `None` if no import has a prefix.
    pub(super) prefixed_names: Option<PrefixedNames>,
}

impl TypeInfo {
    /// Whether the type is, or derives from, the type with the name.
    pub fn is_derived_from(&self, name: &str) -> bool {
        if let Some(short) = name.strip_prefix("tosca:") {
            // `tosca:Root` is short for `tosca.nodes.Root` if the type is a node type, and so on.
            return self.ancestors.iter().any(|ancestor| {
                let local = ancestor.as_str().strip_prefix("tosca.");
                let parts = local.and_then(|local| local.split_once('.'));
                parts.is_some_and(|(_, rest)| rest == short)
            });
        }
        let is_ancestor = self
            .ancestors
            .iter()
            .any(|ancestor| ancestor.as_str() == name);
        let prefixed = self.prefixed_names.as_ref();
        is_ancestor || prefixed.is_some_and(|names| names.contain(name))
    }
}
