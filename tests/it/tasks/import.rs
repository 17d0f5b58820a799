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

/// A fabfile with functions of `fabric.contrib`, early returns, and values of the module.
const CONTRIB: &str = r#"
import os
from fabric.api import *
from fabric.contrib.files import exists, append, sed, contains, upload_template, comment, is_link
from fabric.contrib.project import rsync_project
from fabric.contrib.console import confirm
from fabric.colors import green

ROOT = "ROOT"
env.hosts = ["127.0.0.1:PORT"]
env.base = os.path.join(ROOT, "{}".format("app"))


@task
def files():
    conf = os.path.join(env.base, "app.conf")
    if not exists(conf):
        run("mkdir -p %s && echo one > %s" % (env.base, conf))
    elif exists(env.base + "/none"):
        abort("no")
    append(conf, "two's (x)")
    append(conf, ["two's (x)", "three"])
    if contains(conf, "THREE", exact=True, case_sensitive=False) and not is_link(conf):
        print(green("found"))
    sed(conf, "o(n)e", "1/1", backup="")
    upload_template("page.html", env.base + "/page.html", context={"name": "ann"}, use_jinja=True)
    upload_template("page.html", env.base + "/plain.html", backup=False)
    rsync_project(env.base, "site", delete=True)
    if run("test -e /none", warn_only=True).failed:
        puts("not there: " + run("[[ 1 == 1 ]] && echo missing"))
    if confirm("Go on?", default=False):
        abort("no answer is no")
    return run("cat " + conf)


@task
def leaves(word="x"):
    if word == "x":
        puts("left early")
        return
    abort("not reached")


@task
def marked():
    comment("/etc/hosts", "x")
    upload_template("page.html", "/tmp/page.html", context={"a": 1})
    with settings(host_string="other"):
        run("id")
"#;

#[test]
fn functions_of_fabric_contrib_become_steps_that_do_the_same() {
    requires!("python3", "sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let root = sshd.path("root").display().to_string();
    let text = CONTRIB.replace("PORT", &sshd.port.to_string());
    env.write(
        "fabfile.py",
        &text.replace("\"ROOT\"", &format!("\"{root}\"")),
    );
    env.write("page.html", "hello {{ name }}\n");
    env.write("site/index", "index");
    let run = env.unfurl(["task", "import", "fabfile.py"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    tasks.yaml: 3 tasks, 27 statements translated, 3 not
      fabfile.py:46: `comment`: use a state file with `file.comment`
      fabfile.py:47: write its `%(name)s` as `{{ name }}` and use the step `template`
      fabfile.py:48: `env.host_string` has no counterpart
    ");
    let options = options(&sshd);
    let task = |name: &str| {
        let words = vec!["task".to_owned(), name.to_owned()];
        [words, options.clone()].concat()
    };
    for _ in 0..2 {
        let words = task("files");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = env
            .unfurl_after("echo n >answer; exec <answer", &words)
            .succeeds();
        assert!(run.stdout.contains("] found\n"), "{run}");
        assert!(run.stdout.contains("] not there: missing\n"), "{run}");
    }
    let read = |name: &str| std::fs::read_to_string(sshd.path("root/app").join(name)).unwrap();
    assert_eq!(read("app.conf"), "1/1\ntwo's (x)\nthree\n");
    assert_eq!(read("page.html"), "hello ann\n");
    assert_eq!(read("page.html.bak"), "hello ann\n");
    assert_eq!(read("plain.html"), "hello {{ name }}\n");
    assert_eq!(read("site/index"), "index");
    let run = env.unfurl(task("leaves")).succeeds();
    assert!(run.stdout.contains("] left early\n"), "{run}");
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

#[test]
fn functions_of_other_modules_and_calls_without_arguments_are_marked() {
    requires!("python3");
    let env = TestEnv::new();
    env.write(
        "fabfile.py",
        "from os.path import exists\nfrom fabric.contrib.files import append\nfrom fabric.api import *\n\n\
         @task\ndef a():\n    if exists('/x'):\n        run('y')\n\n@task\ndef b():\n    append('/etc/f')\n",
    );
    let run = env.unfurl(["task", "import", "fabfile.py"]);
    assert!(!env.read("tasks.yaml").contains("test -e"), "{run}");
    assert!(
        run.stdout.contains("`text` of `append` is missing"),
        "{run}"
    );
}
