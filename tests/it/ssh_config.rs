//! `ssh_config` files, compared with the output of `ssh -G`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use unfurl::testing::host::HostParts;
use unfurl::testing::host::ssh_config::{
    AddressFamily, Canonicalize, ConfigContext, ForwardAgent, HostQuery, LocalConfigContext,
    LocalUser, Proxy, SshConfig, SshConfigFiles, SshOptions, Strictness, Tokens, select_algorithms,
};
use unfurl::testing::system::env::Env;

/// The compared options and their values, as `ssh -G` prints them.
type Answer = BTreeMap<&'static str, String>;

const COMPARED: &[&str] = &[
    "hostname",
    "user",
    "port",
    "identityfile",
    "certificatefile",
    "identitiesonly",
    "identityagent",
    "forwardagent",
    "proxyjump",
    "proxycommand",
    "connecttimeout",
    "connectionattempts",
    "serveraliveinterval",
    "userknownhostsfile",
    "globalknownhostsfile",
    "stricthostkeychecking",
    "hostkeyalias",
    "canonicalizehostname",
    "addressfamily",
    "bindaddress",
    "bindinterface",
    "preferredauthentications",
    "pubkeyauthentication",
    "passwordauthentication",
    "kbdinteractiveauthentication",
    "batchmode",
    "numberofpasswordprompts",
    "knownhostscommand",
    "serveralivecountmax",
    "sendenv",
    "setenv",
    "kexalgorithms",
    "ciphers",
    "macs",
    "hostkeyalgorithms",
    "pubkeyacceptedalgorithms",
];

/// The keys that `ssh` tries if the configuration names no file.
const DEFAULT_KEYS: &str = "~/.ssh/id_rsa ~/.ssh/id_ecdsa ~/.ssh/id_ecdsa_sk ~/.ssh/id_ed25519 \
    ~/.ssh/id_ed25519_sk ~/.ssh/id_xmss ~/.ssh/id_dsa";

fn local() -> LocalUser {
    let home = unfurl::testing::system::user::home().unwrap();
    let variables = [
        ("HOME", home.to_str().unwrap()),
        ("PATH", "/usr/bin:/bin"),
        ("ENVVAR", "of env"),
    ];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let env: Env = variables.into_iter().map(own).collect();
    LocalUser::of_this_process(env)
}

/// The answer of `ssh -G`, or its error message.
fn theirs(file: &Path, host: &str) -> Result<Answer, String> {
    let output = Command::new("ssh")
        .args(["-n", "-G", "-F"])
        .arg(file)
        .arg(host)
        .env_clear()
        .envs(local().env.all())
        .output()
        .expect("`ssh` is needed for this test");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    let mut answer = Answer::new();
    for line in text(&output.stdout).lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(name) = COMPARED.iter().find(|known| **known == name) {
            let slot = answer.entry(name).or_default();
            if !slot.is_empty() {
                slot.push(' ');
            }
            slot.push_str(value);
        }
    }
    if answer["identityfile"] == DEFAULT_KEYS {
        answer.remove("identityfile");
    }
    // The words of `PubkeyAuthentication` say which extension of the protocol is used.
    let pubkey = answer.get_mut("pubkeyauthentication").unwrap();
    if ["unbound", "host-bound"].contains(&pubkey.as_str()) {
        "true".clone_into(pubkey);
    }
    Ok(answer)
}

/// The algorithms that `ssh` has for an option, and those that it uses by default.
type Algorithms = (Vec<String>, Vec<String>);

/// Asks `ssh` for the algorithms of an option, once.
fn algorithms(option: &'static str) -> &'static Algorithms {
    static KNOWN: OnceLock<BTreeMap<&str, Algorithms>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let says = |words: &[&str]| {
            let output = Command::new("ssh")
                .args(words)
                .env_clear()
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let defaults = says(&["-G", "-F", "none", "h"]);
        let queries = [
            ("kexalgorithms", "kex"),
            ("ciphers", "cipher"),
            ("macs", "mac"),
            ("hostkeyalgorithms", "HostKeyAlgorithms"),
            ("pubkeyacceptedalgorithms", "HostKeyAlgorithms"),
        ];
        let each = queries.map(|(option, query)| {
            let all = says(&["-Q", query]).lines().map(str::to_owned).collect();
            let line = defaults
                .lines()
                .find_map(|line| line.strip_prefix(option))
                .unwrap();
            let usual = line.trim().split(',').map(str::to_owned).collect();
            (option, (all, usual))
        });
        BTreeMap::from(each)
    });
    &known[option]
}

/// Adds the options that say how a login and its sessions are made.
fn add_login(answer: &mut Answer, options: &SshOptions) {
    let family = match options.address_family.unwrap_or_default() {
        AddressFamily::Any => "any",
        AddressFamily::Inet => "inet",
        AddressFamily::Inet6 => "inet6",
    };
    answer.insert("addressfamily", family.to_owned());
    let switch = |flag: Option<bool>| if flag == Some(false) { "no" } else { "yes" }.to_owned();
    let pubkey = options.pubkey_authentication != Some(false);
    answer.insert("pubkeyauthentication", pubkey.to_string());
    answer.insert(
        "passwordauthentication",
        switch(options.password_authentication),
    );
    let interactive = options.keyboard_interactive_authentication;
    answer.insert("kbdinteractiveauthentication", switch(interactive));
    let batch = if options.batch_mode == Some(true) {
        "yes"
    } else {
        "no"
    };
    answer.insert("batchmode", batch.to_owned());
    let prompts = options.password_prompts.unwrap_or(3);
    answer.insert("numberofpasswordprompts", prompts.to_string());
    let count = options.server_alive_count_max.unwrap_or(3);
    answer.insert("serveralivecountmax", count.to_string());
    for (name, text) in [
        ("bindaddress", &options.bind_address),
        ("bindinterface", &options.bind_interface),
        (
            "preferredauthentications",
            &options.preferred_authentications,
        ),
        ("knownhostscommand", &options.known_hosts_command),
    ] {
        answer.extend(text.clone().map(|text| (name, text)));
    }
    if !options.send_env.is_empty() {
        answer.insert("sendenv", options.send_env.join(" "));
    }
    if let Some(variables) = &options.set_env {
        let lines = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        answer.insert("setenv", lines.collect::<Vec<_>>().join(" "));
    }
    for (name, setting) in [
        ("kexalgorithms", &options.kex_algorithms),
        ("ciphers", &options.ciphers),
        ("macs", &options.macs),
        ("hostkeyalgorithms", &options.host_key_algorithms),
        ("pubkeyacceptedalgorithms", &options.pubkey_algorithms),
    ] {
        let (all, usual) = algorithms(name);
        let words = |list: &'static [String]| list.iter().map(String::as_str).collect::<Vec<_>>();
        let chosen = select_algorithms(setting.as_deref(), &words(all), &words(usual));
        answer.insert(name, chosen.join(","));
    }
}

fn ours(file: &Path, host: &str) -> Result<Answer, String> {
    let local = local();
    let files = SshConfigFiles::Only(file.to_path_buf());
    let config = SshConfig::read(&files, &local).map_err(|refused| refused.to_string())?;
    let machine = LocalConfigContext::new(&local.env);
    let parts = HostParts::parse(host);
    let name = parts.host.unwrap();
    let query = HostQuery {
        host: &name,
        user: parts.user.as_deref(),
        port: None,
    };
    let options = config
        .lookup(query, &local, &machine)
        .map_err(|error| error.to_string())?;
    answer(&options, &name, &local)
}

#[expect(clippy::too_many_lines, reason = "each option is asked for")]
fn answer(options: &SshOptions, name: &str, local: &LocalUser) -> Result<Answer, String> {
    let user = options.user.as_deref().unwrap_or(&local.user);
    let tokens = Tokens {
        local,
        host: &options.host,
        original: name,
        port: options.port.unwrap_or(22),
        user,
        key_alias: options.host_key_alias.as_deref().unwrap_or(name),
        jumps: "",
    };
    let path = |text: &String| match tokens.path(text) {
        Ok(path) => Ok(path.display().to_string()),
        Err(error) => Err(error.to_string()),
    };
    let yes = |flag: Option<bool>| if flag == Some(true) { "yes" } else { "no" }.to_owned();
    let mut answer = Answer::from([
        ("hostname", options.host.clone()),
        ("user", user.to_owned()),
        ("port", tokens.port.to_string()),
        ("identitiesonly", yes(options.identities_only)),
    ]);
    for (name, files) in [
        ("identityfile", &options.identity_files),
        ("certificatefile", &options.certificate_files),
    ] {
        if !files.is_empty() {
            answer.insert(name, files.join(" "));
        }
    }
    if let Some(agent) = &options.identity_agent {
        let is_path = agent != "none" && agent != "SSH_AUTH_SOCK";
        let agent = if is_path { path(agent)? } else { agent.clone() };
        answer.insert("identityagent", agent);
    }
    let forward = match &options.forward_agent {
        None | Some(ForwardAgent::No) => "no",
        Some(ForwardAgent::Yes) => "yes",
        Some(ForwardAgent::Socket(socket)) => socket,
    };
    answer.insert("forwardagent", forward.to_owned());
    match &options.proxy {
        Some(Proxy::Jumps(jumps)) => {
            let jumps: Vec<String> = jumps.iter().map(ToString::to_string).collect();
            answer.insert("proxyjump", jumps.join(","));
        }
        Some(Proxy::Command(command)) => {
            answer.insert("proxycommand", command.clone());
        }
        Some(Proxy::None) | None => {}
    }
    let timeout = options.connect_timeout;
    let timeout = timeout.map_or("none".to_owned(), |limit| limit.as_secs().to_string());
    answer.insert("connecttimeout", timeout);
    let attempts = options.connection_attempts.unwrap_or(1);
    answer.insert("connectionattempts", attempts.to_string());
    let alive = options.server_alive_interval.unwrap_or_default();
    answer.insert("serveraliveinterval", alive.as_secs().to_string());
    let files = options.user_known_hosts.clone();
    let usual = ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"].map(str::to_owned);
    let files = files.unwrap_or(usual.to_vec());
    let files = files.iter().map(path).collect::<Result<Vec<_>, _>>()?;
    answer.insert("userknownhostsfile", or_none(&files));
    let usual = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"].map(str::to_owned);
    let files = options.global_known_hosts.clone().unwrap_or(usual.to_vec());
    answer.insert("globalknownhostsfile", or_none(&files));
    let strict = match options.strict_host_keys {
        Some(Strictness::Yes) => "true",
        Some(Strictness::No) => "false",
        Some(Strictness::AcceptNew) => "accept-new",
        Some(Strictness::Ask) | None => "ask",
    };
    answer.insert("stricthostkeychecking", strict.to_owned());
    if let Some(alias) = &options.host_key_alias {
        answer.insert("hostkeyalias", alias.clone());
    }
    let canonicalize = match options.canonicalize {
        None | Some(Canonicalize::No) => "false",
        Some(Canonicalize::Yes) => "true",
        Some(Canonicalize::Always) => "always",
    };
    answer.insert("canonicalizehostname", canonicalize.to_owned());
    add_login(&mut answer, options);
    Ok(answer)
}

fn or_none(files: &[String]) -> String {
    match files {
        [] => "none".to_owned(),
        files => files.join(" "),
    }
}

/// Describes the difference, or returns None if both give the same answer or both refuse.
fn disagreement(file: &Path, host: &str) -> Option<String> {
    let (theirs, ours) = (theirs(file, host), ours(file, host));
    let text = fs::read_to_string(file).unwrap_or_default();
    match (&theirs, &ours) {
        (Ok(theirs), Ok(ours)) if ours == theirs => return None,
        (Err(_), Err(_)) => return None,
        _ => {}
    }
    let mut message = format!("{host} in\n{text}\n");
    if let (Ok(theirs), Ok(ours)) = (&theirs, &ours) {
        for name in COMPARED
            .iter()
            .filter(|name| ours.get(*name) != theirs.get(*name))
        {
            let (ours, theirs) = (ours.get(name), theirs.get(name));
            writeln!(message, "{name}: {ours:?}, `ssh` says {theirs:?}").unwrap();
        }
    } else {
        writeln!(message, "{ours:?}, `ssh` says {theirs:?}").unwrap();
    }
    Some(message)
}

/// A temporary folder for the configuration files of one test.
struct Written(tempfile::TempDir);

impl Written {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("DIR", self.0.path().to_str().unwrap())).unwrap();
        path
    }
}

/// The hosts for which each configuration is compared.
const HOSTS: &[&str] = &["foo", "u@foo", "FOO", "web1.example.com", "::1"];

const TEXTS: &[&str] = &[
    "",
    "Host foo\n HostName example.com\n User sshuser\n Port 2022\nHost *\n User globaluser\n Port 3333",
    "Host f?o !foo\n User a\nHost * !foo\n User b\nHost !foo\n User c",
    "Host \"foo\" 'web*'\n User a\nHost\t\"f\"oo\n Port 5",
    "host=foo\nuser = \"a b\"\nport=7\nHost *\nUser=b",
    "Host = foo\n  USER\t=\ta\n  port \"8\"",
    "# Host foo\nUser a # b\nPort 9 #c",
    "User a#b",
    "User \"a#b\"",
    "User a b",
    "User",
    "User \"\"",
    "User \"a",
    "Port 0",
    "Port 65536",
    "Port x",
    "Port ssh",
    "Port -1",
    "IdentityFile ~/.ssh/a\nIdentityFile ~/.ssh/a\nIdentityFile %d/b_%h\nHost foo\nIdentityFile none",
    "IdentityFile \"~/with space\"\nIdentityFile ~/with\\ space2",
    "CertificateFile ~/c1\nCertificateFile ~/c2\nCertificateFile ~/c1",
    "IdentitiesOnly yes\nIdentitiesOnly no",
    "IdentitiesOnly TRUE",
    "IdentitiesOnly maybe",
    "IdentityAgent ~/s_%h_%n_%p_%r_%u_%i_%L_%l_%k_%%_%C",
    "IdentityAgent none\nIdentityAgent x",
    "IdentityAgent SSH_AUTH_SOCK",
    "IdentityAgent /${ENVVAR}/x",
    "IdentityAgent /${UNSET_FOR_THIS}/x",
    "IdentityAgent /%q",
    "ForwardAgent yes",
    "ForwardAgent no\nForwardAgent yes",
    "ForwardAgent /a/socket",
    "ForwardAgent $ENVVAR",
    "ProxyJump a",
    "ProxyJump a@b:1,c,d@[::1]:5",
    "ProxyJump none\nProxyCommand x",
    "ProxyCommand none\nProxyJump x",
    "ProxyCommand nc %h %p # not a comment\nProxyJump x",
    "ProxyJump x # a comment",
    "ProxyJump ssh://a@b:3",
    "ProxyJump a:x",
    "ProxyJump =a",
    "ProxyCommand = = nc",
    "ProxyJump",
    "ConnectTimeout 1m30s\nConnectTimeout 3",
    "ConnectTimeout none\nConnectTimeout 3",
    "ConnectTimeout x",
    "ConnectTimeout -3",
    "ConnectionAttempts 4",
    "ConnectionAttempts x",
    "ServerAliveInterval 1h",
    "ServerAliveInterval none",
    "UserKnownHostsFile ~/a /b/%h \"/c d\"",
    "UserKnownHostsFile none",
    "UserKnownHostsFile a none",
    "GlobalKnownHostsFile /a ~/b",
    "GlobalKnownHostsFile none",
    "StrictHostKeyChecking yes",
    "StrictHostKeyChecking no",
    "StrictHostKeyChecking off",
    "StrictHostKeyChecking ask",
    "StrictHostKeyChecking Accept-New",
    "StrictHostKeyChecking x",
    "HostKeyAlias a\nIdentityAgent /%k",
    "HostName %h.example.com",
    "HostName %%h",
    "HostName %n",
    "HostName EXAMPLE.com\nMatch host example.com\nUser a\nMatch originalhost FOO\nPort 5",
    "Match host foo,web*,!web1.*\nUser a\nMatch all\nPort 5",
    "Match !host foo\nUser a",
    "Match user u\nPort 5\nMatch !user u\nPort 6",
    "Host foo\nUser a\nMatch user a\nPort 5\nMatch user root\nPort 6",
    "Match localuser root\nUser a\nMatch localuser x\nPort 5",
    "Match exec true\nUser a\nMatch exec false\nPort 5\nMatch !exec false\nPort 6",
    "Match exec \"test %h = foo\"\nUser a\nMatch exec \"test %n-%p-%r-%u = foo-22-a-root\"\nPort 5",
    "Match host x exec \"echo no > DIR/ran\"\nUser a",
    "Match all host x\nUser a",
    "Match host x all\nUser a",
    "Match host foo host f* all\nUser a",
    "Match host\nUser a",
    "Match nonsense x\nUser a",
    "Match",
    "Match # x",
    "Match host foo # x\nUser a",
    "Match final\nUser late\nMatch all\nUser early",
    "Match final host example.com\nPort 5\nHost foo\nHostName EXAMPLE.com\nHost example.com\nConnectTimeout 5",
    "Match !final\nUser early\nMatch final\nPort 5",
    "Match canonical\nUser a\nMatch !canonical\nPort 5",
    "CanonicalizeHostname no\nCanonicalDomains example.com",
    "CanonicalizeHostname yes\nMatch canonical\nUser a\nMatch all\nPort 6",
    "CanonicalizeHostname yes\nCanonicalDomains invalid\nCanonicalizeFallbackLocal no\nHost *.invalid\nUser b",
    "CanonicalizeHostname yes\nCanonicalizeMaxDots 0\nCanonicalDomains invalid",
    "CanonicalizeHostname always\nProxyJump x\nCanonicalDomains invalid",
    "CanonicalizeHostname maybe",
    "IgnoreUnknown Odd*,x\nOddOption yes\nX y\nUser a",
    "SendEnv A B C\nSetEnv A=b\nLocalForward 1 a:2\nUser a",
    "Host \"\"\nUser a",
    "Host\nUser a",
    "Host foo # web*\n User a",
    "\tHost foo\r\n\tUser a\r\n",
    "\"Host\" foo\n\"User\" a",
];

#[test]
fn written_files_say_what_ssh_says_of_them() {
    requires!("ssh");
    let written = Written::new();
    let mut disagreements = Vec::new();
    for (number, text) in TEXTS.iter().enumerate() {
        let file = written.file(&format!("{number}"), text);
        disagreements.extend(HOSTS.iter().filter_map(|host| disagreement(&file, host)));
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

/// A random generator that gives the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const CONDITIONS: &[&str] = &[
    "Host foo",
    "Host *",
    "Host f* !foo",
    "Host *.example.com",
    "Host web? web1.*",
    "Host !foo *",
    "Match all",
    "Match host foo",
    "Match host *.example.com,!web*",
    "Match originalhost foo,web*",
    "Match user a,root",
    "Match !user b host f*",
    "Match final",
    "Match final host foo*",
    "Match !final !localuser x",
    "Match canonical",
    "Match exec true",
    "Match exec \"test %h = foo\" host *",
];

const SETTINGS: &[&str] = &[
    "User a",
    "User b",
    "Port 1",
    "Port=2",
    "HostName %h.example.com",
    "HostName foo",
    "IdentityFile ~/%h",
    "IdentityFile /b",
    "CertificateFile /c",
    "IdentitiesOnly yes",
    "IdentitiesOnly no",
    "IdentityAgent ~/%n.%p",
    "ForwardAgent yes",
    "ForwardAgent no",
    "ProxyJump none",
    "ProxyJump j1,u@j2:3",
    "ProxyCommand none",
    "ProxyCommand nc %h %p",
    "ConnectTimeout 5",
    "ConnectTimeout none",
    "ConnectionAttempts 3",
    "ServerAliveInterval 2m",
    "UserKnownHostsFile /k /%h",
    "GlobalKnownHostsFile none",
    "StrictHostKeyChecking accept-new",
    "StrictHostKeyChecking yes",
    "HostKeyAlias one",
    "SendEnv X",
    "SendEnv LANG LC_*",
    "SendEnv -LC_*",
    "SendEnv -X Y Z",
    "SetEnv A=b",
    "SetEnv A=\"b c\" D=e=f",
    "AddressFamily inet",
    "AddressFamily any",
    "BindAddress 127.0.0.2",
    "BindInterface lo",
    "PreferredAuthentications password,publickey",
    "PreferredAuthentications keyboard-interactive",
    "PubkeyAuthentication no",
    "PubkeyAuthentication host-bound",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "ChallengeResponseAuthentication yes",
    "BatchMode no",
    "NumberOfPasswordPrompts 2",
    "NumberOfPasswordPrompts 0",
    "KnownHostsCommand /usr/bin/known %H \"a b\"",
    "ServerAliveCountMax 7",
    "KexAlgorithms +diffie-hellman-group14-sha1",
    "KexAlgorithms -ecdh-*",
    "KexAlgorithms curve25519-sha256,ecdh-sha2-nistp256",
    "Ciphers ^aes256-cbc,aes128-ctr",
    "Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com",
    "MACs -*etm*",
    "MACs +hmac-md5",
    "HostKeyAlgorithms +ssh-rsa",
    "HostKeyAlgorithms ^rsa-sha2-*",
    "PubkeyAcceptedAlgorithms +ssh-rsa",
    "PubkeyAcceptedKeyTypes -ecdsa-*",
    "StrictHostKeyChecking no",
    "# nothing",
    "",
];

/// A random configuration of a few blocks, which may include other files.
fn generated(dice: &mut Dice, includes: &[&str]) -> String {
    let mut text = String::new();
    for block in 0..=dice.roll(5) {
        if block > 0 || dice.roll(2) == 0 {
            writeln!(text, "{}", dice.pick(CONDITIONS)).unwrap();
        }
        for _ in 0..dice.roll(8) {
            if !includes.is_empty() && dice.roll(6) == 0 {
                writeln!(text, "Include {}", dice.pick(includes)).unwrap();
            } else {
                writeln!(text, "  {}", dice.pick(SETTINGS)).unwrap();
            }
        }
    }
    text
}

#[test]
fn generated_files_say_what_ssh_says_of_them() {
    requires!("ssh");
    let written = Written::new();
    let mut dice = Dice(0x5eed_2026_1121);
    let mut disagreements = Vec::new();
    for _ in 0..300 {
        for name in ["inner/a.conf", "inner/b.conf", "c"] {
            written.file(name, &generated(&mut dice, &[]));
        }
        let includes = [
            "DIR/inner/*.conf",
            "DIR/c",
            "DIR/none",
            "DIR/c DIR/inner/[b-z].conf",
        ];
        let file = written.file("main", &generated(&mut dice, &includes));
        let disagree = |host: &&str| disagreement(&file, host);
        let hosts = ["foo", "a@web1"];
        disagreements.extend(hosts[dice.roll(2)..].iter().take(1).filter_map(disagree));
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

#[test]
fn a_file_that_includes_itself_is_refused() {
    requires!("ssh");
    let written = Written::new();
    let file = written.file("a", "User x\nInclude DIR/a\n");
    assert!(theirs(&file, "foo").is_err());
    let error = ours(&file, "foo").unwrap_err();
    let folder = written.0.path().display().to_string();
    insta::assert_snapshot!(error.replace(&folder, "DIR"), @"DIR/a:2: includes are nested more than 16 levels deep");
    // Two inclusions at each level would be 65,536 files.
    let twice = |next: &str| format!("Include DIR/{next} DIR/{next}\n");
    let names: Vec<String> = (0..17).map(|number| format!("t{number}")).collect();
    for pair in names.windows(2) {
        written.file(&pair[0], &twice(&pair[1]));
    }
    written.file("t16", "User x");
    let error = ours(&written.0.path().join("t0"), "foo").unwrap_err();
    assert!(
        error.contains("more than 4096 files are included"),
        "{error}"
    );
}

/// Reads the configuration of a user whose home has a file with these bytes and this mode.
fn at_home(written: &Written, bytes: &[u8], mode: u32) -> (Result<SshConfig, String>, PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let file = written.file("home/.ssh/config", "");
    fs::write(&file, bytes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let mut local = local();
    local.home = written.0.path().join("home");
    let read = SshConfig::read(&SshConfigFiles::Default, &local);
    (read.map_err(|refused| refused.to_string()), file)
}

#[test]
fn a_file_that_others_may_write_is_refused() {
    let written = Written::new();
    let (read, file) = at_home(&written, b"User x", 0o666);
    let expected = format!(
        "{}: users other than the owner can write this file (mode 666)",
        file.display()
    );
    assert_eq!(read.unwrap_err(), expected);
}

#[test]
fn invalid_bytes_are_reported_and_the_rest_of_the_file_counts() {
    let written = Written::new();
    let (read, file) = at_home(&written, b"# \xff\nUser x\nNoSuchOption 1\n", 0o600);
    let warnings: Vec<String> = read
        .unwrap()
        .warnings()
        .iter()
        .map(ToString::to_string)
        .collect();
    let shown = warnings.join("\n").replace(file.to_str().unwrap(), "FILE");
    insta::assert_snapshot!(shown, @r"
    FILE: the file is not valid UTF-8; invalid bytes are replaced
    FILE:3: unknown option `NoSuchOption`; it is ignored
    ");
    let (read, file) = at_home(&written, b"User x\0y\nPort 1\nPort no\n", 0o600);
    let shown = read.unwrap_err().replace(file.to_str().unwrap(), "FILE");
    insta::assert_snapshot!(shown, @r"
    FILE:1: the line has a NUL character
    FILE:3: `no` is not valid for `Port`: expected a port from 1 to 65535
    ");
}

#[test]
fn a_usual_file_that_cannot_be_read_is_a_warning_and_one_that_was_named_an_error() {
    let written = Written::new();
    // Even root cannot read a folder as a file.
    fs::create_dir_all(written.0.path().join("home/.ssh/config")).unwrap();
    let mut local = local();
    local.home = written.0.path().join("home");
    let config = SshConfig::read(&SshConfigFiles::Default, &local).unwrap();
    let warning = config.warnings()[0].to_string();
    assert!(warning.starts_with("could not read `"), "{warning}");
    let missing = written.0.path().join("none");
    let refused = SshConfig::read(&SshConfigFiles::Only(missing), &local).unwrap_err();
    assert!(refused.to_string().contains("no such file"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any text is either read or refused with an error; the reader does not panic.
    #[test]
    fn no_text_breaks_the_reader(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        starts in prop::collection::vec(0..SETTINGS.len() + CONDITIONS.len(), 6),
    ) {
        let written = Written::new();
        let mut bytes = Vec::new();
        for (line, start) in lines.iter().zip(starts) {
            let known = SETTINGS.get(start).or_else(|| CONDITIONS.get(start - SETTINGS.len()));
            let word = known.and_then(|known| known.split(' ').next()).unwrap();
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(b' ');
            bytes.extend(line.iter().filter(|byte| **byte != b'`'));
            bytes.push(b'\n');
        }
        let file = written.0.path().join("any");
        fs::write(&file, bytes).unwrap();
        let local = local();
        if let Ok(config) = SshConfig::read(&SshConfigFiles::Only(file), &local) {
            let query = HostQuery { host: "foo", user: None, port: None };
            config.lookup(query, &local, &Fake).ok();
        }
    }
}

/// A context that runs no command.
#[derive(Debug)]
struct Fake;

impl ConfigContext for Fake {
    fn command_succeeds(&self, _: &str) -> Result<bool, String> {
        Ok(true)
    }

    fn name_resolves(&self, _: &str) -> bool {
        true
    }
}
