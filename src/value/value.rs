//! The dynamic value.

use std::fmt::{Debug, Display, Formatter};
use std::sync::Arc;

/// What stands for a sensitive value wherever people or files could see it.
pub const REDACTED: &str = "<<REDACTED>>";

/// A map that keeps the order of its keys.
pub type Map = indexmap::IndexMap<Arc<str>, Value>;

/// Sets a key of a map, where there is a value.
pub fn insert_some(map: &mut Map, key: &str, value: impl Into<Option<Value>>) {
    if let Some(value) = value.into() {
        map.insert(key.into(), value);
    }
}

/// A list of values.
pub type List = Vec<Value>;

/// Stands for an entity of a topology: an instance, a capability, a relationship, an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u32);

/// A dynamic value. Clones are cheap: what is large is shared.
#[derive(Clone, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number that needs more than 64 bits, in decimal digits.
    Big(Arc<str>),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// A list.
    List(Arc<List>),
    /// A map.
    Map(Arc<Map>),
    /// A value nobody may see.
    Sensitive(Arc<Self>),
    /// An entity of the topology.
    Entity(Handle),
    /// Something outside.
    External(Arc<External>),
}

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

impl Value {
    /// Text as a value.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// A list as a value.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// A map as a value.
    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(Arc::new(
            entries.into_iter().map(|(k, v)| (k.into(), v)).collect(),
        ))
    }

    /// Marks the value as sensitive; once is enough.
    #[must_use]
    pub fn sensitive(self) -> Self {
        match self {
            Self::Sensitive(_) => self,
            other => Self::Sensitive(Arc::new(other)),
        }
    }

    /// The value, marked as sensitive if so asked.
    #[must_use]
    pub fn sensitive_if(self, sensitive: bool) -> Self {
        if sensitive { self.sensitive() } else { self }
    }

    /// The value under a mark of sensitivity, or the value itself.
    pub fn reveal(&self) -> &Self {
        match self {
            Self::Sensitive(inner) => inner.reveal(),
            other => other,
        }
    }

    /// Whether the value, or anything inside it, is sensitive.
    pub fn has_sensitive(&self) -> bool {
        match self {
            Self::Sensitive(_) => true,
            Self::List(items) => items.iter().any(Self::has_sensitive),
            Self::Map(map) => map.values().any(Self::has_sensitive),
            Self::External(external) => external.value.has_sensitive(),
            _ => false,
        }
    }

    /// The same value with everything sensitive replaced by [`REDACTED`].
    #[must_use]
    pub fn redacted(&self) -> Self {
        match self {
            Self::Sensitive(_) => Self::str(REDACTED),
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

    /// The same value with what it gives in place of each file, path and image outside.
    #[must_use]
    pub fn with_externals_resolved(&self) -> Self {
        match self {
            Self::External(external) if external.kind != ExternalKind::Other => {
                external.value.with_externals_resolved()
            }
            Self::Sensitive(inner) => inner.with_externals_resolved().sensitive(),
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

    /// The text of a string, sensitive or not.
    pub fn as_str(&self) -> Option<&str> {
        match self.reveal() {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list, sensitive or not.
    pub fn as_list(&self) -> Option<&List> {
        match self.reveal() {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a map, sensitive or not.
    pub fn as_map(&self) -> Option<&Map> {
        match self.reveal() {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// A whole number, sensitive or not.
    pub fn as_int(&self) -> Option<i64> {
        match self.reveal() {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// True or false, sensitive or not.
    pub fn as_bool(&self) -> Option<bool> {
        match self.reveal() {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self.reveal(), Self::Null)
    }

    /// Whether Python would take it as true: not null, false, zero or empty.
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
            Self::Big(_) | Self::Entity(_) | Self::Sensitive(_) => true,
        }
    }

    /// What kind of value it is, in words for messages.
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
            Self::Entity(_) => "an instance",
            Self::External(_) => "an external value",
        }
    }
}

/// Compares as Python does: `1 == 1.0`; marks of sensitivity do not count.
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
            (Self::Entity(a), Self::Entity(b)) => a == b,
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

/// Prints as Python's `str()` does, and never a sensitive value.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Str(text) => f.write_str(text),
            Self::External(external) => Display::fmt(&external.value, f),
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
        Value::Entity(handle) => write!(f, "<instance {}>", handle.0),
        Value::External(external) => write_repr(&external.value, f),
    }
}

/// Writes a float as Python does: always with a point or an exponent.
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

/// For answers to machines: sensitive values are redacted, entities become null.
impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null | Self::Entity(_) => serializer.serialize_unit(),
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
