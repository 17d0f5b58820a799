//! Collects the known hosts: instances of an ensemble and entries of inventory files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::executor_chain::configured_executors;
use super::failure::{Failure, FailureKind};
use super::host_passwords::PASSWORD_SECRETS;
use crate::diagnostic::Diagnostic;
use crate::fleet::hosts::{FleetHosts, GatheredHosts};
use crate::host::ExecutorConfiguration;
use crate::host::inventory::PROGRAM_PERMISSION;
use crate::host::resolver::LoginOptions;
use crate::host::ssh_config::SshConfigFiles;
use crate::project::{FolderKeys, Grants, Trust};
use crate::session::{self, LoadErrorKind, Session, SessionOptions};
use crate::system::env::Env;

/// The command-line options that determine the known hosts.
#[derive(Debug, Clone)]
pub struct HostsRequest {
    /// The login options for all hosts.
    pub login: LoginOptions,
    /// The OpenSSH configuration files to read.
    pub ssh_config: SshConfigFiles,
    /// The inventory files with hosts and groups.
    pub inventories: Vec<PathBuf>,
    /// The ensemble whose instances are hosts. If none is named and none is found, only files are used.
    pub session: SessionOptions,
}

/// Reads the inventory files and the ensemble, if there is one.
pub fn known_hosts(request: &HostsRequest) -> Result<FleetHosts, Failure> {
    let gathered = || host_inventory(request);
    FleetHosts::read(&request.ssh_config, request.login.clone(), gathered)
}

/// Collects the hosts of an ensemble and of files.
///
/// A later file overrides earlier files, and files override the ensemble. An ensemble is required only if the
/// options name one.
pub fn inventory(
    options: Option<&SessionOptions>,
    files: &[PathBuf],
) -> Result<GatheredHosts, Failure> {
    inventory_with(options, options, files)
}

/// Collects the hosts of an ensemble, if options for it are given, and of files. `user` has the home folder and the
/// permissions of the user.
fn inventory_with(
    ensemble: Option<&SessionOptions>,
    user: Option<&SessionOptions>,
    files: &[PathBuf],
) -> Result<GatheredHosts, Failure> {
    let home = user.and_then(|options| options.home.as_deref());
    let folder = session::current_dir()?;
    let mut keys = FolderKeys::new(&folder, home);
    let mut hosts = match ensemble.map(|options| (session::find(options), options)) {
        Some((Ok(found), options)) => {
            keys = FolderKeys::from(found.keys.clone());
            of_ensemble(session::load(found, options)?)?
        }
        Some((Err(failure), _)) if failure.kind != LoadErrorKind::NoEnsemble => {
            return Err(failure.into());
        }
        Some(_) | None => GatheredHosts::default(),
    };
    let allowed = user
        .map(|options| options.allowed.clone())
        .unwrap_or_default();
    let may_run = |program: &Path| {
        let around = program
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let around = around.unwrap_or(&folder);
        let grants = || Grants::of_home_folder(home, &folder, &Env::of_this_process());
        Trust::new(allowed.iter().cloned(), false).permits(PROGRAM_PERMISSION)
            || grants().cover(&[around])
    };
    hosts.add_files(files, &keys, &may_run)?;
    Ok(hosts)
}

fn of_ensemble(mut session: Session) -> Result<GatheredHosts, Failure> {
    let topology = Arc::new(session.topology()?);
    let planned = session.manifest.base_dir().join("planned");
    let system_context = Arc::new(session.system_context(planned));
    let executors = configured_executors(&mut session, &topology, &system_context)?;
    let mut hosts = GatheredHosts::from_topology(&topology, system_context)?;
    hosts.add_passwords(PASSWORD_SECRETS, &session.environment.secrets);
    hosts.executors = vec![ExecutorConfiguration {
        spec: executors,
        folder: session.manifest.base_dir().to_path_buf(),
    }];
    hosts.sources = session.sources;
    Ok(hosts)
}

/// Collects the hosts of files and of the ensemble. An ensemble that cannot be loaded causes only a warning,
/// because hosts can also be named by address.
pub fn host_inventory(request: &HostsRequest) -> Result<GatheredHosts, Failure> {
    let failure = match inventory(Some(&request.session), &request.inventories) {
        Err(failure) if failure.kind == FailureKind::Load => failure,
        gathered => return gathered,
    };
    let mut gathered = inventory_with(None, Some(&request.session), &request.inventories)?;
    let message = "the ensemble cannot be read, so its instances are not available as hosts";
    let help = format!("{failure}; `unfurl validate` shows all problems");
    gathered
        .warnings
        .push(Diagnostic::warning(message).help(help));
    Ok(gathered)
}
