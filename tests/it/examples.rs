//! The complete cycle of each example: deploy, deploy again without changes, teardown without leftovers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use super::support::{TestEnv, delete_ignored_files, wait_for};

/// The options of an example: free ports for those that listen.
fn options(name: &str) -> Vec<String> {
    let ports: &[&str] = match name {
        "webapp" => &["input_app_port", "input_site_port"],
        _ => &[],
    };
    // Keep all ports taken until the end, or the system might hand out the same port twice.
    let listeners: Vec<(&&str, TcpListener)> = ports
        .iter()
        .map(|input| (input, TcpListener::bind("127.0.0.1:0").unwrap()))
        .collect();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
    listeners
        .iter()
        .flat_map(|(input, listener)| ["--var".to_owned(), (**input).to_owned(), port(listener)])
        .collect()
}

fn call(command: &str, more: &[&str], options: &[String]) -> Vec<String> {
    let words = command.split(' ').chain(more.iter().copied());
    words
        .map(str::to_owned)
        .chain(options.iter().cloned())
        .collect()
}

/// The status of every instance, including nested ones.
fn statuses(instances: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, instance) in instances.as_object().into_iter().flatten() {
        let status = instance["readyState"]["local"].as_str().unwrap_or("none");
        found.push((name.clone(), status.to_owned()));
        found.extend(statuses(&instance["instances"]));
    }
    found
}

fn assert_all(env: &TestEnv, expected: &str) {
    let statuses = statuses(&env.ensemble()["status"]["instances"]);
    assert!(!statuses.is_empty());
    for (name, status) in statuses {
        assert_eq!(status, expected, "{name}");
    }
}

fn lives_through_its_cycle(name: &str, while_deployed: impl FnOnce(&TestEnv, &Json)) {
    let env = TestEnv::with_example(name);
    let options = options(name);
    let first = env
        .unfurl(call("deploy --approve", &["--output", "json"], &options))
        .succeeds();
    let summary = first.json();
    assert_eq!(summary["job"]["status"], "ok", "{first}");
    assert_eq!(summary["job"]["error"], 0, "{first}");
    assert_all(&env, "ok");
    let before = env.tracked();

    let second = env
        .unfurl(call("deploy --approve", &["--output", "json"], &options))
        .succeeds();
    let summary_of_second = second.json();
    assert_eq!(summary_of_second["job"]["ok"], 0, "{second}");
    assert_eq!(summary_of_second["job"]["changed"], 0, "{second}");
    let third = env
        .unfurl(call("deploy --approve", &[], &options))
        .succeeds();
    assert!(third.all().contains("Nothing to do"), "{third}");
    let after = env.tracked();
    let changed: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
    assert!(
        before.len() == after.len() && changed.is_empty(),
        "{changed:?}"
    );

    // Like a fresh clone, which has no lock, logs, plans and working folders.
    delete_ignored_files(&env.work());
    let fourth = env
        .unfurl(call("deploy --approve", &[], &options))
        .succeeds();
    assert!(fourth.all().contains("Nothing to do"), "{fourth}");
    assert_eq!(env.tracked(), before, "{fourth}");

    while_deployed(&env, &summary["outputs"]);

    env.unfurl(call("teardown --approve", &[], &options))
        .succeeds();
    assert_all(&env, "absent");
}

fn get(url: &str) -> std::io::Result<String> {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET / HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn hello_greets_and_goes() {
    lives_through_its_cycle("hello", |env, outputs| {
        assert_eq!(outputs["greeting"], "Hello, world!");
        assert_eq!(env.read("hello.txt"), "Hello, world!\n");
    });
}

#[test]
fn terraform_greets_and_destroys_what_it_made() {
    requires!("terraform");
    let env = TestEnv::with_example("terraform");
    let run = env.unfurl(["deploy", "--approve", "--output", "json"]);
    assert_eq!(run.succeeds().json()["outputs"]["text"], "Hello, world!");
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
    env.unfurl(["check"]).succeeds().prints(&["1 ok"]);
    let other = ["--var", "input_greeting", "Welcome"];
    let drift = env.unfurl(["drift"].iter().chain(&other));
    drift.prints(&["pending"]);
    env.unfurl(["deploy", "--approve"].iter().chain(&other))
        .succeeds()
        .prints(&["Welcome, world!"]);
    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_all(&env, "absent");
}

#[test]
fn hello_greets_somebody_else_when_the_input_changes() {
    let env = TestEnv::with_example("hello");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let changed = [
        "deploy",
        "--approve",
        "--output",
        "json",
        "--var",
        "input_name",
        "Ada",
    ];
    let run = env.unfurl(changed).succeeds();
    assert_eq!(run.json()["outputs"]["greeting"], "Hello, Ada!", "{run}");
    assert_eq!(run.json()["job"]["ok"], 2, "{run}");
}

#[test]
fn the_ansible_example_lives_through_its_cycle() {
    requires!("ansible-playbook");
    lives_through_its_cycle("ansible", |env, outputs| {
        let page = env.work().join("site/index.html");
        assert_eq!(outputs["page"], page.display().to_string());
        assert_eq!(env.read("site/index.html"), "<h1>Hello from Ansible</h1>\n");
    });
}

#[test]
fn webapp_serves_until_it_is_torn_down() {
    requires!("python3");
    let mut urls = Vec::new();
    lives_through_its_cycle("webapp", |_, outputs| {
        let site = outputs["url"].as_str().unwrap().to_owned();
        let app = outputs["app_url"].as_str().unwrap().to_owned();
        assert!(get(&site).unwrap().contains("It works"));
        assert!(get(&app).unwrap().contains("\"visits\": 1"));
        urls = vec![site, app];
    });
    for url in urls {
        assert!(get(&url).is_err(), "{url} still answers");
    }
}

#[test]
fn webapp_is_repaired_after_a_service_died() {
    requires!("python3");
    let env = TestEnv::with_example("webapp");
    let options = options("webapp");
    let deploy = call("deploy --approve", &["--output", "json"], &options);
    let run = env.unfurl(&deploy).succeeds();
    let app = run.json()["outputs"]["app_url"]
        .as_str()
        .unwrap()
        .to_owned();

    let process = env.read("run/app/pid");
    let kill = Command::new("kill").arg(process.trim()).status();
    assert!(kill.unwrap().success());
    wait_for("the end of the app", || get(&app).err());
    env.unfurl(call("check", &[], &options)).does_not_panic();
    let instances = &env.ensemble()["status"]["instances"];
    assert_eq!(instances["app"]["readyState"]["local"], "error");
    env.unfurl(&deploy).succeeds();
    assert!(get(&app).unwrap().contains("\"visits\": 1"));
    env.unfurl(call("teardown --approve", &[], &options))
        .succeeds();
    assert!(get(&app).is_err(), "{app} still answers");
}

#[test]
fn every_example_has_a_readme_and_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ensembles");
    let readme = fs::read_to_string(folder.parent().unwrap().join("README.md")).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let about = fs::read_to_string(path.join("README.md")).unwrap();
            assert!(about.starts_with(&format!("# {name}\n")), "{name}");
            let line = format!("[{name}](ensembles/{name}/README.md)");
            assert!(readme.contains(&line), "README.md has no line about {name}");
            assert!(
                ["ansible", "hello", "states", "tasks", "terraform", "webapp"].contains(&&*name),
                "no test runs {name}"
            );
        }
    }
}

/// A check finds a page that was edited by hand and reports the difference; a deploy repairs it.
#[test]
fn the_states_example_finds_drift_and_repairs_it() {
    let env = TestEnv::with_example("states");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let page = env.read("site/index.html");
    assert!(page.contains("<h1>Hello from Linux</h1>"), "{page}");
    assert_eq!(env.read("site/current"), page);
    env.unfurl(["check", "--approve"]).succeeds();
    assert_all(&env, "ok");
    // The input has not changed, so no task runs.
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(run.all().contains("Nothing to do"), "{run}");

    env.write("site/index.html", "<h1>Oops\n");
    let run = env.unfurl(["-v", "check", "--approve"]).succeeds();
    assert_all(&env, "degraded");
    assert!(run.all().contains("page (file.managed)"), "{run}");
    assert!(run.all().contains("-<h1>Oops"), "{run}");
    env.unfurl(["deploy", "--approve", "--force"]).succeeds();
    assert_eq!(env.read("site/index.html"), page);
    assert_all(&env, "ok");

    let welcome = ["deploy", "--approve", "--var", "input_greeting", "Welcome"];
    env.unfurl(welcome).succeeds();
    assert!(env.read("site/index.html").contains("Welcome from"));
    // The states refer to this file, so the operation depends on it.
    env.write("states/site/index.html", "{{ pillar['greeting'] }}!\n");
    env.unfurl(welcome).succeeds();
    assert_eq!(env.read("site/index.html"), "Welcome!\n");

    env.unfurl(["teardown", "--approve"]).succeeds();
    assert!(!env.work().join("site/index.html").exists());
    assert!(!env.work().join("site/current").is_symlink());
}

#[test]
fn state_files_that_do_not_compile_fail_the_operation_with_their_places() {
    let env = TestEnv::with_example("states");
    env.write("states/site/init.sls", "a: [\n");
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    assert!(run.all().contains("site/init.sls:"), "{run}");
}
