//! Jinja2 templates with native types, in the dialect of Ansible. `engine` renders the templates of
//! expressions, `document` renders text documents for the module `states`; the other files hold filters,
//! tests, lookups and conversions.

mod arguments;
mod builtin;
mod collections;
mod combinatorics;
mod conversion;
mod cycler;
mod dates;
mod delimiters;
#[cfg(test)]
mod dialect_tests;
mod document;
mod document_filters;
mod document_functions;
mod engine;
mod engine_panic;
mod error;
mod header;
mod imports;
mod inserted_names;
mod key_order;
mod lazy_object;
mod limits;
mod lookup;
mod lookup_files;
mod lookup_lists;
mod mersenne_twister;
mod mutable;
mod operators;
mod ordered_maps;
mod parted;
mod parts;
mod paths;
mod percent_format;
mod preprocess;
mod python_literal;
mod python_methods;
mod python_text;
mod pyyaml_dump;
mod regexes;
mod registry;
mod remainder;
mod serialization;
pub(super) mod static_template;
mod test_functions;
mod text;
mod text_layout;
mod undefined;
mod variables;
mod variadic;
mod vault;

pub use document::{DocumentError, DocumentRenderer, RenderedDocument, TemplateLibrary};
pub use document_filters::DOCUMENT_FILTERS;
pub use imports::{template_folder, tpldir};
pub use mersenne_twister::MersenneTwister;
pub(super) use parts::{Document, Part};
pub(super) use python_literal::native as native_literal;
pub use python_literal::python_literal;
pub use pyyaml_dump::{pyyaml_text, pyyaml_text_in_order};
