//! State runs over hosts, through the command line and a real server.

use std::fs;

use nix::sys::signal::Signal;

use super::cli::{hosts, options};
use super::sshd::Sshd;
use crate::drafts::text;
use crate::support::{Run, TestEnv};

/// Calls `unfurl state ACTION` on the first `count` addresses of a server.
fn state(env: &TestEnv, sshd: &Sshd, count: u8, words: &[&str]) -> Run {
    env.unfurl(line(sshd, count, words))
}

fn line(sshd: &Sshd, count: u8, words: &[&str]) -> Vec<String> {
    let mut line = vec!["state".to_owned()];
    line.extend(words.iter().map(|word| (*word).to_owned()));
    line.extend((words[0] == "apply").then(|| "--approve".to_owned()));
    line.extend(["-H".to_owned(), hosts(sshd, count)]);
    line.extend(options(sshd));
    line
}

/// The lines that the commands of states have written, in the order in which they ran.
fn log(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(env.work().join("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Writes a state tree whose commands write to a log. `host` is the last part of the host's address.
fn write(env: &TestEnv, name: &str, text: &str) {
    let head = format!(
        "{{% set log = '{}' %}}{{% set host = grains['id'].split(':')[0].split('.')[3] %}}\n",
        env.work().join("log").display()
    );
    env.write(&format!("states/{name}.sls"), &(head + text));
}

const THREE: &str = "
all:
  cmd.run: [{name: 'echo all {{ host }} >> {{ log }}'}]
{% if host in ['1', '2'] %}
web:
  cmd.run: [{name: 'echo web {{ host }} >> {{ log }}'}]
{% endif %}
{% if host == '2' %}
fails:
  cmd.run: [{name: 'echo fails {{ host }} >> {{ log }}; exit 9'}]
{% endif %}
after:
  cmd.run: [{name: 'echo after {{ host }} >> {{ log }}'}]
";

/// The first word of each log line (so without the host), with repetitions in a row removed.
fn phases(log: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = log
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    words.dedup();
    words
}

#[test]
fn without_requisites_all_hosts_come_to_a_state_before_any_goes_on() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(3, &[]), TestEnv::new());
    write(&env, "three", THREE);
    let run = state(&env, &sshd, 3, &["apply", "three"]).exits(1);
    let log = log(&env);
    assert_eq!(phases(&log), ["all", "web", "fails", "after"], "{run}");
    // A host with a failed state has left the run.
    assert!(!log.contains(&"after 2".to_owned()), "{log:?}");
    assert_eq!(log.len(), 3 + 2 + 1 + 2);
    assert!(run.stderr.contains("1 state not reached"), "{run}");
}

#[test]
fn one_host_after_the_other_with_serial_and_each_by_itself_without_waiting() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(3, &[]), TestEnv::new());
    write(&env, "three", THREE);
    state(&env, &sshd, 3, &["apply", "three", "--serial"]).exits(1);
    let expected = [
        "all 1", "web 1", "after 1", "all 2", "web 2", "fails 2", "all 3", "after 3",
    ];
    assert_eq!(log(&env), expected);
    fs::remove_file(env.work().join("log")).unwrap();
    let run = state(
        &env,
        &sshd,
        3,
        &["apply", "three", "--no-wait", "--output", "json"],
    )
    .exits(1);
    let answer = run.json();
    assert_eq!(answer["totals"]["failed"], 1, "{run}");
    assert_eq!(log(&env).len(), 8);
}

#[test]
fn too_many_failed_hosts_stop_the_run_and_the_table_is_shown() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(3, &[]), TestEnv::new());
    write(&env, "three", THREE);
    let run = state(&env, &sshd, 3, &["apply", "three", "--fail-percent", "10"]).exits(1);
    assert!(
        !log(&env).iter().any(|line| line.starts_with("after")),
        "{run}"
    );
    assert!(
        run.stderr
            .contains("more than 10% of the hosts have failed (33%)"),
        "{run}"
    );
    assert!(run.stderr.contains("stopped; 1 state not reached"), "{run}");
}

#[test]
fn orders_that_contradict_each_other_are_refused_before_anything_runs() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(2, &[]), TestEnv::new());
    let bad = "
{% for round in ['x', 'y'] if host == '1' or round == 'y' %}
a{{ loop.index }}:
  cmd.run: [{name: 'echo a >> {{ log }}'}]
{% endfor %}
{% if host == '2' %}
b:
  cmd.run: [{name: 'echo b >> {{ log }}'}]
a2:
  cmd.run: [{name: 'echo a >> {{ log }}'}]
{% else %}
b:
  cmd.run: [{name: 'echo b >> {{ log }}', order: 1}]
{% endif %}
";
    write(
        &env,
        "bad",
        &bad.replace(
            "{name: 'echo b >> {{ log }}', order: 1}",
            "{name: 'echo b >> {{ log }}'}, {order: 1}",
        ),
    );
    let run = state(&env, &sshd, 2, &["apply", "bad"]).exits(1);
    let (one, two) = (
        format!("127.0.0.1:{}", sshd.port),
        format!("127.0.0.2:{}", sshd.port),
    );
    run.says(&["in different orders", &one, &two, "--no-wait", "order:"]);
    assert!(log(&env).is_empty());
}

#[test]
fn a_dry_run_shows_commands_and_differences_and_touches_nothing() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(2, &[]), TestEnv::new());
    let there = env.work().join("there");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("conf"), "old\nsame\n").unwrap();
    let tree = format!(
        "conf:\n  file.managed:\n    - name: {0}/conf\n    - contents: |\n        new\n        same\n\
         made:\n  file.directory:\n    - name: {0}/made\n\
         ran:\n  cmd.run:\n    - name: touch {0}/ran\n",
        there.display()
    );
    env.write("states/main.sls", &tree);
    let before = env.files();
    let run = state(&env, &sshd, 2, &["apply", "main", "--dryrun"]).succeeds();
    assert_eq!(env.files(), before);
    let there = there.display().to_string();
    run.prints(&[
        "-old",
        "+new",
        &format!("mkdir {there}/made"),
        &format!("touch {there}/ran"),
        "unchanged=3",
    ]);
    state(&env, &sshd, 2, &["test", "main"]).succeeds();
    assert_eq!(env.files(), before);
    state(&env, &sshd, 1, &["apply", "main"]).succeeds();
    assert_eq!(env.read("there/conf"), "new\nsame\n");
    let again = state(&env, &sshd, 1, &["apply", "main", "--output", "json"]).succeeds();
    let host = format!("127.0.0.1:{}", sshd.port);
    let results = again.json()["hosts"][&host]["results"].clone();
    let changed: Vec<String> = results
        .as_object()
        .unwrap()
        .values()
        .filter(|it| it["changes"].as_object().is_some_and(|it| !it.is_empty()))
        .map(|it| it["__id__"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(changed, ["ran"]);
}

#[test]
fn a_host_that_is_lost_in_the_middle_is_reported_with_its_remaining_states() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(2, &[]), TestEnv::new());
    // The command kills the server process of this session.
    write(
        &env,
        "lost",
        "
first:
  cmd.run: [{name: 'echo first {{ host }} >> {{ log }}'}]
{% if host == '2' %}
goes:
  cmd.run: [{name: 'kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$)) $(ps -o ppid= -p $$); sleep 20'}]
{% endif %}
last:
  cmd.run: [{name: 'echo last {{ host }} >> {{ log }}'}]
",
    );
    let run = state(&env, &sshd, 2, &["apply", "lost", "--output", "json"]).exits(1);
    let answer = run.json();
    let of = |last: u8| answer["hosts"][format!("127.0.0.{last}:{}", sshd.port)].clone();
    assert_eq!(of(1)["ok"], true, "{run}");
    assert_eq!(of(2)["ok"], false, "{run}");
    let log = log(&env);
    assert!(
        log.contains(&"last 1".to_owned()) && !log.contains(&"last 2".to_owned()),
        "{log:?}"
    );
}

#[test]
fn a_host_that_is_not_there_fails_and_the_others_go_on() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(1, &[]), TestEnv::new());
    write(
        &env,
        "one",
        "it:\n  cmd.run: [{name: 'echo it {{ host }} >> {{ log }}'}]\n",
    );
    let mut words = line(&sshd, 1, &["apply", "one"]);
    let at = words.iter().position(|word| word == "-H").unwrap() + 1;
    words[at].push_str(",127.0.0.9:1");
    let run = env.unfurl(words).exits(1);
    assert_eq!(log(&env), ["it 1"]);
    run.says(&["127.0.0.9:1", "lost:"]);
}

#[test]
fn an_interrupted_run_starts_nothing_more_and_says_so() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(1, &[]), TestEnv::new());
    write(
        &env,
        "long",
        "
first:
  cmd.run: [{name: 'echo first >> {{ log }}; sleep 60'}]
second:
  cmd.run: [{name: 'echo second >> {{ log }}'}]
",
    );
    let started = env.start(line(&sshd, 1, &["apply", "long"]));
    env.wait_for("log");
    started.signal(Signal::SIGINT);
    let run = started.ends();
    assert_eq!(run.code, 130, "{run}");
    assert_eq!(log(&env), ["first"]);
    run.says(&["interrupted"]);
}

#[test]
fn limits_choose_among_hosts() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(3, &[]), TestEnv::new());
    write(
        &env,
        "one",
        "it:\n  cmd.run: [{name: 'echo it {{ host }} >> {{ log }}'}]\n",
    );
    state(&env, &sshd, 3, &["apply", "one", "--limit", "127.0.0.2*"]).succeeds();
    assert_eq!(log(&env), ["it 2"]);
    let run = state(&env, &sshd, 3, &["apply", "one", "--limit", "web*"]).exits(2);
    run.says(&["`--limit web*` matches none of the hosts"]);
}

#[test]
fn one_state_can_be_typed() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(1, &[]), TestEnv::new());
    let file = env.work().join("typed").display().to_string();
    let mut words: Vec<String> = [
        "op",
        "file.managed",
        &file,
        "contents=hi: there",
        "mode='0600'",
        "--approve",
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend(["-H".to_owned(), hosts(&sshd, 1)]);
    words.extend(options(&sshd));
    env.unfurl(&words)
        .succeeds()
        .prints(&["Succeeded: 1 (changed=1)"]);
    assert_eq!(env.read("typed"), "hi: there\n");
    env.unfurl(["op", "test.nop", "-H", "@local", "--approve"])
        .succeeds();
}

#[test]
fn a_secret_of_the_pillar_reaches_the_host_and_nobody_else() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(1, &[]), TestEnv::new());
    let file = env.work().join("secret").display().to_string();
    let tree = text(
        "
            kept:
              file.managed:
                - name: <file>
                - contents: {{ pillar['word'] }}
                - mode: '0600'
            used:
              cmd.run:
                - name: test $WORD != other
                - env:
                  - WORD: {{ pillar['word'] }}
            ",
    )
    .with("file", file)
    .build();
    env.write("states/main.sls", &tree);
    env.write(
        "states/named.sls",
        "used:\n  cmd.run:\n    - name: echo {{ pillar['word'] }}\n",
    );
    env.write("pillar.yaml", "word: !sensitive h-u-s-h\n");
    for words in [
        &["test", "main", "--pillar", "@pillar.yaml"][..],
        &["apply", "main", "--pillar", "@pillar.yaml"],
        &[
            "apply",
            "main",
            "--pillar",
            "@pillar.yaml",
            "--output",
            "json",
        ],
    ] {
        let run = state(&env, &sshd, 1, words).succeeds();
        assert!(!run.all().contains("h-u-s-h"), "{run}");
    }
    assert_eq!(env.read("secret"), "h-u-s-h\n");
    let run = env.unfurl([
        "state",
        "show-low",
        "main",
        "--pillar",
        "@pillar.yaml",
        "--output",
        "json",
    ]);
    assert!(!run.succeeds().all().contains("h-u-s-h"));
    let run = state(
        &env,
        &sshd,
        1,
        &["apply", "named", "--pillar", "@pillar.yaml"],
    )
    .exits(1);
    assert!(!run.all().contains("h-u-s-h"), "{run}");
    run.says(&["the name of ID `used` in SLS `named` is a secret"]);
}

#[test]
fn a_top_file_without_states_for_a_host_is_a_failure() {
    let env = TestEnv::new();
    env.write("states/top.sls", "base:\n  'other*':\n    - main\n");
    env.write("states/main.sls", "a: test.nop\n");
    let local = ["state", "apply", "-H", "@local", "--approve"];
    let with = |words: &[&'static str]| env.unfurl([&local, words].concat());
    let run = with(&["--output", "json"]).exits(1);
    let answer = run.json();
    assert_eq!(answer["no_|-states_|-states_|-None"]["result"], false);
    let run = with(&["--id", "other1"]).succeeds();
    run.prints(&["Function: test.nop"]);
}

#[test]
fn facts_of_hosts_are_shown_by_name() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(2, &[]), TestEnv::new());
    let fact = |words: &[&str]| {
        let mut line: Vec<String> = ["fact"]
            .iter()
            .chain(words)
            .map(|it| (*it).to_owned())
            .collect();
        line.extend(["-H".to_owned(), hosts(&sshd, 2)]);
        line.extend(options(&sshd));
        env.unfurl(line)
    };
    let run = fact(&["server.Kernel", "--output", "json"]).succeeds();
    let host = format!("127.0.0.2:{}", sshd.port);
    assert_eq!(run.json()[&host], "Linux", "{run}");
    let run = fact(&["kernel", "--output", "json"]).succeeds();
    assert_eq!(run.json()[&host], "Linux", "{run}");
    fact(&["os_family"]).succeeds();
    fact(&["kernal"])
        .exits(1)
        .says(&["there is no fact or grain `kernal`"]);
    fact(&["files.Fil", "path=/"]).exits(2).says(&["File"]);
    env.unfurl(["fact", "--list"])
        .succeeds()
        .prints(&["server.Users"]);
}
