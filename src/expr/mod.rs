//! Lazy expressions: parse, evaluate, track what was read.
//!
//! An evaluation sees a topology through [`Scope`] and this machine through [`LocalContext`]: it
//! starts no process, opens no connection and writes no file. An [`Effect`] that it needs is data,
//! which the port [`Effects`] performs; its [`Answer`] is used at once.

#[cfg(test)]
mod bombs;
mod context;
mod deep;
mod each;
#[cfg(test)]
mod effects;
mod encoding;
mod error;
mod evaluator;
#[cfg(test)]
mod fixture;
mod form;
mod functions;
mod item;
mod jinja;
mod lookup_options;
mod memo;
mod path;
mod ports;
mod reads;
mod scope;
mod sealed;
mod tracker;
mod walk;

pub use context::{Context, Inputs, Var, Vars};
pub use error::{Error, Site};
pub use evaluator::Evaluator;
pub use form::{is_stand_alone, is_template};
pub use functions::{admits, port_spec};
pub use jinja::{Document, Documents, Flaw, Library, python_literal, yaml_text};
pub use memo::Memo;
pub use ports::{
    Answer, Clock, Effect, EffectError, Effects, Env, LocalContext, NullScope, NullWorld, Place,
    Random, ReadError, ReadFiles, Still, World, Yaml, YamlError,
};
pub use reads::{Read, Reads};
pub use scope::{Attribute, Scope};
