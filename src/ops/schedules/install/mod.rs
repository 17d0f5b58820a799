//! Lets cron or systemd run the schedules of a project: writes a block of the user's crontab, or units.

mod cron;
mod install_files;
mod installation;
mod machine_zone;
mod systemd;

pub use install_files::{install, uninstall};
pub use installation::{FileChange, FileState, InstallRequest, InstallTarget, Installation};
