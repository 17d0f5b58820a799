//! Inventories: hosts with their data, in groups, from files or from an ensemble (F8 to F12).
//!
//! The formats are recognized by name and content: Ansible's INI, YAML and TOML inventories, read as Ansible reads them,
//! the JSON that inventory programs print, and Unfurl's own YAML format:
//!
//! ```yaml
//! data: {domain: example.com}         # data of all hosts
//! hosts:
//!   db1: {host: 10.0.0.5, user: ops, port: 2222, key: ~/.ssh/ops}
//!   web[01:20]:                       # a range: web01 to web20
//!   here: {connection: local}
//!   box: {connection: podman, become: {user: app}}
//! groups:
//!   db: [db1]                         # a list of hosts, which may have ranges
//!   web:
//!     hosts: [web[01:20]]
//!     user: deploy                    # as for a host, which takes precedence
//!     data: {http_port: 80}
//!   site: {children: [web, db]}
//!   live: {command: ./live-hosts.sh}  # run when the role is used; prints a host string per line
//!   ready: {expression: ".::.instances[state=5]"}
//! ```
//!
//! A host or group of this format has the keys `host`, `user`, `port`, `key` (one file or a list),
//! `password`, `connection` (`ssh`, `local`, `docker`, `podman`), `jump` (a host string or a list),
//! `proxy_command`, `become` (`true`, or `user`, `method` and `password`) and `data`. Each key but
//! `data` is stored as the equivalent Ansible variable, so that one precedence rule applies: all
//! hosts, then parent groups, then groups, then the host; later ones win. Files below `group_vars/`
//! come after all groups, and files below `host_vars/` last.

mod ansible_ini;
mod ansible_yaml;
mod error;
mod host_access;
mod host_pattern;
mod inventory_reader;
mod model;
mod program;
mod program_output;
mod range;
mod read;
mod roles;
mod toml_text;
mod unfurl_yaml;
mod vars_files;

pub use error::HostAccessError;
#[cfg(test)]
pub use host_access::HostAccess;
pub use host_access::{ConnectionMethod, Escalation, has_proxy_command, refuse_proxy_command};
pub use host_pattern::HostPatternError;
pub use inventory_reader::InventoryReader;
pub use model::{Inventory, is_secret_variable};
pub use program::PERMISSION as PROGRAM_PERMISSION;
pub use read::InventoryFormat;
pub use roles::InventoryRole;

#[cfg(test)]
mod tests;
