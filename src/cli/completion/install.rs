//! Writes the completion script of a shell to the place from which the shell loads it.

use std::path::{Path, PathBuf};

use super::scripts::{Shell, script};
use crate::cli::output::Output;
use crate::name::EnumWords as _;
use crate::ops::{Failure, FailureKind};
use crate::system::fs;

/// Writes the script and says what remains to be done. Files with settings of the shell stay as they are.
pub(in crate::cli) fn install(shell: Option<Shell>, output: &Output) -> Result<u8, Failure> {
    let shell = match shell {
        Some(shell) => shell,
        None => current_shell(output)?,
    };
    let file = place(shell, output)?;
    let text = script(shell);
    let is_current = fs::read_within(&file, 1 << 20).is_ok_and(|old| old == text.as_bytes());
    if !is_current {
        fs::write_plain(&file, text.as_bytes(), None).map_err(|error| {
            let hint = format!("`unfurl completions {}` prints the script", shell.as_str());
            Failure::new(FailureKind::Refused, &error, Some(hint))
        })?;
    }
    let done = if is_current {
        "is up to date"
    } else {
        "was written"
    };
    let path = file.display();
    let name = shell.as_str();
    output.print_result(&format!(
        "The completion script for {name} {done}: {path}\n{}",
        next_step(shell, &file)
    ));
    Ok(0)
}

/// Returns the shell of the user, as the variable `SHELL` says.
fn current_shell(output: &Output) -> Result<Shell, Failure> {
    let path = output.variable("SHELL").unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    Shell::parse(name).ok_or_else(|| {
        let message = match name {
            "" => "the variable `SHELL` names no shell".to_owned(),
            name => format!("there is no completion for the shell `{name}`"),
        };
        Failure::usage_with(
            message,
            "name one: `unfurl completions install bash`, `zsh` or `fish`",
        )
    })
}

/// Returns the file that the shell loads.
fn place(shell: Shell, output: &Output) -> Result<PathBuf, Failure> {
    let variable = |name: &str| output.variable(name).filter(|text| text.starts_with('/'));
    let home = variable("HOME").map(PathBuf::from).ok_or_else(|| {
        let help = "set `HOME`, or print the script with `unfurl completions SHELL`";
        Failure::usage_with("the variable `HOME` names no folder", help)
    })?;
    let below =
        |name: &str, usual: &str| variable(name).map_or_else(|| home.join(usual), PathBuf::from);
    Ok(match shell {
        Shell::Bash => {
            below("XDG_DATA_HOME", ".local/share").join("bash-completion/completions/unfurl")
        }
        Shell::Zsh => below("ZDOTDIR", "").join(".zfunc/_unfurl"),
        Shell::Fish => below("XDG_CONFIG_HOME", ".config").join("fish/completions/unfurl.fish"),
    })
}

fn next_step(shell: Shell, file: &Path) -> String {
    let folder = file.parent().unwrap_or(Path::new("/")).display();
    match shell {
        Shell::Bash => format!(
            "New shells complete `unfurl` if the package `bash-completion` is installed. If it is not, add this \
             line to ~/.bashrc:\n    source {}\n",
            file.display()
        ),
        Shell::Zsh => format!(
            "Add these lines to ~/.zshrc, unless they are there already, and open a new shell:\n    \
             fpath=({folder} $fpath)\n    autoload -Uz compinit && compinit\n"
        ),
        Shell::Fish => "New shells complete `unfurl`.\n".to_owned(),
    }
}
