//! Tests of the driver and its loop with a fake runner, and of the local runner.

mod drive;
mod driver;
mod fake;
mod local;
mod passwords;
