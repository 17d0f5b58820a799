//! The metrics of `unfurl serve`.

use super::project::{break_task, project, set_file};
use crate::support::{Started, TestEnv, wait_for};

/// Starts the server with metrics on a free port and returns the address.
pub(super) fn serve_metrics(env: &TestEnv) -> (Started, String) {
    let server = env.start(["serve", "--metrics", "127.0.0.1:0"]);
    server.wait_until_it_says("/metrics");
    let said = server.messages();
    let after = said.split_once("http://").unwrap().1;
    let address = after.split_once("/metrics").unwrap().0.to_owned();
    (server, address)
}

/// Returns the status, the content type and the body of an answer.
pub(super) fn get(address: &str, path: &str) -> (u16, String, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let mut answer = agent.get(format!("http://{address}{path}")).call().unwrap();
    let content_type = answer.headers().get("content-type").unwrap();
    let content_type = content_type.to_str().unwrap().to_owned();
    let body = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), content_type, body)
}

#[test]
fn figures_of_runs_findings_and_notices_are_served() {
    let env = project(
        "d: {every: 1s, action: drift}
t: {every: 1s, action: task, task: look, notify: [{on: failure, command: 'true'}]}",
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    break_task(&env, true);
    set_file(&env, "down", true);
    let (server, address) = serve_metrics(&env);
    let lines = [
        "unfurl_drift_findings{schedule=\"d\",ensemble=\"",
        "unfurl_schedule_runs_total{schedule=\"t\",result=\"failed\"} ",
        "unfurl_schedule_runs_total{schedule=\"d\",result=\"done\"} ",
        "unfurl_notices_total{result=\"delivered\"} 1",
        "unfurl_schedule_last_look_timestamp_seconds{schedule=\"d\"} ",
    ];
    let text = wait_for("the figures", || {
        let (status, content_type, text) = get(&address, "/metrics");
        assert_eq!(status, 200);
        assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8");
        let has = |line: &&str| text.lines().any(|it| it.starts_with(line));
        lines.iter().all(has).then_some(text)
    });
    assert!(text.contains(",kind=\"outside\"} 1\n"), "{text}");
    let last_look = "unfurl_schedule_last_look_timestamp_seconds{schedule=\"t\"}";
    assert!(!text.contains(last_look), "a failed run is no look\n{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let family = name.split('{').next().unwrap();
        assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
    }
    let health = get(&address, "/healthz");
    assert_eq!((health.0, &*health.2), (200, "ok\n"));
    assert_eq!(get(&address, "/").0, 404);
    drop(server);
}

#[test]
fn a_server_without_the_option_listens_nowhere() {
    let env = project("t: {every: 1h, action: task, task: look}");
    let server = env.start(["serve"]);
    server.wait_until_it_says("serves 1 schedule");
    let sockets = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    let inodes = sockets.filter_map(|entry| {
        let target = std::fs::read_link(entry.unwrap().path()).ok()?;
        let target = target.to_str()?.strip_prefix("socket:[")?.to_owned();
        Some(target.trim_end_matches(']').to_owned())
    });
    let inodes: Vec<String> = inodes.collect();
    let tcp = std::fs::read_to_string("/proc/net/tcp").unwrap();
    // The column `st` is 0A for a socket that listens.
    let listening = tcp.lines().filter(|line| line.contains(" 0A "));
    for line in listening {
        let inode = line.split_whitespace().nth(9).unwrap().to_owned();
        assert!(!inodes.contains(&inode), "{line}");
    }
    drop(server);
}
