//! Calls programs on the machine of a server, as git would call it.

use super::Error;
use super::endpoint::SshEndpoint;
use super::error::clean;
use super::lock::{Created, LfsLock};
use super::packets::{Answer, Requests, answers};
use super::reply::{Page, lock_in_answer, page_in_answer, refusal};
use super::settings::{Settings, SshCommand};
use crate::system::process::{self, Helper, Output};
use crate::text::quoted_always;
use crate::value::Secrets;

/// What SSH exits with when it could not connect.
const NOT_CONNECTED: i32 = 255;

/// Why nothing was locked over SSH.
#[derive(Debug)]
pub(super) enum Failed {
    /// There is no `git-lfs-transfer`; it may speak HTTP.
    NoTransfer,
    /// What went wrong.
    Error(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Locks a path.
pub(super) fn create(settings: &Settings, to: &SshEndpoint, path: &str) -> Result<Created, Failed> {
    // The protocol wants a branch; a commit that is checked out by its id has none.
    let reference = settings.reference.as_deref().unwrap_or("HEAD");
    let arguments = [("path", path), ("refname", reference)];
    let answer = ask(settings, to, "lock", &arguments)?;
    match answer.status() {
        Some(200 | 201) => match lock_in_answer(&answer) {
            Some(lock) => Ok(Created::Ours(lock)),
            None => Err(garbled(to, "it has no lock").into()),
        },
        Some(409) => Ok(Created::Taken(lock_in_answer(&answer))),
        _ => Err(refused(to, &answer).into()),
    }
}

/// One part of the list of the locks of a path.
pub(super) fn list(
    settings: &Settings,
    to: &SshEndpoint,
    path: Option<&str>,
    cursor: Option<&str>,
) -> Result<Page, Failed> {
    let path = path.map(|path| ("path", path));
    let cursor = cursor.map(|cursor| ("cursor", cursor));
    let arguments: Vec<_> = [path, cursor, Some(("limit", "100"))]
        .into_iter()
        .flatten()
        .collect();
    let answer = ask(settings, to, "list-lock", &arguments)?;
    match answer.status() {
        Some(200) => Ok(page_in_answer(&answer)),
        // There is none for this path.
        Some(404) => Ok(Page::default()),
        _ => Err(refused(to, &answer).into()),
    }
}

/// Gives a lock back; says whether it was there.
pub(super) fn unlock(
    settings: &Settings,
    to: &SshEndpoint,
    lock: &LfsLock,
    force: bool,
) -> Result<bool, Failed> {
    let arguments: &[_] = if force { &[("force", "true")] } else { &[] };
    let answer = ask(settings, to, &format!("unlock {}", lock.id), arguments)?;
    match answer.status() {
        Some(200) => Ok(true),
        Some(404) => Ok(false),
        _ => Err(refused(to, &answer).into()),
    }
}

/// Sends one command, and gives its answer. The server answers in order, so that nothing has to be
/// waited for in between.
fn ask(
    settings: &Settings,
    to: &SshEndpoint,
    command: &str,
    arguments: &[(&str, &str)],
) -> Result<Answer, Failed> {
    let mut requests = Requests::default();
    requests.add("version 1", &[]);
    requests.add(command, arguments);
    requests.add("quit", &[]);
    let words = format!("git-lfs-transfer {} upload", quoted_always(&to.path));
    let output = call(settings, to, &words, requests.into_bytes())?;
    let mut answers = answers(&output.stdout).into_iter();
    let greeting = answers.next().unwrap_or_default();
    if greeting.argument("version") != Some("1") {
        return Err(Failed::NoTransfer);
    }
    // The answer to `version`, then ours.
    let answer = answers.nth(1).filter(|it| it.status().is_some());
    answer.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = format!("it ended early. {}", clean(&said, &Secrets::default()));
        garbled(to, reason.trim_end()).into()
    })
}

fn refused(to: &SshEndpoint, answer: &Answer) -> Error {
    let message = clean(&answer.message(), &Secrets::default());
    let status = answer.status().unwrap_or_default();
    refusal(to.shown(), message, status, &[400, 404, 501])
}

fn garbled(to: &SshEndpoint, reason: &str) -> Error {
    Error::Garbled {
        server: to.shown(),
        reason: reason.to_owned(),
    }
}

/// Runs a command on the server's machine.
pub(super) fn call(
    settings: &Settings,
    to: &SshEndpoint,
    words: &str,
    stdin: Vec<u8>,
) -> Result<Output, Error> {
    let unreachable = |reason: String, asked: bool| Error::Unreachable {
        server: to.shown(),
        reason: clean(&reason, &Secrets::default()),
        asked,
    };
    let helper = Helper {
        cwd: Some(settings.root.clone()),
        extra_env: vec![("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned())],
        stdin,
        time_limit: settings.total(),
        // A server that was cut off might have locked, and nobody would know.
        to_its_end: true,
        most_output: 4 << 20,
        ..Helper::new(argv(&settings.ssh, to, words))
    };
    let output = process::run(&helper).map_err(|error| {
        let asked = matches!(error, process::Error::TimedOut { .. });
        unreachable(error.to_string(), asked)
    })?;
    if output.code == NOT_CONNECTED {
        let said = String::from_utf8_lossy(&output.stderr);
        // A server that hears anything greets first.
        return Err(unreachable(said.into_owned(), !output.stdout.is_empty()));
    }
    Ok(output)
}

/// The words of a call. A host that begins with `-` was refused before.
fn argv(ssh: &SshCommand, to: &SshEndpoint, words: &str) -> Vec<String> {
    let variant = ssh.variant.clone().unwrap_or_else(|| variant(ssh));
    let mut options = Vec::new();
    match (variant.as_str(), to.port) {
        ("plink" | "putty" | "tortoiseplink", port) => {
            options.push("-batch".to_owned());
            options.extend(port.map(|port| format!("-P{port}")));
        }
        ("ssh", port) => {
            // Nobody is there to type a password.
            options.push("-oBatchMode=yes".to_owned());
            options.extend(port.map(|port| format!("-p{port}")));
        }
        (_, port) => options.extend(port.map(|port| format!("-p{port}"))),
    }
    let mut argv = if ssh.is_shell {
        let line = format!("{} \"$@\"", ssh.text);
        vec![
            "/bin/sh".to_owned(),
            "-c".to_owned(),
            line,
            ssh.text.clone(),
        ]
    } else {
        vec![ssh.text.clone()]
    };
    argv.append(&mut options);
    argv.push(to.host.clone());
    argv.push(words.to_owned());
    argv
}

/// What kind of program it is, by its name.
fn variant(ssh: &SshCommand) -> String {
    let program = if ssh.is_shell {
        ssh.text.split_whitespace().next().unwrap_or_default()
    } else {
        &ssh.text
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
            text: text.into(),
            is_shell,
            variant: None,
        };
        argv(&ssh, &endpoint(Some(22)), "x").join("|")
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
