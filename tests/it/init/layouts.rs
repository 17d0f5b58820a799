//! The layouts of new projects, and the examples.

use super::{call, files, git, masked, mode, run_next, shell, without_identity};
use crate::support::TestEnv;

const ENSEMBLE_FILES: [&str; 8] = [
    ".gitattributes",
    ".gitignore",
    ".secrets/secrets.yaml",
    ".unfurl-local-template.yaml",
    "ensemble.yaml",
    "local/unfurl.yaml",
    "secrets/secrets.yaml",
    "unfurl.yaml",
];

const PROJECT_FILES: [&str; 7] = [
    ".gitattributes",
    ".gitignore",
    ".unfurl-local-template.yaml",
    "ensemble-template.yaml",
    "local/unfurl.yaml",
    "service_template.py",
    "unfurl.yaml",
];

#[test]
fn a_project_has_the_files_and_commits_of_unfurl_and_deploys() {
    let env = TestEnv::new();
    let run = env.unfurl(["init", "proj"]).succeeds();
    let mut expected: Vec<String> = PROJECT_FILES.map(str::to_owned).into();
    expected.extend(ENSEMBLE_FILES.map(|file| format!("ensemble/{file}")));
    expected.sort();
    assert_eq!(files(&env, "proj"), expected);
    let subjects = git(&env, "proj", &["log", "--format=%s"]);
    assert_eq!(subjects[0], "Create a new Unfurl project");
    assert!(
        subjects[1].starts_with("Initial Commit for "),
        "{subjects:?}"
    );
    let subjects = git(&env, "proj/ensemble", &["log", "--format=%s"]);
    assert_eq!(subjects[0], "Default ensemble repository boilerplate");
    assert_eq!(
        git(&env, "proj/ensemble", &["rev-list", "-n1", "INITIAL"]).len(),
        1
    );
    for folder in ["proj", "proj/ensemble"] {
        assert_eq!(
            git(&env, folder, &["status", "--porcelain"]),
            [""; 0],
            "{folder}"
        );
        git(&env, folder, &["fsck", "--strict"]);
    }
    assert!(
        env.read("proj/.git/info/exclude")
            .ends_with("\n\n/ensemble\n")
    );
    let deployed = run_next(&env, &run, "--approve").succeeds();
    deployed.prints(&["Nothing to do"]);
    for folder in ["proj", "proj/ensemble"] {
        assert_eq!(
            git(&env, folder, &["status", "--porcelain"]),
            [""; 0],
            "{folder}"
        );
    }
}

#[test]
fn a_mono_project_has_one_repository_and_a_password_that_nobody_sees() {
    let env = TestEnv::new();
    let run = env.unfurl(["init", "--mono", "proj"]).succeeds();
    let mut tracked = git(&env, "proj", &["ls-files"]);
    tracked.retain(|file| file != "ensemble/ensemble.yaml");
    let committed = [
        ".gitattributes",
        ".gitignore",
        ".secrets/secrets.yaml",
        ".unfurl-local-template.yaml",
        "ensemble-template.yaml",
        "service_template.py",
        "unfurl.yaml",
    ];
    assert_eq!(tracked, committed);
    for secret in ["local/unfurl.yaml", "secrets/secrets.yaml"] {
        assert_eq!(
            mode(&env.work().join("proj").join(secret)),
            0o600,
            "{secret}"
        );
    }
    let local = env.read("proj/local/unfurl.yaml");
    let password = local.split('"').nth(1).unwrap();
    assert_eq!(password.len(), 24, "{local}");
    assert!(!run.stdout.contains(password) && !run.stderr.contains(password));
    assert_eq!(
        git(&env, "proj", &["log", "--all", "-S", password]),
        [""; 0]
    );
    let encrypted = env.read("proj/.secrets/secrets.yaml");
    assert!(
        encrypted.starts_with("$ANSIBLE_VAULT;1.2;AES256;proj"),
        "{encrypted}"
    );
    let time = |path: &str| {
        std::fs::metadata(env.work().join(path))
            .unwrap()
            .modified()
            .unwrap()
    };
    assert_eq!(
        time("proj/.secrets/secrets.yaml"),
        time("proj/secrets/secrets.yaml")
    );
    run_next(&env, &run, "--approve")
        .succeeds()
        .prints(&["Nothing to do"]);
}

#[test]
fn a_submodule_is_found_by_clones_of_the_project() {
    let env = TestEnv::new();
    let run = env.unfurl(["init", "--submodule", "proj"]).succeeds();
    assert_eq!(git(&env, "proj", &["status", "--porcelain"]), [""; 0]);
    let entry = git(&env, "proj", &["ls-files", "-s", "ensemble"]);
    assert!(entry[0].starts_with("160000 "), "{entry:?}");
    run_next(&env, &run, "--approve").succeeds();
    env.git(&["clone", "-q", "proj", "copy"]);
    let update = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "update",
        "--init",
    ];
    git(&env, "copy", &update);
    assert!(env.work().join("copy/ensemble/ensemble.yaml").is_file());
}

#[test]
fn an_empty_project_gets_its_first_ensemble_by_the_printed_command() {
    let env = TestEnv::new();
    let run = env.unfurl(["init", "--empty", "proj"]).succeeds();
    assert_eq!(files(&env, "proj"), PROJECT_FILES);
    let run = run_next(&env, &run, "").succeeds();
    assert!(files(&env, "proj").contains(&"ensemble/ensemble.yaml".to_owned()));
    assert!(run.stdout.contains("Created new ensemble at "), "{run}");
    call(&env, "proj", &["deploy", "--approve"]).succeeds();
}

#[test]
fn init_in_a_project_adds_an_ensemble_and_keeps_the_default_one() {
    let env = TestEnv::new();
    env.unfurl(["init", "proj"]).succeeds();
    let run = call(&env, "proj", &["-q", "init", ".", "second"]).succeeds();
    assert_eq!(
        masked(&env, &run.stdout),
        "Created new ensemble at \"WORK/proj/second\"\n"
    );
    assert_eq!(files(&env, "proj/second"), ENSEMBLE_FILES);
    env.unfurl(["init", "proj"])
        .succeeds()
        .prints(&["proj/ensemble1\""]);
    call(&env, "proj", &["init", "deep/third"]).succeeds();
    assert_eq!(git(&env, "proj", &["status", "--porcelain"]), [""; 0]);
    for name in ["", "second", "ensemble1", "third", "deep/third"] {
        call(&env, "proj", &["deploy", "--approve", name]).succeeds();
    }
    let local = env.read("proj/local/unfurl.yaml");
    assert_eq!(local.matches("default: true").count(), 1, "{local}");
    let mono = TestEnv::new();
    mono.unfurl(["init", "--mono", "proj"]).succeeds();
    call(&mono, "proj", &["init", "--mono", ".", "second"]).succeeds();
    assert_eq!(git(&mono, "proj", &["status", "--porcelain"]), [""; 0]);
    call(&mono, "proj", &["deploy", "--approve", "second"]).succeeds();
}

#[test]
fn a_project_can_be_added_to_an_existing_repository() {
    for options in [
        &["init", "--existing"][..],
        &["init", "--existing", "--mono"],
    ] {
        let env = TestEnv::new();
        env.write("README", "x");
        env.git(&["init", "-q", "."]);
        env.git(&["add", "-A"]);
        env.git(&["commit", "-q", "-m", "x"]);
        env.unfurl(options).succeeds();
        assert!(env.work().join(".unfurl/unfurl.yaml").is_file());
        assert!(!env.work().join(".unfurl/.git").exists());
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        assert_eq!(
            env.git(&["log", "--format=%s"]),
            "Create a new Unfurl project\nx"
        );
        env.unfurl(["deploy", "--approve"]).succeeds();
        assert_eq!(env.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn every_example_runs_by_the_printed_command() {
    for (name, options) in [
        ("hello", "--approve"),
        ("states", "--approve"),
        ("tasks", ""),
    ] {
        let env = without_identity();
        let run = env.unfurl(["init", "--template", name, "hi"]).succeeds();
        run_next(&env, &run, options).succeeds();
        if name != "tasks" {
            let again = call(&env, "hi", &["deploy", "--approve", "--output", "json"]).succeeds();
            assert_eq!(again.json()["job"]["ok"], 0, "{again}");
        }
    }
}

#[test]
fn an_example_in_a_project_is_one_of_its_ensembles() {
    let env = TestEnv::new();
    env.unfurl(["init", "--mono", "proj"]).succeeds();
    call(&env, "proj", &["init", "--template", "hello"]).succeeds();
    call(&env, "proj", &["init", "--bare", "--mono", "small"]).succeeds();
    assert_eq!(git(&env, "proj", &["status", "--porcelain"]), [""; 0]);
    assert!(env.work().join("proj/hello/.git").is_dir());
    assert!(!env.work().join("proj/small/.git").exists());
    for name in ["hello", "small", ""] {
        call(&env, "proj", &["deploy", "--approve", name]).succeeds();
    }
}

#[test]
fn a_bare_ensemble_has_two_files_and_deploys() {
    let env = TestEnv::new();
    let run = env.unfurl(["init", "--bare", "small"]).succeeds();
    assert_eq!(files(&env, "small"), [".gitignore", "ensemble.yaml"]);
    assert_eq!(
        git(&env, "small", &["log", "--format=%s"]),
        ["Create a new ensemble"]
    );
    run_next(&env, &run, "--approve")
        .succeeds()
        .prints(&["Nothing to do"]);
}

#[test]
fn the_output_lists_each_file_with_its_purpose_and_the_next_command() {
    let env = without_identity();
    let run = env.unfurl(["init", "--template", "hello", "hi"]).succeeds();
    insta::assert_snapshot!(masked(&env, &run.stdout), @r#"
    wrote   hi/ensemble.yaml   the ensemble: what should exist, and what exists
    wrote   hi/README.md       the commands to try
    wrote   hi/.gitignore      the files that git leaves out
    wrote   hi/.gitattributes  how git merges the list of jobs
    created the repository hi (no commits)
    Created new ensemble at "WORK/hi"
    note: nothing is committed, because git does not know your name and e-mail address. To commit later:
      git config --global user.name 'YOUR NAME'
      git config --global user.email YOU@EXAMPLE.COM
      git -C hi add -A && git -C hi commit -m 'Create the project'

    Next: cd hi && unfurl deploy
    "#);
    let run = env.unfurl(["init", "proj", "--output", "json"]).succeeds();
    let json = run.json();
    assert_eq!(json["created"], "project");
    assert_eq!(json["next"], "cd proj && unfurl deploy");
    assert_eq!(json["files"].as_array().unwrap().len(), 15);
    assert_eq!(
        json["repositories"][1]["commits"].as_array().unwrap().len(),
        0
    );
    let commands = json["uncommitted"]["commands"].as_array().unwrap();
    let script: Vec<&str> = commands[2..]
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    shell(&env, &format!("export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=b\n{}", script.join("\n"))).succeeds();
    for folder in ["proj", "proj/ensemble"] {
        assert_eq!(
            git(&env, folder, &["status", "--porcelain"]),
            [""; 0],
            "{folder}"
        );
    }
    call(&env, "proj", &["deploy", "--approve"]).succeeds();
}

#[test]
fn a_project_without_an_identity_deploys_and_moves() {
    let env = without_identity();
    let run = env.unfurl(["init", "--mono", "proj"]).succeeds();
    run_next(&env, &run, "--approve").succeeds();
    env.unfurl(["init", "other"]).succeeds();
    std::fs::rename(env.work().join("other"), env.work().join("moved")).unwrap();
    call(&env, "moved", &["deploy", "--approve"]).succeeds();
    call(&env, "moved/ensemble", &["deploy", "--approve"]).succeeds();
}

#[test]
fn the_files_stay_uncommitted_on_request() {
    let env = TestEnv::new();
    env.unfurl(["init", "--render", "--mono", "proj"])
        .succeeds();
    assert_eq!(git(&env, "proj", &["log", "--format=%s"]).len(), 1);
    assert!(git(&env, "proj", &["status", "--porcelain"]).len() > 1);
    call(&env, "proj", &["deploy", "--approve"]).succeeds();
}
