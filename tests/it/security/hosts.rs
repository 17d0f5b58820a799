//! Security against hosts: S7 and S13, names that reach a shell, proxy commands and host keys.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use unfurl::testing::diagnostic::Sources;
use unfurl::testing::host::inventory::{Inventory, InventoryFormat};
use unfurl::testing::host::resolver::{LocationResolver, LoginOptions};
use unfurl::testing::host::ssh_config::{LocalUser, SshConfig, SshConfigFiles};
use unfurl::testing::host::{Location, Route};
use unfurl::testing::secret::Keys;
use unfurl::testing::system::env::Env;

use crate::hosts::sshd::{Sshd, user};
use crate::support::{Run, TestEnv};

/// A configuration that puts every name into shell texts.
const CONFIG: &str = "Match exec \"true %h %n %r %k %p\"\n  Compression yes\n\
    Host plain*\n  ProxyCommand none\n\
    Host *\n  ProxyCommand exit 1; true %h %n %r %k %p\n";

/// Forms of names that run a command if a shell gets them.
///
/// `RUN` stands for the command without spaces, `SPACED` for the command with spaces, `FILE` for the
/// file that it creates.
const HOSTILE_FORMS: [&str; 48] = [
    "a&RUN",
    "a&&RUN",
    "&RUN",
    "a|RUN",
    "a||RUN",
    "|RUN",
    "a>FILE",
    ">FILE",
    "a>>FILE",
    "2>FILE",
    "<(RUN)",
    "a\nSPACED",
    "\nSPACED\n",
    "a\r\nSPACED",
    "a\t;\tSPACED",
    "a ; SPACED",
    " $(SPACED)",
    "$(SPACED)",
    "'$(RUN)'",
    "\"$(RUN)\"",
    "a';RUN;'",
    "a\";RUN;\"",
    "';RUN;'",
    "(RUN)",
    "{ SPACED; }",
    "{SPACED,x}",
    "${x:=$(RUN)}",
    "$[$(RUN)]",
    "$((FILE))$(RUN)",
    "a\\;RUN",
    "a\\\n;RUN",
    "a$(RUN)b",
    "a!RUN;RUN",
    "~;RUN",
    "*;RUN",
    "?;RUN",
    "[a];RUN",
    "a#\nSPACED",
    "$'\\nRUN'",
    "%h;RUN",
    "fe80::1%$(RUN)",
    "fe80::1%eth0;RUN",
    "a\u{2028};RUN",
    "a\u{85}SPACED\n",
    "x=FILE;RUN",
    "a^RUN;RUN",
    "-oProxyCommand=SPACED",
    "-RUN",
];

/// Names that run a command if a shell gets them. The command creates the file `marker`.
fn hostile_names(marker: &Path) -> Vec<String> {
    let file = marker.display().to_string();
    let run = format!("touch${{IFS}}{file}");
    let spaced = format!("touch {file}");
    let mut forms: Vec<String> = Vec::new();
    for before in ["", "a", "10.0.0.1", "a.example", "::1"] {
        forms.extend(["$(RUN)", "`RUN`", ";RUN"].map(|after| format!("{before}{after}")));
    }
    forms.extend(HOSTILE_FORMS.map(str::to_owned));
    let fill = |form: &String| {
        let form = form.replace("RUN", &run).replace("SPACED", &spaced);
        form.replace("FILE", &file)
    };
    let names: BTreeSet<String> = forms.iter().map(fill).collect();
    assert!(names.len() >= 60, "{}", names.len());
    names.into_iter().collect()
}

/// Names of real hosts and users, which must still work.
const GOOD_HOSTS: [&str; 12] = [
    "web1",
    "10.0.0.1",
    "::1",
    "[2001:db8::1]:2222",
    "fe80::1%eth0",
    "u@[fe80::1%eth0]:22",
    "web-1.example.com",
    "my_host.local",
    "user@domain@web1",
    "user@example.com@10.0.0.1:2222",
    "svc-a.b+c@web1",
    "a%b@web1",
];

/// A folder with an `ssh_config`, and the file that a hostile name would create.
struct Trap {
    env: TestEnv,
    marker: PathBuf,
}

impl Trap {
    fn set() -> Self {
        let env = TestEnv::new();
        env.write("ssh_config", CONFIG);
        env.write("../home/.ssh/config", CONFIG);
        for folder in ["../home", "../home/.ssh"] {
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(env.work().join(folder), mode).unwrap();
        }
        let marker = env.work().join("owned");
        Self { env, marker }
    }

    /// Fails if a hostile name was run.
    #[track_caller]
    fn is_untouched(&self, way: &str, name: &str) {
        assert!(!self.marker.exists(), "{way}: {name:?} ran a command");
    }

    fn resolver(&self, login: LoginOptions, config: &str) -> LocationResolver {
        let variables = [("HOME", "/nowhere"), ("SHELL", "/bin/sh")];
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let env: Env = variables.into_iter().map(own).collect();
        let local = LocalUser::of_this_process(env);
        self.env.write("resolver_config", config);
        let file = SshConfigFiles::Only(self.env.work().join("resolver_config"));
        let config = SshConfig::read(&file, &local).unwrap();
        LocationResolver::new(config, login, local)
    }

    /// Locates a host. If that gives a proxy command, runs it as a connection would.
    fn locate(resolver: &LocationResolver, host: &str) -> Result<(), String> {
        let place = resolver.locate(host).map_err(|error| error.to_string())?;
        connect(&place);
        Ok(())
    }

    /// Reads an inventory and locates all of its hosts.
    fn locate_inventory(
        resolver: &LocationResolver,
        text: &str,
        is_yaml: bool,
    ) -> Vec<Result<(), String>> {
        let mut sources = Sources::default();
        let source = sources.add("hosts", text, None);
        let format = if is_yaml {
            InventoryFormat::Yaml
        } else {
            InventoryFormat::Unknown
        };
        let Ok((inventory, _)) = Inventory::parse(source, format, &sources, &Keys::default())
        else {
            return vec![Err("the inventory is refused".to_owned())];
        };
        let hosts: Vec<_> = inventory.hosts().cloned().collect();
        let locate = |host: &std::sync::Arc<str>| {
            let access = inventory.host_access(host).unwrap();
            let method = access.map_err(|error| error.to_string())?.method;
            let place = method.locate(resolver).map_err(|error| error.to_string())?;
            connect(&place);
            Ok(())
        };
        hosts.iter().map(locate).collect()
    }
}

/// Runs the proxy command of a location, as a connection does.
fn connect(place: &Location) {
    let Location::Ssh(host) = place else {
        return;
    };
    if let Route::Command(text) = &host.route {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", text]).stderr(std::process::Stdio::null());
        shell.status().unwrap();
    }
}

/// V4: `%h`, `%n`, `%r` and `%k` go into `ProxyCommand` and `Match exec`. No name runs a command,
/// wherever it comes from.
#[test]
fn s7_names_of_hosts_and_users_run_nothing_here() {
    let trap = Trap::set();
    let plain = trap.resolver(LoginOptions::default(), CONFIG);
    for name in hostile_names(&trap.marker) {
        let forms = [
            name.clone(),
            format!("{name}@web1"),
            format!("u@{name}"),
            format!("{name}:22"),
            format!("[{name}]:22"),
            format!("a@{name}@web1"),
        ];
        for form in &forms {
            let located = Trap::locate(&plain, form);
            trap.is_untouched("host string", form);
            assert!(located.is_err(), "host string {form:?} is accepted");
        }
        let with_user = LoginOptions {
            user: Some(name.clone()),
            ..LoginOptions::default()
        };
        let located = Trap::locate(&trap.resolver(with_user, CONFIG), "web1");
        // A user with a backslash may be one of Windows, but not in a shell text.
        assert!(located.is_err(), "-u {name:?} is accepted");
        let with_gateway = LoginOptions {
            gateway: Some(name.clone()),
            ..LoginOptions::default()
        };
        let located = Trap::locate(&trap.resolver(with_gateway, CONFIG), "web1");
        assert!(located.is_err(), "-g {name:?} is accepted");
        trap.is_untouched("option", &name);
    }
}

/// V4: names in files for hosts, in the formats of Ansible and in our own.
#[test]
fn s7_names_in_inventories_run_nothing_here() {
    let trap = Trap::set();
    let resolver = trap.resolver(LoginOptions::default(), CONFIG);
    for name in hostile_names(&trap.marker) {
        let json = serde_json::Value::from(name.as_str()).to_string();
        let texts = [
            format!("hosts: {{web1: {{host: {json}}}}}"),
            format!("hosts: {{web1: {{user: {json}}}}}"),
            format!("hosts: {{web1: {{jump: {json}}}}}"),
            format!("hosts: [{json}]"),
            format!("all: {{hosts: {{web1: {{ansible_host: {json}}}}}}}"),
            format!("all: {{hosts: {{web1: {{ansible_user: {json}}}}}}}"),
            format!(
                "all: {{hosts: {{web1: {{ansible_connection: docker, ansible_host: {json}}}}}}}"
            ),
            format!("all: {{vars: {{ansible_user: {json}}}, hosts: {{web1: }}}}"),
            format!("all: {{hosts: {{{json}: }}}}"),
        ];
        for text in &texts {
            let located = Trap::locate_inventory(&resolver, text, true);
            trap.is_untouched("inventory", text);
            assert!(located.iter().all(Result::is_err), "{text}: {located:?}");
        }
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
        for text in [
            format!("[all]\n\"{quoted}\"\n"),
            format!("[all]\nweb1 ansible_host=\"{quoted}\"\n"),
            format!("[all]\nweb1 ansible_ssh_common_args=\"-l '{quoted}'\"\n"),
        ] {
            Trap::locate_inventory(&resolver, &text, false);
            trap.is_untouched("INI inventory", &text);
        }
    }
}

/// V4: names that `ssh_config` itself gives to `ProxyCommand` and `Match exec`.
#[test]
fn s7_names_in_ssh_config_run_nothing_here() {
    let trap = Trap::set();
    for name in hostile_names(&trap.marker) {
        let name = name.replace(['\n', '\r'], "");
        let quoted = if name.contains('"') || name.contains('\'') {
            name.clone()
        } else {
            format!("\"{name}\"")
        };
        for line in ["HostName", "User", "HostKeyAlias", "ProxyJump"] {
            let value = if line == "ProxyJump" { &name } else { &quoted };
            let config = format!("Host web1\n  {line} {value}\n{CONFIG}");
            trap.env.write("resolver_config", &config);
            let local = LocalUser::of_this_process(Env::default());
            let file = SshConfigFiles::Only(trap.env.work().join("resolver_config"));
            let Ok(config) = SshConfig::read(&file, &local) else {
                continue;
            };
            let resolver = LocationResolver::new(config, LoginOptions::default(), local);
            if let Ok(place) = resolver.locate("web1") {
                connect(&place);
            }
            trap.is_untouched(line, &name);
        }
    }
}

/// Names of real hosts and users reach both shell texts unchanged.
#[test]
fn s7_usual_names_still_work() {
    let trap = Trap::set();
    let resolver = trap.resolver(LoginOptions::default(), CONFIG);
    for host in GOOD_HOSTS {
        assert_eq!(Trap::locate(&resolver, host), Ok(()), "{host}");
    }
    let Location::Ssh(host) = resolver.locate("a+b@fe80::1%eth0").unwrap() else {
        panic!("not a host");
    };
    let Route::Command(text) = &host.route else {
        panic!("{host:?}");
    };
    assert_eq!(
        text,
        "exit 1; true fe80::1%eth0 fe80::1%eth0 a+b fe80::1%eth0 22"
    );
    // A backslash is in users of Windows domains. Only a shell text does not get it.
    let none = "Host *\n  User x\n";
    let resolver = trap.resolver(LoginOptions::default(), none);
    assert!(resolver.locate("DOMAIN\\user@web1").is_ok());
    let resolver = trap.resolver(LoginOptions::default(), CONFIG);
    let error = resolver.locate("DOMAIN\\user@web1").unwrap_err();
    assert!(error.to_string().contains("shell"), "{error}");
}

/// V4: the same through the commands, with names from the command line, files, roles and the model.
#[test]
fn s7_no_command_puts_a_hostile_name_into_a_shell() {
    let trap = Trap::set();
    let run = format!("touch${{IFS}}{}", trap.marker.display());
    let env = &trap.env;
    for name in [
        format!("$({run})"),
        format!("a;{run}"),
        format!("`{run}`@web1"),
        format!("a|{run}"),
    ] {
        for words in [
            vec!["run", "-H", &name, "--", "true"],
            vec!["run", "-u", &name, "-H", "web1", "--", "true"],
            vec!["run", "-g", &name, "-H", "web1", "--", "true"],
            vec!["get", "-H", &name, "a", "b"],
            vec!["put", "-H", &name, "ssh_config", "b"],
            vec!["shell", &name],
            vec!["forward", &name, "-L", "0:a:1"],
            vec!["fact", "show", "-H", &name],
            vec!["state", "apply", "--approve", "-H", &name, "x"],
        ] {
            let run = env.unfurl(&words).does_not_panic();
            assert_ne!(run.code, 0, "{run}");
            trap.is_untouched(&words.join(" "), &name);
        }
        let json = serde_json::Value::from(name.as_str()).to_string();
        env.write("hosts.yaml", &format!("hosts: {{web1: {{host: {json}}}}}"));
        let words = [
            "run",
            "--hosts-file",
            "hosts.yaml",
            "-H",
            "web1",
            "--",
            "true",
        ];
        env.unfurl(words).exits(1);
        trap.is_untouched("hosts file", &name);
        env.write("names", &name);
        let tasks = "env: {roledefs: {cloud: {command: 'cat names'}}}\n\
            tasks: {t: {roles: cloud, steps: [{local: 'true {{ host_string }}'}]}}\n";
        env.write("tasks.yaml", tasks);
        assert_ne!(env.unfurl(["task", "t"]).does_not_panic().code, 0);
        trap.is_untouched("role command", &name);
        fs::remove_file(env.work().join("tasks.yaml")).unwrap();
    }
}

/// V4: an address that a cloud or a host has reported, in an attribute of the model.
#[test]
fn s7_an_address_of_the_model_runs_nothing_here() {
    let trap = Trap::set();
    let run = format!("touch${{IFS}}{}", trap.marker.display());
    let env = &trap.env;
    for name in [
        format!("$({run})"),
        format!("a;{run}"),
        format!("`{run}`@a"),
    ] {
        let json = serde_json::Value::from(name.as_str()).to_string();
        let ensemble = |host: &str| {
            format!(
                "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
                 tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    topology_template:\n      \
                 node_templates:\n        vm:\n          type: tosca.nodes.Compute\n          \
                 attributes: {{public_ip: {json}}}\n          interfaces:\n            \
                 Standard:\n              configure:\n                implementation: 'true'{host}\n"
            )
        };
        env.write(
            "ensemble.yaml",
            &ensemble("\n                operation_host: SELF"),
        );
        let deployed = env.unfurl(["deploy", "--approve"]).does_not_panic();
        let deployed = deployed.says(&["is not a host string"]);
        assert_ne!(deployed.code, 0, "{deployed}");
        trap.is_untouched("public_ip, deploy", &name);
        env.write("ensemble.yaml", &ensemble(""));
        env.unfurl(["deploy", "--approve"]).succeeds();
        let run = env.unfurl(["run", "-H", "vm", "--", "true"]).exits(1);
        run.says(&["is not a host string"]);
        trap.is_untouched("public_ip, run", &name);
    }
}

/// V4: a `ProxyCommand` of the model would run on this machine. Attributes that a host has set may be
/// a part of it.
#[test]
fn s7_a_proxy_command_of_the_model_is_not_run() {
    let trap = Trap::set();
    let touch = format!("touch {}", trap.marker.display());
    let variables = [
        format!("ansible_ssh_common_args: \"-o ProxyCommand='{touch}'\""),
        format!("ansible_ssh_extra_args: \"-C -oproxycommand='{touch}'\""),
        format!("ansible_ssh_common_args: \"-o PROXYCOMMAND='{touch}'\""),
    ];
    for variable in variables {
        let ensemble = format!(
            "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        capabilities:
          endpoint: {{type: unfurl.capabilities.Endpoint.SSH}}
    topology_template:
      node_templates:
        vm:
          type: Machine
          capabilities:
            endpoint:
              properties: {{host: 127.0.0.1, hostvars: {{{variable}}}}}
          interfaces: {{Standard: {{configure: 'true'}}}}
        app:
          type: tosca.nodes.Root
          requirements: [{{dependency: vm}}]
          interfaces:
            Standard:
              configure:
                implementation: {{primary: Ansible, operation_host: vm}}
                inputs: {{playbook: {{q: [{{ping: }}]}}}}
"
        );
        trap.env.write("ensemble.yaml", &ensemble);
        let deploy = ["deploy", "--approve", "--exclude", "app"];
        trap.env.unfurl(deploy).succeeds();
        let playbook = trap.env.unfurl(["deploy", "--approve"]);
        trap.is_untouched("playbook", &variable);
        playbook
            .exits(64)
            .says(&["the ensemble sets a `ProxyCommand` for the host `vm`"]);
        let run = trap
            .env
            .unfurl(["run", "-H", "vm", "--no-ssh-config", "--", "true"]);
        trap.is_untouched("hostvars", &variable);
        run.exits(1)
            .says(&["the ensemble sets a `ProxyCommand` for the host `vm`"]);
    }
}

/// A refused name is shown without its control characters.
#[test]
fn s17_a_refused_name_does_not_reach_the_terminal() {
    let env = TestEnv::new();
    let run = env.unfurl(["run", "-H", "a\u{1b}[2Jb\u{9b}31m", "--", "true"]);
    let run = run.exits(2).says(&["the host name contains `\\u{1b}`"]);
    assert!(!run.all().contains(['\u{1b}', '\u{9b}']), "{run}");
}

fn login(sshd: &Sshd, config: &str) -> Vec<String> {
    let known = sshd.path("known_hosts").display().to_string();
    ["--ssh-config-path", config, "-a", "--known-hosts", &known]
        .map(str::to_owned)
        .to_vec()
}

fn run_on(env: &TestEnv, sshd: &Sshd, config: &str) -> Run {
    let mut words = vec!["run".to_owned(), "-H".to_owned(), "target".to_owned()];
    words.extend(login(sshd, config));
    words.extend(["--", "echo $SSH_CONNECTION is here"].map(str::to_owned));
    env.unfurl(words)
}

/// V4: `exec` was put before a `ProxyCommand` twice, so that it never ran.
#[test]
fn s13_a_proxy_command_of_ssh_config_leads_to_a_host() {
    requires!("sshd", "ssh", "nc");
    let (sshd, env) = (Sshd::with(2, &[]), TestEnv::new());
    let (id, known) = (sshd.path("id"), sshd.path("known_hosts"));
    let (id, known, port) = (id.display(), known.display(), sshd.port);
    let base = format!(
        "HostName 127.0.0.1\n  Port {port}\n  User {}\n  IdentityFile {id}\n",
        user()
    );
    let ssh = format!(
        "ssh -F none -i {id} -o UserKnownHostsFile={known} -o BatchMode=yes -p {port} -W %h:%p {}@127.0.0.2",
        user()
    );
    for command in [
        "nc %h %p".to_owned(),
        "exec nc %h %p".to_owned(),
        "nc %h %p 2>/dev/null".to_owned(),
        ssh,
    ] {
        env.write(
            "config",
            &format!("Host target\n  {base}  ProxyCommand {command}\n"),
        );
        let run = run_on(&env, &sshd, "config").succeeds();
        assert!(run.stdout.contains("is here"), "{command}: {run}");
    }
    // The jump host let the program in beside the host itself.
    assert_eq!(
        sshd.log().matches("Accepted publickey for").count(),
        5,
        "{}",
        sshd.log()
    );
    env.write(
        "config",
        &format!("Host target\n  {base}  ProxyCommand no-such-program %h\n"),
    );
    let run = run_on(&env, &sshd, "config").exits(1);
    assert!(run.stderr.contains("the proxy command said"), "{run}");
    let hosts = format!(
        "hosts: {{target: {{host: 127.0.0.1, port: {port}, user: {}, key: {id}, proxy_command: 'nc %h %p'}}}}",
        user()
    );
    env.write("hosts.yaml", &hosts);
    let mut words = vec![
        "run",
        "--hosts-file",
        "hosts.yaml",
        "-H",
        "target",
        "--no-ssh-config",
    ];
    let known = known.to_string();
    words.extend(["-a", "--known-hosts", &known, "--", "echo inventory"]);
    let run = env.unfurl(words).succeeds();
    assert!(run.stdout.contains("inventory"), "{run}");
}

/// V14: signatures with SHA-1 are accepted only where `ssh_config` asks for them.
#[test]
fn s13_a_host_key_with_sha1_is_refused_unless_the_user_asks() {
    requires!("sshd");
    let sshd = Sshd::with(1, &["HostKeyAlgorithms ssh-rsa"]);
    let key = fs::read_to_string(sshd.path("host_rsa.pub")).unwrap();
    fs::write(
        sshd.path("known_hosts"),
        format!("[127.0.0.1]:{} {key}", sshd.port),
    )
    .unwrap();
    let env = TestEnv::new();
    let base = format!(
        "HostName 127.0.0.1\n  Port {}\n  User {}\n  IdentityFile {}\n",
        sshd.port,
        user(),
        sshd.path("id").display()
    );
    env.write("config", &format!("Host target\n  {base}"));
    let run = run_on(&env, &sshd, "config").exits(1);
    run.says(&["SHA-1", "`HostKeyAlgorithms +ssh-rsa`"]);
    for value in ["+ssh-rsa", "rsa-sha2-512,ssh-*"] {
        env.write(
            "config",
            &format!("Host target\n  {base}  HostKeyAlgorithms {value}\n"),
        );
        run_on(&env, &sshd, "config").succeeds();
    }
    for value in ["+ssh-ed25519", "^rsa-*"] {
        env.write(
            "config",
            &format!("Host target\n  {base}  HostKeyAlgorithms {value}\n"),
        );
        run_on(&env, &sshd, "config").exits(1).says(&["SHA-1"]);
    }
    // The other key types of the host are not affected.
    let usual = Sshd::with(1, &["HostKeyAlgorithms rsa-sha2-256"]);
    let key = fs::read_to_string(usual.path("host_rsa.pub")).unwrap();
    let known = format!("[127.0.0.1]:{} {key}", usual.port);
    fs::write(usual.path("known_hosts"), known).unwrap();
    let base = base.replace(&sshd.port.to_string(), &usual.port.to_string());
    let base = base.replace(
        sshd.path("id").to_str().unwrap(),
        usual.path("id").to_str().unwrap(),
    );
    env.write("config", &format!("Host target\n  {base}"));
    run_on(&env, &usual, "config").succeeds();
}

/// S13: a configuration that others can write is not used, and files that it includes neither.
#[test]
fn s13_an_ssh_config_that_others_can_write_is_refused() {
    let env = TestEnv::new();
    let home = env.work().join("../home/.ssh");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config"), "Include more\n").unwrap();
    let marker = env.work().join("owned");
    let line = format!("Match exec \"touch {}\"\n", marker.display());
    fs::write(home.join("more"), line).unwrap();
    for (file, mode) in [("more", 0o666), ("more", 0o620), ("config", 0o602)] {
        for name in ["config", "more"] {
            fs::set_permissions(home.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
        fs::set_permissions(home.join(file), fs::Permissions::from_mode(mode)).unwrap();
        let run = env
            .unfurl(["run", "-H", "web1", "--", "true"])
            .does_not_panic();
        assert_ne!(run.code, 0, "{run}");
        assert!(run.stderr.contains("can write this file"), "{run}");
        assert!(!marker.exists(), "{file} {mode:o}: {run}");
    }
}

/// S13: a name with a line end adds no line of its own to `known_hosts`.
#[test]
fn s13_no_alias_adds_a_line_to_known_hosts() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    fs::write(sshd.path("known_hosts"), "").unwrap();
    for alias in ["a b", "*", "a,b"] {
        let config = format!(
            "Host target\n  HostName 127.0.0.1\n  Port {}\n  User {}\n  IdentityFile {}\n  HostKeyAlias \"{alias}\"\n",
            sshd.port,
            user(),
            sshd.path("id").display()
        );
        env.write("config", &config);
        let mut words = vec!["run".to_owned(), "-H".to_owned(), "target".to_owned()];
        words.extend(login(&sshd, "config"));
        words.extend(["--accept-new-host-keys", "--", "true"].map(str::to_owned));
        env.unfurl(words).exits(1).says(&["is not a host name"]);
    }
    assert_eq!(fs::read_to_string(sshd.path("known_hosts")).unwrap(), "");
}
