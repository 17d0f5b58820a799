//! The state module `file`: files, folders and links, and what is in them.

mod accumulated;
mod append;
mod block;
mod comment;
mod contents;
mod copying;
mod edit;
mod fetch;
mod folder;
mod functions;
mod json;
mod kept;
mod keyvalue;
mod line;
mod link;
mod managed;
mod pattern;
mod place;
mod presence;
mod recurse;
mod replace;
mod serialize;
mod source;
mod text;
mod work;

pub(super) use functions::MODULE;
