//! The recorded runs of the real Fabric, on a real `sshd`: each host of a run is reached, in the recorded order.

use std::fs;

use serde_json::Value as Json;

use super::corpus::{is_left_out, ours, words_of};
use crate::hosts::cli::options;
use crate::hosts::sshd::{Sshd, user};
use crate::support::{TestEnv, fabric_answers};

/// The tasks of the corpus, which also say on each host where they are.
fn tasks() -> String {
    let text = include_str!("../../data/tasks/corpus.yaml");
    let step = "{run: 'echo on $SSH_CONNECTION', when: host_string}";
    let mut tasks = String::new();
    for line in text.lines() {
        let line = match (
            line.strip_prefix("    echo: "),
            line.strip_prefix("      - echo: "),
        ) {
            (Some(shown), _) => format!("    steps: [{{echo: {shown}}}, {step}]"),
            (_, Some("*show")) => format!("{line}\n      - {step}"),
            _ => line.to_owned(),
        };
        tasks.push_str(&line);
        tasks.push('\n');
    }
    tasks
}

/// The hosts of the events of a kind.
fn hosts_of(stdout: &str, kind: &str) -> Vec<String> {
    let events = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let of_kind = events.filter(|event| event["event"] == kind);
    of_kind
        .filter_map(|event| event["host"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn recorded_runs_reach_their_hosts_in_order() {
    requires!("corpus/fabric", "sshd");
    let golden = fabric_answers();
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("tasks.yaml", &tasks());
    let config = format!(
        "Host *\n  HostName 127.0.0.1\n  Port {}\n  User {}\n  UserKnownHostsFile {}\n  HostKeyAlias 127.0.0.1\n",
        sshd.port,
        user(),
        sshd.path("known_hosts").display()
    );
    env.write("ssh_config", &config);
    let known = fs::read_to_string(sshd.path("known_hosts")).unwrap();
    let key = known.split_once(' ').unwrap().1;
    fs::write(sshd.path("known_hosts"), format!("127.0.0.1 {key}")).unwrap();
    let mut login = vec!["--ssh-config-path".to_owned(), "ssh_config".to_owned()];
    // The configuration names the user and the known hosts.
    let only = ["-a", "-k"];
    login.extend(only.map(str::to_owned));
    let id = options(&sshd);
    let at = id.iter().position(|word| word == "-i").unwrap();
    login.extend(id[at..at + 2].iter().cloned());
    let mut reached = 0;
    for row in golden["runs"]["cases"].as_array().unwrap() {
        let words = words_of(row);
        if is_left_out(&words) || words.contains(&"-l") || words.contains(&"-d") {
            continue;
        }
        let line = ["task", "--output", "json"].map(str::to_owned);
        let line = line.into_iter().chain(login.iter().cloned());
        let run = env.unfurl(line.chain(words.iter().map(|it| (*it).to_owned())));
        assert_eq!(Json::from(run.code), row["rc"], "{words:?}\n{run}");
        if words == ["nosuch"] {
            continue;
        }
        let shown = ours(&run.stdout);
        let ran = shown.iter().filter(|it| it[0] == "run" && it[2] != "");
        let ran: Vec<&str> = ran.filter_map(|it| it[2].as_str()).collect();
        let outputs = hosts_of(&run.stdout, "output");
        // A task that fails before its second step prints nothing on the host.
        let expected: Vec<&str> = ran.into_iter().filter(|it| *it != "None").collect();
        let printed: Vec<&str> = outputs.iter().map(String::as_str).collect();
        assert_eq!(printed, expected, "{words:?}\n{run}");
        reached += printed.len();
    }
    assert!(reached > 40, "{reached}");
}
