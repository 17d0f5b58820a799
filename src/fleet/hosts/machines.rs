//! Where the machines of instances are, and who logs in there.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::known::place_of_string;
use crate::host::book::{Book, Login, Target};
use crate::host::ssh_config::{Config, Files, Local};
use crate::host::{Address, DEFAULT_PORT, Destination, Place, PlaceError};
use crate::system::env::{Env, temporary_dir};
use crate::system::fs;
use crate::topology::Endpoint;

/// Makes destinations of endpoints; what an endpoint leaves out is left to `ssh_config`.
#[derive(Debug)]
pub(crate) struct Machines {
    environment: Env,
    base: PathBuf,
    /// Read when the first machine is looked for.
    book: OnceCell<Result<Rc<Book>, PlaceError>>,
    /// The folder with the keys of hosts that the model says; it goes with this.
    keys: PathBuf,
}

impl Machines {
    /// Those that are reached from this machine. Relative paths of keys begin in `base`.
    pub(crate) fn new(environment: Env, base: PathBuf) -> Self {
        let name = format!("unfurl-{}", ulid::Ulid::generate());
        Self {
            environment,
            base,
            book: OnceCell::new(),
            keys: temporary_dir().join(name),
        }
    }

    fn read(&self) -> Result<&Rc<Book>, PlaceError> {
        let read = || {
            let local = Local::of_this_process(self.environment.clone());
            let config = Config::read(&Files::Usual, &local)?;
            Ok(Rc::new(Book::new(config, Login::default(), local)))
        };
        self.book.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// A file that says the key of a host as the model does: it is the only one that counts.
    fn known_host(&self, key: &str, address: &Address) -> Result<PathBuf, PlaceError> {
        let host = match address.port {
            DEFAULT_PORT => address.host.clone(),
            port => format!("[{}]:{port}", address.host),
        };
        let keys = key.lines().map(str::trim).filter(|key| !key.is_empty());
        let lines: Vec<String> = keys.map(|key| format!("{host} {key}\n")).collect();
        fs::create_dir_all(&self.keys)?;
        let file = self.keys.join(crate::value::hex(host.as_bytes()));
        fs::write_atomic(&file, lines.concat().as_bytes(), Some(0o600))?;
        Ok(file)
    }

    fn target(&self, endpoint: &Endpoint) -> Result<Target, PlaceError> {
        let text = endpoint.host.as_deref().unwrap_or(&endpoint.name);
        let said = Target::of(text)?;
        let key_file = endpoint.key_file.as_ref().map(|path| {
            if path.starts_with("~/") {
                path.clone()
            } else {
                self.base.join(path).to_string_lossy().into_owned()
            }
        });
        // The usual port is what the type of an endpoint says where nobody says any.
        let port = endpoint.port.filter(|port| *port != DEFAULT_PORT);
        Ok(Target {
            name: endpoint.name.clone(),
            user: endpoint.user.clone().or(said.user),
            port: said.port.or(port),
            identity_files: key_file.into_iter().collect(),
            password: endpoint.password.clone(),
            ..said
        })
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        if fs::exists(&self.keys) {
            fs::remove_dir_all(&self.keys).ok();
        }
    }
}

impl crate::job::Places for Machines {
    fn place(&self, endpoint: &Endpoint) -> Result<Place, PlaceError> {
        let target = self.target(endpoint)?;
        let Place::Ssh(destination) = self.read()?.place_of(&target)? else {
            return Err(PlaceError::NotSsh);
        };
        let mut destination = Destination::clone(&destination);
        if let Some(key) = &endpoint.host_key {
            destination.known_hosts = vec![self.known_host(key, &destination.address)?];
            destination.host_key_alias = None;
        }
        if endpoint.passphrase.is_some() {
            let passphrase = endpoint.passphrase.clone();
            destination.identities.passphrase = passphrase;
        }
        Ok(Place::Ssh(Arc::new(destination)))
    }

    fn book(&self) -> Result<Rc<dyn crate::host::helpers::Book>, PlaceError> {
        Ok(Rc::new(HostStrings(Rc::clone(self.read()?))))
    }
}

/// Where host strings lead, as `ssh_config` has it.
#[derive(Debug)]
struct HostStrings(Rc<Book>);

impl crate::host::helpers::Book for HostStrings {
    fn place(&self, host: &str, user: Option<&str>) -> Result<Place, PlaceError> {
        place_of_string(&self.0, host, user)
    }
}
