//! Runs a short text on a host beside the commands that run there, to end them.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::connection::{Connection, NoSession};
use crate::host::script::{START, killing, loaded};

/// How long such a text may run.
pub(in crate::host) const KILLING: Duration = Duration::from_secs(5);

/// Starts a shell with a line, gives it a text to run, and waits for its end, within some seconds. What it writes is lost.
pub(in crate::host) async fn run_text(
    connection: &Connection,
    line: &str,
    text: &str,
) -> Result<(), NoSession> {
    let running = async {
        let mut channel = connection.session().await?;
        if channel.exec(false, line).await.is_ok() {
            let mut input = Box::pin(channel.make_writer());
            // A host that does not read the text does not run it, and nobody can change that.
            input.write_all(&loaded(text)).await.ok();
            input.shutdown().await.ok();
            drop(input);
            while channel.wait().await.is_some() {}
        }
        channel.close().await.ok();
        Ok(())
    };
    timeout(KILLING, running).await.unwrap_or(Ok(()))
}

/// Kills all that runs with these marks.
pub(super) async fn all(connection: &Connection, marks: &[String]) {
    let commands: Vec<_> = marks.iter().map(|mark| (mark.clone(), None)).collect();
    // A host that allows no further session sees the connection end, which is all there is left.
    run_text(connection, START, &killing("KILL", &commands))
        .await
        .ok();
}
