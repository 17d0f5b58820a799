//! Performs actions on other machines, over connections that are shared.

use std::sync::Arc;

use super::ssh::{Connections, PoolLimits};
use super::way::Way;
use super::{Action, ActionResult, Call, Exit, Place, batch, exec, transfer};

/// The open connections, one for each address and way, more where one does not do. A connection is
/// opened at first use, and shared by all that need it (F41, F42).
#[derive(Debug)]
pub struct Pool {
    pub(super) inner: Arc<Connections>,
}

impl Pool {
    /// A pool without any connection.
    pub fn new(limits: PoolLimits) -> Self {
        Self {
            inner: Arc::new(Connections::new(limits)),
        }
    }

    /// Performs an action that is not a command of this machine. The result says how it went in
    /// every case.
    pub async fn perform(&self, place: &Place, action: &Action, call: Call) -> ActionResult {
        let way = Way::new(&self.inner, place);
        match (place, action) {
            (Place::Here, Action::Run(_) | Action::Read(_) | Action::Change(_)) => {
                let why = "commands of this machine do not come here".to_owned();
                ActionResult::not_performed(action, Exit::Failed(why))
            }
            (_, Action::Run(command)) => ActionResult::Run(exec::run(&way, command, call).await),
            (_, Action::Read(_) | Action::Change(_)) => match batch::command(action) {
                Some(command) => {
                    let output = exec::run(&way, &command, call).await;
                    batch::result(action, &output)
                }
                None => ActionResult::not_performed(action, Exit::Code(0)),
            },
            (Place::Here, _) => ActionResult::Transfer(transfer::here(action).await),
            _ => ActionResult::Transfer(transfer::there(&way, action, call).await),
        }
    }

    /// Closes all connections in order, within a second. What still runs on them is killed where
    /// the host allows it, and lost. No connection is opened any more.
    pub async fn close(&self) {
        self.inner.close().await;
    }
}
