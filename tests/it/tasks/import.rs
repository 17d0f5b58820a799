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
    insta::assert_snapshot!(run.stdout, @"");
    assert!(!env.work().join("executed").exists());
    let again = env.unfurl(["task", "import", "fabfile.py"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("already"), "{again}");

    let run = env.unfurl([vec!["task".to_owned()], options(&sshd)].concat());
    let port = sshd.port;
    let shown = run.succeeds().stdout.replace(&format!(":{port}"), "");
    // The same fabfile, run by Fabric 1.15 with the same hosts, prints these lines after its prefixes.
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn a_fabfile_of_fabric_2_becomes_tasks() {
    requires!("python3");
    let env = TestEnv::new();
    env.write(
        "fabfile.py",
        r#"
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
"#,
    );
    let run = env
        .unfurl(["task", "import", "fabfile.py", "--dryrun"])
        .succeeds();
    insta::assert_snapshot!(run.stdout, @"");
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
