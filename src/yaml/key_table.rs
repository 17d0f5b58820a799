//! Tables of the keys that a map may contain. Readers check keys with a [`KeyTable`], and the JSON schemas
//! for editors are generated from the same tables.

/// The keys of one kind of map.
#[derive(Debug)]
pub struct KeyTable {
    /// The kind of the map, in one or two words; unique among the tables of a file.
    pub name: &'static str,
    /// The purpose of the map, for schemas and messages.
    pub about: &'static str,
    pub keys: &'static [KeySpec],
    /// The names of the keys that must be present.
    pub required: &'static [&'static str],
    /// The treatment of keys that the table does not list.
    pub rest: OtherKeys,
}

/// A key of a map, with the shape of its value.
#[derive(Debug)]
pub struct KeySpec {
    pub name: &'static str,
    /// The shape that the value must have.
    pub shape: Shape,
    /// The purpose of the key, for schemas.
    pub about: &'static str,
}

/// The treatment of keys that a table does not list.
#[derive(Debug)]
pub enum OtherKeys {
    /// Other keys are reported as errors.
    Refused,
    /// Other keys are accepted, possibly with a warning.
    Open,
    /// Other keys are names, and their values have this shape.
    Each(Shape),
}

/// The shape of the value of a key. Each shape also allows a missing value (null).
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Any,
    Text,
    /// A text, a number or a boolean.
    Scalar,
    Flag,
    Map,
    List,
    /// A name or a list of names.
    Names,
    Words(&'static [&'static str]),
    /// A map with the keys of a table.
    Of(&'static KeyTable),
    /// A text as short form, or a map with the keys of a table.
    TextOr(&'static KeyTable),
    /// A map from names to maps with the keys of a table.
    MapOf(&'static KeyTable),
    /// A map from names to short texts or maps with the keys of a table.
    MapOfTextOr(&'static KeyTable),
    /// A list of maps with the keys of a table.
    ListOf(&'static KeyTable),
    /// A list of imports: texts, maps with the keys of a table, or maps from a name to either.
    Imports(&'static KeyTable),
    /// A list of steps: short texts or maps with the keys of a table; or a single text.
    Steps(&'static KeyTable),
    /// A list or map of names, each with a short text or a map with the keys of a table.
    Named(&'static KeyTable),
}

impl KeyTable {
    /// Whether the table lists a key.
    pub fn has_key(&self, name: &str) -> bool {
        self.key(name).is_some()
    }

    /// Returns the entry of a key, if the table lists it.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns the names of the listed keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

/// Converts rows of the form `"name" Shape, "purpose";` to an array of `KeySpec`.
macro_rules! keys {
    ($($key:literal $shape:expr, $about:literal;)*) => {
        [$($crate::yaml::KeySpec { name: $key, shape: $shape, about: $about }),*]
    };
}

/// Declares key tables.
///
/// `closed` rejects other keys, `open` accepts them, and `each(shape)` accepts them as names whose values
/// have the shape. The required keys follow `needs`.
macro_rules! tables {
    (@rest closed) => { $crate::yaml::OtherKeys::Refused };
    (@rest open) => { $crate::yaml::OtherKeys::Open };
    (@rest each $shape:expr) => { $crate::yaml::OtherKeys::Each($shape) };
    ($(
        $vis:vis $name:ident $rest:ident $(($each:expr))? $title:literal $about:literal
        $(needs [$($required:literal),*])? { $($rows:tt)* }
    )*) => {
        $(
            #[doc = $about]
            $vis static $name: $crate::yaml::KeyTable = $crate::yaml::KeyTable {
                name: $title,
                about: $about,
                keys: &$crate::yaml::keys! { $($rows)* },
                required: &[$($($required),*)?],
                rest: $crate::yaml::tables!(@rest $rest $($each)?),
            };
        )*
    };
}

pub(crate) use {keys, tables};

#[cfg(test)]
mod tests {
    use super::{OtherKeys, Shape};

    tables! {
        CLOSED closed "closed" "A table that refuses other keys" needs ["a"] {
            "a" Shape::Text, "The first key";
            "b" Shape::Of(&OPEN), "The second key";
        }
        OPEN open "open" "A table that takes other keys" {}
        EACH each(Shape::Flag) "each" "A table whose other keys are names" {}
    }

    #[test]
    fn a_table_keeps_its_rows_in_their_order() {
        assert_eq!(CLOSED.name, "closed");
        assert_eq!(CLOSED.about, "A table that refuses other keys");
        assert_eq!(CLOSED.required, ["a"]);
        assert_eq!(CLOSED.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(CLOSED.key("b").map(|key| key.about), Some("The second key"));
        assert!(OPEN.keys.is_empty() && OPEN.required.is_empty());
    }

    #[test]
    fn a_table_says_what_becomes_of_other_keys() {
        assert!(matches!(CLOSED.rest, OtherKeys::Refused));
        assert!(matches!(OPEN.rest, OtherKeys::Open));
        assert!(matches!(EACH.rest, OtherKeys::Each(Shape::Flag)));
    }
}
