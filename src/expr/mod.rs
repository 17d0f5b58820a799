//! Lazy expressions: parse, evaluate, track what was read.
//!
//! Sees a topology through [`Scope`] and this machine through [`World`]; starts no process and
//! opens no connection.

mod context;
mod error;
mod evaluator;
mod memo;
mod reads;
mod scope;
mod world;

pub use context::{Context, Inputs, Var, Vars};
pub use error::Error;
pub use evaluator::Evaluator;
pub use memo::Memo;
pub use reads::{Read, Reads};
pub use scope::{Attribute, Scope};
pub use world::{Place, World};
