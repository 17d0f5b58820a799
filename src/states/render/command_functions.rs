//! Template functions (`salt['cmd.…']`) that run commands of the machine. The commands must not change it.

use super::call::{CallResult, TemplateCall};
use super::machine_functions::{account, entry, probe};
use crate::host::fact::{CommandSetting, Domain, FileStat, Probe, ProbeOutput};
use crate::states::Halt;
use crate::states::command_args::parse_setting;
use crate::text::{shlex_join, shlex_quote, shlex_split};
use crate::value::{Secrets, Value};

/// The implementation of a template function.
type CommandFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, CommandFn)] = &[
    ("cmd.run", |call| {
        Ok(shown(call, run(call, Streams::Merged)?.stdout))
    }),
    ("cmd.run_stdout", |call| {
        Ok(shown(call, run(call, Streams::Separate)?.stdout))
    }),
    ("cmd.run_stderr", |call| {
        Ok(shown(call, run(call, Streams::Separate)?.stderr))
    }),
    ("cmd.shell", |call| {
        Ok(shown(call, run(call, Streams::Merged)?.stdout))
    }),
    ("cmd.retcode", |call| {
        Ok(run(call, Streams::Separate)?.code.into())
    }),
    ("cmd.run_all", run_all),
    ("cmd.has_exec", |call| {
        Ok(find_program(call, &call.text(0, "cmd")?)?.is_some().into())
    }),
    ("cmd.which", which),
    ("cmd.which_bin", |call| {
        let names = call.arg_or_null(0, "cmds");
        for name in names.reveal().as_list().into_iter().flatten() {
            if let Some(path) = find_program(call, &name.reveal().to_string())? {
                return Ok(path.into());
            }
        }
        Ok(Value::Null)
    }),
];

/// The filters, as functions of the filtered value.
pub(super) const FILTERS: &[(&str, CommandFn)] = &[("which", which)];

/// The byte that the output ends with if the program of a command could not be started.
const NOT_STARTED: char = '\u{1}';

/// The variables that make programs answer in English, unless the call sets them itself.
const LOCALE: [&str; 13] = [
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
    "LANGUAGE",
];

/// The arguments that change the answer in ways that are not supported.
const REFUSED: [&str; 9] = [
    "bg",
    "clean_env",
    "group",
    "password",
    "root",
    "success_stderr",
    "success_stdout",
    "template",
    "use_vt",
];

/// The folders in which Salt looks for programs beside those of `PATH`.
const PROGRAM_FOLDERS: &str = "/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin";

/// How the outputs of a command are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Streams {
    /// Both in the order in which they were written.
    Merged,
    Separate,
}

/// The exit code and the outputs of a command, as Salt gives them.
struct CommandAnswer {
    code: i64,
    stdout: String,
    stderr: String,
}

/// Runs the command of a call. As in Salt, its text is split into words without a shell, unless `python_shell` is set.
fn run(call: &TemplateCall<'_>, streams: Streams) -> Result<CommandAnswer, Halt> {
    let refused = |name: &&&str| call.named.get(**name).is_some_and(Value::is_truthy);
    if let Some(name) = REFUSED.iter().find(refused) {
        return Err(call.fail(format_args!("the argument `{name}` is not supported")));
    }
    let setting = setting(call)?;
    let uses_shell = call.function == "cmd.shell" || call.flag(usize::MAX, "python_shell", false);
    let (command, shown) = command_text(call, uses_shell)?;
    let mut text = String::new();
    if streams == Streams::Merged {
        text.push_str("exec 2>&1\n");
    }
    let path = call.text_or(usize::MAX, "prepend_path", "");
    if !path.is_empty() {
        text.push_str(&format!("PATH={}:$PATH\nexport PATH\n", shlex_quote(&path)));
    }
    text.push_str(&command);
    let stdin = call.arg(2, "stdin").filter(|stdin| !stdin.is_null());
    if let Some(stdin) = stdin {
        let stdin = stdin.reveal().to_string();
        let mut secrets = Secrets::default();
        secrets.gather(&call.vars.pillar);
        if secrets.occur_in(&stdin) {
            return Err(call.fail(
                "`stdin` is a secret, which the list of processes would show; use a state `cmd.run` with `stdin`",
            ));
        }
        let stdin = shlex_quote(&stdin);
        text = format!("printf %s {stdin} | (\n{text}\n)");
    }
    let limit = setting.time_limit;
    let reads = Domain::All;
    let done = call.facts.probe(Probe {
        text,
        setting,
        reads,
    })?;
    match limit {
        Some(limit) if done.code == 124 => {
            let seconds = limit.as_secs();
            Ok(CommandAnswer {
                code: 1,
                stdout: format!("{shown} : Timed out after {seconds} seconds"),
                stderr: String::new(),
            })
        }
        _ => answer(call, done, &shown),
    }
}

/// Returns the text for the shell, and the command as messages show it.
fn command_text(call: &TemplateCall<'_>, uses_shell: bool) -> Result<(String, String), Halt> {
    let words = match call.arg(0, "cmd").map(Value::reveal) {
        Some(Value::List(words)) => words.iter().map(|word| word.reveal().to_string()).collect(),
        _ => {
            let line = call.text(0, "cmd")?;
            if uses_shell {
                return Ok((line.clone(), line));
            }
            shlex_split(&line, None)
                .ok_or_else(|| call.fail(format_args!("a quote of `{line}` is not closed")))?
        }
    };
    if words.first().is_none_or(String::is_empty) {
        return Err(call.fail("the command is empty"));
    }
    let shown = Value::list(words.iter().map(|word| word.as_str().into())).to_string();
    // The trap runs only if the shell could not become the program.
    let text = format!(
        "trap 'printf \\\\001' EXIT\nexec {}",
        shlex_join(words.iter())
    );
    Ok((text, shown))
}

/// Reads how the command runs. Fails as Salt does if the user, the shell or the folder does not exist.
fn setting(call: &TemplateCall<'_>) -> Result<CommandSetting, Halt> {
    let mut setting = parse_setting(|name| match name {
        "cwd" => call.arg(1, name),
        "runas" => call.arg(3, name),
        // Salt ignores variables that are neither a map nor a list.
        "env" => call
            .named
            .get(name)
            .filter(|env| env.reveal().as_str().is_none()),
        name => call.named.get(name),
    })?;
    if let Some(user) = &setting.user
        && account(call, "passwd", user)?.is_none_or(|fields| fields.first() != Some(user))
    {
        return Err(call.fail(format_args!("User '{user}' is not available")));
    }
    if let Some(shell) = &setting.shell
        && !entry(call, shell)?.is_some_and(|it| it.is_file() && it.mode & 0o111 != 0)
    {
        return Err(call.fail(format_args!("The shell {shell} is not available")));
    }
    if let Some(folder) = &setting.cwd
        && !(folder.starts_with('/')
            && entry(call, folder)?
                .as_ref()
                .is_some_and(FileStat::is_folder))
    {
        return Err(call.fail(format_args!(
            "Specified cwd '{folder}' either not absolute or does not exist"
        )));
    }
    if call.flag(usize::MAX, "reset_system_locale", true) {
        for name in LOCALE {
            if setting.env.iter().all(|(own, _)| own != name) {
                setting.env.push((name.to_owned(), "C".to_owned()));
            }
        }
    }
    Ok(setting)
}

/// Returns the answer of a command that has ended.
fn answer(call: &TemplateCall<'_>, done: &ProbeOutput, shown: &str) -> Result<CommandAnswer, Halt> {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        if call.flag(usize::MAX, "rstrip", true) {
            text.trim_end().to_owned()
        } else {
            text.into_owned()
        }
    };
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    if let Some(before) = stdout.strip_suffix(NOT_STARTED) {
        let reason = match done.code {
            126 => "it may not be executed",
            _ => "there is no such program",
        };
        let more = [before, &stderr].concat();
        return Err(call.fail(format_args!(
            "Unable to run command {shown}: {reason} ({})",
            more.trim()
        )));
    }
    let mut code = i64::from(done.code);
    if succeeds(call, code) {
        code = 0;
    }
    if code != 0 && call.flag(usize::MAX, "raise_err", false) {
        return Err(call.fail(format_args!(
            "the command {shown} failed with exit code {code}: {stderr}{stdout}"
        )));
    }
    Ok(CommandAnswer {
        code,
        stdout,
        stderr,
    })
}

/// Returns true if `success_retcodes` names an exit code.
fn succeeds(call: &TemplateCall<'_>, code: i64) -> bool {
    let code = code.to_string();
    match call.named.get("success_retcodes").map(Value::reveal) {
        Some(Value::List(codes)) => codes.iter().any(|it| it.reveal().to_string() == code),
        Some(codes) => codes.to_string().split(',').any(|it| it.trim() == code),
        None => false,
    }
}

/// Returns an output, which `hide_output` empties.
fn shown(call: &TemplateCall<'_>, output: String) -> Value {
    if call.flag(usize::MAX, "hide_output", false) {
        return "".into();
    }
    output.into()
}

fn run_all(call: &TemplateCall<'_>) -> CallResult {
    let streams = if call.flag(usize::MAX, "redirect_stderr", false) {
        Streams::Merged
    } else {
        Streams::Separate
    };
    let done = run(call, streams)?;
    Ok(Value::map([
        ("pid", 0.into()),
        ("retcode", done.code.into()),
        ("stdout", shown(call, done.stdout)),
        ("stderr", shown(call, done.stderr)),
    ]))
}

/// Returns the path of a program, or null.
fn which(call: &TemplateCall<'_>) -> CallResult {
    Ok(find_program(call, &call.text(0, "cmd")?)?.map_or(Value::Null, Value::from))
}

/// Looks for a program in the folders of `PATH`, so that commands of the shell itself do not count.
fn find_program(call: &TemplateCall<'_>, name: &str) -> Result<Option<String>, Halt> {
    if name.is_empty() {
        return Ok(None);
    }
    let text = format!(
        "_n={}\nif [ -f \"$_n\" ] && [ -x \"$_n\" ]; then printf %s \"$_n\"; exit 0; fi\nIFS=:\n\
         for _d in $PATH:{PROGRAM_FOLDERS}; do\n\
         if [ -f \"$_d/$_n\" ] && [ -x \"$_d/$_n\" ]; then printf %s \"$_d/$_n\"; exit 0; fi\ndone\nexit 1",
        shlex_quote(name)
    );
    let found = probe(call, text, Domain::All)?;
    let path = String::from_utf8_lossy(&found.stdout).into_owned();
    Ok((found.code == 0).then_some(path))
}
