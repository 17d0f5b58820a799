//! The driver and its loop, with a performer that starts no process.

mod drive;
mod driver;
mod fake;
mod local;
mod passwords;
