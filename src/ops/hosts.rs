//! Gathers the hosts that can be named: those of an ensemble, and those of files.

use std::path::PathBuf;
use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use crate::diagnostic::Diagnostic;
use crate::fleet::hosts::{FleetHosts, GatheredHosts};
use crate::host::resolver::LoginOptions;
use crate::host::ssh_config::SshConfigFiles;
use crate::session::{self, LoadErrorKind, Session, SessionOptions};

/// What the command line says about hosts.
#[derive(Debug, Clone)]
pub struct HostsRequest {
    /// How all of them are logged in to.
    pub login: LoginOptions,
    /// Which configuration of OpenSSH is read.
    pub ssh_config: SshConfigFiles,
    /// Files with hosts and their groups.
    pub inventories: Vec<PathBuf>,
    /// Where the ensemble is whose instances are hosts, if there is one.
    pub session: SessionOptions,
}

/// Reads the files, and the ensemble if there is one.
pub fn known_hosts(request: &HostsRequest) -> Result<FleetHosts, Failure> {
    let gathered = || gather_hosts(request);
    FleetHosts::read(&request.ssh_config, request.login.clone(), gathered)
}

/// Gathers the hosts of an ensemble and of files; what a file says goes before what those before
/// it and the ensemble say. Where no ensemble is named, there need not be one.
pub fn inventory(
    options: Option<&SessionOptions>,
    files: &[PathBuf],
) -> Result<GatheredHosts, Failure> {
    let mut hosts = match options.map(|options| (session::find(options), options)) {
        Some((Ok(found), options)) => of_ensemble(session::load(found, options)?)?,
        Some((Err(failure), _)) if failure.kind != LoadErrorKind::NoEnsemble => {
            return Err(failure.into());
        }
        Some(_) | None => GatheredHosts::default(),
    };
    hosts.add_files(files)?;
    Ok(hosts)
}

fn of_ensemble(mut session: Session) -> Result<GatheredHosts, Failure> {
    let topology = Arc::new(session.topology()?);
    let planned = session.manifest.base_dir().join("planned");
    let system_context = Arc::new(session.system_context(planned));
    let connections = session.environment.section("connections");
    let mut hosts = GatheredHosts::from_topology(&topology, system_context, connections)?;
    hosts.sources = session.sources;
    Ok(hosts)
}

/// The hosts of the files and of the ensemble. Hosts can be named by their addresses also where
/// the ensemble cannot be read.
fn gather_hosts(request: &HostsRequest) -> Result<GatheredHosts, Failure> {
    let failure = match inventory(Some(&request.session), &request.inventories) {
        Err(failure) if failure.kind == FailureKind::Load => failure,
        gathered => return gathered,
    };
    let mut gathered = inventory(None, &request.inventories)?;
    let message = "the ensemble here cannot be read, so its instances are not known as hosts";
    let help = format!("{failure}; `unfurl validate` tells all that is wrong with it");
    gathered
        .warnings
        .push(Diagnostic::warning(message).help(help));
    Ok(gathered)
}
