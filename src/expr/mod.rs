//! Lazy expressions: parsing, evaluation, and tracking of reads. [`Evaluator`] is the entry type.
//!
//! An evaluation sees a topology through [`Scope`] and this machine through [`LocalContext`]: it starts no
//! process, opens no connection and writes no file. When an expression needs the output of an [`Effect`], such
//! as that of a program, the port [`Effects`] performs it, if the user allowed that, and returns its
//! [`EffectOutput`]. Changes of files are only requested: [`RequestedWrites`] go with the [`Reads`] of an
//! evaluation, and the job engine performs them while the task runs.

mod budget;
mod context;
#[cfg(test)]
mod data_tests;
mod document_value;
mod effect;
#[cfg(test)]
mod effect_tests;
mod encoding;
mod error;
mod evaluator;
mod facts;
#[cfg(test)]
mod fixture;
mod functions;
mod lazy;
#[cfg(test)]
mod limit_tests;
mod lookup_options;
mod loops;
mod memo;
mod path;
mod path_eval;
mod ports;
mod reads;
mod requested_writes;
mod resolve;
mod sandbox;
mod scope;
mod syntax;
mod template;
mod tracker;

pub use budget::EvaluationWatch;
pub use context::{Context, DeferredValue, Inputs, Var, Vars};
pub use effect::{Effect, EffectOutput};
pub use error::{Error, Site};
pub use evaluator::Evaluator;
pub use facts::{
    Fact, MemberRead, facts, filter_hint, function_hint, part_hint, raw_template_facts, test_hint,
};
pub use functions::{matches_schema, port_spec};
pub use memo::Memo;
pub use ports::{
    Clock, DirectoryOwner, EffectError, Effects, FileContent, FixedSources, LocalContext,
    NullContext, NullScope, Random, RandomError, ReadEnvironment, ReadError, ReadFiles,
    SECRETS_PERMISSION, SecretError, SecretRequest, SystemContext, VaultPassword, Yaml, YamlError,
};
pub use reads::{Read, Reads};
pub use requested_writes::RequestedWrites;
pub use scope::{Attribute, Scope};
pub use syntax::{is_expression, is_stand_alone, is_template, needs_evaluation};
pub use template::{
    DOCUMENT_FILTERS, DocumentError, DocumentRenderer, MersenneTwister, RenderedDocument,
    TemplateLibrary, python_literal, pyyaml_text, pyyaml_text_in_order, template_folder, tpldir,
};
