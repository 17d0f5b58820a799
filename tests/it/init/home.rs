//! The home project.

use super::{files, git, masked};
use crate::support::TestEnv;

fn environment() -> TestEnv {
    TestEnv::new().without("UNFURL_HOME")
}

#[test]
fn the_home_project_is_created_once_and_deploys() {
    let env = environment();
    let run = env
        .unfurl(["home"])
        .succeeds()
        .says(&["`unfurl home --init` creates it"]);
    assert!(run.stdout.ends_with("/home/.unfurl_home\n"), "{run}");
    let run = env.unfurl(["-q", "home", "--init"]).succeeds();
    assert!(run.stdout.starts_with("unfurl home created at "), "{run}");
    let folder = "../home/.unfurl_home";
    assert_eq!(git(&env, folder, &["status", "--porcelain"]), [""; 0]);
    assert_eq!(
        git(&env, folder, &["log", "-1", "--format=%s"]),
        ["Create the unfurl home repository"]
    );
    env.unfurl(["home", "--init"])
        .exits(1)
        .says(&["exists already", "--replace"]);
    let status = super::call(&env, folder, &["status"]).succeeds();
    assert!(status.stdout.contains("localhost"), "{status}");
    super::call(&env, folder, &["deploy", "--approve"])
        .succeeds()
        .prints(&["Nothing to do"]);
    let json = env.unfurl(["home", "--output", "json"]).succeeds().json();
    assert_eq!(json["exists"], true);
    // Projects inherit it without any problem.
    env.unfurl(["init", "--template", "hello", "hi"]).succeeds();
    super::call(&env, "hi", &["deploy", "--approve"]).succeeds();
}

#[test]
fn a_replaced_home_project_is_kept() {
    let env = environment();
    env.unfurl(["home", "--init"]).succeeds();
    std::fs::write(env.work().join("../home/.unfurl_home/mine"), "x").unwrap();
    let run = env
        .unfurl(["home", "--init", "--replace", "--poly"])
        .succeeds();
    assert!(
        run.stdout.contains("kept the old home project in "),
        "{run}"
    );
    let names: Vec<String> = std::fs::read_dir(env.work().join("../home"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let backup = names
        .iter()
        .find(|name| name.starts_with(".unfurl_home."))
        .unwrap();
    assert!(
        env.work()
            .join("../home")
            .join(backup)
            .join("mine")
            .is_file()
    );
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        env.work()
            .join("../home/.unfurl_home/ensemble/.git")
            .is_dir()
    );
}

#[test]
fn the_place_of_the_home_project_can_be_chosen_or_disabled() {
    let env = environment();
    env.unfurl(["--home", "own", "home", "--render"]).succeeds();
    assert!(files(&env, "own").contains(&"unfurl.yaml".to_owned()));
    assert!(!env.work().join("own/.git").exists());
    env.unfurl(["--home", "", "home"])
        .exits(1)
        .says(&["there is no home project"]);
    let nowhere = TestEnv::new().without("UNFURL_HOME").without("HOME");
    nowhere
        .unfurl(["home", "--init"])
        .exits(1)
        .says(&["`HOME` is not set"]);
    env.unfurl(["--home", "own/other.yaml", "home", "--init"])
        .exits(1);
}

#[test]
fn projects_are_registered_on_request() {
    let env = environment();
    env.unfurl(["init", "proj"]).succeeds();
    env.unfurl(["home", "--register", "proj"])
        .exits(1)
        .says(&["unfurl home --init"]);
    env.unfurl(["home", "--init"]).succeeds();
    let run = env.unfurl(["home", "--register", "proj"]).succeeds();
    assert_eq!(
        masked(&env, &run.stdout),
        "Registered project WORK/proj with the home project.\n"
    );
    env.unfurl(["home", "--register", "nowhere"])
        .exits(1)
        .says(&["there is no project at"]);
}
