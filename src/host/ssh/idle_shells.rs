//! Shells that stay open on hosts and in containers, and wait for the next script.

use std::collections::HashMap;

use crate::host::Address;

/// The place of a shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::host) struct ShellPlace {
    /// The host; none for this machine, and for a host that the program `ssh` reaches.
    pub(in crate::host) address: Option<Address>,
    /// The command that enters the container or reaches the host; empty for none.
    pub(in crate::host) container: Vec<String>,
    /// The user; none for the one who logs in.
    pub(in crate::host) user: Option<String>,
}

/// The idle shells of a pool.
pub(super) struct IdleShells<S> {
    by_place: HashMap<ShellPlace, Vec<S>>,
}

impl<S> Default for IdleShells<S> {
    fn default() -> Self {
        Self {
            by_place: HashMap::new(),
        }
    }
}

impl<S> IdleShells<S> {
    pub(super) fn push(&mut self, place: ShellPlace, shell: S) {
        self.by_place.entry(place).or_default().push(shell);
    }

    /// Takes a shell at a place that fits, and all shells there whose connection was lost.
    pub(super) fn take(
        &mut self,
        place: &ShellPlace,
        is_lost: impl Fn(&S) -> bool,
        fits: impl Fn(&S) -> bool,
    ) -> (Option<S>, Vec<S>) {
        let Some(shells) = self.by_place.get_mut(place) else {
            return (None, Vec::new());
        };
        let lost = shells.extract_if(.., |shell| is_lost(shell)).collect();
        let found = shells.iter().rposition(fits);
        (found.map(|at| shells.swap_remove(at)), lost)
    }

    /// Takes a shell on a host that fits, in whatever container, because its session is needed.
    pub(super) fn take_on(&mut self, host: &Address, fits: impl Fn(&S) -> bool) -> Option<S> {
        let here = self.by_place.iter_mut();
        let mut here = here.filter(|(place, _)| place.address.as_ref() == Some(host));
        here.find_map(|(_, shells)| {
            let at = shells.iter().position(&fits)?;
            Some(shells.swap_remove(at))
        })
    }

    /// Takes all shells.
    pub(super) fn drain(&mut self) -> Vec<S> {
        let all = std::mem::take(&mut self.by_place);
        all.into_values().flatten().collect()
    }
}
