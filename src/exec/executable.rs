//! Finds the executable file of a program.
//!
//! [`find_executable`] searches the `PATH` of the command itself, so that the system can start the
//! file without a fork.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::host::{Command, Exit};
use crate::system::fs::DEFAULT_PATH;

/// Returns the file to start, or the exit of a command that cannot start.
///
/// If the system itself had to look up the name in a `PATH` other than ours, it would fork, which
/// takes long in a large process. Starting a file by its path does not.
pub(super) fn find_executable(command: &Command) -> Result<PathBuf, Exit> {
    let name = command.program.name();
    if !command.cwd.is_dir() {
        let folder = command.cwd.display();
        let message = format!("cannot run `{name}` in `{folder}`: the folder does not exist");
        return Err(Exit::Failed(message));
    }
    if name.is_empty() {
        return Err(Exit::Failed("the command is empty".to_owned()));
    }
    if name.contains('/') {
        let file = command.cwd.join(name);
        return match file_state(&file) {
            FileState::Missing => Err(Exit::NotFound(format!("`{name}` was not found"))),
            FileState::NotExecutable => Err(not_executable(name)),
            FileState::Executable => Ok(file),
        };
    }
    let path = command.env.get("PATH").unwrap_or(DEFAULT_PATH);
    let mut result = Err(Exit::NotFound(format!(
        "`{name}` was not found in any folder of `PATH`"
    )));
    for folder in path.split(':') {
        let file = command.cwd.join(folder).join(name);
        match file_state(&file) {
            FileState::Executable => return Ok(file),
            FileState::NotExecutable => result = Err(not_executable(name)),
            FileState::Missing => {}
        }
    }
    result
}

fn not_executable(name: &str) -> Exit {
    Exit::Failed(format!(
        "`{name}` cannot be run: the file is not executable"
    ))
}

enum FileState {
    Executable,
    NotExecutable,
    Missing,
}

fn file_state(file: &Path) -> FileState {
    match file.metadata() {
        Ok(metadata) if !metadata.is_file() => FileState::Missing,
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => FileState::NotExecutable,
        Ok(_) => FileState::Executable,
        Err(_) => FileState::Missing,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test prepares its own files")]
mod tests {
    use super::*;
    use crate::host::Program;

    fn command(name: &str, path: &str) -> Command {
        let mut command = Command::new(Program::Argv(vec![name.into()]), "/");
        command.env.add("PATH", path);
        command
    }

    #[test]
    fn a_name_is_looked_for_in_the_commands_own_path() {
        assert!(find_executable(&command("sh", "/nowhere:/bin")).is_ok());
        let Err(Exit::NotFound(message)) = find_executable(&command("sh", "/nowhere")) else {
            panic!("it must not be found");
        };
        insta::assert_snapshot!(message, @"`sh` was not found in any folder of `PATH`");
    }

    #[test]
    fn a_file_that_cannot_run_is_distinguished_from_a_missing_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        std::fs::write(&file, "").unwrap();
        let here = command("tool", folder.path().to_str().unwrap());
        insta::assert_snapshot!(
            find_executable(&here).unwrap_err(),
            @"`tool` cannot be run: the file is not executable"
        );
        insta::assert_snapshot!(find_executable(&command("/no/tool", "")).unwrap_err(), @"`/no/tool` was not found");
    }

    #[test]
    fn a_missing_working_folder_is_reported() {
        let command = Command::new(Program::Argv(vec!["ls".into()]), "/no/such");
        insta::assert_snapshot!(
            find_executable(&command).unwrap_err(),
            @"cannot run `ls` in `/no/such`: the folder does not exist"
        );
    }
}
