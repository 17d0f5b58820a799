//! The state module `cron`: jobs and variables of crontabs, in Salt's format (OP28).
//!
//! `crontab` reads and writes the table, `desired` is the job of a state, `states` decides.

mod crontab;
mod desired;
mod states;

pub(super) use states::MODULE;
