//! Hosts with their data, and groups of them, from files or from an ensemble (spec/hosts.md F8 to
//! F12).
//!
//! Three kinds of files are told apart by what is in them: Ansible's INI and YAML inventories, read
//! as Ansible reads them, and a form of our own in YAML:
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
//!     user: deploy                    # as for a host; a host's own goes before it
//!     data: {http_port: 80}
//!   site: {children: [web, db]}
//!   live: {command: ./live-hosts.sh}  # run when the role is used: a host string in each line
//!   ready: {expression: ".::.instances[state=5]"}
//! ```
//!
//! What hosts and groups of this form may say: `host`, `user`, `port`, `key` (one file or a list),
//! `password`, `connection` (`ssh`, `local`, `docker`, `podman`), `jump` (a host string or a list),
//! `proxy_command`, `become` (`true`, or `user`, `method` and `password`) and `data`. Each but
//! `data` is kept as the variable of Ansible that says the same, so that there is one rule for what
//! goes before what: all hosts, then parent groups, then groups, then the host.

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
pub use host_access::ConnectionMethod;
#[cfg(test)]
pub use host_access::HostAccess;
pub use model::Inventory;
pub use read::NoVault;
pub use roles::InventoryRole;

#[cfg(test)]
mod tests;
