//! What may stand in a map: tables that readers check keys with, and from which the schemas for
//! editors are made.

/// The keys of one kind of map.
#[derive(Debug)]
pub struct KeyTable {
    /// What the map describes, in one or two words; unique among the tables of a file.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// The keys it knows.
    pub keys: &'static [KeySpec],
    /// Keys that must be there.
    pub required: &'static [&'static str],
    /// What becomes of other keys.
    pub rest: OtherKeys,
}

/// A key of a map.
#[derive(Debug)]
pub struct KeySpec {
    /// The key.
    pub name: &'static str,
    /// What stands under it.
    pub shape: Shape,
    /// What it is for.
    pub about: &'static str,
}

/// What becomes of keys that a table does not list.
#[derive(Debug)]
pub enum OtherKeys {
    /// They are refused.
    Refused,
    /// They are taken as they are, or with a warning.
    Open,
    /// They are names, and this stands under each.
    Each(Shape),
}

/// What stands under a key. Nothing at all may stand under each of them.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Anything.
    Any,
    /// A text.
    Text,
    /// A text, a number, or true or false.
    Scalar,
    /// True or false.
    Flag,
    /// A map with any keys.
    Map,
    /// A list of anything.
    List,
    /// A name or a list of names.
    Names,
    /// One of some words.
    Words(&'static [&'static str]),
    /// A map with the keys of a table.
    Of(&'static KeyTable),
    /// A text in short, or a map with the keys of a table.
    TextOr(&'static KeyTable),
    /// A map of names, each with a map with the keys of a table.
    MapOf(&'static KeyTable),
    /// A map of names, each with a text in short or a map with the keys of a table.
    MapOfTextOr(&'static KeyTable),
    /// A list of maps with the keys of a table.
    ListOf(&'static KeyTable),
    /// A list of texts, or of maps with the keys of a table, or of either with a name.
    Imports(&'static KeyTable),
    /// A list of texts in short, or of maps with the keys of a table; or one text.
    Steps(&'static KeyTable),
    /// A list of names, each with a text in short or a map with the keys of a table; or a map of
    /// them.
    Named(&'static KeyTable),
}

impl KeyTable {
    /// Whether it lists a key.
    pub fn has_key(&self, name: &str) -> bool {
        self.key(name).is_some()
    }

    /// What it says of a key.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of its keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

/// The rows of a table as an array of keys: `"name" Shape, "purpose";` for each.
macro_rules! keys {
    ($($key:literal $shape:expr, $about:literal;)*) => {
        [$($crate::yaml::KeySpec { name: $key, shape: $shape, about: $about }),*]
    };
}

/// Declares tables: `closed` refuses other keys, `open` takes them, and `each(shape)` takes them as
/// names of such a shape. Keys that must be there follow `needs`.
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
