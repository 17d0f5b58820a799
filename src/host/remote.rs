//! Runs commands on hosts, over their connections.

use std::sync::Arc;

use russh::client::Msg;
use russh::{Channel, Pty};

use super::exec::{Exec, Kills, until};
use super::lane::{Lane, Lease};
use super::pool::Inner;
use super::script::{START, Script};
use super::ssh::{AnyFuture, NoSession, Opener, run_text, shown};
use super::wire::Wire;
use super::{Call, Command, Destination, Exit, RunOutput, Stop};

/// The terminal that a command gets, which is as wide and high as the first ones were. What it
/// reads is not shown again, and lines end as they do without a terminal.
const TERMINAL: (&str, u32, u32) = ("xterm", 80, 24);
const MODES: [(Pty, u32); 2] = [(Pty::ECHO, 0), (Pty::ONLCR, 0)];

/// Ends commands on a host, by another session of their connection, or by another connection where
/// the host allows only one session.
pub(super) struct Killer {
    pub(super) pool: Arc<Inner>,
    pub(super) lane: Arc<Lane>,
    pub(super) lease: Lease,
}

impl Kills for Killer {
    fn run(&self, text: String) -> AnyFuture<'_, ()> {
        Box::pin(async move {
            let refused = match run_text(&self.lease.connection, &text).await {
                Ok(()) => return,
                Err(refused) => refused,
            };
            if refused == NoSession::Lost {
                return;
            }
            let opener = Opener {
                keys: &self.pool.keys,
                opening: &self.pool.opening,
                ways: &self.pool,
            };
            if let Ok(connection) = opener.open(&self.lane.destination).await {
                // There is no other way left.
                run_text(&connection, &text).await.ok();
                connection.close().await;
            }
        })
    }
}

/// Runs a command on a host. The result says how it went in every case.
pub(super) async fn run(
    pool: &Arc<Inner>,
    destination: &Arc<Destination>,
    command: &Command,
    mut call: Call,
) -> RunOutput {
    let script = match Script::of(command) {
        Ok(script) => script,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let lane = pool.lane(destination);
    let session = tokio::select! {
        biased;
        () = until(&mut call.stop, Stop::Gently) => return RunOutput::not_run(Exit::Cancelled),
        session = lane.session(pool) => session,
    };
    let (lease, channel) = match session {
        Ok(session) => session,
        Err(failure) => return RunOutput::not_run(failure.into()),
    };
    let host = shown(destination);
    if begin(&channel, command, lease.connection.forwards_agent())
        .await
        .is_err()
    {
        let lost = format!("the connection to {host} was lost before the command began");
        return RunOutput::not_run(Exit::Failed(lost));
    }
    let connection = Arc::clone(&lease.connection);
    let mark = script.mark.clone();
    connection.begun(&mark);
    let killer = Killer {
        pool: Arc::clone(pool),
        lane,
        lease,
    };
    let exec = Exec {
        command,
        script,
        killer: &killer,
        host: &host,
    };
    let (wire, input) = Wire::session(channel);
    let output = exec.run(wire, input, call).await;
    connection.ended(&mark);
    output
}

/// Asks the host to start what reads the script. Its answers come later, with all else.
async fn begin(
    channel: &Channel<Msg>,
    command: &Command,
    forwards_agent: bool,
) -> Result<(), russh::Error> {
    if forwards_agent {
        channel.agent_forward(false).await?;
    }
    if command.pty {
        let (name, width, height) = TERMINAL;
        channel
            .request_pty(false, name, width, height, 0, 0, &MODES)
            .await?;
    }
    channel.exec(true, START).await
}
