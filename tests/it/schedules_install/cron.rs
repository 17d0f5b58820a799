//! A crontab, which Debian's cron runs.

use std::fs;
use std::process::Command;

use crate::requires::program;
use crate::support::{Started, TestEnv, binary, wait_for};

const SCHEDULES: &str = "apiVersion: unfurl/v1.0.0
kind: Project
schedules:
  minutely: {cron: '* * * * *', action: task, task: look}
";

/// Starts a shell in which the crontabs and the settings of cron are those of the test.
fn in_private_spool(env: &TestEnv, script: &str) -> Started {
    let mounts = "set -e
mkdir -p /var/spool/cron/crontabs
mount -t tmpfs -o mode=1730,gid=crontab tmpfs /var/spool/cron/crontabs
mount -t tmpfs tmpfs /run
: > ../tmp/empty
mount --bind ../tmp/empty /etc/crontab
mount -t tmpfs tmpfs /etc/cron.d
";
    let unshare = Command::new(program("unshare").unwrap());
    let script = format!("{mounts}unfurl='{}'\n{script}", binary().display());
    env.start_command(unshare, ["-m", "sh", "-c", &script])
}

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("my 100%/unfurl.yaml", SCHEDULES);
    env.write(
        "my 100%/tasks.yaml",
        "tasks:\n  look:\n    steps:\n      - local: echo run >> runs\n",
    );
    env
}

#[test]
fn all_other_lines_of_a_crontab_stay() {
    requires!("root", "unshare", "cron");
    let env = project();
    let script = "printf '# \\377 mine\\n0 0 1 1 * true\\n\\n' > before
crontab before
cd 'my 100%'
\"$unfurl\" schedule install --cron --dry-run
crontab -l > ../dry
\"$unfurl\" schedule install --cron
\"$unfurl\" schedule install --cron
crontab -l > ../installed
\"$unfurl\" schedule uninstall --cron
crontab -l > ../after
\"$unfurl\" schedule uninstall --cron
";
    let run = in_private_spool(&env, script).ends().succeeds();
    let states = run
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("crontab: "));
    let expected = [
        "would be written",
        "written",
        "unchanged",
        "removed",
        "unchanged",
    ];
    assert_eq!(states.collect::<Vec<_>>(), expected);
    let read = |name: &str| fs::read(env.work().join(name)).unwrap();
    let before = read("before");
    assert_eq!(read("dry"), before);
    assert_eq!(read("after"), before);
    let installed = read("installed");
    let block = installed.strip_prefix(&*before).unwrap();
    let block = String::from_utf8(block.to_vec()).unwrap();
    let line = block.lines().find(|line| line.starts_with('*')).unwrap();
    assert!(line.starts_with("* * * * * cd '"), "{block}");
    assert!(line.contains("my 100\\%' && PATH="), "{block}");
    assert!(
        line.ends_with(" schedule run minutely --if-due >/dev/null"),
        "{block}"
    );
}

#[test]
fn cron_runs_a_schedule_at_its_due_time() {
    requires!("root", "unshare", "cron");
    let env = project();
    let script = "cd 'my 100%'
\"$unfurl\" schedule install --cron >&2
exec cron -f
";
    let cron = in_private_spool(&env, script);
    cron.wait_until_it_says("crontab: written");
    let rows = wait_for("the row of the run", || {
        let run = env.unfurl_in("my 100%", &[], &["schedule", "log", "--output", "json"]);
        let log = run.succeeds().json();
        let rows = log[0]["rows"].as_array().unwrap().clone();
        (!rows.is_empty() && rows[0]["ended"].is_string()).then_some(rows)
    });
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["status"], "done", "{rows:?}");
    assert_eq!(rows[0]["manual"], false);
    assert!(
        rows[0]["due"].as_str().unwrap().ends_with(":00Z"),
        "{rows:?}"
    );
    assert_eq!(env.read("my 100%/runs"), "run\n");
    drop(cron);
}
