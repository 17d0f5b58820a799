//! Shells that stay open on hosts and in containers, and wait for the next script.

use std::collections::HashMap;

use super::pool::Lease;
use crate::host::Address;
use crate::host::channel_io::{ChannelIo, CommandInput};

/// A started shell that reads its input.
pub(in crate::host) struct OpenShell {
    pub(in crate::host) channel_io: ChannelIo,
    pub(in crate::host) input: CommandInput,
    /// The lease of the session; none in a container of this machine.
    pub(in crate::host) lease: Option<Lease>,
}

impl OpenShell {
    /// Closes the session, then gives it free.
    pub(in crate::host) async fn close(self) {
        drop(self.input);
        self.channel_io.close().await;
        drop(self.lease);
    }

    /// Returns whether the connection below the shell has ended.
    fn is_lost(&self) -> bool {
        let lease = self.lease.as_ref();
        lease.is_some_and(|lease| lease.connection.is_lost())
    }
}

/// The place of a shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::host) struct ShellPlace {
    /// The host; none for this machine.
    pub(in crate::host) address: Option<Address>,
    /// The command that enters the container; empty for none.
    pub(in crate::host) container: Vec<String>,
    /// The user; none for the one who logs in.
    pub(in crate::host) user: Option<String>,
}

/// The idle shells of a pool.
#[derive(Default)]
pub(super) struct IdleShells {
    by_place: HashMap<ShellPlace, Vec<OpenShell>>,
}

impl IdleShells {
    pub(super) fn push(&mut self, place: ShellPlace, shell: OpenShell) {
        self.by_place.entry(place).or_default().push(shell);
    }

    /// Takes a shell at a place whose lease fits, and all shells there whose connection was lost.
    pub(super) fn take(
        &mut self,
        place: &ShellPlace,
        fits: impl Fn(Option<&Lease>) -> bool,
    ) -> (Option<OpenShell>, Vec<OpenShell>) {
        let Some(shells) = self.by_place.get_mut(place) else {
            return (None, Vec::new());
        };
        let lost = shells.extract_if(.., |shell| shell.is_lost()).collect();
        let found = shells.iter().rposition(|shell| fits(shell.lease.as_ref()));
        (found.map(|at| shells.swap_remove(at)), lost)
    }

    /// Takes a shell on a host whose lease fits, in whatever container, because its session is needed.
    pub(super) fn take_on(
        &mut self,
        host: &Address,
        fits: impl Fn(&Lease) -> bool,
    ) -> Option<OpenShell> {
        let here = self.by_place.iter_mut();
        let mut here = here.filter(|(place, _)| place.address.as_ref() == Some(host));
        here.find_map(|(_, shells)| {
            let is = |shell: &OpenShell| shell.lease.as_ref().is_some_and(&fits);
            let at = shells.iter().position(is)?;
            Some(shells.swap_remove(at))
        })
    }

    /// Takes all shells.
    pub(super) fn drain(&mut self) -> Vec<OpenShell> {
        let all = std::mem::take(&mut self.by_place);
        all.into_values().flatten().collect()
    }
}
