//! Dynamic values: those of YAML and of expressions, sensitive values among them, the digests of
//! values, and the rules that make one environment of another. Beside them stand tables for short
//! keys: [`Fold`] is a fast hasher whose seed keeps collisions from being planned.

mod digest;
mod duration;
mod env_rules;
mod json;
mod percent_encoding;
mod secret;
pub mod units;
mod value;

pub use foldhash::fast::RandomState as Fold;
pub use foldhash::{HashMap as FoldMap, HashSet as FoldSet};

pub use digest::{Absorb, CanonicalWriter, canonical_sha256, hex, upstream_digest, upstream_json};
pub use duration::seconds;
pub use env_rules::{EnvRuleOptions, filter_env};
pub use percent_encoding::{decode_percent, encode_percent};
pub use secret::{Redactor, Secrets};
pub use value::{External, ExternalKind, Handle, List, Map, REDACTED, Value, insert_some};
