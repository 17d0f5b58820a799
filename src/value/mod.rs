//! Dynamic values: what YAML holds and what expressions give, sensitive values among them, and
//! the digests of values.

mod digest;
mod duration;
mod percent;
mod secret;
pub mod units;
mod value;

pub use digest::{Absorb, Canonical, canonical_sha256, hex, upstream_digest, upstream_json};
pub use duration::{DurationError, seconds};
pub use percent::decode_percent;
pub use secret::{secret_lines, without_secrets};
pub use value::{External, ExternalKind, Handle, List, Map, REDACTED, Value};
