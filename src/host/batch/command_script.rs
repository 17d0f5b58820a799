//! The part of a script that runs the command of a probe or a change, as the right user.

use std::fmt::Write as _;

use super::shell_words::{content_function, seconds};
use crate::host::fact::CommandSetting;
use crate::host::{DEFAULT_SHELL, Program};
use crate::text::{quote_word, quote_words};

/// The seconds between SIGTERM and SIGKILL for a command that exceeds its time limit.
const KILL_GRACE_SECONDS: u64 = 5;

/// Returns a script that runs `text` with the folder, variables, umask and time limit of its
/// setting.
///
/// The script ends by replacing itself with the command. No part of `text` is on a command line.
pub(crate) fn command_script(setting: &CommandSetting, text: &str) -> String {
    let mut script = String::new();
    if let Some(umask) = setting.umask {
        writeln!(script, "umask {umask:04o}").ok();
    }
    match setting.cwd.as_deref().and_then(folder) {
        None => script.push_str("cd 2>/dev/null || cd /\n"),
        Some(folder) => {
            writeln!(script, "CDPATH= cd -- {folder} || exit 126").ok();
        }
    }
    for (name, value) in setting.env.iter().filter(|(name, _)| is_name(name)) {
        writeln!(script, "export {name}={}", quote_word(value)).ok();
    }
    let program = Program::Shell {
        text: text.to_owned(),
        shell: Some(
            setting
                .shell
                .clone()
                .unwrap_or_else(|| DEFAULT_SHELL.to_owned()),
        ),
        secret: true,
    };
    if let Some((name, value)) = program.variable() {
        writeln!(script, "export {name}={}", quote_word(value)).ok();
    }
    let words = quote_words(program.argv());
    if let Some(limit) = setting.time_limit {
        let limit = seconds(limit);
        write!(
            script,
            "if command -v timeout >/dev/null 2>&1; then exec timeout -k {KILL_GRACE_SECONDS} {limit} {words}; fi\n\
             exec 4<&0\n{words} <&4 4<&- &\n_p=$!\n\
             ( sleep {limit}; kill $_p && sleep {KILL_GRACE_SECONDS} && kill -KILL $_p ) </dev/null >/dev/null 2>&1 4<&- &\n\
             _w=$!\nwait $_p; _c=$?\nkill $_w 2>/dev/null || _c=124\nexit $_c\n"
        )
        .ok();
    } else {
        writeln!(script, "exec {words}").ok();
    }
    script
}

/// Returns the working directory quoted for a shell; none for the user's home.
pub(in crate::host) fn folder(path: &str) -> Option<String> {
    match (path, path.strip_prefix("~/")) {
        ("" | "~", _) => None,
        (_, Some(rest)) => Some(format!("\"$HOME\"/{}", quote_word(rest))),
        (path, None) => Some(quote_word(path)),
    }
}

/// Returns the script lines that run a command as the user of its setting.
///
/// The outputs go to the temporary files `o` and `e`, which the shell function `r`
/// then reports.
pub(super) fn command_runner(setting: &CommandSetting, text: &str, stdin: Option<&[u8]>) -> String {
    let inner = command_script(setting, text);
    let outputs = "</dev/null >\"$_T.o\" 2>\"$_T.e\"\n";
    let Some(user) = setting.user.as_deref() else {
        return match stdin {
            None => format!("( l\n{inner}) {outputs}"),
            Some(bytes) => {
                let content = content_function(bytes);
                let outputs = outputs.replace("/dev/null", "\"$_T.i\"");
                format!("{content}c >\"$_T.i\"\n( l\n{inner}) {outputs}")
            }
        };
    };
    // The script itself goes through stdin: it may be secret, and `sudo` drops variables.
    let own = content_function(stdin.unwrap_or_default());
    let script = content_function(inner.as_bytes());
    let outputs = outputs.replace("/dev/null", "\"$_T.i\"");
    let name = quote_word(user);
    let read =
        "_t=$(dd bs=$1 count=1 2>/dev/null); eval \"$_t\"".replace("$1", &inner.len().to_string());
    let read = quote_word(&read);
    format!(
        "{script}c >\"$_T.i\"\n{own}c >>\"$_T.i\"\n( l\n\
         if [ {name} = \"$_me\" ] || [ {name} = \"$_id\" ]; then exec /bin/sh -c {read}; fi\n\
         cd /\n\
         if [ \"$_id\" = 0 ]; then _s=su; command -v runuser >/dev/null && _s=runuser; exec $_s -s /bin/sh -c {read} -- {name}; fi\n\
         exec sudo -n -H -u {name} -- /bin/sh -c {read}\n) {outputs}"
    )
}

/// Whether `text` is a valid name of a shell variable.
pub(in crate::host) fn is_name(name: &str) -> bool {
    let is_first = |sign: u8| sign.is_ascii_alphabetic() || sign == b'_';
    name.bytes().next().is_some_and(is_first)
        && name
            .bytes()
            .all(|sign| is_first(sign) || sign.is_ascii_digit())
}
