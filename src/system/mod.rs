//! The door to this machine: files, processes, environment, clock. Decides nothing.

pub mod archive;
pub mod clock;
pub mod env;
pub mod fault;
pub mod fs;
pub mod http;
pub mod lockfile;
pub mod machine;
pub mod process;
pub mod random;
pub mod signals;
pub mod survivors;
pub mod terminal;
pub mod user;
