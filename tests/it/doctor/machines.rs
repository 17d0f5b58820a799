//! Checks of this machine: without an ensemble, and in odd surroundings.

use std::fs;

use crate::support::TestEnv;

use super::{EMPTY, checks, doctor, find, is_fixed_by_its_command, shell};

#[test]
fn without_an_ensemble_the_machine_is_checked_for_a_first_project() {
    let env = TestEnv::new();
    let run = env.unfurl(["doctor"]).succeeds();
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with("note     ensemble: there is no ensemble"),
        "{run}"
    );
    assert_eq!(
        lines[1], "         fix: unfurl init hi --template hello",
        "{run}"
    );
    assert_eq!(
        lines.last(),
        Some(&"Ready for a first project: no problems were found."),
        "{run}"
    );
    for subject in ["git", "disk", "limits", "permissions"] {
        let start = format!("ok       {subject}: ");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{run}");
    }
}

#[test]
fn a_machine_without_git_home_and_temporary_folder_is_no_crash() {
    for (remove, path) in [("HOME", "/nowhere"), ("PATH", ""), ("TMPDIR", "/nowhere")] {
        for ensemble in [None, Some(EMPTY)] {
            let env = match ensemble {
                Some(text) => TestEnv::with_ensemble(text),
                None => TestEnv::new(),
            };
            let env = env.variable("PATH", path).without(remove);
            doctor(&env, &[]);
        }
    }
}

#[test]
fn a_missing_home_is_told() {
    let env = TestEnv::with_ensemble(EMPTY).without("HOME");
    let run = doctor(&env, &[]);
    let found = find(&checks(&run), "home", "`HOME` is not set").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
    let env = TestEnv::with_ensemble(EMPTY);
    fs::remove_dir(env.work().with_file_name("home")).unwrap();
    is_fixed_by_its_command(&env, &[], ("warning", "home", "does not exist"));
}

#[test]
fn a_missing_temporary_folder_is_told() {
    let env = TestEnv::with_ensemble(EMPTY);
    fs::remove_dir(env.work().with_file_name("tmp")).unwrap();
    is_fixed_by_its_command(&env, &[], ("error", "permissions", "temporary files"));
}

#[test]
fn git_is_missing_only_where_a_repository_needs_it() {
    let env = TestEnv::with_ensemble(EMPTY).variable("PATH", "/nowhere");
    let run = doctor(&env, &[]).succeeds();
    assert!(
        find(&checks(&run), "git", "no git repository").is_some(),
        "{run}"
    );
    let env = TestEnv::with_ensemble(EMPTY);
    env.git(&["init", "--quiet"]);
    let env = env.variable("PATH", "/nowhere");
    let run = doctor(&env, &[]).exits(1);
    let found = find(&checks(&run), "git", "git").unwrap();
    assert!(
        found["fix"].as_str().unwrap().ends_with("install git"),
        "{run}"
    );
}

#[test]
fn low_limits_of_the_shell_are_told_and_the_command_raises_them() {
    let env = TestEnv::with_ensemble(EMPTY);
    let run = env.unfurl_after(
        "ulimit -Sn 100; ulimit -Sf 100",
        &["doctor", "--output", "json"],
    );
    let files = find(&checks(&run), "limits", "open only 100 files").unwrap();
    let size = find(&checks(&run), "limits", "a file can have at most").unwrap();
    let fixes = [files, size].map(|check| check["fix"].as_str().unwrap().to_owned());
    let lines = format!("ulimit -Sn 100; ulimit -Sf 100; {}; {}", fixes[0], fixes[1]);
    let run = env.unfurl_after(&lines, &["doctor", "--output", "json"]);
    assert!(
        find(&checks(&run), "limits", "not limited too much").is_some(),
        "{run}"
    );
}

#[test]
fn a_folder_that_cannot_be_read_is_no_crash() {
    let env = TestEnv::with_ensemble(EMPTY);
    fs::create_dir(env.work().join("gone")).unwrap();
    let run = env.unfurl_after("cd gone && rmdir ../gone", &["doctor"]);
    run.does_not_panic();
}

#[test]
fn a_folder_that_this_user_cannot_write_is_told() {
    requires!("root");
    requires!("unshare");
    let env = TestEnv::with_ensemble(EMPTY);
    let line = "chmod 755 ..; exec setpriv --reuid 65534 --regid 65534 --clear-groups unfurl doctor --output json";
    let run = shell(&env, line).does_not_panic();
    let found = find(&checks(&run), "permissions", "the folder of the ensemble").unwrap();
    assert_eq!(found["state"], "error", "{run}");
    assert!(
        found["fix"].as_str().unwrap().starts_with("sudo chown "),
        "{run}"
    );
    fs::set_permissions(
        env.work(),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    shell(&env, line).does_not_panic().exits(1);
}
