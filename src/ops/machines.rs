//! Where the machines of instances are, and who logs in there.

use std::path::PathBuf;
use std::sync::Arc;

use super::session::Session;
use crate::host::{Address, DEFAULT_PORT, Destination, Identities, Place};
use crate::system::env::{Env, temporary_dir};
use crate::system::fs;
use crate::topology::Endpoint;

/// The private keys that a user has unless told otherwise, beneath the home.
const KEYS: [&str; 3] = [".ssh/id_ed25519", ".ssh/id_ecdsa", ".ssh/id_rsa"];
/// Where the keys of hosts are known, beneath the home.
const KNOWN_HOSTS: &str = ".ssh/known_hosts";
/// Where the keys of hosts are known to all users.
const KNOWN_TO_ALL: &str = "/etc/ssh/ssh_known_hosts";

/// Makes destinations of endpoints.
#[derive(Debug)]
pub(super) struct Machines {
    environment: Env,
    base: PathBuf,
    /// The folder with the keys of hosts that the model says; it goes with this.
    keys: PathBuf,
}

impl Machines {
    pub(super) fn of(session: &Session) -> Self {
        let name = format!("unfurl-{}", ulid::Ulid::generate());
        Self {
            environment: session.env.clone(),
            base: session.manifest.base_dir().to_path_buf(),
            keys: temporary_dir().join(name),
        }
    }

    fn home(&self) -> Option<PathBuf> {
        self.environment.non_empty("HOME").map(PathBuf::from)
    }

    /// Where the key of the host is known: what the model says goes before all else, and is never
    /// added to.
    fn known_hosts(&self, endpoint: &Endpoint, address: &Address) -> Result<Vec<PathBuf>, String> {
        let Some(key) = &endpoint.host_key else {
            let own = self.home().map(|home| home.join(KNOWN_HOSTS));
            return Ok(own.into_iter().chain([KNOWN_TO_ALL.into()]).collect());
        };
        let host = match address.port {
            DEFAULT_PORT => address.host.clone(),
            port => format!("[{}]:{port}", address.host),
        };
        let keys = key.lines().map(str::trim).filter(|key| !key.is_empty());
        let lines: Vec<String> = keys.map(|key| format!("{host} {key}\n")).collect();
        let lines = lines.concat();
        let failed = |error: fs::Error| error.to_string();
        fs::create_dir_all(&self.keys).map_err(failed)?;
        let file = self.keys.join(crate::value::hex(host.as_bytes()));
        fs::write_atomic(&file, lines.as_bytes(), Some(0o600)).map_err(failed)?;
        Ok(vec![file])
    }

    fn identities(&self, endpoint: &Endpoint) -> Identities {
        let home = self.home();
        let own = |path: &str| home.as_ref().map(|home| home.join(path));
        let stated = endpoint.key_file.as_deref().map(|path| {
            let below_home = path.strip_prefix("~/").and_then(own);
            below_home.unwrap_or_else(|| self.base.join(path))
        });
        let agent = self.environment.non_empty("SSH_AUTH_SOCK");
        Identities {
            agent: agent.map(PathBuf::from),
            only_files: stated.is_some(),
            files: match stated {
                Some(file) => vec![file],
                None => KEYS.into_iter().filter_map(own).collect(),
            },
            certificates: Vec::new(),
            passphrase: endpoint.passphrase.clone(),
            password: endpoint.password.clone(),
        }
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
    fn place(&self, endpoint: &Endpoint) -> Result<Place, String> {
        let text = endpoint.host.as_deref().unwrap_or(&endpoint.name);
        let me = self.environment.non_empty("USER").unwrap_or("root");
        let user = endpoint.user.as_deref().unwrap_or(me);
        let port = endpoint.port.unwrap_or(DEFAULT_PORT);
        let address = Address::parse(text, user, port).map_err(|error| error.to_string())?;
        let destination = Destination {
            known_hosts: self.known_hosts(endpoint, &address)?,
            identities: self.identities(endpoint),
            ..Destination::new(endpoint.name.as_str(), address)
        };
        Ok(Place::Ssh(Arc::new(destination)))
    }
}
