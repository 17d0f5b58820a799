//! Text into a tree in which every node knows its origin; merge directives; patches that keep
//! every other byte; the canonical emitter. Reads no file: a `Loader` does.

mod node;

pub use node::{Entry, Kind, Mapping, Node};
