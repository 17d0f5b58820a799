//! The state module `pkg`: packages through apt and dpkg (OP15, OP17).
//!
//! `package_database` reads what is installed and available; `desired` parses the arguments; `install`,
//! `remove`, `hold` and `source` decide the states. Other package managers are not supported.

mod aggregate;
mod desired;
mod download;
mod functions;
mod hold;
mod install;
mod package_database;
mod remove;
mod source;
mod version;

pub(super) use functions::MODULE;
pub(super) use source::download_command;
pub(in crate::states) use version::compare as compare_versions;
