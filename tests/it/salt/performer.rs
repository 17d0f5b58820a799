//! A simple executor for the state tests: reads facts and makes changes directly on this machine.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use unfurl::testing::host::change::{Change, ModeAndOwner};
use unfurl::testing::host::fact::{
    CommandSetting, Fact, FactReading, FileKind, FileStat, ProbeOutput,
};
use unfurl::testing::host::{CapturedOutput, Exit, RunOutput};
use unfurl::testing::value::hex;

fn entry(path: &Path, follow: bool) -> Option<FileStat> {
    let found = if follow {
        fs::metadata(path)
    } else {
        fs::symlink_metadata(path)
    }
    .ok()?;
    let kind = if found.is_file() {
        FileKind::File
    } else if found.is_dir() {
        FileKind::Folder
    } else if found.is_symlink() {
        FileKind::Link(fs::read_link(path).ok()?.to_string_lossy().into_owned())
    } else {
        FileKind::Other
    };
    let name = |id: u32| {
        if id == 0 {
            "root".to_owned()
        } else {
            id.to_string()
        }
    };
    Some(FileStat {
        kind,
        mode: found.mode() & 0o7777,
        user: name(found.uid()),
        group: name(found.gid()),
        size: found.len(),
        modified: found.mtime(),
    })
}

fn tree(root: &Path, below: &str, found: &mut Vec<(String, FileStat)>) {
    for it in fs::read_dir(root.join(below))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = format!("{below}{}", it.file_name().to_string_lossy());
        let Some(entry) = entry(&root.join(&name), false) else {
            continue;
        };
        let is_folder = entry.is_folder();
        found.push((name.clone(), entry));
        if is_folder {
            tree(root, &format!("{name}/"), found);
        }
    }
}

pub(super) fn read(fact: &Fact) -> FactReading {
    let content = |path: &String| fs::read(path).ok().filter(|_| Path::new(path).is_file());
    match fact {
        Fact::Path(path) => {
            entry(Path::new(path), false).map_or(FactReading::Absent, FactReading::Entry)
        }
        Fact::Target(path) => {
            entry(Path::new(path), true).map_or(FactReading::Absent, FactReading::Entry)
        }
        Fact::Digest(path) => content(path).map_or(FactReading::Absent, |bytes| {
            FactReading::Digest(hex(&Sha256::digest(bytes)))
        }),
        Fact::Content(path) => content(path).map_or(FactReading::Absent, FactReading::Content),
        Fact::Tree(path) => {
            let mut found = Vec::new();
            if !Path::new(path).is_dir() {
                return FactReading::Absent;
            }
            tree(Path::new(path), "", &mut found);
            found.sort_by(|a, b| a.0.cmp(&b.0));
            FactReading::Tree(found)
        }
        Fact::Probe(probe) => {
            let output = run(&probe.text, &probe.setting, None);
            FactReading::Probe(ProbeOutput {
                code: output.exit.code().unwrap_or(127),
                stdout: output.stdout.head,
                stderr: output.stderr.head,
            })
        }
    }
}

fn run(text: &str, setting: &CommandSetting, stdin: Option<&[u8]>) -> RunOutput {
    let shell = setting.shell.as_deref().unwrap_or("/bin/sh");
    let mask = setting
        .umask
        .map_or(String::new(), |mask| format!("umask {mask:o}\n"));
    let mut command = Command::new(shell);
    command.arg("-c").arg(format!("{mask}{text}"));
    command.envs(setting.env.iter().map(|(key, value)| (key, value)));
    if let Some(cwd) = &setting.cwd {
        command.current_dir(cwd);
    }
    let streams = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
    let [input, output, errors] = streams;
    let mut child = match command.stdin(input).stdout(output).stderr(errors).spawn() {
        Ok(child) => child,
        Err(error) => return RunOutput::not_run(Exit::Failed(error.to_string())),
    };
    // A write error is ignored, because some commands do not read their input.
    child
        .stdin
        .take()
        .unwrap()
        .write_all(stdin.unwrap_or_default())
        .ok();
    let output = child.wait_with_output().unwrap();
    RunOutput {
        stdout: CapturedOutput::from_bytes(output.stdout),
        stderr: CapturedOutput::from_bytes(output.stderr),
        ..RunOutput::not_run(Exit::Code(output.status.code().unwrap_or(137)))
    }
}

fn set(path: &str, like: &ModeAndOwner) -> std::io::Result<()> {
    if let Some(mode) = like.mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for it in fs::read_dir(from)? {
        let it = it?;
        copy(&it.path(), &to.join(it.file_name()))?;
    }
    Ok(())
}

/// Makes a change. Returns its output and whether it succeeded.
#[expect(clippy::too_many_lines, reason = "it is a table of changes")]
pub(super) fn change(change: &Change) -> (RunOutput, bool) {
    let done = match change {
        Change::Run(command) => {
            let output = run(&command.text, &command.setting, command.stdin.as_deref());
            let code = output.exit.code().unwrap_or(1);
            let is_good = code == 0 || command.good_codes.contains(&code);
            return (output, is_good);
        }
        Change::Write(write) => {
            let old = fs::metadata(&write.path).ok().map(|it| it.mode() & 0o7777);
            let like = ModeAndOwner {
                mode: write.like.mode.or(old),
                ..ModeAndOwner::default()
            };
            fs::remove_file(&write.path).ok();
            fs::write(&write.path, &write.bytes).and_then(|()| set(&write.path, &like))
        }
        Change::Folder {
            path,
            parents: true,
            like,
        } => fs::create_dir_all(path).and_then(|()| set(path, like)),
        Change::Folder { path, like, .. } => {
            let made = if Path::new(path).is_dir() {
                Ok(())
            } else {
                fs::create_dir(path)
            };
            made.and_then(|()| set(path, like))
        }
        Change::Link {
            path, target, hard, ..
        } => {
            fs::remove_file(path).ok();
            if *hard {
                fs::hard_link(target, path)
            } else {
                symlink(target, path)
            }
        }
        Change::Remove { path } => match entry(Path::new(path), false) {
            None => Ok(()),
            Some(entry) if entry.is_folder() => fs::remove_dir_all(path),
            Some(_) => fs::remove_file(path),
        },
        Change::Set { path, like, .. } => set(path, like),
        Change::Move { from, to } => fs::rename(from, to),
        Change::Copy { from, to, .. } => copy(Path::new(from), Path::new(to)),
        Change::Touch { path, written, .. } => {
            let file = fs::OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|file| match written {
                Some(at) => {
                    let at = Duration::from_secs(u64::try_from(*at).unwrap_or(0));
                    file.set_modified(UNIX_EPOCH + at)
                }
                None => Ok(()),
            })
        }
    };
    match done {
        Ok(()) => (RunOutput::not_run(Exit::Code(0)), true),
        Err(error) => {
            let output = RunOutput {
                stderr: CapturedOutput::from_bytes(error.to_string()),
                ..RunOutput::not_run(Exit::Code(1))
            };
            (output, false)
        }
    }
}
