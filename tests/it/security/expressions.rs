//! Security of expressions: S3 and S10, no write while loading and planning.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use nix::sys::signal::Signal;

use crate::drafts::topology;
use crate::support::{Run, TestEnv, wait_for};

/// A text that no output may contain.
pub(super) const CANARY: &str = "c4n4ry";

/// The content of the foreign file: a value for each of the lookups, and the lines of a `shadow` file.
pub(super) const FOREIGN: &str =
    "c4n4ry:$6$c4n4ry:19000:0:99999:7:::\n[global]\nkey=c4n4ry\n{{ 'c4n4ry' }}\n";

/// A project in the working folder, and beside it a folder with files of another user.
pub(super) struct Hostile {
    pub(super) env: TestEnv,
    pub(super) outside: PathBuf,
}

impl Hostile {
    pub(super) fn new() -> Self {
        let env = TestEnv::new();
        let outside = env.work().with_file_name("outside");
        fs::create_dir_all(outside.join("sub")).unwrap();
        for name in ["secret.txt", "secret.yaml", "secret.csv", "sub/secret.txt"] {
            fs::write(outside.join(name), FOREIGN).unwrap();
        }
        env.write("unfurl.yaml", "apiVersion: unfurl/v1.0.0\nkind: Project\n");
        env.write("data/own.txt", "own\n");
        symlink("../outside/secret.txt", env.work().join("link.txt")).unwrap();
        symlink("../outside/secret.yaml", env.work().join("link.yaml")).unwrap();
        symlink("../outside", env.work().join("linked")).unwrap();
        symlink("linked", env.work().join("twice")).unwrap();
        symlink(env.work().join("data"), outside.join("back")).unwrap();
        Self { env, outside }
    }

    /// The ways to name a foreign file.
    pub(super) fn paths(&self) -> Vec<String> {
        let absolute = self.outside.join("secret.txt").display().to_string();
        vec![
            absolute,
            "../outside/secret.txt".to_owned(),
            "data/../../outside/secret.txt".to_owned(),
            "link.txt".to_owned(),
            "linked/secret.txt".to_owned(),
            "twice/sub/secret.txt".to_owned(),
            "/proc/self/environ".to_owned(),
        ]
    }

    /// The files outside of the project with their contents, and those of the project's git and records.
    pub(super) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let root = self.env.work().parent().unwrap().to_owned();
        let mut files = BTreeMap::new();
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let is_link = path.is_symlink();
                if name == "planned" || path.extension().is_some_and(|end| end == "lock") {
                    continue;
                }
                files.insert(path.clone(), Vec::new());
                if path.is_dir() && !is_link {
                    folders.push(path);
                } else if !is_link {
                    files.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    /// Asserts that the project's output and files do not have the foreign text.
    #[track_caller]
    pub(super) fn has_no_canary(&self, run: &Run) {
        assert!(!run.all().contains(CANARY), "{run}");
        for (path, bytes) in self.env.files() {
            let inside = !path.contains("/link") && !path.contains("/twice");
            let text = String::from_utf8_lossy(&bytes);
            let is_template = path.ends_with("ensemble.yaml");
            assert!(
                !inside || is_template || !text.contains(CANARY),
                "{path}\n{run}"
            );
        }
    }

    /// Makes an ensemble with one node per expression, which is its property and an input of its task.
    pub(super) fn nodes(&self, expressions: &[String]) {
        let mut text = String::new();
        for (place, expression) in expressions.iter().enumerate() {
            writeln!(
                text,
                "n{place}:
  type: tosca.nodes.Root
  interfaces:
    Standard:
      configure:
        implementation: Shell
        inputs:
          command: 'echo {{{{ inputs.value }}}}'
          value: {expression}"
            )
            .unwrap();
        }
        let mut inputs = String::new();
        for (place, expression) in expressions.iter().enumerate() {
            writeln!(inputs, "i{place}: {{type: any, default: {expression}}}").unwrap();
        }
        let draft = topology("inputs:\n  <inputs>\nnode_templates:\n  <nodes>");
        let ensemble = draft.with("inputs", inputs).with("nodes", text).build();
        self.env.write("ensemble.yaml", &ensemble);
    }
}

/// The expressions that write, each with a path.
fn writes(path: &str) -> Vec<String> {
    vec![
        format!("{{eval: {{file: '{path}', contents: hacked}}}}"),
        format!("\"{{{{ {{'eval': {{'file': '{path}', 'contents': 'hacked'}}}} | eval }}}}\""),
        format!("{{eval: {{abspath: ['{path}/x', '.', true]}}}}"),
        format!("\"{{{{ '{path}/x' | abspath('ensemble', true) }}}}\""),
        format!("{{eval: {{lookup: {{password: '{path}'}}}}}}"),
    ]
}

/// V1: no evaluation while planning and inspecting writes a file, wherever it is.
#[test]
fn s3_planning_and_inspecting_write_no_file() {
    let hostile = Hostile::new();
    hostile.env.git(&["init", "-q"]);
    let absolute = hostile.outside.join("made").display().to_string();
    let mut expressions = vec![
        "{eval: {tempfile: hacked, suffix: .txt}}".to_owned(),
        "\"{{ {'eval': {'tempfile': 'hacked'}} | eval }}\"".to_owned(),
        "{eval: {get_dir: [artifacts, true]}}".to_owned(),
        "\"{{ 'secrets' | get_dir(true) }}\"".to_owned(),
        "{eval: {get_dir: tmp}}".to_owned(),
    ];
    let paths = [
        &*absolute,
        "../outside/made",
        "../home/.bashrc",
        "linked/made",
        "made/by/plan.txt",
        "artifacts/x/y",
        ".git/hooks/post-checkout",
        "jobs/x.yaml",
        "ensemble.yaml",
    ];
    expressions.extend(paths.iter().flat_map(|path| writes(path)));
    hostile.nodes(&expressions);
    let before = hostile.snapshot();
    let mut commands: Vec<Vec<String>> = ["validate", "plan", "status", "explain", "export"]
        .map(|name| vec![name.to_owned()])
        .to_vec();
    for (place, expression) in expressions.iter().enumerate() {
        let query = format!("::root::inputs::i{place}");
        commands.push(vec!["status".to_owned(), "--query".to_owned(), query]);
        let own = format!("{{eval: {expression}}}");
        if place % 7 == 0 && !own.contains('"') {
            commands.push(vec!["plan".to_owned(), "--query".to_owned(), own]);
        }
    }
    for command in &commands {
        let run = hostile.env.unfurl(command).does_not_panic();
        let after = hostile.snapshot();
        let new: Vec<_> = after
            .keys()
            .filter(|path| !before.contains_key(*path))
            .collect();
        assert!(new.is_empty(), "{new:?}\n{run}");
        assert!(after == before, "{run}");
    }
}

/// V1: a plan gives the value that the run will have, and the run writes the file.
#[test]
fn s3_the_same_expression_writes_when_its_task_runs() {
    let hostile = Hostile::new();
    let file = "{eval: {file: out/a.json, contents: {k: v}}}";
    hostile.nodes(&[
        file.to_owned(),
        "{eval: {file: artifacts/b.txt, contents: b1}, select: contents}".to_owned(),
        "{eval: {tempfile: t1, suffix: .txt}}".to_owned(),
        "{eval: {get_dir: [artifacts, true]}}".to_owned(),
        "\"{{ {'eval': {'tempfile': {'a': 1}, 'suffix': '.yaml'}} | eval }}\"".to_owned(),
        "{eval: {concat: [{get_dir: tmp}, /x]}}".to_owned(),
    ]);
    let text = hostile.env.read("ensemble.yaml");
    // Commands show what they see of the files.
    let text = text.replace(
        "'echo {{ inputs.value }}'",
        "'v={{ inputs.value }}; echo \"$v\" >> seen; ls -d \"$v\" >> seen; cat \"$v\" >> seen 2>/dev/null; \
         stat -c %a \"${v%/*}\" >> seen; true'",
    );
    hostile.env.write("ensemble.yaml", &text);
    let plan = hostile.env.unfurl(["plan"]).succeeds();
    assert!(!hostile.env.work().join("out").exists(), "{plan}");
    let run = hostile.env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(
        hostile.env.read("out/a.json"),
        "{\n  \"k\": \"v\"\n}",
        "{run}"
    );
    assert_eq!(hostile.env.read("artifacts/b.txt"), "b1");
    assert!(hostile.env.work().join("artifacts/n3").is_dir());
    let seen = hostile.env.read("seen");
    for expected in ["t1", "a: 1", "700"] {
        assert!(seen.contains(expected), "{expected} in {seen}");
    }
    // The temporary folder is gone with the job.
    let tmp = hostile.env.work().with_file_name("tmp");
    assert_eq!(fs::read_dir(tmp).unwrap().count(), 0, "{seen}");
    // What was only requested by a plan does not count as a change.
    hostile.nodes(&[file.to_owned()]);
    hostile.env.unfurl(["deploy", "--approve"]).succeeds();
    let again = hostile
        .env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds();
    let job = &again.json()["job"];
    assert_eq!(job["total"], job["skipped"], "{again}");
}

/// V1: a dry run changes nothing but temporary files.
#[test]
fn s3_a_dry_run_writes_no_file_of_the_ensemble() {
    let hostile = Hostile::new();
    hostile.nodes(&["{eval: {file: out/a.txt, contents: x}}".to_owned()]);
    let text = hostile.env.read("ensemble.yaml");
    let line = text.lines().find(|line| line.contains("command:")).unwrap();
    let indentation = line.split("command").next().unwrap();
    let with = format!("{indentation}dryrun: --dry\n{line}");
    hostile
        .env
        .write("ensemble.yaml", &text.replace(line, &with));
    hostile
        .env
        .unfurl(["deploy", "--approve", "--dryrun"])
        .succeeds();
    assert!(!hostile.env.work().join("out").exists());
}

/// Places at which no expression may write: foreign ones, links, git's files, records and manifests.
const FORBIDDEN: [&str; 15] = [
    "<outside>/made",
    "../outside/made",
    "linked/made",
    "link.txt",
    ".git/hooks/post-checkout",
    "changes/x",
    "jobs/x",
    "a/../jobs/x",
    "ensemble.yaml",
    "unfurl.yaml",
    "jobs.tsv",
    "ensemble.yaml.lock",
    ".gitattributes",
    "sub/.gitmodules",
    "local/digest.key",
];

/// V1: a running task, too, writes only below its ensemble and into its temporary folder.
#[test]
fn s3_a_task_writes_only_below_the_ensemble() {
    for (place, path) in FORBIDDEN.iter().enumerate() {
        let hostile = Hostile::new();
        hostile.env.git(&["init", "-q"]);
        let path = path.replace("<outside>", &hostile.outside.display().to_string());
        hostile.nodes(&[writes(&path).swap_remove(0)]);
        let target = hostile.env.work().join(&path);
        let before = fs::read(&target).ok();
        let mut arguments = vec!["deploy", "--approve"];
        if place % 2 == 0 {
            arguments.extend(["--allow", "read,write,file,pipe"]);
        }
        let run = hostile.env.unfurl(arguments).does_not_panic();
        let told = run.all();
        let refused = told.contains("must not write to") || told.contains("is a symbolic link");
        assert!(refused && run.code != 0, "{path}\n{run}");
        let after = fs::read(&target).unwrap_or_default();
        let after = String::from_utf8_lossy(&after);
        assert!(after != "hacked", "{path}\n{run}");
        let is_record = ["ensemble.yaml", "jobs.tsv"].contains(&&*path);
        let before = before.unwrap_or_default();
        assert!(is_record || after.as_bytes() == before, "{path}\n{run}");
    }
}

/// V1: the temporary folder goes with a job that failed, and a killed job's goes with the next job.
#[test]
fn s10_temporary_files_do_not_outlive_their_job() {
    let hostile = Hostile::new();
    hostile.nodes(&["{eval: {tempfile: t1}}".to_owned()]);
    let text = hostile.env.read("ensemble.yaml");
    let with = |command: &str| {
        let text = text.replace("'echo {{ inputs.value }}'", &format!("'{command}'"));
        hostile.env.write("ensemble.yaml", &text);
    };
    let tmp = hostile.env.work().with_file_name("tmp");
    let left = || {
        let entries = fs::read_dir(&tmp)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    with("cat {{ inputs.value }} > seen; false");
    let run = hostile.env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.does_not_panic().code, 0);
    assert_eq!(hostile.env.read("seen"), "t1");
    assert_eq!(left(), [] as [PathBuf; 0]);
    with("cat {{ inputs.value }} > begun; sleep 60");
    let started = hostile.env.start(["deploy", "--approve"]);
    hostile.env.wait_for("begun");
    started.signal(Signal::SIGKILL);
    drop(started);
    assert_eq!(left().len(), 1);
    with("true {{ inputs.value }}");
    hostile
        .env
        .unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .does_not_panic();
    wait_for("the end of the temporary folder", || {
        left().is_empty().then_some(())
    });
}

/// V1: a secret file of an expression is for its owner alone, while it exists.
#[test]
fn s10_secret_files_are_for_their_owner() {
    let hostile = Hostile::new();
    hostile.nodes(&["{eval: {file: secrets/k, contents: {eval: {sensitive: hush}}}}".to_owned()]);
    hostile.env.unfurl(["deploy", "--approve"]).succeeds();
    let mode = fs::metadata(hostile.env.work().join("secrets/k"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
