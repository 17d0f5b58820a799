//! Finds the SSH destinations of instances: implements the port `HostLocator` of jobs.
//!
//! An endpoint of the model names address, user and key; `ssh_config` supplies the rest.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::fleet_hosts::locate_host_string;
use crate::host::resolver::{HostTarget, LocationResolver, LoginOptions};
use crate::host::ssh_config::{LocalUser, SshConfig, SshConfigFiles};
use crate::host::{Address, DEFAULT_PORT, Destination, Location, LocationError};
use crate::system::env::{Env, temporary_dir};
use crate::system::fs;
use crate::topology::Endpoint;

/// Converts endpoints of the model to SSH destinations.
///
/// Values that an endpoint leaves out come from `ssh_config`.
#[derive(Debug)]
pub(crate) struct EndpointLocator {
    environment: Env,
    base: PathBuf,
    /// Created when the first endpoint is located.
    resolver: OnceCell<Result<Rc<LocationResolver>, LocationError>>,
    /// A temporary folder for host keys that the model states. Removed on drop.
    known_hosts_folder: PathBuf,
    is_offline: bool,
}

impl EndpointLocator {
    /// Creates a locator for connections from this machine.
    ///
    /// Relative paths of key files are below `base`.
    pub(crate) fn new(environment: Env, base: PathBuf) -> Self {
        let name = format!("unfurl-{}", ulid::Ulid::generate());
        Self {
            environment,
            base,
            resolver: OnceCell::new(),
            known_hosts_folder: temporary_dir().join(name),
            is_offline: false,
        }
    }

    /// Makes the locator run no command of `ssh_config` and look up no name.
    #[must_use]
    pub(crate) fn offline(mut self) -> Self {
        self.is_offline = true;
        self
    }

    /// Returns the destination of an endpoint without its host key and passphrase. Writes nothing.
    pub(crate) fn destination(&self, endpoint: &Endpoint) -> Result<Destination, LocationError> {
        let target = self.target(endpoint)?;
        let Location::Ssh(destination) = self.resolver_or_read()?.locate_target(&target)? else {
            return Err(LocationError::NotSsh);
        };
        Ok(Destination::clone(&destination))
    }

    fn resolver_or_read(&self) -> Result<&Rc<LocationResolver>, LocationError> {
        let read = || {
            let local = LocalUser::of_this_process(self.environment.clone());
            let config = SshConfig::read(&SshConfigFiles::Default, &local)?;
            let resolver = LocationResolver::new(config, LoginOptions::default(), local);
            Ok(Rc::new(if self.is_offline {
                resolver.offline()
            } else {
                resolver
            }))
        };
        self.resolver
            .get_or_init(read)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Writes a `known_hosts` file with the host key from the model and returns its path.
    ///
    /// The connection then accepts only this key.
    fn write_known_hosts(&self, key: &str, address: &Address) -> Result<PathBuf, LocationError> {
        let host = match address.port {
            DEFAULT_PORT => address.host.clone(),
            port => format!("[{}]:{port}", address.host),
        };
        let keys = key.lines().map(str::trim).filter(|key| !key.is_empty());
        let lines: Vec<String> = keys.map(|key| format!("{host} {key}\n")).collect();
        fs::create_dir_all(&self.known_hosts_folder)?;
        let file = self
            .known_hosts_folder
            .join(crate::value::hex(host.as_bytes()));
        fs::write_atomic(&file, lines.concat().as_bytes(), Some(0o600))?;
        Ok(file)
    }

    fn target(&self, endpoint: &Endpoint) -> Result<HostTarget, LocationError> {
        let text = endpoint.host.as_deref().unwrap_or(&endpoint.name);
        let parsed = HostTarget::parse(text)?;
        let key_file = endpoint.key_file.as_ref().map(|path| {
            if path.starts_with("~/") {
                path.clone()
            } else {
                self.base.join(path).to_string_lossy().into_owned()
            }
        });
        // The endpoint type has the default port as its default value, so that port does not count
        // as stated.
        let port = endpoint.port.filter(|port| *port != DEFAULT_PORT);
        Ok(HostTarget {
            name: endpoint.name.clone(),
            user: endpoint.user.clone().or(parsed.user),
            port: parsed.port.or(port),
            identity_files: key_file.into_iter().collect(),
            password: endpoint.password.clone(),
            ..parsed
        })
    }
}

impl Drop for EndpointLocator {
    fn drop(&mut self) {
        if fs::exists(&self.known_hosts_folder) {
            fs::remove_dir_all(&self.known_hosts_folder).ok();
        }
    }
}

impl crate::job::HostLocator for EndpointLocator {
    fn locate(&self, endpoint: &Endpoint) -> Result<Location, LocationError> {
        let mut destination = self.destination(endpoint)?;
        if let Some(key) = &endpoint.host_key {
            destination.known_hosts = vec![self.write_known_hosts(key, &destination.address)?];
            destination.host_key_alias = None;
        }
        if endpoint.passphrase.is_some() {
            let passphrase = endpoint.passphrase.clone();
            destination.identities.passphrase = passphrase;
        }
        Ok(Location::Ssh(Arc::new(destination)))
    }

    fn host_directory(&self) -> Result<Rc<dyn crate::host::services::HostResolver>, LocationError> {
        Ok(Rc::new(HostStringLocator(Rc::clone(
            self.resolver_or_read()?,
        ))))
    }
}

/// Locates host strings with the same `ssh_config`.
#[derive(Debug)]
struct HostStringLocator(Rc<LocationResolver>);

impl crate::host::services::HostResolver for HostStringLocator {
    fn locate(&self, host: &str, user: Option<&str>) -> Result<Location, LocationError> {
        locate_host_string(&self.0, host, user)
    }
}
