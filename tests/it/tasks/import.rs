//! `unfurl task import`: fabfiles become tasks.

use crate::hosts::cli::options;
use crate::hosts::sshd::Sshd;
use crate::support::TestEnv;

const FABFILE: &str = include_str!("../../data/tasks/fabfile.py");

#[test]
fn a_fabfile_becomes_tasks_that_run_on_real_hosts() {
    requires!("python3", "sshd");
    let sshd = Sshd::with(2, &[]);
    let env = TestEnv::new();
    let text = FABFILE.replace("PORT", &sshd.port.to_string());
    env.write("fabfile.py", &text);
    let run = env.unfurl(["task", "import", "fabfile.py"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    tasks.yaml: 6 tasks, 30 statements translated, 2 not
      fabfile.py:4: statements outside of tasks have no counterpart
      fabfile.py:56: this statement has no counterpart
    ");
    assert!(!env.work().join("executed").exists());
    let again = env.unfurl(["task", "import", "fabfile.py"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("already"), "{again}");

    let run = env.unfurl([vec!["task".to_owned()], options(&sshd)].concat());
    let port = sshd.port;
    let shown = run.succeeds().stdout.replace(&format!(":{port}"), "");
    // The same fabfile, run by fab-classic 1.21 on two real servers, printed these lines after `out:` or without it.
    insta::assert_snapshot!(shown, @r"
    [127.0.0.1] built
    [127.0.0.1] hello ann with 1.0
    [127.0.0.1] said hello ann with 1.0
    [127.0.0.2] hello ann with 1.0
    [127.0.0.2] said hello ann with 1.0
    [127.0.0.2] 1 in /tmp
    [127.0.0.2] failed with 3
    [127.0.0.2] x
    [127.0.0.2] y
    [127.0.0.1] helper z
    ");
}

/// A fabfile of Fabric 2.
const FABRIC_2: &str = r#"
from fabric import task, Connection, SerialGroup

@task(hosts=["web1", "web2"])
def deploy(c, rev="HEAD"):
    """Brings a release."""
    with c.cd("/srv"):
        r = c.run(f"echo {rev} {{x}}", hide=True, warn=True)
    if r.ok:
        c.sudo("true", user="app")
    db = Connection("db1", user="dba", port=2222)
    n = db.run("echo 1")
    print(n.stdout)
    SerialGroup("a", "b").run("true")
    c.forward_local(8080)
"#;

#[test]
fn a_fabfile_of_fabric_2_becomes_tasks() {
    requires!("python3");
    let env = TestEnv::new();
    env.write("fabfile.py", FABRIC_2);
    let run = env
        .unfurl(["task", "import", "fabfile.py", "--dryrun"])
        .succeeds();
    insta::assert_snapshot!(run.stdout, @r#"
    # Translated from fabfile.py. Lines that begin with `# fabfile.py:` have no translation.
    tasks:
      deploy:
        description: "Brings a release."
        hosts: ["web1", "web2"]
        args:
          rev: "HEAD"
        steps:
          - block:
              - run: "echo {{ rev }} {x}"
                hide: "output"
                warn_only: true
                register: "r"
            cd: "/srv"
          - when: "{{ r.ok }}"
            block:
              - sudo: "true"
                user: "app"
          - execute:
              task: "deploy_line_12"
            register: "n"
          - echo: "{{ n['db1'].stdout }}"
          - execute:
              task: "deploy_line_14"
          # fabfile.py:15: not translated (`c.forward_local` has no counterpart): c.forward_local(8080)
      deploy_line_12:
        description: "The hosts of fabfile.py:12"
        hosts: ["db1"]
        settings:
          user: "dba"
          port: 2222
        steps:
          - run: "echo 1"
            register: "result_of_step"
        returns: "{{ result_of_step }}"
      deploy_line_14:
        description: "The hosts of fabfile.py:14"
        hosts: ["a", "b"]
        steps:
          - run: "true"
            register: "result_of_step"
        returns: "{{ result_of_step }}"
    "#);
    assert!(!env.work().join("tasks.yaml").exists());
}

#[test]
fn a_file_that_is_not_python_is_refused_with_its_line() {
    requires!("python3");
    let env = TestEnv::new();
    env.write("fabfile.py", "x = 1\nprint 'old'\n");
    let run = env.unfurl(["task", "import", "fabfile.py"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("fabfile.py:2:"), "{run}");
    assert!(run.stderr.contains("2to3"), "{run}");
    env.write("tasks.yaml", "tasks: {import: 'true'}\n");
    assert_eq!(env.unfurl(["task", "-l"]).succeeds().stdout, "import\n");
}
