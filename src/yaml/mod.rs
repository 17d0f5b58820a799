//! Text into a tree in which every node knows its origin; merge directives; patches that keep
//! every other byte; the canonical emitter. Reads no file: a [`Loader`] does.

mod build;
mod directive;
mod emit;
mod expand;
mod loader;
mod mapping;
mod merge;
mod node;
mod outdent;
mod parse;
mod patch;
mod quote;
mod route;
mod scalar;
mod schema;
mod shape;
mod tags;
mod tree;

pub use build::Limits;
pub use emit::emit;
pub use expand::{Expanded, expand};
pub use loader::{IncludeRequest, Loaded, Loader, NoLoader};
pub use mapping::Mapping;
pub use merge::{diff, merge};
pub use node::{Entry, Kind, Node};
pub use parse::{parse, parse_as, parse_text};
pub use patch::{PatchError, apply};
pub use route::{Op, Patch, Route, Step};
pub use schema::Schema;
pub use shape::{Key, Rest, Shape, Table};
pub(crate) use shape::{keys, tables};
pub use tags::TagReader;

#[cfg(test)]
mod parse_tests;
