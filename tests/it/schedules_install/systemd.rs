//! Units of systemd, which systemd checks itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::requires::program;
use crate::support::TestEnv;

const SCHEDULES: &str = "apiVersion: unfurl/v1.0.0
kind: Project
schedules:
  night: {cron: '15 2 1,15 * mon-fri', timezone: Europe/Berlin, action: drift}
  spring: {cron: '30 2 * * *', timezone: Europe/Berlin, action: drift, missed: run}
  quarter: {every: 15m, action: check}
  odd: {every: 7m, action: check}
  second: {every: 10s, action: check}
  late: {every: 1h, jitter: 5m, action: check}
";

/// Returns a project in a folder whose name needs quotes, and the folder of the user's units.
fn project() -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    env.write("my 100% $HOME/unfurl.yaml", SCHEDULES);
    let units = env.work().join("../home/.config/systemd/user");
    (env, units)
}

fn install(env: &TestEnv, words: &[&str]) -> serde_json::Value {
    let arguments = [
        &["schedule"][..],
        words,
        &["--systemd", "--user", "--output", "json"],
    ]
    .concat();
    env.unfurl_in("my 100% $HOME", &[], &arguments)
        .succeeds()
        .json()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn analyze(arguments: &[&str]) -> String {
    let output = Command::new(program("systemd-analyze").unwrap())
        .args(arguments)
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}\n{said}");
    said
}

#[test]
fn systemd_accepts_the_units_and_their_times() {
    requires!("systemd-analyze");
    let (env, units) = project();
    let installed = install(&env, &["install"]);
    let names = names(&units);
    assert_eq!(names.len(), 12, "{names:?}");
    let last = installed["commands"].as_array().unwrap().last().unwrap();
    assert!(
        last.as_str()
            .unwrap()
            .starts_with("systemctl --user enable --now unfurl-"),
        "{last}"
    );
    let paths: Vec<String> = names
        .iter()
        .map(|name| units.join(name).display().to_string())
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let said = analyze(&[&["verify", "--man=no"][..], &paths].concat());
    assert!(!said.contains("unfurl-"), "{said}");
    let mut events = 0;
    for path in paths.iter().filter(|path| path.contains(".timer")) {
        let text = fs::read_to_string(path).unwrap();
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("OnCalendar="));
        for event in lines {
            events += 1;
            let said = analyze(&["calendar", event]);
            assert!(said.contains("Next elapse: "), "{event}\n{said}");
        }
    }
    assert!(events >= 7, "{events}");
}

#[test]
fn a_service_runs_the_schedule_in_the_folder_of_the_project() {
    let (env, units) = project();
    install(&env, &["install"]);
    let name = names(&units)
        .into_iter()
        .find(|name| name.starts_with("unfurl-night-"));
    let text = fs::read_to_string(units.join(name.unwrap())).unwrap();
    let folder = env.work().canonicalize().unwrap().join("my 100%% $HOME");
    for line in [
        format!("WorkingDirectory={}", folder.display()),
        format!(
            "EnvironmentFile=-{}/local/schedules/environment",
            folder.display()
        ),
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    assert!(text.contains(" schedule run night --if-due\n"), "{text}");
    assert!(text.contains("\nEnvironment=\"PATH=/"), "{text}");
}

#[test]
fn install_changes_only_its_own_units_and_uninstall_removes_them() {
    let (env, units) = project();
    env.write("other/unfurl.yaml", SCHEDULES);
    let dry = install(&env, &["install", "--dry-run"]);
    assert_eq!(dry["dry_run"], true);
    assert!(!units.exists());
    install(&env, &["install"]);
    let other = ["schedule", "install", "--systemd", "--user"];
    env.unfurl_in("other", &[], &other).succeeds();
    fs::write(units.join("unfurl-foreign.service"), "[Unit]\n").unwrap();
    assert_eq!(names(&units).len(), 25);
    let again = install(&env, &["install"]);
    let states = again["files"].as_array().unwrap().iter();
    assert!(
        states
            .map(|file| &file["status"])
            .all(|it| it == "unchanged"),
        "{again}"
    );
    let fewer = SCHEDULES.lines().filter(|line| !line.contains("odd"));
    let fewer: Vec<&str> = fewer.collect();
    env.write("my 100% $HOME/unfurl.yaml", &fewer.join("\n"));
    let changed = install(&env, &["install"]);
    let first = changed["commands"][0].as_str().unwrap();
    assert!(
        first.starts_with("systemctl --user disable --now unfurl-odd-"),
        "{first}"
    );
    assert_eq!(names(&units).len(), 23);
    let removed = install(&env, &["uninstall"]);
    assert_eq!(removed["files"].as_array().unwrap().len(), 10, "{removed}");
    assert_eq!(names(&units).len(), 13);
    let nothing = install(&env, &["uninstall"]);
    assert_eq!(nothing["files"], serde_json::json!([]));
}

#[test]
fn a_file_of_another_program_and_wrong_schedules_are_refused() {
    let (env, units) = project();
    install(&env, &["install"]);
    let name = names(&units).remove(0);
    fs::write(units.join(&name), "[Unit]\n").unwrap();
    let arguments = ["schedule", "install", "--systemd", "--user"];
    let run = env.unfurl_in("my 100% $HOME", &[], &arguments).exits(1);
    run.says(&[&name, "was not written by this program"]);
    env.write(
        "my 100% $HOME/unfurl.yaml",
        &SCHEDULES.replace("7m", "soon"),
    );
    let run = env.unfurl_in("my 100% $HOME", &[], &arguments).exits(64);
    run.says(&["the schedule `odd`: `every`: `soon` is no duration"]);
    let run = env
        .unfurl_in("my 100% $HOME", &[], &["schedule", "install"])
        .exits(2);
    run.says(&["--cron"]);
}
