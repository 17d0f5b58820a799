//! A real `sshd` of this user, with a repository whose locks are kept by `git-lfs-transfer`.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::hosts::sshd::free_port;
use crate::requires::{program, target};
use crate::support::{TestEnv, wait_for};

/// An SSH server with one bare repository.
#[derive(Debug)]
pub(super) struct Server {
    folder: tempfile::TempDir,
    sshd: Child,
    port: u16,
}

impl Server {
    /// Starts a server with the `git-lfs-transfer` that `tests/lfs.sh` builds.
    pub(super) fn start() -> Self {
        Self::with_programs(&target().join("lfs-tools/bin"))
    }

    /// Starts a server whose users have this folder in their `PATH`.
    pub(super) fn with_programs(programs: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            run(Command::new("ssh-keygen").args(words).arg(at(key)));
        }
        fs::copy(at("user.pub"), at("authorized_keys")).unwrap();
        run(Command::new("git").args(["init", "-q", "--bare", "-b", "main", &at("remote.git")]));
        // Retry, because another process may take the free port before `sshd` does.
        for _ in 0..5 {
            let port = free_port();
            if let Some(sshd) = start(folder.path(), programs, port) {
                return Self { folder, sshd, port };
            }
        }
        panic!(
            "sshd does not start: {}",
            fs::read_to_string(at("log")).unwrap()
        );
    }

    pub(super) fn url(&self) -> String {
        let path = self.folder.path().join("remote.git");
        format!("ssh://127.0.0.1:{}{}", self.port, path.display())
    }

    /// The value of `GIT_SSH_COMMAND` for this server.
    fn ssh(&self) -> String {
        let folder = self.folder.path().display();
        format!(
            "ssh -F none -i {folder}/user -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \
             -o UserKnownHostsFile={folder}/known_hosts"
        )
    }

    /// An environment with a clone of the repository.
    pub(super) fn clone_it(&self) -> TestEnv {
        let env = TestEnv::new().variable("GIT_SSH_COMMAND", &self.ssh());
        assert!(
            self.git(&env, &["clone", "-q", &self.url(), "."])
                .status
                .success()
        );
        env
    }

    /// An environment with a clone, to which the ensemble is committed and pushed.
    pub(super) fn with_ensemble(&self, text: &str) -> TestEnv {
        let env = self.clone_it();
        env.write("ensemble.yaml", text);
        env.write(".gitignore", "*.lock\n*.lock.owner\n*.owner.lock\nhere\n");
        for words in [
            &["add", "-A"][..],
            &["commit", "-q", "-m", "x"],
            &["push", "-q", "origin", "HEAD"],
        ] {
            let output = self.git(&env, words);
            assert!(output.status.success(), "{output:?}");
        }
        env
    }

    /// Runs the real git in a clone.
    pub(super) fn git(&self, env: &TestEnv, words: &[&str]) -> Output {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        Command::new("git")
            .args(identity)
            .args(words)
            .current_dir(env.work())
            .env("GIT_SSH_COMMAND", self.ssh())
            .env("GIT_TERMINAL_PROMPT", "0")
            .output()
            .unwrap()
    }

    /// The locks, as the real git-lfs client lists them.
    pub(super) fn locks(&self, env: &TestEnv) -> serde_json::Value {
        let output = self.git(env, &["lfs", "locks", "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Makes another user the owner of all locks. Returns false if that is not possible here.
    pub(super) fn give_locks_to_nobody(&self) -> bool {
        let folder = self.folder.path().join("remote.git/lfs/locks");
        let files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(!files.is_empty());
        let nobody = |file: &PathBuf| std::os::unix::fs::chown(file, Some(65534), None).is_ok();
        files.iter().all(nobody)
    }

    /// Sets the dates of all locks one minute back.
    pub(super) fn make_locks_older(&self) {
        let folder = self.folder.path().join("remote.git/lfs/locks");
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let mut parts = text.splitn(3, ':');
            let (version, time, name) = (
                parts.next().unwrap(),
                parts.next().unwrap().parse::<i64>().unwrap(),
                parts.next().unwrap(),
            );
            fs::write(&path, format!("{version}:{}:{name}", time - 60)).unwrap();
        }
    }

    pub(super) fn stop(&mut self) {
        self.sshd.kill().unwrap();
        self.sshd.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.sshd.kill().ok();
        self.sshd.wait().ok();
    }
}

fn start(folder: &Path, programs: &Path, port: u16) -> Option<Child> {
    let at = |name: &str| folder.join(name).display().to_string();
    let key = fs::read_to_string(at("host.pub")).unwrap();
    let key: Vec<_> = key.split_whitespace().take(2).collect();
    fs::write(
        at("known_hosts"),
        format!("[127.0.0.1]:{port} {}\n", key.join(" ")),
    )
    .unwrap();
    let config = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
         StrictModes no\nUsePAM no\nPasswordAuthentication no\nSetEnv PATH={}:/usr/bin:/bin\n",
        at("host"),
        at("authorized_keys"),
        programs.display(),
    );
    fs::write(at("sshd_config"), config).unwrap();
    let mut sshd = Command::new(program("sshd").unwrap())
        .args(["-D", "-e", "-f", &at("sshd_config")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(at("log")).unwrap())
        .spawn()
        .unwrap();
    let listens = wait_for("sshd", || {
        let listens = TcpStream::connect(("127.0.0.1", port)).is_ok();
        let ended = sshd.try_wait().unwrap().is_some();
        (listens || ended).then_some(listens)
    });
    listens.then_some(sshd)
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}
