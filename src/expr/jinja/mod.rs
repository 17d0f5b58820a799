//! Jinja2 templates with native types, in the dialect of Ansible.

mod bridge;
mod checks;
mod collections;
mod engine;
mod filters;
mod header;
mod layout;
mod literal;
mod lookup;
mod object;
mod paths;
mod serial;

mod text;
mod variables;

pub use text::quote_for_shell;
