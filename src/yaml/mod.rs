//! YAML: a parser to a tree whose nodes know their positions, merge directives, an emitter of canonical
//! text, and patches that keep all other bytes. The entries are [`parse()`], [`expand()`], [`emit()`] and
//! [`apply`].
//!
//! This module reads no files; a [`Loader`] supplies included ones.

mod builder;
mod directive;
mod emit;
mod encrypted;
mod expand;
mod key_table;
mod loader;
mod mapping;
mod merge;
mod node;
mod parse;
mod patch;
mod quote;
mod route;
mod scalar;
mod schema;
mod sealed;
mod tag_reader;
mod tagged;
mod tree;
mod unindented_quotes;

pub use builder::Limits;
pub use emit::emit;
pub use encrypted::EncryptedScalar;
pub use expand::{Expanded, expand, expand_for_merging, without_strategies};
pub use key_table::{KeySpec, KeyTable, OtherKeys, Shape};
pub(crate) use key_table::{keys, tables};
pub use loader::{IncludeRequest, LoadResult, Loader, NoLoader};
pub use mapping::Mapping;
pub use merge::{diff, merge};
pub use node::{MapEntry, Node, NodeKind};
pub use parse::{parse, parse_as, parse_text};
pub use patch::{PatchError, apply};
pub use route::{Patch, PatchOp, Route, RouteStep};
pub use schema::Schema;
pub use sealed::{EncryptedPlace, TagWriter, seal, seal_or_keep};
pub use tag_reader::{TagError, TagReader};
pub use tagged::{TaggedText, apply_tagged, tagged_nodes, value_start};

#[cfg(test)]
mod parse_tests;
