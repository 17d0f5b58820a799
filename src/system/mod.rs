//! Access to the operating system: files, processes, environment, clock, signals and network. Contains no
//! decisions about jobs.
//!
//! Other modules do not use `std::fs`, `std::process` and the like directly (a clippy rule forbids it).

pub mod archive;
pub mod clock;
pub mod console;
pub mod env;
pub mod fault;
pub mod fs;
pub mod http;
pub mod limit_hints;
pub mod lockfile;
pub mod machine;
pub mod memory;
pub mod network;
pub mod private_root;
pub mod process;
pub mod process_identity;
pub mod random;
pub mod signals;
pub mod survivors;
pub mod terminal;
pub mod user;
