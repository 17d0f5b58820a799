//! States on a real Debian, over a real SSH server in it. Sixty states install and configure nginx and
//! `PostgreSQL`; a second run changes nothing; drift is found and repaired.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::requires::target;
use super::support::wait_for;

pub(crate) const ADDRESS: &str = "127.0.0.77";

/// A Debian in a namespace with an SSH server. Its changes are discarded at the end.
pub(crate) struct Debian {
    folder: TempDir,
    server: Child,
    pub(crate) port: u16,
}

impl Debian {
    #[expect(clippy::too_many_lines, reason = "it sets a stage, step by step")]
    pub(crate) fn start() -> Self {
        let root = target().join("debian/root");
        let folder = tempfile::tempdir().unwrap();
        for kind in ["id", "host"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.path().join(kind))
                .status()
                .unwrap();
            assert!(made.success());
        }
        let port = TcpListener::bind((ADDRESS, 0))
            .and_then(|listener| listener.local_addr())
            .unwrap()
            .port();
        let host_key = fs::read_to_string(folder.path().join("host.pub")).unwrap();
        fs::write(
            folder.path().join("known_hosts"),
            format!("[{ADDRESS}]:{port} {host_key}"),
        )
        .unwrap();
        // Changes go to an overlay in memory, so the Debian itself stays as it was.
        let script = r#"set -e
            mount -t tmpfs tmpfs "$2"
            mkdir "$2/upper" "$2/work" "$2/root"
            mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
            cd "$2/root"
            mount -t proc proc proc
            mkdir -p root/.ssh run/sshd
            cp "$3/id.pub" root/.ssh/authorized_keys
            cp "$3/host" etc/ssh/host
            chmod 700 root/.ssh && chmod 600 root/.ssh/authorized_keys etc/ssh/host
            exec chroot . /usr/sbin/sshd -D -e -f /dev/null -h /etc/ssh/host -o PidFile=none \
              -o UsePAM=no -o PermitRootLogin=yes -o "ListenAddress=$4" -o UseDNS=no \
              -o "Subsystem=sftp internal-sftp" -o MaxStartups=100"#;
        let memory = folder.path().join("memory");
        fs::create_dir(&memory).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let server = Command::new("unshare")
            .args([
                "--mount",
                "--uts",
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                script,
                "sh",
            ])
            .args([&root, &memory, &folder.path().to_path_buf()])
            .arg(format!("{ADDRESS}:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut debian = Self {
            folder,
            server,
            port,
        };
        debian.wait();
        debian
    }

    fn wait(&mut self) {
        let log = self.path("log");
        let log = || fs::read_to_string(&log).unwrap();
        let what = fmt::from_fn(|f| write!(f, "a server in the Debian, after {}", log()));
        wait_for(what, || {
            let ended = self.server.try_wait().unwrap();
            let said = log();
            let listens = said.contains("Server listening on");
            assert!(
                listens || ended.is_none(),
                "the server in the Debian does not start: {said}"
            );
            listens.then_some(())
        });
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command as root in the Debian and returns its output.
    #[track_caller]
    pub(crate) fn shell(&self, text: &str) -> String {
        let output = Command::new("ssh")
            .args(["-F", "none", "-o", "BatchMode=yes", "-i"])
            .arg(self.path("id"))
            .arg("-o")
            .arg(format!(
                "UserKnownHostsFile={}",
                self.path("known_hosts").display()
            ))
            .args([
                "-p",
                &self.port.to_string(),
                &format!("root@{ADDRESS}"),
                text,
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{text}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs `unfurl state apply` with the states of the test.
    fn apply(&self, more: &[&str]) -> Run {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/states/debian");
        let files = self.path("files");
        let roots = [
            "--file-root".as_ref(),
            data.as_os_str(),
            "--file-root".as_ref(),
        ];
        let roots = roots.into_iter().chain([files.as_os_str()]);
        let words = ["apply", "base", "web", "db"]
            .into_iter()
            .chain(more.iter().copied());
        Run::of(&self.state(words.map(OsStr::new).chain(roots)))
    }

    /// Runs `unfurl state` with these arguments on the Debian.
    pub(crate) fn state<'a>(&self, arguments: impl IntoIterator<Item = &'a OsStr>) -> Output {
        Command::new(env!("CARGO_BIN_EXE_unfurl"))
            .arg("state")
            .args(arguments)
            .args(["--output", "json", "--approve"])
            .args(["-H", &format!("root@{ADDRESS}:{}", self.port), "-i"])
            .arg(self.path("id"))
            .arg("--known-hosts")
            .arg(self.path("known_hosts"))
            .arg("--no-ssh-config")
            .env("HOME", self.folder.path())
            .output()
            .unwrap()
    }
}

impl Drop for Debian {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// The results of a state run.
struct Run {
    steps: Vec<(String, Value)>,
    text: String,
}

impl Run {
    #[track_caller]
    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        let hosts = value["hosts"]
            .as_object()
            .unwrap_or_else(|| panic!("{text}"));
        for host in hosts.values() {
            assert_eq!(host["notReached"], 0, "states were not reached: {text}");
        }
        let results = hosts
            .values()
            .filter_map(|host| host["results"].as_object());
        let steps = results
            .flatten()
            .map(|(key, step)| (key.clone(), step.clone()))
            .collect();
        Self { steps, text }
    }

    /// The IDs of states that have changed something, or would change something in a dry run.
    fn changed(&self) -> Vec<&str> {
        let is_changed = |step: &Value| {
            step["result"].is_null() || step["changes"].as_object().is_some_and(|it| !it.is_empty())
        };
        self.ids(is_changed)
    }

    fn ids(&self, is_wanted: impl Fn(&Value) -> bool) -> Vec<&str> {
        let wanted = self.steps.iter().filter(|(_, step)| is_wanted(step));
        let mut ids: Vec<&str> = wanted
            .map(|(key, _)| key.split("_|-").nth(1).unwrap_or_default())
            .collect();
        ids.sort_unstable();
        ids
    }

    #[track_caller]
    fn must_succeed(&self) {
        let failed = self.ids(|step| step["result"] == Value::Bool(false));
        assert!(failed.is_empty(), "{failed:?}: {}", self.text);
    }
}

/// Adds an archive with a file in a folder to the state tree.
fn add_archive(debian: &Debian) {
    let files = debian.path("files");
    fs::create_dir_all(files.join("site")).unwrap();
    fs::write(files.join("site/page"), "a page\n").unwrap();
    let made = Command::new("tar")
        .args(["cf", "site.tar", "site"])
        .current_dir(&files)
        .status()
        .unwrap();
    assert!(made.success());
}

#[test]
fn sixty_states_install_nginx_and_postgresql_once_and_repair_what_drifts() {
    requires!("tests/debian.sh");
    let debian = Debian::start();
    add_archive(&debian);

    let before = debian.shell("dpkg -l | wc -l; ls /srv /home");
    let dry = debian.apply(&["--dryrun"]);
    dry.must_succeed();
    assert!(
        dry.steps.len() >= 60,
        "there are {} states",
        dry.steps.len()
    );
    assert_eq!(debian.shell("dpkg -l | wc -l; ls /srv /home"), before);

    let first = debian.apply(&[]);
    first.must_succeed();
    // The dry run must have predicted each change, or marked the step as dependent on earlier changes: the
    // content of a package is known only after its installation.
    let open = dry.ids(|step| step["depends_on_earlier_changes"] == Value::Bool(true));
    for id in first.changed() {
        let is_told = dry.changed().contains(&id) || open.contains(&id);
        assert!(is_told, "{id} was not predicted: {}", dry.text);
    }
    assert_eq!(
        debian.shell("curl -fs http://127.0.0.77:18103/"),
        "This is gamma."
    );
    let databases = "su postgres -c \"psql -p 15477 -Atc 'select datname from pg_database'\"";
    assert!(debian.shell(databases).contains("wiki"));

    let second = debian.apply(&[]);
    second.must_succeed();
    assert_eq!(second.changed(), [""; 0], "{}", second.text);

    debian.shell(
        "echo '# by hand' >>/etc/nginx/sites-available/beta; service postgresql stop; \
         apt-get -q -y remove nginx-light >/dev/null 2>&1; crontab -u dev -r; gpasswd -q -d ops ops >/dev/null 2>&1; userdel audit",
    );
    let drift = debian.apply(&["--dryrun"]);
    drift.must_succeed();
    let shown = drift.text.clone();
    assert!(shown.contains("-# by hand"), "{shown}");
    let repaired = debian.apply(&[]);
    repaired.must_succeed();
    for id in [
        "/etc/nginx/sites-available/beta",
        "postgresql",
        "web-packages",
        "dev-job",
        "audit-user",
    ] {
        assert!(drift.changed().contains(&id), "{id} was not found: {shown}");
        assert!(
            repaired.changed().contains(&id),
            "{id} was not repaired: {}",
            repaired.text
        );
    }
    assert_eq!(
        debian.shell(
            "curl -fs http://127.0.0.77:18102/; service postgresql status >/dev/null && echo up"
        ),
        "This is beta.\nup"
    );
    let last = debian.apply(&[]);
    assert_eq!(last.changed(), [""; 0], "{}", last.text);
}
