//! The command of `KnownHostsCommand`, which prints trusted keys of a host.

use std::process::Stdio;
use std::time::Duration;

use russh::keys::{HashAlg, PublicKey};
use tokio::process::Command;
use tokio::time::timeout;

use crate::host::ssh_config::KEY_TOKEN;

/// The time limit of the command.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Runs the command for a key that no file knows, and returns what it prints. `words` has the placeholders for the key.
///
/// Fails with the reason why the command gave nothing.
pub(super) async fn run(words: &[String], name: &str, key: &PublicKey) -> Result<String, String> {
    let words: Vec<String> = words.iter().map(|word| filled(word, name, key)).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let child = started.map_err(|error| format!("`{program}` cannot run: {error}"))?;
    let output = match timeout(TIME_LIMIT, child.wait_with_output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("`{program}` failed: {error}")),
        Err(_) => {
            let limit = TIME_LIMIT.as_secs();
            return Err(format!("`{program}` did not end within {limit} s"));
        }
    };
    if !output.status.success() {
        return Err(format!("`{program}` failed: {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Replaces the placeholders for the key.
fn filled(word: &str, name: &str, key: &PublicKey) -> String {
    let mut filled = String::new();
    let mut pieces = word.split(KEY_TOKEN);
    filled.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let mut rest = piece.chars();
        match rest.next() {
            Some('H') => filled.push_str(name),
            Some('I') => filled.push_str("HOSTNAME"),
            Some('t') => filled.push_str(key.algorithm().as_str()),
            Some('f') => filled.push_str(&key.fingerprint(HashAlg::Sha256).to_string()),
            Some('K') => {
                let line = key.to_openssh().unwrap_or_default();
                filled.push_str(line.split(' ').nth(1).unwrap_or_default());
            }
            _ => {}
        }
        filled.push_str(rest.as_str());
    }
    filled
}
