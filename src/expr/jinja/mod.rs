//! Jinja2 templates with native types, in the dialect of Ansible.

mod arguments;
mod bridge;
mod checks;
mod collections;
mod combinatorics;
mod dates;
mod document;
mod dump;
mod engine;
mod error;
mod filters;
mod header;
mod layout;
mod limits;
mod literal;
mod lookup;
mod lookup_files;
mod lookup_lists;
mod methods;
mod object;
mod own;
mod paths;
mod percent;
mod regexes;
mod serial;
mod source;
mod text;
mod twister;
mod variables;

pub use document::{Document, Documents, Flaw, Library};
pub use dump::yaml_text;
pub use literal::python_literal;
