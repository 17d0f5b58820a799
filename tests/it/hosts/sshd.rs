//! A real `sshd` for tests. It listens on addresses of this machine on a free port, accepts a new key for the
//! user who runs the tests, and ends with the test.

use std::fmt;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use unfurl::testing::host::{
    Action, ActionResult, Address, CallControl, ConnectionPool, Destination, Exit, Location,
    PoolLimits, Program, RunOutput, StopLevel, TransferOutput,
};

use crate::network::Machine;
use crate::requires::program;
use crate::support::wait_for;

/// A running SSH server and the folder with its keys, configuration and log.
#[derive(Debug)]
pub(crate) struct Sshd {
    folder: TempDir,
    child: Child,
    pub(crate) port: u16,
}

impl Sshd {
    /// Starts a server on 127.0.0.1.
    pub(crate) fn start() -> Self {
        Self::with(1, &[])
    }

    /// Starts a server on so many addresses from 127.0.0.1 up.
    ///
    /// `lines` are configuration lines that win over the defaults.
    #[track_caller]
    pub(crate) fn with(addresses: u8, lines: &[&str]) -> Self {
        let port = free_port();
        // `sshd` listens on at most sixteen addresses, or on all of them.
        let listens = |last| match addresses {
            ..=16 => format!("ListenAddress 127.0.0.{last}:{port}"),
            17.. => format!("ListenAddress 0.0.0.0:{port}"),
        };
        let mut listens: Vec<String> = (1..=addresses.min(16)).map(listens).collect();
        listens.dedup();
        Self::begin(
            Command::new(program("sshd").unwrap()),
            (port, &listens),
            lines,
        )
    }

    /// Starts a server in the network of a machine.
    #[track_caller]
    pub(crate) fn on(machine: &Machine) -> Self {
        let port = free_port();
        let listens = format!("ListenAddress {}:{port}", machine.address);
        let sshd = program("sshd").unwrap();
        let command = machine.command(sshd.to_str().unwrap());
        Self::begin(command, (port, &[listens]), &[])
    }

    #[track_caller]
    fn begin(mut program: Command, (port, listens): (u16, &[String]), lines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        // The home folder is empty, so that no shell start-up file costs time.
        fs::create_dir(root.join("home")).unwrap();
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        make_key(&root.join("host_ed25519"), "ed25519", "");
        copy_rsa_key(root);
        make_key(&root.join("id"), "ed25519", "");
        fs::copy(root.join("id.pub"), root.join("authorized_keys")).unwrap();
        // As root, `sshd` needs this folder, which the service of the package would create.
        fs::create_dir_all("/run/sshd").ok();
        let mut config: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let path = root.display();
        config.extend([
            format!("HostKey {path}/host_ed25519"),
            format!("HostKey {path}/host_rsa"),
            format!("AuthorizedKeysFile {path}/authorized_keys"),
            format!("SetEnv HOME={path}/home"),
            "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no".to_owned(),
            "PermitRootLogin yes\nMaxStartups 200\nUseDNS no\nPrintMotd no".to_owned(),
            "KbdInteractiveAuthentication no\nLogLevel VERBOSE".to_owned(),
        ]);
        // A second `Subsystem sftp` would be an error.
        if !lines.iter().any(|line| line.starts_with("Subsystem")) {
            config.push("Subsystem sftp internal-sftp".to_owned());
        }
        config.extend(listens.iter().cloned());
        fs::write(root.join("config"), config.join("\n") + "\n").unwrap();
        let log = fs::File::create(root.join("log")).unwrap();
        let child = program
            .args(["-D", "-e", "-f"])
            .arg(root.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut sshd = Self {
            folder,
            child,
            port,
        };
        sshd.wait_until_it_listens(listens.len());
        sshd.trust();
        sshd
    }

    /// Waits until the server listens on all its addresses, which it begins one after the other.
    #[track_caller]
    fn wait_until_it_listens(&mut self, addresses: usize) {
        let log = self.path("log");
        let log = || fs::read_to_string(&log).unwrap_or_default();
        let what = fmt::from_fn(|f| write!(f, "sshd that listens, after {}", log()));
        wait_for(what, || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "sshd does not start: {}", log());
            let listening = log().matches("Server listening on").count();
            (listening >= addresses).then_some(())
        });
    }

    /// Writes the server's host key to `known_hosts`.
    fn trust(&self) {
        let key = fs::read_to_string(self.path("host_ed25519.pub")).unwrap();
        let line = format!("[127.0.0.*]:{0},[10.*]:{0} {key}", self.port);
        fs::write(self.path("known_hosts"), line).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The path of a file in the server's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// The first address, as a destination with the key that the server accepts.
    pub(crate) fn host(&self) -> Destination {
        self.nth(1)
    }

    /// The n-th address (from 1), as a destination with the key that the server accepts.
    pub(crate) fn nth(&self, last: u8) -> Destination {
        let address = Address {
            user: user(),
            host: format!("127.0.0.{last}"),
            port: self.port,
        };
        let mut host = Destination::new(format!("host{last}"), address);
        host.known_hosts = vec![self.path("known_hosts")];
        host.identities.files = vec![self.path("id")];
        host.connect_timeout = Duration::from_secs(20);
        host
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // The server's children end with their connections.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Puts the files `host_rsa` and `host_rsa.pub` into a folder.
///
/// All servers have the same key, which is kept in the target folder, because a new one takes about a second.
fn copy_rsa_key(folder: &Path) {
    const NAMES: [&str; 2] = ["host_rsa", "host_rsa.pub"];
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kept = parent.join("ssh-host-key");
    if !kept.join(NAMES[1]).exists() {
        let new = tempfile::tempdir_in(parent).unwrap();
        make_key(&new.path().join(NAMES[0]), "rsa", "");
        // Fails if another test was faster. Its key is used then.
        fs::rename(new.path(), &kept).ok();
    }
    for name in NAMES {
        fs::copy(kept.join(name), folder.join(name)).unwrap();
    }
}

/// Creates a key pair with `ssh-keygen`.
#[track_caller]
pub(crate) fn make_key(file: &Path, kind: &str, passphrase: &str) {
    keygen(&[
        "-t",
        kind,
        "-N",
        passphrase,
        "-C",
        "test",
        "-f",
        &file.to_string_lossy(),
    ]);
}

#[track_caller]
pub(crate) fn keygen(arguments: &[&str]) {
    let output = Command::new("ssh-keygen")
        .arg("-q")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("ssh-keygen: {error}"));
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// Returns a port that was free a moment ago.
///
/// The system gives connections and servers that choose no port others, so that only another caller could take it.
pub(crate) fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let mut random = std::iter::repeat_with(|| RandomState::new().hash_one(()) % 20_000);
    let port = random.find_map(|number| {
        let port = 12_000 + u16::try_from(number).unwrap();
        is_free(&port).then_some(port)
    });
    port.unwrap()
}

/// Listens on a port of this machine, sends each client a greeting and returns the port.
pub(crate) fn greeter(greeting: &'static [u8]) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            std::thread::spawn(move || {
                client.write_all(greeting).ok();
                client.shutdown(Shutdown::Write).ok();
                // A client that has sent something gets the whole greeting, too.
                std::io::copy(&mut client, &mut std::io::sink()).ok();
            });
        }
    });
    port
}

/// The name of the user who runs the tests.
pub(crate) fn user() -> String {
    nix::unistd::User::from_uid(nix::unistd::getuid())
        .unwrap()
        .unwrap()
        .name
}

/// Runs a test with a connection pool, and closes the pool at its end.
pub(crate) fn with_pool<T>(
    limits: PoolLimits,
    test: impl AsyncFnOnce(Arc<ConnectionPool>) -> T,
) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let pool = Arc::new(ConnectionPool::new(limits));
        let result = test(Arc::clone(&pool)).await;
        pool.close().await;
        result
    })
}

/// [`with_pool`] with the default limits.
pub(crate) fn pooled<T>(test: impl AsyncFnOnce(Arc<ConnectionPool>) -> T) -> T {
    with_pool(PoolLimits::default(), test)
}

/// The control of a call that is never stopped. Keep the sender alive during the call.
pub(crate) fn call() -> (watch::Sender<StopLevel>, CallControl) {
    let (stop, stopped) = watch::channel(StopLevel::No);
    let call = CallControl {
        stop: stopped,
        output_sender: None,
        progress_sender: None,
        program_input: None,
    };
    (stop, call)
}

/// A command that runs a shell text.
pub(crate) fn sh(text: &str) -> unfurl::testing::host::Command {
    let program = Program::Shell {
        text: text.to_owned(),
        shell: None,
        secret: false,
    };
    unfurl::testing::host::Command::new(program, "")
}

/// Runs a command on a host and waits for its end.
pub(crate) async fn run(
    pool: &ConnectionPool,
    host: &Destination,
    command: unfurl::testing::host::Command,
) -> RunOutput {
    let (_stop, call) = call();
    match perform(pool, host, &Action::Run(command), call).await {
        ActionResult::Run(output) => output,
        other => panic!("a command gave {other:?}"),
    }
}

/// Performs a file transfer and waits for its end.
pub(crate) async fn transfer(
    pool: &ConnectionPool,
    host: &Destination,
    action: Action,
) -> TransferOutput {
    let (_stop, call) = call();
    match perform(pool, host, &action, call).await {
        ActionResult::Transfer(output) => output,
        other => panic!("a transfer gave {other:?}"),
    }
}

pub(crate) async fn perform(
    pool: &ConnectionPool,
    host: &Destination,
    action: &Action,
    call: CallControl,
) -> ActionResult {
    let place = Location::Ssh(Arc::new(host.clone()));
    pool.perform(&place, action, call).await
}

/// Runs a command on a host over a new connection.
pub(crate) fn run_once(host: &Destination, command: unfurl::testing::host::Command) -> RunOutput {
    pooled(async |pool| run(&pool, host, command).await)
}

/// The message that says why a host cannot be reached, with `PORT` instead of the port number.
pub(crate) fn refusal(host: &Destination) -> String {
    let output = run_once(host, sh("true"));
    assert!(!matches!(output.exit, Exit::Code(_)), "{output:?}");
    let port = host.address.port.to_string();
    output.exit.to_string().replace(&port, "PORT")
}
