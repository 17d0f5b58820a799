//! Inventories: hosts with their data, in groups, from files or from an ensemble (F8 to F12).
//!
//! Three file formats are recognized by their content: Ansible's INI and YAML inventories, read as
//! Ansible reads them, and Unfurl's own YAML format:
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
//! hosts, then parent groups, then groups, then the host; later ones win.

mod ansible_ini;
mod ansible_yaml;
mod error;
mod host_access;
mod model;
mod range;
mod read;
mod roles;
mod unfurl_yaml;

pub use error::HostAccessError;
#[cfg(test)]
pub use host_access::HostAccess;
pub use host_access::{ConnectionMethod, has_proxy_command, refuse_proxy_command};
pub use model::Inventory;
pub use roles::InventoryRole;

#[cfg(test)]
mod tests;
