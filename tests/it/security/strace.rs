//! Runs the binary under strace and reads the trace: the files opened, the changes of files and the programs
//! started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Run, TestEnv};

/// The system calls to record: those that open or change files, start programs or use the network.
const CALLS: &str = "execve,execveat,open,openat,?openat2,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,\
    renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,chmod,fchmodat,?fchmodat2,chown,lchown,\
    fchownat,truncate,utimensat,setxattr,lsetxattr,connect";

/// A successful system call on a path.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) kind: AccessKind,
    /// The absolute path, without `.` and `..`.
    pub(super) path: PathBuf,
    /// The line of strace, for messages.
    pub(super) line: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// A file or folder is opened for reading.
    Read,
    /// A file or folder is created, changed, moved or removed.
    Write,
    /// A program is started.
    Start,
    /// A socket is connected.
    Connect,
}

/// Runs the binary in the working folder under strace. Returns its result and the accesses in order, without
/// the start of the binary itself.
pub(super) fn traced(env: &TestEnv, arguments: &[&str]) -> (Run, Vec<Access>) {
    let trace = env.work().with_file_name("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-qq", "--seccomp-bpf", "-s", "4096", "-o"]);
    strace.arg(&trace).args(["-e", &format!("trace={CALLS}")]);
    strace.arg(crate::support::binary());
    let run = env.start_command(strace, arguments).ends_by_itself();
    let text = fs::read(&trace).unwrap_or_else(|error| panic!("strace: {error}: {run}"));
    let text = String::from_utf8_lossy(&text).into_owned();
    let accesses: Vec<_> = text
        .lines()
        .filter_map(|line| access(line, &env.work()))
        .collect();
    let started = accesses
        .iter()
        .position(|access| access.kind == AccessKind::Start);
    assert_eq!(started, Some(0), "{run}\n{text}");
    (run, accesses.into_iter().skip(1).collect())
}

/// Reads a line of strace. Returns None for failed calls and for ends of calls that other lines begin.
fn access(line: &str, work: &Path) -> Option<Access> {
    let (_, rest) = line.split_once(' ')?;
    let rest = rest.trim_start();
    let (name, rest) = rest.split_once('(')?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) || rest.contains(" = -1 ") {
        return None;
    }
    let kind = match name {
        "execve" | "execveat" => AccessKind::Start,
        "connect" => AccessKind::Connect,
        "open" | "openat" | "openat2" if !opens_for_writing(rest) => AccessKind::Read,
        _ => AccessKind::Write,
    };
    let path = if kind == AccessKind::Connect {
        PathBuf::new()
    } else {
        last_path(name, rest, work)
    };
    Some(Access {
        kind,
        path,
        line: line.to_owned(),
    })
}

fn opens_for_writing(arguments: &str) -> bool {
    ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"]
        .iter()
        .any(|flag| arguments.contains(flag))
}

/// Returns the path that a call changes, opens or starts: the last one of its arguments, but the first of a
/// program and of a symbolic link's target.
fn last_path(name: &str, arguments: &str, work: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    let mut folder = work.to_owned();
    let mut rest = arguments;
    while let Some(start) = rest.find(['"', '<']) {
        let quote = rest.as_bytes()[start];
        let end = if quote == b'"' { '"' } else { '>' };
        let inner = &rest[start + 1..];
        let Some(length) = inner.find(end) else { break };
        let text = &inner[..length];
        rest = &inner[length + 1..];
        if quote == b'<' {
            folder = PathBuf::from(text);
            continue;
        }
        path = normal(&folder.join(text));
        if name.starts_with("execve") {
            break;
        }
    }
    path
}

fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                found.pop();
            }
            other => found.push(other),
        }
    }
    found
}
