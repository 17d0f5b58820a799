//! The state module `archive`: unpacks tar and zip archives (OP14).
//!
//! `extracted` decides the state; `unpack` builds the shell commands and parses their listings.

mod extracted;
mod unpack;

pub(super) use extracted::MODULE;
