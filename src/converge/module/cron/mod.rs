//! The `cron` module: jobs and variables of crontabs, in Salt's format (P28).

mod crontab;
mod desired;
mod file;
mod functions;
mod job;
mod table;
mod variable;

pub(super) use functions::MODULE;
