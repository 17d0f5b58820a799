//! Security of folders: S10, links and modes of the files that a job writes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::support::TestEnv;

/// An ensemble with one instance that has a rendered file and a secret.
pub(super) const ENSEMBLE: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Made:
        derived_from: tosca.nodes.Root
        properties:
          password: {type: string, metadata: {sensitive: true}}
        interfaces:
          Standard:
            operations:
              configure: exec sh ./step.sh {{ SELF.password }}
    topology_template:
      node_templates:
        a: {type: Made, properties: {password: hush-7731}}
";

pub(super) fn made(step: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("step.sh", step);
    env
}

/// A folder outside of the project with the files of a user, which must stay as they are.
pub(super) struct Outside {
    folder: tempfile::TempDir,
}

impl Outside {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = [
            "bashrc",
            "tasks/a/configure/f",
            "previous/tasks/f",
            "a/configure/f",
            "f",
        ];
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "the user's").unwrap();
        }
        Self { folder }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// All entries below the folder, with the content of files.
    pub(super) fn all(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut waiting = vec![self.path().to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path.clone());
                }
                found.push((path.clone(), fs::read(&path).ok()));
            }
        }
        found.sort();
        found
    }
}

/// V9: tracked links `planned`, `jobs` and so on make a plan or a job write, and delete, outside of the project.
#[test]
fn s10_a_link_in_place_of_a_folder_of_the_ensemble_is_refused_and_named() {
    let outside = Outside::new();
    let before = outside.all();
    let names = [
        "planned",
        "active",
        "failed",
        "jobs",
        "changes",
        "local",
        "secrets",
        "artifacts",
    ];
    for name in names {
        let env = made("true");
        symlink(outside.path(), env.work().join(name)).unwrap();
        for arguments in [
            &["plan"][..],
            &["deploy", "--approve"],
            &["recover"],
            &["status"],
        ] {
            let run = env.unfurl(arguments).exits(1);
            let target = outside.path().display().to_string();
            let link = env.work().join(name).display().to_string();
            run.says(&["symbolic link", &target, &link, "remove the link"]);
            assert_eq!(outside.all(), before, "{name} {arguments:?}");
        }
    }
}

/// V9: a tracked link `jobs.tsv` appends the record to a file of the user; lock files are siblings.
#[test]
fn s10_a_link_in_place_of_a_file_of_the_ensemble_is_refused_and_named() {
    let outside = Outside::new();
    let before = outside.all();
    let names = [
        "jobs.tsv",
        "ensemble.yaml.lock",
        "ensemble.yaml.owner.lock",
        "ensemble.yaml.lfs.lock",
    ];
    for name in names {
        for target in ["bashrc", "new"] {
            let env = made("true");
            let target = outside.path().join(target);
            symlink(&target, env.work().join(name)).unwrap();
            for arguments in [&["plan"][..], &["deploy", "--approve"]] {
                let run = env.unfurl(arguments).exits(1);
                run.says(&["symbolic link", &target.display().to_string()]);
                assert_eq!(outside.all(), before, "{name}");
            }
        }
    }
}

/// V9, siblings: links inside of the folders, which an archive or a task left there.
#[test]
fn s10_a_link_below_a_folder_of_the_ensemble_is_not_followed() {
    let outside = Outside::new();
    let before = outside.all();
    let places = [
        "planned/tasks",
        "planned/tasks/a",
        "planned/tasks/a/configure",
        "planned/tasks/a/configure/rendered.sh",
        "planned/previous",
        "planned/previous/tasks",
        "planned/x",
        "active/tasks",
        "active/tasks/a",
        "active/tasks/a/configure",
        "active/secrets/a",
        "jobs/ensemble.yaml.interrupted.json",
        "local/digest.key",
    ];
    for place in places {
        let target = match place.rsplit_once('.') {
            Some(_) => outside.path().join("bashrc"),
            None => outside.path().to_owned(),
        };
        for arguments in [&["plan"][..], &["deploy", "--approve"]] {
            let env = made("true");
            let link = env.work().join(place);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&target, &link).unwrap();
            env.unfurl(arguments).does_not_panic();
            env.unfurl(arguments).does_not_panic();
            assert_eq!(outside.all(), before, "{place} {arguments:?}");
        }
    }
}

/// V9, siblings: a task puts a link where the job writes after it.
#[test]
fn s10_a_link_that_a_task_made_is_not_followed_by_its_job() {
    let outside = Outside::new();
    let before = outside.all();
    for name in ["changes", "active", "planned", "jobs.tsv", "failed"] {
        let target = match name {
            "jobs.tsv" => outside.path().join("bashrc"),
            _ => outside.path().to_owned(),
        };
        for end in ["true", "false"] {
            let step = format!("rm -rf {name}; ln -s {} {name}; {end}", target.display());
            let env = made(&step);
            let run = env.unfurl(["deploy", "--approve"]).does_not_panic();
            assert_eq!(outside.all(), before, "{name}\n{run}");
            assert!(env.work().join(name).is_symlink(), "{run}");
            fs::remove_file(env.work().join(name)).unwrap();
            // The results are not lost.
            env.write("step.sh", "true");
            env.unfurl(["recover"]).does_not_panic();
            env.unfurl(["deploy", "--approve"]).succeeds();
        }
    }
}

/// V9, siblings: a task puts a link in place of the manifest, so that the record cannot be saved.
#[test]
fn s10_the_record_is_not_rescued_beside_the_target_of_a_link() {
    let outside = Outside::new();
    let before = outside.all();
    let target = outside.path().join("f");
    let env = made(&format!("ln -sf {} ensemble.yaml", target.display()));
    let run = env.unfurl(["deploy", "--approve"]).does_not_panic();
    assert_ne!(run.code, 0, "{run}");
    assert_eq!(outside.all(), before, "{run}");
    let is_rescue = |name: &str| name.contains("ensemble.yaml.") && name.ends_with(".rescue");
    let files = env.files();
    assert!(files.iter().any(|(name, _)| is_rescue(name)), "{run}");
}

/// V9, siblings: recovery moves folders and removes journals.
#[test]
fn s10_recovery_follows_no_link() {
    let outside = Outside::new();
    let before = outside.all();
    for name in ["active", "failed", "changes", "jobs.tsv", "planned"] {
        let env = made("kill -9 $PPID; sleep 1");
        env.unfurl(["deploy", "--approve"]);
        let place = env.work().join(name);
        fs::remove_dir_all(&place).ok();
        let target = match name {
            "jobs.tsv" => outside.path().join("bashrc"),
            _ => outside.path().to_owned(),
        };
        symlink(target, &place).unwrap();
        for arguments in [&["recover"][..], &["deploy", "--approve"]] {
            env.unfurl(arguments).exits(1).says(&["symbolic link"]);
        }
        assert_eq!(outside.all(), before, "{name}");
        fs::remove_file(&place).unwrap();
        env.unfurl(["recover"]).succeeds();
    }
}

/// V9, siblings: a hostile project names an ensemble of the user by a link.
#[test]
fn s10_a_manifest_that_links_out_of_its_project_is_refused() {
    let victim = made("true");
    let env = TestEnv::new();
    let foreign = victim.work().join("ensemble.yaml");
    symlink(&foreign, env.work().join("ensemble.yaml")).unwrap();
    for arguments in [&["plan"][..], &["deploy", "--approve"], &["status"]] {
        let run = env.unfurl(arguments).exits(1);
        run.says(&[
            "symbolic link",
            &foreign.display().to_string(),
            "outside of the project",
        ]);
    }
    assert_eq!(victim.names(), ["ensemble.yaml", "step.sh"]);
}

/// A link to a manifest of the same project stays, and its target gets the record.
#[test]
fn s10_a_manifest_that_links_within_its_project_stays_a_link() {
    let env = made("true");
    fs::create_dir(env.work().join("real")).unwrap();
    fs::rename(
        env.work().join("ensemble.yaml"),
        env.work().join("real/e.yaml"),
    )
    .unwrap();
    env.write("real/step.sh", "true");
    symlink("real/e.yaml", env.work().join("ensemble.yaml")).unwrap();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(env.work().join("ensemble.yaml").is_symlink());
    assert!(env.read("real/e.yaml").contains("lastJob"));
}

/// The paths below a folder with their permission bits, links left out.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_symlink() {
                continue;
            }
            if metadata.is_dir() {
                waiting.push(path.clone());
            }
            found.push((path, metadata.permissions().mode() & 0o7777));
        }
    }
    found
}

/// S10: others could change the record, or a file that the next job runs.
#[test]
fn s10_no_file_of_a_job_is_writable_for_others_whatever_the_umask() {
    let env =
        made("mkdir -p locks; ls -l > listed; cp *.lock locks/ 2>/dev/null; ls -ln . jobs > modes");
    let known = modes(&env.work());
    let run = |arguments: &[&str]| env.unfurl_after("umask 000", arguments).does_not_panic();
    run(&["plan"]).succeeds();
    run(&["deploy", "--approve"]).succeeds();
    let listed = env.read("modes");
    for line in listed
        .lines()
        .filter(|line| line.contains("ensemble.yaml") || line.contains("journal"))
    {
        let bits = &line[..10];
        assert!(
            bits.as_bytes()[5] == b'-' && bits.as_bytes()[8] == b'-',
            "{line}"
        );
    }
    assert!(
        listed.contains("ensemble.yaml.lock") && listed.contains(".journal"),
        "{listed}"
    );
    env.write("step.sh", "false");
    run(&["deploy", "--approve", "--force"]);
    env.write("step.sh", "kill -9 $PPID; sleep 1");
    env.unfurl_after("umask 000", &["deploy", "--approve", "--force"]);
    run(&["recover"]).succeeds();
    run(&["teardown", "--approve"]);
    let own = ["modes", "listed", "locks"].map(|name| env.work().join(name));
    for (path, mode) in modes(&env.work()) {
        let is_new = !known.iter().any(|(known, _)| *known == path);
        if is_new && !own.iter().any(|own| path.starts_with(own)) {
            assert_eq!(mode & 0o022, 0, "{} has the mode {mode:o}", path.display());
        }
    }
}

/// S10: secrets in logs, journals, keys and rendered files are readable by the user alone.
#[test]
fn s10_files_that_may_hold_secrets_are_private() {
    let env = made("ls -ln $TMPDIR > temporary; ls -ln jobs > journals; true");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let temporary = env.read("temporary");
    assert!(temporary.contains("unfurl-"), "{temporary}");
    for line in temporary.lines().filter(|line| line.contains(".log")) {
        assert!(line.starts_with("-rw-------"), "{line}");
    }
    for line in env
        .read("journals")
        .lines()
        .filter(|line| line.contains("journal"))
    {
        assert!(line.starts_with("-rw-------"), "{line}");
    }
    let all = modes(&env.work());
    let is_private = |name: &str| is_log(name) || name == "digest.key";
    let mut count = 0;
    for (path, mode) in all {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let holds = fs::read(&path).is_ok_and(|it| it.windows(9).any(|it| it == b"hush-7731"));
        if path.file_name() != Some("ensemble.yaml".as_ref()) && (is_private(&name) || holds) {
            assert_eq!(mode & 0o077, 0, "{} has the mode {mode:o}", path.display());
            count += 1;
        }
    }
    assert!(count >= 2, "the log and the key");
    env.unfurl(["--logfile", "own.log", "deploy", "--approve", "--force"])
        .succeeds();
    let mode = fs::metadata(env.work().join("own.log")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
}

fn is_log(name: &str) -> bool {
    Path::new(name).extension() == Some("log".as_ref())
}

fn temporary_logs(env: &TestEnv) -> Vec<String> {
    let folder = env.work().with_file_name("tmp");
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| is_log(name)).collect()
}

/// V14: the temporary log of a killed job stayed for ever, readable for everybody.
#[test]
fn s10_recovery_removes_the_temporary_logs_of_killed_jobs_only() {
    let env = made("kill -9 $PPID; sleep 1");
    env.unfurl(["deploy", "--approve"]);
    assert_eq!(temporary_logs(&env).len(), 1);
    let tmp = env.work().with_file_name("tmp");
    fs::write(tmp.join("unfurl-notes.log"), "").unwrap();
    // Another job runs at the same time; its log stays.
    env.write(
        "other/ensemble.yaml",
        &ENSEMBLE.replace("./step.sh", "./wait.sh"),
    );
    env.write(
        "other/wait.sh",
        "echo x > running; while [ ! -e go ]; do sleep 0.05; done",
    );
    let job = env.start(["deploy", "--approve", "other"]);
    env.wait_for("other/running");
    assert_eq!(temporary_logs(&env).len(), 3);
    env.unfurl(["recover", "ensemble.yaml"]).succeeds();
    assert_eq!(temporary_logs(&env).len(), 2);
    env.write("other/go", "");
    job.ends().succeeds();
    assert_eq!(temporary_logs(&env), ["unfurl-notes.log"]);
}
