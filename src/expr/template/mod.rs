//! Jinja2 templates with native types, in the dialect of Ansible.

mod arguments;
mod conversion;
mod test_functions;
mod collections;
mod combinatorics;
mod dates;
mod document;
mod pyyaml_dump;
mod engine;
mod error;
mod registry;
mod header;
mod text_layout;
mod limits;
mod python_literal;
mod lookup;
mod lookup_files;
mod lookup_lists;
mod python_methods;
mod lazy_object;
mod mutable;
mod paths;
mod percent_format;
mod regexes;
mod serialization;
mod preprocess;
mod text;
mod mersenne_twister;
mod variables;

pub use document::{RenderedDocument, DocumentRenderer, DocumentError, TemplateLibrary};
pub use pyyaml_dump::pyyaml_text;
pub use python_literal::python_literal;
