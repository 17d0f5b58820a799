//! The local commands that run probes and command changes, and the conversion of their output.

use std::path::Path;

use crate::host::change::CommandRun;
use crate::host::fact::{CommandSetting, Probe, ProbeOutput};
use crate::host::{Background, CapturedOutput, Command, Exit, Program, RunOutput};
use crate::host::{batch, fact};
use crate::system::env::Env;
use crate::system::{fs, user};

/// The capture limit of a probe's command, in bytes.
///
/// The buffer keeps the first and the last half, so twice the size is needed for the first bytes of
/// a reading.
const MAX_PROBE_OUTPUT_BYTES: usize = 2 * fact::MAX_PROBE_STDOUT_BYTES;

/// Returns the command of a probe.
pub(crate) fn probe_command(probe: &Probe, env: &Env) -> Command {
    let mut command = command(&probe.setting, &probe.text, None, env);
    command.capture_limit = MAX_PROBE_OUTPUT_BYTES;
    command
}

/// Returns the command of a change.
pub(crate) fn run_command(run: &CommandRun, env: &Env) -> Command {
    let mut command = command(&run.setting, &run.text, run.stdin.as_deref(), env);
    if run.shown.is_some() {
        command
            .env
            .mark(|name| run.setting.env.iter().any(|(own, _)| own == name));
        command.secrets.add(run.text.as_str());
        if let Program::Shell { secret, .. } = &mut command.program {
            *secret = true;
        }
    }
    if run.keeps_background {
        command.background = Background::Keep;
    }
    command
}

/// Converts the output of a probe's command.
///
/// Fails if the command has no exit code, for example because it was cancelled.
pub(crate) fn probe_output(output: &RunOutput) -> Result<ProbeOutput, String> {
    let code = match &output.exit {
        Exit::TimedOut => 124,
        Exit::NotFound(_) => 127,
        exit => match exit.code() {
            Some(code) => code,
            None => return Err(exit.to_string()),
        },
    };
    let first = |captured: &CapturedOutput, limit: usize| {
        let mut bytes = captured.head.clone();
        bytes.truncate(limit);
        bytes
    };
    Ok(ProbeOutput {
        code,
        stdout: first(&output.stdout, fact::MAX_PROBE_STDOUT_BYTES),
        stderr: first(&output.stderr, fact::MAX_PROBE_STDERR_BYTES),
    })
}

fn command(setting: &CommandSetting, text: &str, stdin: Option<&[u8]>, env: &Env) -> Command {
    let current_user = user::name();
    let other_user = setting.user.as_deref().filter(|name| {
        let is_own = *name == current_user || name.parse() == Ok(user::id());
        !is_own
    });
    let home = || {
        let home = env.non_empty("HOME").map(str::to_owned);
        home.filter(|home| Path::new(home).is_dir())
            .unwrap_or_else(|| "/".to_owned())
    };
    let mut command = match other_user {
        Some(name) => command_as_user(name, setting, text, stdin),
        None => command_as_self(setting, text, stdin),
    };
    command.cwd = match (&setting.cwd, other_user) {
        (Some(folder), None) => folder.into(),
        (_, Some(_)) => "/".into(),
        (None, None) => home().into(),
    };
    let variables = env.all().iter();
    let variables = variables.map(|(name, value)| (name.clone(), value.clone()));
    command.env = variables.collect();
    if other_user.is_none() {
        command.env.extend(setting.env.iter().cloned());
    }
    command.time_limit = setting.time_limit;
    command
}

fn command_as_self(setting: &CommandSetting, text: &str, stdin: Option<&[u8]>) -> Command {
    let text = match setting.umask {
        Some(umask) => format!("umask {umask:04o}\n{text}"),
        None => text.to_owned(),
    };
    let program = Program::Shell {
        text,
        shell: setting.shell.clone(),
        secret: false,
    };
    let mut command = Command::new(program, "");
    command.stdin = stdin.map(<[u8]>::to_vec);
    command
}

/// Returns the program with which root runs a command as another user.
///
/// `runuser` asks for no password and also accepts an account that has expired, which `su` refuses.
fn root_program() -> &'static str {
    let mut paths = ["/usr/sbin/runuser", "/sbin/runuser"].into_iter();
    let found = paths.find(|path| fs::exists(Path::new(path)));
    found.unwrap_or("su")
}

/// Returns a command that runs as another user.
///
/// The script goes through stdin, so that it does not appear in the process list.
fn command_as_user(
    name: &str,
    setting: &CommandSetting,
    text: &str,
    stdin: Option<&[u8]>,
) -> Command {
    let script = batch::command_script(setting, text);
    let read = format!(
        "_t=$(dd bs=1 count={} 2>/dev/null); eval \"$_t\"",
        script.len()
    );
    let shell = "/bin/sh".to_owned();
    let words = if user::id() == 0 {
        let words = [root_program(), "-s", &shell, "-c", &read, "--", name];
        words.map(str::to_owned).to_vec()
    } else {
        let words = ["sudo", "-n", "-H", "-u", name, "--", &shell, "-c", &read];
        words.map(str::to_owned).to_vec()
    };
    let mut input = script.into_bytes();
    input.extend_from_slice(stdin.unwrap_or_default());
    let mut command = Command::new(Program::Argv(words), "/");
    command.stdin = Some(input);
    command
}
