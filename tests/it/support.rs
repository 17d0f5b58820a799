//! Test environments: each test gets its own home, its own working folder and the built binary.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use unfurl::testing::system::machine::is_running;

use crate::memory_disk::memory_folder;
use crate::requires::recorded_answers;

/// The time limit for a call of the binary and for everything that a test waits for.
const LIMIT: Duration = Duration::from_secs(100);

/// The pause between two attempts of [`wait_for`].
const PAUSE: Duration = Duration::from_millis(2);

/// Calls `look` until it returns a value, and returns the value. Panics after [`LIMIT`], with `what` in the
/// message.
#[track_caller]
pub(crate) fn wait_for<T>(what: impl Display, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::sleep(PAUSE);
    }
}

/// Like [`wait_for`], but lets other async tasks run in the meantime.
pub(crate) async fn wait_for_async<T>(
    what: impl Display,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} never came");
        tokio::time::sleep(PAUSE).await;
    }
}

#[track_caller]
pub(crate) fn wait_until_gone(pids: &[u32]) {
    wait_for(format_args!("the end of {pids:?}"), || {
        pids.iter().all(|pid| !is_running(*pid)).then_some(())
    });
}

/// The binary under test: the one just built, or the one named by `UNFURL_TEST_BINARY`, which may have
/// another profile.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("UNFURL_TEST_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_unfurl").into(), PathBuf::from)
}

/// A temporary folder with a home and a working folder, and the environment variables for calls.
#[derive(Debug)]
pub(crate) struct TestEnv {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
    removed: Vec<String>,
}

/// The output and exit code of a finished call of the binary.
#[derive(Debug)]
pub(crate) struct Run {
    /// The command line, for messages.
    pub(crate) command: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code, or a negative number if a signal ended the process.
    pub(crate) code: i32,
    pub(crate) time: Duration,
}

impl TestEnv {
    /// An environment on a memory disk, if the machine has one.
    pub(crate) fn new() -> Self {
        Self::at(memory_folder())
    }

    /// A copy on the same disk.
    pub(crate) fn copied(&self) -> Self {
        let root = tempfile::tempdir_in(self.root.path().parent().unwrap()).unwrap();
        copy(self.root.path(), root.path());
        Self {
            root,
            variables: self.variables.clone(),
            removed: self.removed.clone(),
        }
    }

    fn at(root: tempfile::TempDir) -> Self {
        for folder in ["home", "tmp", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self {
            root,
            variables: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// An environment with the text as its only ensemble.
    pub(crate) fn with_ensemble(text: &str) -> Self {
        let env = Self::new();
        env.write("ensemble.yaml", text);
        env
    }

    /// An environment with a copy of one of the examples.
    pub(crate) fn with_example(name: &str) -> Self {
        Self::with_folder(&format!("ensembles/{name}"))
    }

    /// An environment with a copy of a folder of the repository.
    pub(crate) fn with_folder(path: &str) -> Self {
        let env = Self::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        copy(&folder, &env.work());
        env
    }

    /// Sets an environment variable for all calls.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the user's git settings for all calls.
    pub(crate) fn git_settings(self, text: &str) -> Self {
        let file = self.root.path().join("home/git-settings");
        fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap().to_owned();
        self.variable("GIT_CONFIG_GLOBAL", &file)
    }

    /// Makes a home project that trusts the working folder.
    pub(crate) fn trusted(self) -> Self {
        let home = self.root.path().join("home/trusting");
        fs::create_dir_all(&home).unwrap();
        let text = "apiVersion: unfurl/v1.0.0\nkind: Project\ntrusted: [../../work]\n";
        fs::write(home.join("unfurl.yaml"), text).unwrap();
        let home = home.to_str().unwrap().to_owned();
        self.variable("UNFURL_HOME", &home)
    }

    /// Removes an environment variable for all calls.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.removed.push(name.to_owned());
        self
    }

    /// The working folder, in which the binary is called.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.work().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The content of a file, if there is one.
    pub(crate) fn read_if(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.work().join(path)).ok()
    }

    /// Calls the binary in the working folder and waits for its end.
    pub(crate) fn unfurl<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Run {
        self.call(Command::new(binary()), arguments)
    }

    /// Calls the binary and kills it after a time. Returns whether it had ended by then.
    pub(crate) fn killed_after(&self, time: Duration, arguments: &[&str]) -> bool {
        let command = Command::new(binary());
        let mut command = self.command(command, arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        std::thread::sleep(time);
        let ended = child.try_wait().unwrap().is_some();
        child.kill().ok();
        child.wait().unwrap();
        ended
    }

    /// Calls the binary with an additional environment variable.
    #[cfg(feature = "fault-injection")]
    pub(crate) fn unfurl_with(&self, (name, value): (&str, &str), arguments: &[&str]) -> Run {
        let mut shell = Command::new("/usr/bin/env");
        shell.arg(format!("{name}={value}"));
        shell.arg(binary());
        self.call(shell, arguments)
    }

    /// Calls the binary in a folder of the working folder, with additional environment variables.
    pub(crate) fn unfurl_in(
        &self,
        folder: &str,
        variables: &[(String, String)],
        arguments: &[&str],
    ) -> Run {
        let mut command = self.command(Command::new(binary()), arguments);
        command.current_dir(self.work().join(folder));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        run(command)
    }

    /// Calls the binary after lines of shell, which can set limits.
    pub(crate) fn unfurl_after(&self, lines: &str, arguments: &[&str]) -> Run {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("{lines}\nexec \"$0\" \"$@\"")]);
        shell.arg(binary());
        self.call(shell, arguments)
    }

    fn call<I: AsRef<OsStr>>(
        &self,
        command: Command,
        arguments: impl IntoIterator<Item = I>,
    ) -> Run {
        run(self.command(command, arguments))
    }

    /// Starts the binary in the working folder and returns at once.
    pub(crate) fn start<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Started {
        self.start_command(Command::new(env!("CARGO_BIN_EXE_unfurl")), arguments)
    }

    /// Starts another program like the binary and returns at once.
    pub(crate) fn start_command<I: AsRef<OsStr>>(
        &self,
        command: Command,
        arguments: impl IntoIterator<Item = I>,
    ) -> Started {
        Started::new(self.command(command, arguments))
    }

    /// Returns a command that runs in the working folder, with the environment of all calls.
    pub(crate) fn prepared(&self, command: Command, arguments: &[&str]) -> Command {
        self.command(command, arguments)
    }

    /// Prepares a call of a program with these arguments.
    pub(crate) fn command<I: AsRef<OsStr>>(
        &self,
        mut command: Command,
        arguments: impl IntoIterator<Item = I>,
    ) -> Command {
        command.args(arguments).current_dir(self.work()).env_clear();
        for name in ["PATH", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", self.root.path().join("home"))
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("UNFURL_HOME", "")
            .env("UNFURL_SEARCH_ROOT", self.root.path())
            .env("UNFURL_SKIP_UPSTREAM_CHECK", "1")
            .env("NO_COLOR", "1")
            .env("COLUMNS", "120")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_NAME", "tester")
            .env("GIT_AUTHOR_EMAIL", "tester@example.com")
            .env("GIT_COMMITTER_NAME", "tester")
            .env("GIT_COMMITTER_EMAIL", "tester@example.com")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        for name in &self.removed {
            command.env_remove(name);
        }
        command
    }

    /// Waits until a file of the working folder exists and is not empty, and returns its content.
    #[track_caller]
    pub(crate) fn wait_for(&self, path: &str) -> String {
        let path = self.work().join(path);
        wait_for(path.display(), || {
            let text = fs::read_to_string(&path).ok();
            text.filter(|text| !text.is_empty())
        })
    }

    /// Runs git in the working folder and returns its output.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        let output = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(self.work())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The content of `ensemble.yaml`, parsed.
    pub(crate) fn ensemble(&self) -> serde_json::Value {
        serde_yaml::from_str(&self.read("ensemble.yaml")).unwrap()
    }

    /// The files of the working folder that git would track. Logs, locks and the folders of jobs, plans and
    /// failures are left out.
    pub(crate) fn tracked(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.work()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().and_then(OsStr::to_str).unwrap();
                // The example `webapp` keeps the data of its processes in `run`.
                if is_ignored(name) || name == "run" {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if path.is_file() {
                    let bytes = fs::read(&path).unwrap();
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }

    /// The files of the working folder by path, including those that git ignores.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let (mut files, mut folders) = (Vec::new(), vec![self.work()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    files.push((path.display().to_string(), bytes));
                }
            }
        }
        files
    }

    /// The sorted names of the files and folders directly in the working folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Run {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self.does_not_panic()
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// Asserts that the program did not panic.
    #[track_caller]
    pub(crate) fn does_not_panic(self) -> Self {
        for sign in [
            "panicked at",
            "RUST_BACKTRACE",
            "stack overflow",
            "internal error",
        ] {
            assert!(!self.stderr.contains(sign), "{self}");
        }
        assert!(self.code >= 0, "a signal ended it\n{self}");
        self
    }

    /// Asserts that the messages on standard error contain these texts.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "`{text}` is missing\n{self}");
        }
        self
    }

    /// Asserts that standard output contains these texts.
    #[track_caller]
    pub(crate) fn prints(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stdout.contains(text), "`{text}` is missing\n{self}");
        }
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Standard output followed by standard error.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            command,
            stdout,
            stderr,
            code,
            time,
        } = self;
        write!(
            f,
            "$ {command}\n{stdout}{stderr}exit code {code} after {time:?}"
        )
    }
}

/// Whether git ignores a path, by the `.gitignore` of new projects and the rules of jobs.
pub(crate) fn is_ignored(path: &str) -> bool {
    let folders = [
        "jobs",
        "planned",
        "failed",
        "tasks",
        "operation",
        "workflow",
        "secrets",
        "local",
        "tmp",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = [".log", ".lock"];
    // The tasks of a role of Ansible, which `.gitignore` must except.
    let is_of_role = path.rsplit('/').nth(2) == Some("roles");
    folders.contains(&name) && !is_of_role || ends.iter().any(|end| name.ends_with(end))
}

/// Deletes the files that git ignores, so that the folder looks like a fresh clone.
pub(crate) fn delete_ignored_files(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match (is_ignored(&path.to_string_lossy()), path.is_dir()) {
            (true, true) => fs::remove_dir_all(&path).unwrap(),
            (true, false) => fs::remove_file(&path).unwrap(),
            (false, true) => delete_ignored_files(&path),
            (false, false) => {}
        }
    }
}

/// A running process. Dropping this value kills it.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    command: String,
    began: Instant,
    outputs: Option<[Reading; 2]>,
}

impl Started {
    fn new(mut command: Command) -> Self {
        let began = Instant::now();
        let text = format!("{command:?}");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = Reading::of(child.stdout.take().unwrap());
        let stderr = Reading::of(child.stderr.take().unwrap());
        Self {
            child,
            command: text,
            began,
            outputs: Some([stdout, stderr]),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// The messages of the process so far.
    pub(crate) fn messages(&self) -> String {
        self.outputs.as_ref().unwrap()[1].so_far()
    }

    /// Waits until the process's messages contain a text.
    #[track_caller]
    pub(crate) fn wait_until_it_says(&self, text: &str) {
        let what = fmt::from_fn(|f| write!(f, "after\n{}\n`{text}`", self.messages()));
        wait_for(what, || self.messages().contains(text).then_some(()));
    }

    /// Closes standard input and waits for the end.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Run {
        drop(self.child.stdin.take());
        self.ends_by_itself()
    }

    /// Waits for the end and leaves standard input open.
    #[track_caller]
    pub(crate) fn ends_by_itself(mut self) -> Run {
        let what = format!("the end of {}", self.command);
        let status = wait_for(what, || self.child.try_wait().unwrap());
        let time = self.began.elapsed();
        let [stdout, stderr] = self.outputs.take().unwrap();
        Run {
            command: std::mem::take(&mut self.command),
            stdout: stdout.all(),
            stderr: stderr.all(),
            code: status.code().unwrap_or(-1),
            time,
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // The process may have ended already, so errors are ignored.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn run(command: Command) -> Run {
    Started::new(command).ends()
}

/// A thread that collects the output of a running program.
#[derive(Debug)]
struct Reading {
    text: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Reading {
    fn of(mut from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&text);
        let thread = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                into.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        Self { text, thread }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    fn all(self) -> String {
        self.thread.join().unwrap();
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Whether loops have their full length, which takes many minutes.
pub(crate) fn is_full() -> bool {
    std::env::var("UNFURL_LOOPS").is_ok_and(|loops| loops == "full")
}

/// The recorded answers of the real Fabric.
pub(crate) fn fabric_answers() -> serde_json::Value {
    let file = recorded_answers().join("corpus/fabric/expected.json");
    let text = fs::read_to_string(file).unwrap();
    serde_json::from_str(&text).unwrap()
}
