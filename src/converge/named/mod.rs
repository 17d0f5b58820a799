//! Facts that people ask for by name, as pyinfra names them (P.10): what is read for each, and what
//! is made of it.

mod fact;
mod files;
mod hardware;
mod host;
mod packages;
mod people;
mod system;
mod table;

pub use fact::{Asked, NameError};
pub use table::{all, find};
