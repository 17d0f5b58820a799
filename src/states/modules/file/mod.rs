//! The state module `file`: files, folders, links and their content.
//!
//! `functions` lists the state functions, most of which have a file of their own. `plan` has the shared
//! helpers, `desired_file` writes a whole file, and `edit` changes the text of an existing one.

mod append;
mod block;
mod cached;
mod cleanup;
mod content_check;
mod contents;
mod copy;
mod decode;
mod desired_file;
mod directory;
mod edit;
mod file_flags;
mod file_pattern;
mod functions;
mod keyvalue;
mod line;
mod link;
mod managed;
mod node;
mod patch;
mod pattern;
mod plan;
mod presence;
mod recurse;
mod retention;
mod serialize;
mod signature;
mod source;
mod source_hash;
mod text_diff;
mod tidied;

pub(super) use functions::MODULE;
pub(super) use pattern::{Flags, compile};
pub(in crate::states) use plan::normalize_path;
pub(super) use signature::SignatureCheck;
pub(super) use source::{
    Checksum, SelectedSource, contains_secrets, read_source, render_source, template_context,
};
pub(super) use source_hash::expected_checksum;
