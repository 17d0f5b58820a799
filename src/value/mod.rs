//! Dynamic values of YAML and of expressions, including sensitive ones; digests of values; redaction of
//! secrets; and rules for environments. Most modules use [`Value`].
//!
//! [`Fold`] is the hasher for tables with short keys. Its random seed prevents planned collisions.

mod digest;
mod duration;
mod entity;
mod env_rules;
mod json;
pub mod limits;
mod marks;
mod percent_encoding;
mod plain_scalar;
mod redaction;
pub mod units;
mod upstream_form;
mod value;

pub use foldhash::fast::RandomState as Fold;
pub use foldhash::{HashMap as FoldMap, HashSet as FoldSet};

pub use digest::{
    Absorb, CanonicalWriter, canonical_sha256, hex, hex_digest, matches_unfurl_digest, name_uuid,
    unfurl_digest, unfurl_json,
};
pub use duration::seconds;
pub use env_rules::{EnvRuleOptions, filter_env, replace_variables};
pub use marks::Marks;
pub use percent_encoding::{decode_percent, encode_percent};
pub use redaction::{Redactor, Secrets, set_existing_names};
pub use upstream_form::with_yaml_1_1_booleans;
pub use value::{
    External, ExternalKind, HIDDEN_OUTPUT, Handle, List, Map, REDACTED, Value, insert_some,
};
