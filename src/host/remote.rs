//! Runs commands on hosts and in containers.

use super::exec::{Exec, until};
use super::script::Script;
use super::way::{Killer, Started, Way};
use super::{Call, Command, Exit, RunOutput, Stop};

/// Runs a command. The result says how it went in every case.
pub(super) async fn run(way: &Way, command: &Command, mut call: Call) -> RunOutput {
    let script = match Script::of(command) {
        Ok(script) => script,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let started = tokio::select! {
        biased;
        () = until(&mut call.stop, Stop::Gently) => Err(Exit::Cancelled),
        started = way.start(command.pty) => started,
    };
    let Started { wire, input, lease } = match started {
        Ok(started) => started,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let mark = script.mark.clone();
    let connection = lease.as_ref().map(|lease| &lease.connection);
    let seen = connection.filter(|_| !way.is_container());
    if let Some(connection) = seen {
        connection.begun(&mark);
    }
    let killer = Killer {
        way,
        lease: lease.as_ref(),
    };
    let exec = Exec {
        command,
        script,
        killer: &killer,
        way,
    };
    let output = exec.run(wire, input, call).await;
    if let Some(connection) = seen {
        connection.ended(&mark);
    }
    output
}
