//! Attacks by hostile projects, hosts, records and output. Each test is named after its rule in
//! `docs/security.md`.

mod canary;
mod canary_tools;
mod commands;
mod downloads;
mod expressions;
mod foreign_reads;
mod git_folders;
mod hostile_projects;
mod hostile_sftp;
mod hosts;
mod limits;
mod links;
mod other_areas;
mod passwords;
mod results;
mod secrets;
mod special_files;
mod strace;
mod terminal;
mod trust;
