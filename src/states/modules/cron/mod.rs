//! The `cron` module: jobs and variables of crontabs, in Salt's format (P28).

mod crontab;
mod desired;
mod states;

pub(super) use states::MODULE;
