//! The `pkg` module: packages through apt (P15, P17).

mod aggregate;
mod desired;
mod functions;
mod hold;
mod install;
mod package_database;
mod remove;
mod source;
mod version;

pub(super) use functions::MODULE;
pub(super) use source::download_command;
