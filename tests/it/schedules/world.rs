//! A project with schedules, and a clock that the test sets.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde_json::Value as Json;

use crate::support::{Started, TestEnv, binary, wait_for};

/// A project with the ensembles `one`, `two` and `three`, whose checks and deployments append their names to files.
#[derive(Debug)]
pub(super) struct World {
    pub(super) env: TestEnv,
    clock: PathBuf,
}

/// A task file whose task `mark` appends a line at its begin and at its end.
const TASKS: &str = "tasks:
  mark:
    steps:
      - local: 'echo begin >> marks; sleep 0.02; echo end >> marks'
  gated:
    steps:
      - local: 'echo begin >> gated; while ! test -e go; do sleep 0.02; done'
  endless:
    steps:
      - local: 'echo $$ >> endless; exec sleep 1000'
";

fn ensemble(name: &str) -> String {
    format!(
        "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        site:
          type: tosca.nodes.Root
          interfaces:
            Standard: {{configure: 'echo {name} >> $ROOT/deployed'}}
            Install: {{check: 'echo {name} >> $ROOT/checked'}}
"
    )
}

impl World {
    /// Creates the project. `schedules` are the lines of the section, indented by two spaces.
    pub(super) fn new(schedules: &str) -> Self {
        let env = TestEnv::new();
        let clock = env.work().parent().unwrap().join("clock");
        let env = env.variable("UNFURL_TEST_CLOCK", clock.to_str().unwrap());
        let env = env.without("COLUMNS");
        let world = Self { env, clock };
        for name in ["one", "two", "three"] {
            let root = world.env.work();
            let text = ensemble(name).replace("$ROOT", root.to_str().unwrap());
            world.env.write(&format!("ens/{name}/ensemble.yaml"), &text);
        }
        world.env.write("tasks.yaml", TASKS);
        world.set_schedules(schedules);
        world
    }

    pub(super) fn set_schedules(&self, schedules: &str) {
        let text = format!(
            "apiVersion: unfurl/v1alpha1
kind: Project
ensembles:
- {{file: ens/one/ensemble.yaml}}
- {{file: ens/two/ensemble.yaml}}
- {{file: ens/three/ensemble.yaml}}
schedules:
{schedules}
"
        );
        self.replace("unfurl.yaml", &text);
    }

    /// Writes a file of the working folder at once, as an editor does.
    pub(super) fn replace(&self, path: &str, text: &str) {
        let new = self.env.work().join(format!("{path}.new"));
        fs::write(&new, text).unwrap();
        fs::rename(&new, self.env.work().join(path)).unwrap();
    }

    /// Starts a job that holds the lock of an ensemble until it is killed.
    pub(super) fn hold(&self, name: &str) -> Started {
        let job = "exec \"$0\" run -a -- sh -c 'echo held >> ../../held; exec sleep 1000'";
        let line = format!("cd ens/{name} && {job}");
        let program = binary().display().to_string();
        let shell = Command::new("/bin/sh");
        let job = self.env.start_command(shell, ["-c", &line, &program]);
        self.wait_for_lines("held", 1);
        job
    }

    /// Makes the deployment of an ensemble wait for the file `go`.
    pub(super) fn gate(&self, name: &str) {
        let root = self.env.work().display().to_string();
        let command = "echo begin >> ROOT/gated; while ! test -e ROOT/go; do sleep 0.02; done; echo end >> ROOT/gated";
        let path = format!("ens/{name}/ensemble.yaml");
        let text = self.env.read(&path);
        let (head, tail) = text.split_once("configure: 'echo").unwrap();
        let tail = tail.split_once('\'').unwrap().1;
        let command = command.replace("ROOT", &root);
        self.env
            .write(&path, &format!("{head}configure: '{command}'{tail}"));
    }

    /// Sets the clock. It goes on from there.
    pub(super) fn set_clock(&self, time: &str) {
        self.set_clock_to(time.parse().unwrap());
    }

    pub(super) fn set_clock_to(&self, time: Timestamp) {
        let offset = time.as_millisecond() - Timestamp::now().as_millisecond();
        let new = self.clock.with_extension("new");
        fs::write(&new, offset.to_string()).unwrap();
        fs::rename(&new, &self.clock).unwrap();
    }

    /// The time on the clock of the test.
    pub(super) fn now(&self) -> Timestamp {
        let offset: i64 = fs::read_to_string(&self.clock).unwrap().parse().unwrap();
        Timestamp::from_millisecond(Timestamp::now().as_millisecond() + offset).unwrap()
    }

    /// Starts a server and waits until it has looked at its schedules.
    pub(super) fn serve(&self) -> Started {
        let server = self.start();
        wake(&server);
        server
    }

    /// Starts a server and waits until it serves.
    pub(super) fn start(&self) -> Started {
        let server = self.env.start(["serve"]);
        server.wait_until_it_says("unfurl: serves");
        server
    }

    /// Starts a server with a fault of the file system.
    pub(super) fn serve_with_fault(&self, fault: &str) -> Started {
        let mut command = Command::new("/usr/bin/env");
        command
            .arg(format!("UNFURL_TEST_FAULT={fault}"))
            .arg(binary());
        let server = self.env.start_command(command, ["serve"]);
        server.wait_until_it_says("unfurl: serves");
        server
    }

    /// Sets the clock, and waits until a server has looked at its schedules.
    #[track_caller]
    pub(super) fn jump(&self, server: &Started, time: &str) {
        self.set_clock(time);
        wake(server);
        // The server has looked at its schedules when it reads them once more.
        wake(server);
    }

    /// The rows of a schedule, as `unfurl schedule log` shows them.
    pub(super) fn rows(&self, name: &str) -> Vec<Json> {
        let words = ["schedule", "log", name, "-n", "5000", "--output", "json"];
        let run = self.env.unfurl(words).succeeds();
        run.json()[0]["rows"].as_array().unwrap().clone()
    }

    /// The due times and results of a schedule, one per line.
    pub(super) fn summary(&self, name: &str) -> String {
        let lines = self.rows(name).into_iter().map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let count = match row["count"].as_u64() {
                Some(1) => String::new(),
                count => format!(" x{}", count.unwrap()),
            };
            format!(
                "{}{count} {}: {}\n",
                text("due"),
                text("status"),
                text("reason")
            )
        });
        lines.collect()
    }

    /// Waits until a schedule has a number of rows, none of which runs, and returns their summary.
    #[track_caller]
    pub(super) fn settled(&self, name: &str, count: usize) -> String {
        wait_for(format_args!("{count} rows of {name}"), || {
            let rows = self.rows(name);
            let is_running = rows.iter().any(|row| row["status"] == "running");
            (rows.len() >= count && !is_running).then_some(())
        });
        self.summary(name)
    }

    /// The lines of a file in the working folder; none if it is missing.
    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.env.work().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The number of lines of a file that are equal to a text.
    pub(super) fn count(&self, file: &str, line: &str) -> usize {
        self.lines(file).iter().filter(|it| *it == line).count()
    }

    /// Waits until a file has a number of lines.
    #[track_caller]
    pub(super) fn wait_for_lines(&self, file: &str, count: usize) -> Vec<String> {
        wait_for(format_args!("{count} lines of {file}"), || {
            let lines = self.lines(file);
            (lines.len() >= count).then_some(lines)
        })
    }
}

/// Lets a server read its schedules again, and waits until it has done so.
#[track_caller]
pub(super) fn wake(server: &Started) {
    let count = || {
        server
            .messages()
            .matches("reads `unfurl.yaml` again")
            .count()
    };
    let before = count();
    server.signal(Signal::SIGHUP);
    wait_for("a look at the schedules", || {
        (count() > before).then_some(())
    });
}

/// Ends a server in order.
#[track_caller]
pub(super) fn end(server: Started) {
    server.signal(Signal::SIGTERM);
    server.ends().succeeds();
}

/// Returns the number of rows of each due time. Asserts that a row over several times counts them rightly.
pub(super) fn rows_by_time(rows: &[Json], interval: i64) -> BTreeMap<i64, usize> {
    let mut times = BTreeMap::new();
    for row in rows {
        let time = |key: &str| {
            let time: Timestamp = row[key].as_str().unwrap().parse().unwrap();
            time.as_second()
        };
        let (first, last) = (time("due"), time("last_due"));
        let count = u64::try_from((last - first) / interval + 1).unwrap();
        assert_eq!(row["count"].as_u64(), Some(count), "{row}");
        let mut due = first;
        while due <= last {
            *times.entry(due).or_default() += 1;
            due += interval;
        }
    }
    times
}
