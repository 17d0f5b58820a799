//! Requests locks over SSH with `git-lfs-transfer`. The SSH program is started the way git starts it.

use super::Error;
use super::endpoint::SshEndpoint;
use super::error::sanitize;
use super::lock::{LfsLock, LockOutcome};
use super::pkt_line::{RequestBuffer, TransferResponse, parse_responses};
use super::response::{LockPage, parse_transfer_lock, parse_transfer_page, refusal_error};
use super::settings::{LfsSettings, SshCommand};
use crate::system::process::{self, Helper, Output};
use crate::system::signals::AnswerWait;
use crate::text::force_quote_word;
use crate::value::Secrets;

/// The exit code of SSH if the connection failed.
const CONNECT_FAILED_EXIT_CODE: i32 = 255;

/// An error of a lock request over SSH.
#[derive(Debug)]
pub(super) enum SshError {
    /// The server lacks `git-lfs-transfer`; it may support HTTP.
    NoTransfer,
    Error(Error),
}

impl From<Error> for SshError {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

pub(super) fn create(
    settings: &LfsSettings,
    to: &SshEndpoint,
    path: &str,
) -> Result<LockOutcome, SshError> {
    // The protocol requires a reference name, which a detached `HEAD` does not have.
    let reference = settings.reference.as_deref().unwrap_or("HEAD");
    let arguments = [("path", path), ("refname", reference)];
    let answer = send_command(settings, to, "lock", &arguments)?;
    match answer.status() {
        Some(200 | 201) => match parse_transfer_lock(&answer) {
            Some(lock) => Ok(LockOutcome::Acquired(lock)),
            None => Err(invalid_response(to, "it contains no lock").into()),
        },
        Some(409) => Ok(LockOutcome::HeldByOther(parse_transfer_lock(&answer))),
        _ => Err(refused_by(to, &answer).into()),
    }
}

/// Returns one page of the list of locks on a path.
pub(super) fn list(
    settings: &LfsSettings,
    to: &SshEndpoint,
    path: Option<&str>,
    cursor: Option<&str>,
) -> Result<LockPage, SshError> {
    let path = path.map(|path| ("path", path));
    let cursor = cursor.map(|cursor| ("cursor", cursor));
    let arguments: Vec<_> = [path, cursor, Some(("limit", "100"))]
        .into_iter()
        .flatten()
        .collect();
    let answer = send_command(settings, to, "list-lock", &arguments)?;
    match answer.status() {
        Some(200) => Ok(parse_transfer_page(&answer)),
        // The server has no lock on this path.
        Some(404) => Ok(LockPage::default()),
        _ => Err(refused_by(to, &answer).into()),
    }
}

/// Removes a lock. Returns whether it existed.
pub(super) fn unlock(
    settings: &LfsSettings,
    to: &SshEndpoint,
    lock: &LfsLock,
    force: bool,
) -> Result<bool, SshError> {
    let arguments: &[_] = if force { &[("force", "true")] } else { &[] };
    let answer = send_command(settings, to, &format!("unlock {}", lock.id), arguments)?;
    match answer.status() {
        Some(200) => Ok(true),
        Some(404) => Ok(false),
        _ => Err(refused_by(to, &answer).into()),
    }
}

/// Sends one command and returns its response. The server answers in order, so all requests are sent at once.
fn send_command(
    settings: &LfsSettings,
    to: &SshEndpoint,
    command: &str,
    arguments: &[(&str, &str)],
) -> Result<TransferResponse, SshError> {
    let mut requests = RequestBuffer::default();
    requests.add("version 1", &[]);
    requests.add(command, arguments);
    requests.add("quit", &[]);
    let words = format!("git-lfs-transfer {} upload", force_quote_word(&to.path));
    let output = run_remote_command(settings, to, &words, requests.into_bytes())?;
    let mut answers = parse_responses(&output.stdout).into_iter();
    let greeting = answers.next().unwrap_or_default();
    if greeting.argument("version") != Some("1") {
        return Err(SshError::NoTransfer);
    }
    // Skip the response to `version`; the next one answers the command.
    let answer = answers.nth(1).filter(|it| it.status().is_some());
    answer.ok_or_else(|| {
        let stderr_text = String::from_utf8_lossy(&output.stderr);
        let reason = format!(
            "it ended early. {}",
            sanitize(&stderr_text, &Secrets::default())
        );
        invalid_response(to, reason.trim_end()).into()
    })
}

fn refused_by(to: &SshEndpoint, answer: &TransferResponse) -> Error {
    let message = sanitize(&answer.message(), &Secrets::default());
    let status = answer.status().unwrap_or_default();
    refusal_error(to.display_address(), message, status, &[400, 404, 501])
}

fn invalid_response(to: &SshEndpoint, reason: &str) -> Error {
    Error::InvalidResponse {
        server: to.display_address(),
        reason: reason.to_owned(),
    }
}

/// Runs a command on the server's host.
pub(super) fn run_remote_command(
    settings: &LfsSettings,
    to: &SshEndpoint,
    words: &str,
    stdin: Vec<u8>,
) -> Result<Output, Error> {
    let unreachable = |reason: String, was_sent: bool| Error::Unreachable {
        server: to.display_address(),
        reason: sanitize(&reason, &Secrets::default()),
        was_sent,
    };
    let helper = Helper {
        cwd: Some(settings.root.clone()),
        extra_env: vec![("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned())],
        stdin,
        time_limit: AnswerWait::limit(settings.request_timeout()),
        is_remote: true,
        max_output: 4 << 20,
        ..Helper::new(build_argv(&settings.ssh, to, words))
    };
    let output = process::run(&helper).map_err(|error| {
        let was_sent = matches!(
            error,
            process::Error::TimedOut { .. } | process::Error::Interrupted { .. }
        );
        unreachable(error.to_string(), was_sent)
    })?;
    if output.code == CONNECT_FAILED_EXIT_CODE {
        let stderr_text = String::from_utf8_lossy(&output.stderr);
        // The server greets before it reads, so without output it has received no request.
        return Err(unreachable(
            stderr_text.into_owned(),
            !output.stdout.is_empty(),
        ));
    }
    Ok(output)
}

/// Builds the SSH command line. A host that begins with `-` was refused before.
fn build_argv(ssh: &SshCommand, to: &SshEndpoint, words: &str) -> Vec<String> {
    let variant = ssh.variant.clone().unwrap_or_else(|| detect_variant(ssh));
    let mut options = Vec::new();
    match (variant.as_str(), to.port) {
        ("plink" | "putty" | "tortoiseplink", port) => {
            options.push("-batch".to_owned());
            options.extend(port.map(|port| format!("-P{port}")));
        }
        ("ssh", port) => {
            // No user is present to type a password.
            options.push("-oBatchMode=yes".to_owned());
            options.extend(port.map(|port| format!("-p{port}")));
        }
        (_, port) => options.extend(port.map(|port| format!("-p{port}"))),
    }
    let mut argv = if ssh.is_shell {
        let line = format!("{} \"$@\"", ssh.command);
        vec![
            "/bin/sh".to_owned(),
            "-c".to_owned(),
            line,
            ssh.command.clone(),
        ]
    } else {
        vec![ssh.command.clone()]
    };
    argv.append(&mut options);
    argv.push(to.host.clone());
    argv.push(words.to_owned());
    argv
}

/// Determines the variant of the SSH program from its file name.
fn detect_variant(ssh: &SshCommand) -> String {
    let program = if ssh.is_shell {
        ssh.command.split_whitespace().next().unwrap_or_default()
    } else {
        &ssh.command
    };
    let name = program.trim_matches(['"', '\'']).rsplit('/').next();
    name.unwrap_or_default()
        .trim_end_matches(".exe")
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(port: Option<u16>) -> SshEndpoint {
        SshEndpoint {
            host: "me@h".into(),
            port,
            path: "/a b".into(),
        }
    }

    fn words(text: &str, is_shell: bool) -> String {
        let ssh = SshCommand {
            command: text.into(),
            is_shell,
            variant: None,
        };
        build_argv(&ssh, &endpoint(Some(22)), "x").join("|")
    }

    #[test]
    fn a_call_is_made_as_git_makes_it_and_asks_nobody() {
        insta::assert_snapshot!(words("ssh", false), @"ssh|-oBatchMode=yes|-p22|me@h|x");
        insta::assert_snapshot!(words("/opt/plink", false), @"/opt/plink|-batch|-P22|me@h|x");
        insta::assert_snapshot!(
            words("ssh -i key", true),
            @r#"/bin/sh|-c|ssh -i key "$@"|ssh -i key|-oBatchMode=yes|-p22|me@h|x"#
        );
        insta::assert_snapshot!(words("./own", true), @r#"/bin/sh|-c|./own "$@"|./own|-p22|me@h|x"#);
    }
}
