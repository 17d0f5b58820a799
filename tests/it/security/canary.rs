//! Canaries: secrets that programs print in many forms are found in no output and in no file (S4).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nix::sys::signal::Signal;

use crate::support::{Run, TestEnv};

/// Secrets with characters that encoders treat in their own ways.
pub(super) const CANARIES: [&str; 5] = [
    "hush-7431-quietly-now-2x",
    "w4\"k'Z\\q$(x)&9{~}=+/",
    "first of it: 5521 kettle\nsecond of it: 8813 saucer",
    "p\u{e4}ssw\u{f6}rd\u{2192}\u{f1}and\u{fa}-9274",
    "84731952601748",
];

/// Prints the secret from the variable `S`, or from the standard input, in the form of the first argument.
pub(super) const ENCODER: &str = r#"
import base64, json, os, shlex, sys, urllib.parse
s = sys.stdin.read() if sys.argv[2:] else os.environ["S"]
forms = {
    "raw": lambda: s,
    "base64": lambda: base64.b64encode(s.encode()).decode(),
    "hex": lambda: s.encode().hex(),
    "upper": lambda: s.upper(),
    "half": lambda: s[:len(s) // 2 + 2],
    "json": lambda: json.dumps({"password": s}),
    "url": lambda: urllib.parse.quote(s, safe=""),
    "shell": lambda: shlex.quote(s),
}
out = sys.stderr if sys.argv[2:3] == ["fail"] else sys.stdout
print("before\nanswer:", forms[sys.argv[1]](), "\nafter", file=out)
sys.exit(3 if sys.argv[2:3] == ["fail"] else 0)
"#;

pub(super) const FORMS: [&str; 8] = [
    "raw", "base64", "hex", "upper", "half", "json", "url", "shell",
];

/// The files that hold secrets by order of the user.
const OWN_FILES: [&str; 3] = ["kept-", "vars.yaml", "/env"];

fn hex(text: &str, separator: &str) -> String {
    let digits = text.bytes().map(|byte| format!("{byte:02x}{separator}"));
    digits.collect()
}

/// Returns the texts that show a secret, or half of it, in lower case.
fn signs(secret: &str) -> Vec<String> {
    let characters: Vec<char> = secret.chars().collect();
    let (first, second) = characters.split_at(characters.len() / 2);
    let halves = [first, second].map(|half| half.iter().collect::<String>());
    let mut signs: Vec<String> = secret.lines().map(str::to_owned).collect();
    signs.extend(halves);
    for before in ["", "x", "xy"] {
        let encoded = BASE64_STANDARD.encode(format!("{before}{secret}"));
        let end = encoded.len() - 4;
        signs.push(encoded[4..end].to_owned());
        signs.push(encoded[4..end].replace('+', "-").replace('/', "_"));
    }
    for text in signs.clone() {
        let json = serde_json::to_string(&text).unwrap();
        signs.push(json.trim_matches('"').to_owned());
        signs.push(hex(&text, ""));
        signs.push(hex(&text, " "));
        signs.push(text.to_uppercase());
        let percent = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02x}"),
        };
        signs.push(text.bytes().map(percent).collect());
        signs.push(text.replace('\'', "'\"'\"'"));
        signs.push(text.replace('\'', "'\\''"));
        let units = text.encode_utf16().map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        });
        signs.push(units.collect());
    }
    signs.iter().map(|sign| sign.to_lowercase()).collect()
}

/// Returns true if a secret stands in bytes, in any of its forms.
pub(super) fn is_leaked(secret: &str, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    signs(secret).iter().any(|sign| text.contains(sign))
}

/// A search for the signs of all secrets.
pub(super) struct Canary(AhoCorasick);

impl Canary {
    pub(super) fn new() -> Self {
        let signs: BTreeSet<String> = CANARIES.iter().flat_map(|secret| signs(secret)).collect();
        Self(AhoCorasick::new(signs).unwrap())
    }

    #[track_caller]
    pub(super) fn is_not_in(&self, bytes: &[u8], place: &str) {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        if let Some(found) = self.0.find(&text) {
            panic!("{place} shows `{}`:\n{text}", &text[found.range()]);
        }
    }

    #[track_caller]
    pub(super) fn is_not_shown(&self, run: &Run) {
        self.is_not_in(run.all().as_bytes(), &run.command);
    }

    /// Checks all files below the folder of the environment, with the objects of git.
    #[track_caller]
    pub(super) fn is_in_no_file(&self, env: &TestEnv, what: &str) {
        let root = env.work().join("..");
        let mut open = vec![root];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.display().to_string();
                if path.is_dir() {
                    open.push(path);
                } else if !OWN_FILES.iter().any(|own| name.contains(own)) {
                    self.is_not_in(
                        &fs::read(&path).unwrap_or_default(),
                        &format!("{what}: {name}"),
                    );
                }
            }
        }
        if env.work().join(".git").is_dir() {
            let mut git = Command::new("git");
            git.args(["cat-file", "--batch-all-objects", "--batch"]);
            let objects = git.current_dir(env.work()).output().unwrap();
            assert!(objects.status.success());
            self.is_not_in(&objects.stdout, &format!("{what}: objects of git"));
        }
    }
}

/// Reads the command lines of all processes until it is ended.
pub(super) struct CommandLines {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl CommandLines {
    pub(super) fn watch() -> Self {
        let (ended, seen) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let thread = std::thread::spawn({
            let (ended, seen) = (Arc::clone(&ended), Arc::clone(&seen));
            move || {
                while !ended.load(Ordering::Relaxed) {
                    add_command_lines(&seen);
                    std::thread::sleep(std::time::Duration::from_millis(3));
                }
            }
        });
        Self {
            ended,
            thread,
            seen,
        }
    }

    pub(super) fn end(self) -> Vec<u8> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn add_command_lines(seen: &Mutex<Vec<u8>>) {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        if name
            .to_string_lossy()
            .bytes()
            .all(|byte| byte.is_ascii_digit())
        {
            let line = fs::read(Path::new("/proc").join(name).join("cmdline"));
            let line = line.unwrap_or_default();
            let text = String::from_utf8_lossy(&line);
            let programs = ["encode.py", "terraform", "ansible"];
            if programs.iter().any(|it| text.contains(it)) || line.starts_with(b"/bin/sh") {
                found.extend(line);
                found.push(b'\n');
            }
        }
    }
    seen.lock().unwrap().extend(found);
}

/// One node with one task: the implementation of its operation, with `FORM` for the form.
fn node(name: &str, secret: usize, form: &str, task: &str, requirement: &str) -> String {
    let task = task.replace("FORM", form);
    format!(
        "
        {name}:
          type: unfurl.nodes.Generic
          properties: {{pw: {{get_input: pw{secret}}}}}
          {requirement}
          interfaces:
            Standard:
              configure: {{{task}}}"
    )
}

/// The ways of a secret to a program and of its output to other places, with the kind of each.
const TASKS: [(&str, &str); 5] = [
    (
        "env",
        "implementation: {primary: Shell, environment: {S: {eval: .::pw}}}, inputs: {command: python3 encode.py FORM, \
         resultTemplate: {attributes: {told: '{{ stdout }}', list: ['{{ stdout | trim }}']}}}",
    ),
    (
        "fail",
        "implementation: Shell, inputs: {command: python3 encode.py FORM fail, input: {eval: .::pw}}",
    ),
    (
        "argv",
        "implementation: Shell, inputs: {command: \"printf %s {{ SELF.pw | quote }} | python3 encode.py FORM -\", \
         outputsTemplate: {told: '{{ stdout }}'}}",
    ),
    (
        "file",
        "implementation: Shell, inputs: {command: python3 encode.py FORM - <kept-SECRET.txt, \
         resultTemplate: {attributes: {told: '{{ stdout }}'}}}",
    ),
    (
        "state",
        "implementation: States, inputs: {sls: leak, pillar: {pw: {eval: .::pw}, form: FORM}, \
         resultTemplate: {attributes: {told: '{{ states }}'}}}",
    ),
];

const STATE: &str = "
leak:
  cmd.run:
    - name: python3 encode.py {{ pillar.form }}
    - cwd: WORK
    - env: [{S: {{ pillar.pw | tojson }}}]
kept:
  file.managed:
    - name: WORK/kept-{{ pillar.form }}.state
    - contents: {{ ('pw ' ~ pillar.pw) | tojson }}
refused:
  cmd.run:
    - name: python3 encode.py {{ pillar.form }} fail <kept-{{ pillar.form }}.state
    - cwd: WORK
    - require: [{file: kept}]
";

fn ensemble(nodes: &str) -> String {
    let declared =
        |number: usize| format!("        pw{number}: {{type: string, sensitive: true}}\n");
    let inputs: String = (0..CANARIES.len()).map(declared).collect();
    format!(
        "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      inputs:
{inputs}
      outputs:
        told: {{value: {{get_attribute: [env-base64, told]}}}}
        first: {{value: {{get_input: pw0}}}}
      node_templates:{nodes}
"
    )
}

/// An ensemble in a repository with these nodes, whose inputs come from a file and from variables.
fn environment(nodes: &str) -> TestEnv {
    let mut env = TestEnv::with_ensemble(&ensemble(nodes));
    env.write("encode.py", ENCODER);
    let work = env.work().canonicalize().unwrap();
    env.write(
        "states/leak.sls",
        &STATE.replace("WORK", &work.display().to_string()),
    );
    let mut inputs = String::from("pw0: ");
    inputs.push_str(&serde_json::to_string(CANARIES[0]).unwrap());
    for (number, secret) in CANARIES.iter().enumerate().skip(1) {
        inputs.push_str(&format!(
            "\npw{number}: {{eval: {{sensitive: {{get_env: PW{number}}}}}}}"
        ));
        env = env.variable(&format!("PW{number}"), secret);
    }
    env.write("vars.yaml", &inputs);
    env.write(
        ".gitignore",
        "vars.yaml\nkept-*\njobs\nplanned\nactive\nlocal\n*.log\nfailed\n",
    );
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "start"]);
    env
}

/// V7, V8: secrets on many ways, in eight forms, are in no output, no file, no commit and no command line.
#[test]
fn s4_no_form_of_a_secret_leaves_its_task() {
    let mut nodes = String::new();
    for secret in 0..CANARIES.len() {
        let task = format!(
            "implementation: Template, inputs: {{run: {{eval: {{file: kept-{secret}.txt, contents: {{eval: .::pw}}}}}}, \
             done: {{status: ok}}}}"
        );
        nodes.push_str(&node(&format!("writer{secret}"), secret, "", &task, ""));
    }
    for (place, form) in FORMS.iter().enumerate() {
        for (way, (name, task)) in TASKS.iter().enumerate() {
            let secret = (place + way) % CANARIES.len();
            let requirement = format!("requirements: [{{dependency: writer{secret}}}]");
            let task = task.replace("SECRET", &secret.to_string());
            nodes.push_str(&node(
                &format!("{name}-{form}"),
                secret,
                form,
                &task,
                &requirement,
            ));
        }
    }
    let canary = Canary::new();
    let env = environment(&nodes);
    let lines = CommandLines::watch();
    let deploy =
        "-vv --logfile all.log deploy --approve --commit --jobexitcode never --var-file vars.yaml";
    let words: Vec<&str> = deploy.split(' ').collect();
    let run = env.unfurl(words).does_not_panic();
    let lines = lines.end();
    assert!(
        String::from_utf8_lossy(&lines).contains("encode.py"),
        "{run}"
    );
    canary.is_not_in(&lines, "the command lines");
    canary.is_not_shown(&run);
    assert!(run.all().contains("<<REDACTED>>"), "{run}");
    canary.is_in_no_file(&env, "after the deploy");
    for command in [
        "validate",
        "plan --var-file vars.yaml",
        "plan --var-file vars.yaml --output json",
        "plan --var-file vars.yaml --why",
        "status",
        "status --query ::env-hex::told",
        "status --output json",
        "history",
        "explain env-base64",
        "export",
        "export --format deployments",
        "deploy --approve --force -i env-json --output json --var-file vars.yaml",
    ] {
        let run = env.unfurl(command.split(' ')).does_not_panic();
        canary.is_not_shown(&run);
    }
    canary.is_in_no_file(&env, "at the end");
}

/// V8: neither the journal nor anything else shows the output of a task when the program is killed.
#[test]
fn s4_a_killed_job_leaves_no_form_of_a_secret() {
    let canary = Canary::new();
    for (place, form) in FORMS.iter().enumerate().skip(1).step_by(3) {
        let task = "implementation: {primary: Shell, environment: {S: {eval: .::pw}}}, inputs: \
                    {command: 'python3 encode.py FORM; echo done >kept-mark; sleep 60'}";
        let env = environment(&node("env-base64", place % CANARIES.len(), form, task, ""));
        let words = "--logfile all.log deploy --approve --var-file vars.yaml";
        let started = env.start(words.split(' '));
        env.wait_for("kept-mark");
        started.signal(Signal::SIGKILL);
        canary.is_not_shown(&started.ends());
        canary.is_in_no_file(&env, "after the kill");
        canary.is_not_shown(&env.unfurl(["recover", "."]));
        canary.is_in_no_file(&env, "after the recovery");
    }
}
