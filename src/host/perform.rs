//! Performs actions on an SSH host or in a container.
//!
//! Commands have a session of their own ([`remote_command`], [`raw_command`]), facts and changes go to a shell that stays open
//! ([`remote_shell`]), and files are transferred by [`transfer`].
//!
//! A future has the size of the largest action that it can perform, and is copied several times before it runs. So
//! the actions are boxed.

use super::transport::Transport;
use super::{
    Action, ActionResult, CallControl, ConnectionPool, Delivery, Exit, GetSettings, Location,
    PutSettings, ShellLogin, raw_command, remote_command, remote_shell, transfer,
};

impl ConnectionPool {
    /// Performs an action, other than a command of the local machine.
    ///
    /// The result reports success and failure alike.
    pub async fn perform(
        &self,
        location: &Location,
        action: &Action,
        call: CallControl,
    ) -> ActionResult {
        self.perform_as(location, None, action, call).await
    }

    /// Performs an action; facts, changes and transfers as the user of a login, if there is one.
    pub async fn perform_as(
        &self,
        location: &Location,
        login: Option<&ShellLogin>,
        action: &Action,
        call: CallControl,
    ) -> ActionResult {
        let transport = Transport::new(self, location);
        let delivery = Delivery::of(action, location);
        match (location, action) {
            (Location::Local, Action::Run(_) | Action::Read(_) | Action::Change(_)) => {
                let why =
                    "internal error: a local command was sent to the remote runner".to_owned();
                ActionResult::not_performed(action, Exit::Failed(why))
            }
            (_, Action::Call(call)) => {
                ActionResult::not_performed(action, Exit::Failed(call.unavailable()))
            }
            (_, Action::Private(_)) => {
                let why = "private files are only supported on this machine".to_owned();
                ActionResult::not_performed(action, Exit::Failed(why))
            }
            (_, Action::Run(command)) if delivery == Delivery::Raw => {
                ActionResult::Run(Box::pin(raw_command::run(&transport, command, call)).await)
            }
            (_, Action::Read(_) | Action::Change(_)) if location.is_raw() => {
                let name = &transport.name;
                let why = format!(
                    "{name} is marked as `raw`: it runs raw commands only, as facts and states need a POSIX shell"
                );
                ActionResult::not_performed(action, Exit::Failed(why))
            }
            (_, Action::Run(command)) => {
                ActionResult::Run(Box::pin(remote_command::run(&transport, command, call)).await)
            }
            (_, Action::Read(_) | Action::Change(_)) => {
                Box::pin(remote_shell::perform(&transport, login, action, call)).await
            }
            (Location::Local, _) if login.is_none() && !needs_programs(action) => {
                ActionResult::Transfer(Box::pin(transfer::transfer_locally(action)).await)
            }
            _ => {
                let transfer = transfer::transfer_remotely(&transport, login, action, call);
                ActionResult::Transfer(Box::pin(transfer).await)
            }
        }
    }
}

/// Returns true for a transfer that a plain copy cannot do.
fn needs_programs(action: &Action) -> bool {
    match action {
        Action::Put(put) => put.settings != PutSettings::default(),
        Action::Get(get) => get.settings != GetSettings::default(),
        Action::Run(_)
        | Action::Read(_)
        | Action::Change(_)
        | Action::Private(_)
        | Action::Call(_) => false,
    }
}
