//! The control flow, settings and checks of tasks.

use crate::hosts::cli::{hosts, options};
use crate::hosts::sshd::Sshd;
use crate::support::TestEnv;

use super::task::env;

/// Tasks with every kind of control flow.
const CONTROL_FLOW: &str = r#"
env:
  vars: {users: [ann, bob]}
tasks:
  all:
    steps:
      - for_each: "{{ users }}"
        as: user_name
        local: "echo hello {{ user_name }}"
        register: greeted
      - echo: "{{ greeted.results | map(attribute='stdout') | join('+') }} {{ greeted.succeeded }}"
      - for_each: {a: 1}
        echo: "{{ item.key }} is {{ item.value }}"
      - for_each: [1, 2]
        block:
          - {when: item == 2, local: "echo two"}
      - block:
          - local: echo one
          - local: exit 3
          - local: echo never
        rescue:
          - echo: "rescued: {{ failure.reason }}"
        always:
          - echo: always
      - local: "echo x >> count; wc -l < count"
        until: result.stdout | int >= 3
        retries: 4
        delay: 0
        register: counted
        quiet: true
      - echo: "{{ counted.stdout }} {{ counted.return_code }} {{ counted.succeeded }} {{ counted.failed }} {{ counted.command }}"
    returns: "{{ counted.stdout }}"
  gives_up:
    steps:
      - {local: exit 4, until: result.ok, retries: 1, delay: 0.01}
  cleans_up:
    steps:
      - block:
          - for_each: [1, 2, 3]
            block: [{local: "test {{ item }} = 1"}]
            when: host is none and item > 1
        always:
          - echo: cleaned
      - echo: never
  aborts:
    steps:
      - block: [{abort: enough}]
        rescue: [{echo: never}]
        always: [{echo: cleaned}]
"#;

#[test]
fn steps_repeat_branch_and_recover() {
    let env = env(CONTROL_FLOW);
    let run = env.unfurl(["task", "all"]).succeeds();
    insta::assert_snapshot!(run.stdout.replace("[<local-only>] ", ""), @r"
    hello ann
    hello bob
    hello ann+hello bob True
    a is 1
    two
    one
    rescued: exit code 3
    always
    3 0 True False echo x >> count; wc -l < count
    ");
    let run = env.unfurl(["task", "gives_up"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("exit code 4 after 2 attempts"), "{run}");
    for task in ["cleans_up", "aborts"] {
        let run = env.unfurl(["task", task]);
        assert_eq!(run.code, 1, "{run}");
        assert_eq!(run.stdout, "[<local-only>] cleaned\n");
    }
    let run = env.unfurl(["task", "all", "--output", "json"]).succeeds();
    let end = run.stdout.lines().find(|line| line.contains("\"end\""));
    let end: serde_json::Value = serde_json::from_str(end.unwrap()).unwrap();
    assert_eq!(
        end["registered"]["greeted"]["results"][1]["stdout"],
        "hello bob"
    );
    assert_eq!(end["registered"]["greeted"]["results"][1]["item"], "bob");
    assert!(end["returned"].is_number(), "{end}");
}

#[test]
fn settings_prefixes_and_folders_apply_within_their_block() {
    let env = env(r#"
env: {vars_files: more.yaml}
tasks:
  all:
    prefix: export A=1
    steps:
      - block:
          - local: 'echo $A $B $C; echo $PATH | grep -o ":/opt/x$"; pwd'
          - {local: echo hidden, quiet: true}
          - {local: 'echo err >&2; echo hidden', hide: stdout}
          - block: [{local: echo shown}]
            show: stdout
        hide: [stdout]
        prefix: [export B=2]
        env: {C: 3}
        path: /opt/x
        lcd: sub
      - settings: {vars: {color: red}, warn_only: true}
        block:
          - local: exit 5
          - {set: {vars: {kept: 'yes'}}}
          - echo: "{{ color }}"
      - echo: "{{ color }} {{ kept }} {{ from_cli }} {{ from_file }}"
      - settings: {prompts: {'Sure? ': 'aye', 'Name: ': ann}}
        local: "printf 'Sure? '; read a; printf 'Name: '; read b; printf 'Sure? '; read c; echo; echo $a $b $c"
  failing_prefix: {prefix: 'false', local: touch ran}
"#);
    env.write("more.yaml", "color: blue\nfrom_file: file\n");
    env.write("given.yaml", "from_file: given\n");
    env.write("sub/x", "");
    let words = [
        "task",
        "all",
        "--var",
        "from_cli",
        "a,b",
        "--var-file",
        "given.yaml",
    ];
    let run = env.unfurl(words).succeeds();
    let shown = run.stdout.replace("[<local-only>] ", "");
    assert!(
        !shown.contains("hidden") && !shown.contains("1 2 3"),
        "{run}"
    );
    assert_eq!(
        shown,
        "shown\nred\nblue yes a,b given\nSure? Name: Sure? \naye ann aye\n"
    );
    assert!(run.stderr.contains("err"), "{run}");
    let run = env.unfurl(["task", "failing_prefix"]);
    assert_eq!(run.code, 1);
    assert!(!env.work().join("ran").exists());
}

#[test]
fn folders_prefixes_and_variables_of_a_block_reach_commands_on_real_hosts() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = env(r#"
tasks:
  all:
    prefix: export A=1
    steps:
      - block:
          - run: 'echo $A $B $C; pwd; case $PATH in *:/opt/x) echo at the end;; esac'
          - {run: echo hidden, hide: stdout}
          - {local: 'echo here $A $B $(basename $(pwd))'}
          - {run: 'echo first ${PATH%%:*}', path: {prepend: /opt/y}}
        prefix: [export B=2, cd lib]
        env: {C: 3}
        cd: /usr
        path: /opt/x
        lcd: sub
      - run: 'echo after $A $B $C; [ "$(pwd)" = /usr/lib ] || echo elsewhere'
"#);
    env.write("sub/lib/x", "");
    let hosts = ["-H".to_owned(), hosts(&sshd, 1)].to_vec();
    let words = ["task", "all"].map(str::to_owned).to_vec();
    let run = env
        .unfurl([words, hosts, options(&sshd)].concat())
        .succeeds();
    let name = format!("[127.0.0.1:{}] ", sshd.port);
    let shown = run.stdout.replace(&name, "");
    insta::assert_snapshot!(shown, @r"
    1 2 3
    /usr/lib
    at the end
    here 1 2 lib
    first /opt/y
    after 1
    elsewhere
    ");
}

/// Tasks with mistakes that are found before anything runs.
const MISTAKES: &str = r#"
tasks:
  bad:
    steps:
      - local: touch ran
      - {execute: nosuch}
      - echo: "{{ stdot }} {{ given | default('x') }}"
      - echo: "{{ broken"
      - {execute: inner}
  inner: {roles: nope, args: {x: null}, run: "{{ x }}"}
  early: {steps: [{put: {src: nofile, dest: /x}}, {local: touch ran}]}
  circle: {execute: other}
  other: {execute: circle}
  late:
    steps:
      - {local: "echo built > built"}
      - {put: {src: built, dest: '{{ vars.to }}'}, when: "false"}
"#;

#[test]
fn names_roles_and_files_are_checked_before_anything_runs() {
    let env = env(MISTAKES);
    let run = env.unfurl(["task", "bad"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.stderr, @r#"
    error: task `bad` executes `nosuch`, which does not exist
     --> tasks.yaml:6:9
      |
    6 |       - {execute: nosuch}
      |         ^^^^^^^^^^^^^^^^^

    error: `stdot` is not defined
     --> tasks.yaml:7:9
      |
    7 |       - echo: "{{ stdot }} {{ given | default('x') }}"
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: a template has an error: unexpected end of input, expected end of variable block
     --> tasks.yaml:8:9
      |
    8 |       - echo: "{{ broken"
      |         ^^^^^^^^^^^^^^^^^

    error: task `inner` needs the argument `x`
     --> tasks.yaml:9:9
      |
    9 |       - {execute: inner}
      |         ^^^^^^^^^^^^^^^^

    error: there is no role `nope`
      --> tasks.yaml:10:10
       |
    10 |   inner: {roles: nope, args: {x: null}, run: "{{ x }}"}
       |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
    let run = env.unfurl(["task", "early", "circle"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("tasks.yaml:11:"), "{run}");
    assert!(
        run.stderr
            .contains("task `circle` executes itself: circle → other → circle"),
        "{run}"
    );
    assert!(!env.work().join("ran").exists());
    env.unfurl(["task", "late"]).succeeds();
    env.unfurl(["task", "--skip-unknown-tasks", "nothing"])
        .succeeds();
    let empty = TestEnv::new();
    assert_eq!(empty.unfurl(["task", "-l"]).code, 1);
}

#[test]
fn results_of_parallel_hosts_are_in_the_order_of_the_hosts() {
    let env = env(r#"
tasks:
  outer: {steps: [{execute: inner, register: all}, {echo: "{{ all | to_json }}"}]}
  inner: {hosts: [h3, h1, h2], parallel: true, steps: [{local: "sleep 0.{{ host[1:] }}"}], returns: "{{ host }}"}
"#);
    let run = env.unfurl(["task", "outer"]).succeeds();
    let expected = r#"{"h3": "h3", "h1": "h1", "h2": "h2"}"#;
    assert!(run.stdout.contains(expected), "{run}");
}

#[test]
fn secrets_are_in_no_registered_result() {
    let env = env(r#"
tasks:
  a:
    steps:
      - {local: echo s3cret, secret: true, register: token}
      - {local: "echo it is {{ token.stdout }}", register: said}
    returns: "{{ token.stdout }}"
"#);
    let run = env.unfurl(["task", "a", "--output", "json"]).succeeds();
    assert!(run.stdout.contains("registered"), "{run}");
    assert!(!run.all().contains("s3cret"), "{run}");
}

#[test]
fn connection_settings_of_a_task_reach_its_hosts() {
    requires!("sshd");
    let sshd = Sshd::start();
    let port = sshd.port;
    let env = env(&format!(
        r#"
tasks:
  wrong: {{hosts: 127.0.0.1, settings: {{port: {port}, user: nobody-there}}, run: echo reached}}
  right:
    hosts: 127.0.0.1
    settings: {{port: {port}, timeout: 20, connection_attempts: 2}}
    steps:
      - {{run: 'echo {{{{ port }}}}; cd /; pwd', cd: /tmp}}
      - block: [{{run: pwd}}, {{run: pwd, cd: log}}]
        cd: /var
      - settings: {{prompts: {{'Sure? ': aye}}}}
        run: "printf 'Sure? '; read a; echo; echo $a"
      - {{run: "printf 'Sure? ' ; exit 3", until: result.code == 3, delay: 0}}
  late: {{hosts: '127.0.0.1:1', settings: {{connection_attempts: 3, timeout: 1, skip_bad_hosts: true}}, run: echo reached}}
"#
    ));
    let call = |task: &str| {
        env.unfurl([vec!["task".to_owned(), task.to_owned()], options(&sshd)].concat())
    };
    let run = call("right").succeeds();
    let shown = run.stdout.replace("[127.0.0.1] ", "");
    assert_eq!(
        shown,
        format!("{port}\n/\n/var\n/var/log\nSure? \naye\nSure? \n")
    );
    let run = call("wrong");
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("nobody-there"), "{run}");
    let run = call("late").succeeds();
    assert!(run.stderr.contains("tried 3 times"), "{run}");
}
