//! A simple executor for tests of state modules: reads facts and makes changes directly on this machine.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{Group, User};
use sha2::Digest as _;
use unfurl::testing::host::change::{Change, CommandRun, ModeAndOwner};
use unfurl::testing::host::fact::{Fact, FactReading, FileKind, FileStat, ProbeOutput};
use unfurl::testing::host::{CapturedOutput, Exit, RunOutput};

pub(crate) fn read(fact: &Fact) -> FactReading {
    match fact {
        Fact::Path(path) => fs::symlink_metadata(path).map_or(FactReading::Absent, |meta| {
            FactReading::Entry(entry(Path::new(path), &meta))
        }),
        Fact::Target(path) => fs::metadata(path).map_or(FactReading::Absent, |meta| {
            FactReading::Entry(entry(Path::new(path), &meta))
        }),
        Fact::Digest(path) => fs::read(path).map_or(FactReading::Absent, |bytes| {
            FactReading::Digest(unfurl::testing::value::hex(&sha2::Sha256::digest(&bytes)))
        }),
        Fact::Content(path) => fs::read(path).map_or(FactReading::Absent, FactReading::Content),
        Fact::Tree(path) => {
            if !Path::new(path).is_dir() {
                return FactReading::Absent;
            }
            let mut all = Vec::new();
            walk(Path::new(path), "", &mut all);
            all.sort_by(|a, b| a.0.cmp(&b.0));
            FactReading::Tree(all)
        }
        Fact::Probe(probe) => {
            let output = Command::new("/bin/sh")
                .args(["-c", &probe.text])
                .stdin(Stdio::null())
                .output()
                .unwrap();
            FactReading::Probe(ProbeOutput {
                code: output.status.code().unwrap(),
                stdout: output.stdout,
                stderr: output.stderr,
            })
        }
    }
}

fn walk(folder: &Path, below: &str, all: &mut Vec<(String, FileStat)>) {
    for item in fs::read_dir(folder).unwrap() {
        let item = item.unwrap();
        let name = item.file_name().into_string().unwrap();
        let path = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        let meta = item.metadata().unwrap();
        all.push((path.clone(), entry(&item.path(), &meta)));
        if meta.is_dir() {
            walk(&item.path(), &path, all);
        }
    }
}

fn entry(path: &Path, meta: &fs::Metadata) -> FileStat {
    let kind = if meta.is_file() {
        FileKind::File
    } else if meta.is_dir() {
        FileKind::Folder
    } else if meta.is_symlink() {
        FileKind::Link(fs::read_link(path).unwrap().to_str().unwrap().to_owned())
    } else {
        FileKind::Other
    };
    let user = User::from_uid(meta.uid().into()).unwrap();
    let group = Group::from_gid(meta.gid().into()).unwrap();
    FileStat {
        kind,
        mode: meta.permissions().mode() & 0o7777,
        user: user.map_or(meta.uid().to_string(), |user| user.name),
        group: group.map_or(meta.gid().to_string(), |group| group.name),
        size: meta.size(),
        modified: meta.mtime(),
    }
}

/// Makes changes one after the other, and stops at the first failure.
pub(crate) fn make(changes: &[Change]) -> Vec<RunOutput> {
    let mut outputs = Vec::new();
    for change in changes {
        let output = if let Change::Run(run) = change {
            ran(run)
        } else {
            let (exit, said) = match made(change) {
                Ok(()) => (Exit::Code(0), String::new()),
                Err(error) => (Exit::Code(1), error.to_string()),
            };
            RunOutput {
                stderr: CapturedOutput::from_bytes(said),
                ..RunOutput::not_run(exit)
            }
        };
        let failed = !output.exit.is_ok();
        outputs.push(output);
        if failed {
            break;
        }
    }
    outputs
}

fn ran(run: &CommandRun) -> RunOutput {
    let mut child = Command::new("/bin/sh")
        .args(["-c", &run.text])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // A write error is ignored, because some commands do not read their input.
    input
        .write_all(run.stdin.as_deref().unwrap_or_default())
        .ok();
    drop(input);
    let output = child.wait_with_output().unwrap();
    RunOutput {
        stdout: CapturedOutput::from_bytes(output.stdout),
        stderr: CapturedOutput::from_bytes(output.stderr),
        ..RunOutput::not_run(Exit::Code(output.status.code().unwrap()))
    }
}

#[expect(clippy::too_many_lines, reason = "it is a table of changes")]
fn made(change: &Change) -> std::io::Result<()> {
    match change {
        Change::Write(write) => {
            let path = Path::new(&write.path);
            let before = fs::symlink_metadata(path)
                .ok()
                .filter(fs::Metadata::is_file);
            let beside = format!("{}.new", write.path);
            fs::write(&beside, &write.bytes)?;
            if let Some(before) = before {
                fs::set_permissions(&beside, before.permissions())?;
                std::os::unix::fs::chown(&beside, Some(before.uid()), Some(before.gid()))?;
            }
            set(&beside, &write.like, true)?;
            fs::rename(&beside, path)
        }
        Change::Folder {
            path,
            parents,
            like,
        } => {
            if !Path::new(path).is_dir() {
                if *parents {
                    fs::create_dir_all(path)?;
                } else {
                    fs::create_dir(path)?;
                }
            }
            set(path, like, true)
        }
        Change::Link {
            path,
            target,
            hard,
            like,
        } => {
            fs::remove_file(path).ok();
            if *hard {
                fs::hard_link(target, path)?;
            } else {
                symlink(target, path)?;
            }
            set(path, like, false)
        }
        Change::Remove { path } => match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(_) => Ok(()),
        },
        Change::Set { path, like, follow } => set(path, like, *follow),
        Change::Move { from, to } => fs::rename(from, to),
        Change::Copy { from, to, preserve } => {
            let how = if *preserve { "-a" } else { "-R" };
            let mut copy = Command::new("cp");
            let done = copy.args([how, "-T", "--", from, to]).output()?;
            if done.status.success() {
                return Ok(());
            }
            Err(std::io::Error::other(
                String::from_utf8_lossy(&done.stderr).into_owned(),
            ))
        }
        Change::Touch {
            path,
            read,
            written,
        } => {
            let touch = |flag: &str, time: &Option<i64>| {
                let time = time.map_or("now".to_owned(), |time| format!("@{time}"));
                Command::new("touch")
                    .args([flag, "-d", &time, path])
                    .output()
            };
            touch("-a", read)?;
            touch("-m", written).map(|_| ())
        }
        Change::Run(_) => Ok(()),
    }
}

fn set(path: &str, like: &ModeAndOwner, follow: bool) -> std::io::Result<()> {
    let user = like.user.as_ref().map(|name| {
        name.parse()
            .unwrap_or_else(|_| User::from_name(name).unwrap().unwrap().uid.as_raw())
    });
    let group = like.group.as_ref().map(|name| {
        name.parse()
            .unwrap_or_else(|_| Group::from_name(name).unwrap().unwrap().gid.as_raw())
    });
    if user.is_some() || group.is_some() {
        if follow {
            std::os::unix::fs::chown(path, user, group)?;
        } else {
            std::os::unix::fs::lchown(path, user, group)?;
        }
    }
    if let Some(mode) = like.mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
