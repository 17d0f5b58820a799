//! The state module `file`: files, folders and links, and what is in them.

mod append;
mod block;
mod contents;
mod copy;
mod edit;
mod directory;
mod functions;
mod cleanup;
mod keyvalue;
mod line;
mod link;
mod managed;
mod pattern;
mod desired_file;
mod presence;
mod recurse;
mod serialize;
mod source;
mod text_diff;
mod plan;

pub(super) use functions::MODULE;
