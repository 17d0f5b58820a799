//! The state module `file`: files, folders and links, and what is in them.

mod append;
mod block;
mod contents;
mod copying;
mod edit;
mod folder;
mod functions;
mod kept;
mod keyvalue;
mod line;
mod link;
mod managed;
mod pattern;
mod place;
mod presence;
mod recurse;
mod serialize;
mod source;
mod text;
mod work;

pub(super) use functions::MODULE;
