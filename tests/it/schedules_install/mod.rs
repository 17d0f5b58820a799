//! `unfurl schedule install`: timers of systemd, and a crontab.

mod cron;
mod systemd;
