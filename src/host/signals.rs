//! Ends a command on another machine with signals.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::request::wait_for_stop;
use super::script::{CommandProcesses, kill_script};
use super::ssh::Lease;
use super::transport::Transport;
use super::{Exit, StopLevel};

/// The time between a signal and the next, stronger one.
pub(super) const SIGNAL_GRACE: Duration = Duration::from_secs(5);
/// The time to wait for the command to end after the last signal.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// The state shared by the tasks that run one command.
#[derive(Debug, Default)]
pub(super) struct CommandState {
    /// The processes of the command, once they are known.
    pub(super) processes: OnceLock<CommandProcesses>,
    /// The reason why Unfurl ends the command.
    pub(super) end_reason: OnceLock<Exit>,
}

/// The means to end one command.
pub(super) struct Signaller<'a> {
    pub(super) transport: &'a Transport,
    pub(super) lease: Option<&'a Lease>,
    /// The text that all processes of the command have in their environment.
    pub(super) mark: &'a str,
    pub(super) state: &'a CommandState,
}

impl Signaller<'_> {
    /// Sends a signal to the processes of the command.
    pub(super) async fn kill(&self, signal: &str) {
        let processes = self.state.processes.get().copied();
        let text = kill_script(signal, &[(self.mark.to_owned(), processes)]);
        // Signals are rare, and may need a connection of their own. Without the box, each running command would have
        // the memory for that.
        Box::pin(self.transport.run_beside(self.lease, &text)).await;
    }

    /// Sends SIGINT, SIGTERM and SIGKILL in turn, with time after each; SIGKILL at once if the stop is urgent.
    pub(super) async fn end(&self, why: Exit, stop: &mut watch::Receiver<StopLevel>) {
        // Setting it cannot fail, as no other code sets it.
        self.state.end_reason.set(why).ok();
        for signal in ["INT", "TERM"] {
            let gently = async {
                self.kill(signal).await;
                sleep(SIGNAL_GRACE).await;
            };
            tokio::select! {
                biased;
                () = wait_for_stop(stop, StopLevel::AtOnce) => break,
                () = gently => {}
            }
        }
        self.kill("KILL").await;
        sleep(KILL_GRACE).await;
    }
}
