//! `unfurl init` and `unfurl home`: new projects, ensembles and home projects.

mod home;
#[cfg(feature = "fault-injection")]
mod interrupted;
mod layouts;
mod model;
mod refusals;

use std::path::Path;

use super::support::{Run, TestEnv};

/// An environment in which git knows nobody.
fn without_identity() -> TestEnv {
    let mut env = TestEnv::new();
    for role in ["AUTHOR", "COMMITTER"] {
        for part in ["NAME", "EMAIL"] {
            env = env.without(&format!("GIT_{role}_{part}"));
        }
    }
    env
}

/// Calls the binary in a folder of the working folder.
fn call(env: &TestEnv, folder: &str, arguments: &[&str]) -> Run {
    env.unfurl_in(folder, &[], arguments)
}

/// The sorted paths of the files of a folder, without those of git.
fn files(env: &TestEnv, folder: &str) -> Vec<String> {
    let root = env.work().join(folder).display().to_string();
    let mut found: Vec<String> = env
        .files()
        .into_iter()
        .filter_map(|(path, _)| Some(path.strip_prefix(&root)?[1..].to_owned()))
        .filter(|path| !path.split('/').any(|part| part == ".git"))
        .collect();
    found.sort();
    found
}

/// The output of git in a folder of the working folder, line by line.
fn git(env: &TestEnv, folder: &str, arguments: &[&str]) -> Vec<String> {
    let output = env.git(&[&["-C", folder], arguments].concat());
    output.lines().map(str::to_owned).collect()
}

/// Runs the command that `init` printed, as a person would.
fn run_next(env: &TestEnv, run: &Run, options: &str) -> Run {
    let next = run
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Next: "));
    let next = next.unwrap_or_else(|| panic!("no next command\n{run}"));
    shell(env, &format!("{next} {options}"))
}

/// Runs lines of shell in the working folder, in which `unfurl` is the binary.
fn shell(env: &TestEnv, lines: &str) -> Run {
    let lines = format!("unfurl() {{ \"$0\" \"$@\"; }}\n{lines}\nexit $?");
    env.unfurl_after(&lines, &[])
}

/// Replaces the folder of the test in a text.
fn masked(env: &TestEnv, text: &str) -> String {
    let root = std::fs::canonicalize(env.work()).unwrap();
    text.replace(&root.display().to_string(), "WORK")
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
