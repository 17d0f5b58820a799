//! Lazy expressions: parse, evaluate, track what was read.
//!
//! An evaluation sees a topology through [`Scope`] and this machine through [`LocalContext`]: it
//! starts no process, opens no connection and writes no file. An [`Effect`] that it needs is data,
//! which the port [`Effects`] performs; its [`Answer`] is used at once.

#[cfg(test)]
mod limit_tests;
mod context;
mod resolve;
mod loops;
#[cfg(test)]
mod effect_tests;
mod encoding;
mod error;
mod evaluator;
#[cfg(test)]
mod fixture;
mod syntax;
mod functions;
mod lazy;
mod template;
mod lookup_options;
mod memo;
mod path;
mod ports;
mod reads;
mod scope;
mod sandbox;
mod tracker;
mod path_eval;

pub use context::{Context, Inputs, Var, Vars};
pub use error::{Error, Site};
pub use evaluator::Evaluator;
pub use syntax::{is_stand_alone, is_template};
pub use functions::{admits, port_spec};
pub use template::{RenderedDocument, DocumentRenderer, DocumentError, TemplateLibrary, python_literal, pyyaml_text};
pub use memo::Memo;
pub use ports::{
    EffectOutput, Clock, Effect, EffectError, Effects, ReadEnvironment, LocalContext, NullScope, NullContext, DirectoryOwner,
    Random, ReadError, ReadFiles, FixedSources, SystemContext, Yaml, YamlError,
};
pub use reads::{Read, Reads};
pub use scope::{Attribute, Scope};
