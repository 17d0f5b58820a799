//! [`Value`], the dynamic value that the whole program uses, and its text forms, which follow Python.

use std::fmt::{Debug, Display, Formatter};
use std::sync::{Arc, OnceLock};

use super::entity::write_reference;

/// The text that replaces a sensitive value in messages and files.
pub const REDACTED: &str = "<<REDACTED>>";

/// The line that is shown instead of the rest of an output in which a secret was found.
pub const HIDDEN_OUTPUT: &str = "<<REDACTED>> (output hidden, because it contains a secret)";

/// A map that keeps the order of its keys.
pub type Map = indexmap::IndexMap<Arc<str>, Value>;

/// Sets a key of a map if the value is not None.
pub fn insert_some(map: &mut Map, key: &str, value: impl Into<Option<Value>>) {
    if let Some(value) = value.into() {
        map.insert(key.into(), value);
    }
}

/// A list of values, in order.
pub type List = Vec<Value>;

/// The handle of an entity of a topology: an instance, a capability, a relationship or an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u32);

/// A reference to an entity: its handle for this run, and its names for everything that outlives the run.
#[derive(Debug, Clone)]
pub struct EntityRef {
    handle: Handle,
    key: Arc<str>,
    outer: Option<Arc<str>>,
    expression: OnceLock<Value>,
}

impl EntityRef {
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the reference with another handle for the same entity.
    #[must_use]
    pub fn with_handle(&self, handle: Handle) -> Self {
        Self {
            handle,
            ..self.clone()
        }
    }

    /// Returns the expression that finds the entity again, as Unfurl's records have it.
    pub fn expression(&self) -> &Value {
        let reference = || Value::map([("ref", Value::Str(Arc::clone(&self.key)))]);
        self.expression.get_or_init(reference)
    }

    /// Returns the key that identifies the entity in its topology, such as `::web`.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// A dynamic value. Clones are cheap, because large content is shared.
#[derive(Clone, Default)]
pub enum Value {
    /// The null value of YAML and JSON.
    #[default]
    Null,
    /// A boolean, which YAML writes as `true` or `false`.
    Bool(bool),
    /// An integer that fits into 64 bits.
    Int(i64),
    /// An integer that needs more than 64 bits, as decimal digits.
    Big(Arc<str>),
    /// A floating-point number of 64 bits.
    Float(f64),
    /// A text, also called string or scalar.
    Str(Arc<str>),
    /// A list of values, which clones share.
    List(Arc<List>),
    /// A map with ordered keys, which clones share.
    Map(Arc<Map>),
    /// A value that must not be shown. Its text forms are [`REDACTED`].
    Sensitive(Arc<Self>),
    /// A value from outside the model, such as the output of a command, which is never evaluated.
    ///
    /// Text forms, equality and digests ignore the mark. It also covers the values within. A value with both
    /// marks is `Sensitive(Data(…))`.
    Data(Arc<Self>),
    /// A reference to an entity of the topology.
    Entity(Arc<EntityRef>),
    /// A value that stands for an object outside the model, such as a file.
    External(Arc<External>),
}

/// The kind of object that an external value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExternalKind {
    /// A file whose contents determine the digest (`file`).
    File,
    /// A path whose directory tree determines the digest (`abspath`, `get_dir`).
    Path,
    Image,
    /// Any other value with parts, such as a port specification or a scalar with a unit.
    Other,
    /// A secret that files contain in encrypted form. The expression has its text by its tag.
    Encrypted,
    /// A value of `locals`, or one that was computed from it. Records do not contain it.
    Local,
    /// A plain scalar of YAML that readers of YAML 1.1 read otherwise.
    PlainScalar,
}

/// A value that stands for an object outside the model.
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    pub kind: ExternalKind,
    /// The plain value, which is used if no part is selected.
    pub value: Value,
    /// The parts that `select` or a path can name.
    ///
    /// The contents of a file are not among them; they are read on demand.
    pub parts: Map,
    /// The expression that recreates the value, `{eval: {…}}`, for records. Null if `value` itself is
    /// recorded.
    pub expression: Value,
    /// The value in Unfurl's digests, such as the contents of a file or the id of a git tree. None means
    /// `value`.
    pub digest: Option<Value>,
    /// The value in this program's own digests, if it differs from `digest`: the contents at a path,
    /// committed or not.
    pub exact: Option<Value>,
}

impl Value {
    /// Creates a value from a text.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// Creates a list value from its items.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// Creates a map value from its entries.
    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(Arc::new(
            entries.into_iter().map(|(k, v)| (k.into(), v)).collect(),
        ))
    }

    /// Whether the value or any value within it is sensitive.
    pub fn has_sensitive(&self) -> bool {
        match self {
            Self::Sensitive(_) => true,
            Self::Data(inner) => inner.has_sensitive(),
            Self::List(items) => items.iter().any(Self::has_sensitive),
            Self::Map(map) => map.values().any(Self::has_sensitive),
            Self::External(external) => external.value.has_sensitive(),
            _ => false,
        }
    }

    /// Whether the value has at most this size: the bytes of its texts and 8 bytes for each part. A part that
    /// occurs more than once counts each time.
    pub fn fits(&self, bytes: usize) -> bool {
        let mut rest = bytes;
        self.take_size(&mut rest)
    }

    /// Subtracts the size of the value. Returns false if `rest` is too small.
    fn take_size(&self, rest: &mut usize) -> bool {
        let text = match self {
            Self::Str(text) | Self::Big(text) => text.len(),
            _ => 0,
        };
        let Some(left) = rest.checked_sub(text.saturating_add(8)) else {
            return false;
        };
        *rest = left;
        match self {
            Self::List(items) => items.iter().all(|item| item.take_size(rest)),
            Self::Map(map) => map.iter().all(|(key, value)| {
                *rest = rest.saturating_sub(key.len());
                value.take_size(rest)
            }),
            Self::Sensitive(value) => value.take_size(rest),
            Self::External(external) => external.value.take_size(rest),
            _ => true,
        }
    }

    /// Returns the value with each sensitive part replaced by [`REDACTED`].
    #[must_use]
    pub fn redacted(&self) -> Self {
        match self {
            Self::Sensitive(_) => Self::str(REDACTED),
            Self::Data(inner) => inner.redacted().data(),
            Self::List(items) if self.has_sensitive() => {
                Self::list(items.iter().map(Self::redacted))
            }
            Self::Map(map) if self.has_sensitive() => Self::map(
                map.iter()
                    .map(|(key, value)| (Arc::clone(key), value.redacted())),
            ),
            Self::External(external) if external.value.has_sensitive() => Self::str(REDACTED),
            other => other.clone(),
        }
    }

    /// Replaces each file, path and other object outside the model whose value is secret by this value, because its
    /// expression could show the secret.
    #[must_use]
    pub fn with_secret_externals_resolved(&self) -> Self {
        if !self.has_sensitive() {
            return self.clone();
        }
        match self {
            Self::External(external) => external.value.clone().sensitive(),
            Self::Data(inner) => inner.with_secret_externals_resolved().data(),
            Self::List(items) => Self::list(items.iter().map(Self::with_secret_externals_resolved)),
            Self::Map(map) => {
                let entries = map.iter();
                Self::map(
                    entries.map(|(key, value)| {
                        (Arc::clone(key), value.with_secret_externals_resolved())
                    }),
                )
            }
            other => other.clone(),
        }
    }

    /// Replaces each file, path and image by its plain value.
    #[must_use]
    pub fn with_externals_resolved(&self) -> Self {
        match self {
            Self::External(external)
                if !matches!(
                    external.kind,
                    ExternalKind::Other
                        | ExternalKind::Encrypted
                        | ExternalKind::Local
                        | ExternalKind::PlainScalar
                ) =>
            {
                external.value.with_externals_resolved()
            }
            Self::Sensitive(inner) => inner.with_externals_resolved().sensitive(),
            Self::Data(inner) => inner.with_externals_resolved().data(),
            Self::List(items) => Self::list(items.iter().map(Self::with_externals_resolved)),
            Self::Map(map) => {
                let settled = |(key, value): (&Arc<str>, &Self)| {
                    (Arc::clone(key), value.with_externals_resolved())
                };
                Self::map(map.iter().map(settled))
            }
            other => other.clone(),
        }
    }

    /// Creates a reference to an entity. `outer` is the instance in whose nested topology the entity is.
    pub fn entity(handle: Handle, key: Arc<str>, outer: Option<Arc<str>>) -> Self {
        Self::Entity(Arc::new(EntityRef {
            handle,
            key,
            outer,
            expression: OnceLock::new(),
        }))
    }

    /// Returns the handle of the entity, if the value refers to one.
    pub fn as_entity(&self) -> Option<Handle> {
        match self.reveal() {
            Self::Entity(entity) => Some(entity.handle),
            _ => None,
        }
    }

    /// Returns the text of a string, even a sensitive one.
    pub fn as_str(&self) -> Option<&str> {
        match self.reveal() {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list, even a sensitive one.
    pub fn as_list(&self) -> Option<&List> {
        match self.reveal() {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a map, even a sensitive one.
    pub fn as_map(&self) -> Option<&Map> {
        match self.reveal() {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the number of an integer, even a sensitive one.
    pub fn as_int(&self) -> Option<i64> {
        match self.reveal() {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the truth of a boolean, even a sensitive one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.reveal() {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Returns the value of a key, if this is a map that contains it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// Whether the value is null, even a sensitive null.
    pub fn is_null(&self) -> bool {
        matches!(self.reveal(), Self::Null)
    }

    /// Whether the value is true in Python: not null, false, zero or empty.
    pub fn is_truthy(&self) -> bool {
        match self.reveal() {
            Self::Null => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::External(external) => external.value.is_truthy(),
            Self::Big(_) | Self::Entity(_) | Self::Sensitive(_) | Self::Data(_) => true,
        }
    }

    /// Returns the type of the value in words, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Big(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Sensitive(_) => "a sensitive value",
            Self::Data(inner) => inner.kind(),
            Self::Entity(_) => "an instance",
            Self::External(_) => "an external value",
        }
    }
}

/// Equality as in Python, for example `1 == 1.0`. Marks do not matter.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self.reveal(), other.reveal()) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Big(a), Self::Big(b)) | (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Int(a), Self::Float(b)) | (Self::Float(b), Self::Int(a)) => {
                int_equals_float(*a, *b)
            }
            (Self::List(a), Self::List(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Map(a), Self::Map(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Entity(a), Self::Entity(b)) => a.handle == b.handle,
            (Self::External(a), Self::External(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::External(a), b) | (b, Self::External(a)) => a.value == *b,
            _ => false,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a float that large has no exact integer, and the others compare exactly"
)]
fn int_equals_float(int: i64, float: f64) -> bool {
    int as f64 == float
}

/// Formats the value as Python's `str()` does. Sensitive values are redacted.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Str(text) => f.write_str(text),
            Self::External(external) => Display::fmt(&external.value, f),
            Self::Data(inner) => Display::fmt(inner, f),
            other => write_repr(other, f),
        }
    }
}

impl Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write_repr(self, f)
    }
}

fn write_repr(value: &Value, f: &mut Formatter<'_>) -> std::fmt::Result {
    match value {
        Value::Null => f.write_str("None"),
        Value::Bool(true) => f.write_str("True"),
        Value::Bool(false) => f.write_str("False"),
        Value::Int(number) => write!(f, "{number}"),
        Value::Big(digits) => f.write_str(digits),
        Value::Float(number) => write_float(*number, f),
        Value::Str(text) => write_quoted(text, f),
        Value::List(items) => {
            f.write_str("[")?;
            for (place, item) in items.iter().enumerate() {
                f.write_str(if place == 0 { "" } else { ", " })?;
                write_repr(item, f)?;
            }
            f.write_str("]")
        }
        Value::Map(map) => {
            f.write_str("{")?;
            for (place, (key, item)) in map.iter().enumerate() {
                f.write_str(if place == 0 { "" } else { ", " })?;
                write_quoted(key, f)?;
                f.write_str(": ")?;
                write_repr(item, f)?;
            }
            f.write_str("}")
        }
        Value::Sensitive(_) => f.write_str(REDACTED),
        Value::Data(inner) => write_repr(inner, f),
        Value::Entity(entity) => write_reference(&entity.key, entity.outer.as_deref(), f),
        Value::External(external) => write_repr(&external.value, f),
    }
}

/// Writes a float as Python does, always with a point or an exponent.
fn write_float(number: f64, f: &mut Formatter<'_>) -> std::fmt::Result {
    if number.is_nan() {
        f.write_str("nan")
    } else if number.is_infinite() {
        f.write_str(if number > 0.0 { "inf" } else { "-inf" })
    } else {
        let magnitude = number.abs();
        if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
            let text = format!("{number:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            write!(f, "{mantissa}e{sign}{digits:0>2}")
        } else {
            write!(f, "{number:?}")
        }
    }
}

/// Writes a string as Python's `repr()` does.
fn write_quoted(text: &str, f: &mut Formatter<'_>) -> std::fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    write!(f, "{quote}")?;
    for character in text.chars() {
        match character {
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c == quote => write!(f, "\\{c}")?,
            c if (c as u32) < 0x20 || c as u32 == 0x7f => write!(f, "\\x{:02x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "{quote}")
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Str(text)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(Arc::new(list))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Serializes the value for machine-readable output: sensitive values are redacted, entities become null.
impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Entity(entity) => entity.expression().serialize(serializer),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Big(digits) => match digits.parse::<i128>() {
                Ok(number) => serializer.serialize_i128(number),
                Err(_) => serializer.serialize_str(digits),
            },
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Str(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items.iter()),
            Self::Map(map) => serializer.collect_map(map.iter().map(|(k, v)| (&**k, v))),
            Self::Sensitive(_) => serializer.serialize_str(REDACTED),
            Self::Data(inner) => inner.serialize(serializer),
            Self::External(external) => external.value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_set_only_where_there_is_a_value() {
        let mut map = Map::new();
        insert_some(&mut map, "a", Value::Int(1));
        insert_some(&mut map, "b", None);
        insert_some(&mut map, "c", Some(Value::Null));
        let keys: Vec<&str> = map.keys().map(|key| &**key).collect();
        assert_eq!(keys, ["a", "c"]);
    }

    #[test]
    fn an_entity_prints_as_in_unfurl_and_without_its_handle() {
        let text = |key: &str| Value::entity(Handle(7), key.into(), None).to_string();
        assert_eq!(text("::web"), "NodeInstance('web')");
        assert_eq!(text("::root"), "TopologyInstance('::root')");
        assert_eq!(
            text("::web::.artifacts::setup"),
            "ArtifactInstance('setup')"
        );
        assert_eq!(
            text("::web::.capabilities::[.name=host]"),
            "CapabilityInstance('::web::.capabilities::[.name=host]')"
        );
        let nested = Value::entity(Handle(7), "::db".into(), Some("app".into()));
        assert_eq!(
            Value::list([nested]).to_string(),
            "[NodeInstance('app:db')]"
        );
    }

    #[test]
    fn prints_as_python_does() {
        let value = Value::map([
            (
                "a",
                Value::list([Value::Null, true.into(), 1.into(), 1.0.into()]),
            ),
            ("it's", "x\n".into()),
            ("s", Value::str("hush").sensitive()),
        ]);
        assert_eq!(
            value.to_string(),
            r#"{'a': [None, True, 1, 1.0], "it's": 'x\n', 's': <<REDACTED>>}"#
        );
        assert_eq!(Value::from("plain").to_string(), "plain");
        assert_eq!(Value::from(1e16).to_string(), "1e+16");
        assert_eq!(Value::from(0.1).to_string(), "0.1");
    }

    #[test]
    fn a_sensitive_value_shows_in_no_way() {
        let secret = Value::map([("k", Value::str("hush").sensitive())]);
        let shown = [
            format!("{secret}"),
            format!("{secret:?}"),
            serde_json::to_string(&secret).unwrap(),
            format!("{:?}", secret.redacted()),
        ];
        assert!(shown.iter().all(|text| !text.contains("hush")), "{shown:?}");
    }
}
