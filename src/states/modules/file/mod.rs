//! The state module `file`: files, folders and links, and what is in them.

mod append;
mod block;
mod cleanup;
mod contents;
mod copy;
mod desired_file;
mod directory;
mod edit;
mod functions;
mod keyvalue;
mod line;
mod link;
mod managed;
mod pattern;
mod plan;
mod presence;
mod recurse;
mod serialize;
mod source;
mod text_diff;

pub(super) use functions::MODULE;
