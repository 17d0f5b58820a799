//! Files that are written, and what files are like.

use std::fmt::{Debug, Formatter};

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::value::REDACTED;

/// A file that is written. What nobody may see of it is never serialized.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Write {
    /// Where.
    pub path: String,
    /// What it contains.
    pub bytes: Vec<u8>,
    /// What it is like; a file that is there keeps what is not given.
    pub like: Like,
    /// Whether nobody may see what it contains.
    pub secret: bool,
}

/// Permission bits and owners.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Like {
    /// The permission bits.
    pub mode: Option<u32>,
    /// The owner: a name or a number.
    pub user: Option<String>,
    /// The group: a name or a number.
    pub group: Option<String>,
}

impl Like {
    /// Whether nothing is asked.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

impl Serialize for Write {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: &[u8] = if self.secret { &[] } else { &self.bytes };
        let mut fields = serializer.serialize_struct("Write", 4)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("bytes", bytes)?;
        fields.serialize_field("like", &self.like)?;
        fields.serialize_field("secret", &self.secret)?;
        fields.end()
    }
}

impl Debug for Write {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Write");
        shown.field("path", &self.path);
        if self.secret {
            shown.field("bytes", &REDACTED);
        } else {
            shown.field("bytes", &String::from_utf8_lossy(&self.bytes));
        }
        shown.field("like", &self.like).finish_non_exhaustive()
    }
}
