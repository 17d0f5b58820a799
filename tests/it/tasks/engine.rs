//! The task engine with simulated actions: the test decides the result of each command.

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::expr::{FixedSources, NullContext, YamlError};
use unfurl::testing::host::resolver;
use unfurl::testing::host::services::{HostResolver, HostServices, NoRoles};
use unfurl::testing::host::{
    Action, ActionRequest, ActionResult, Address, CapturedOutput, ChainExecutor, Destination, Exit,
    Location, LocationError, Program, Question, RunOutput, Secret,
};
use unfurl::testing::secret::Keys;
use unfurl::testing::tasks::{
    EngineRequest, HostEvent, HostOutcome, RunState, TaskCall, TaskEngine, TaskOptions, Tasks,
    read_tasks,
};

/// A engine that leads to each host directly.
#[derive(Debug)]
struct DirectResolver;

impl HostResolver for DirectResolver {
    fn locate(&self, host: &str, user: Option<&str>) -> Result<Location, LocationError> {
        let address = Address::parse(host, user.unwrap_or("me"), 22);
        let address = address.map_err(resolver::Error::from)?;
        Ok(Location::Ssh(Arc::new(Destination::new(host, address))))
    }
}

/// A template context without files, environment and YAML.
fn empty_context() -> NullContext<FixedSources> {
    let yaml = |_: &str| Err(YamlError("no YAML".to_owned()));
    NullContext::new("nothing is there", FixedSources(yaml))
}

fn tasks(text: &str) -> Tasks {
    let mut sources = Sources::default();
    let read = |_: &Path| Ok(text.to_owned());
    read_tasks(
        Path::new("/t/tasks.yaml"),
        &mut sources,
        &read,
        &Keys::default(),
    )
    .unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn runbook(text: &str, calls: &[&str], options: TaskOptions) -> TaskEngine {
    let calls: Vec<TaskCall> = calls
        .iter()
        .map(|call| TaskCall::parse(call).unwrap())
        .collect();
    let services = HostServices {
        resolver: Rc::new(DirectResolver),
        roles: Rc::new(NoRoles),
        context: Arc::new(empty_context()),
    };
    TaskEngine::new(tasks(text), &calls, options, services).unwrap_or_else(|it| panic!("{it:?}"))
}

fn result(exit: Exit) -> ActionResult {
    ActionResult::Run(RunOutput {
        stdout: CapturedOutput::from_bytes("out\n"),
        elapsed: Duration::from_millis(1),
        ..RunOutput::not_run(exit)
    })
}

/// The text of a command and the name of its host.
fn text_of(request: &ActionRequest) -> (String, String) {
    let Action::Run(command) = &request.action else {
        return (String::new(), request.location.to_string());
    };
    let text = match &command.program {
        Program::Shell { text, .. } => text.clone(),
        Program::Argv(words) => words.join(" "),
    };
    (text, request.location.to_string())
}

/// Drives the engine to its end. `exit` decides the result of each command, from its text and host.
///
/// Returns the commands in the order in which they ran, and the events.
fn drive(
    runbook: &mut TaskEngine,
    mut exit: impl FnMut(&str, &str) -> Exit,
) -> (Vec<String>, Vec<HostEvent>) {
    let mut ran = Vec::new();
    let mut events = Vec::new();
    let mut open: VecDeque<(u64, Exit)> = VecDeque::new();
    loop {
        let todo = runbook.next();
        events.extend(runbook.take_events());
        for one in todo {
            match one {
                EngineRequest::Perform { id, request, .. } => {
                    let (text, host) = text_of(&request);
                    let exit = exit(&text, &host);
                    ran.push(format!("{host}: {text}"));
                    open.push_back((id, exit));
                }
                EngineRequest::PromptSecret { id, .. } => {
                    runbook.answer_secret(id, Some(&Secret::new("right")));
                }
                EngineRequest::Prompt { id, .. } => runbook.answer_prompt(id, Some("typed")),
            }
        }
        match open.pop_front() {
            Some((id, exit)) => runbook.complete_action(id, &result(exit)),
            None if runbook.state() != RunState::Running => return (ran, events),
            None => {}
        }
    }
}

fn outcomes(events: &[HostEvent]) -> String {
    let ends = events.iter().filter_map(|event| match event {
        HostEvent::HostFinished(end) => {
            let host = end.host.as_deref().unwrap_or("-");
            let outcome = match &end.outcome {
                HostOutcome::Ok => "ok".to_owned(),
                HostOutcome::Changed => "changed".to_owned(),
                HostOutcome::Failed {
                    reason, tolerated, ..
                } => format!(
                    "failed ({reason}){}",
                    if *tolerated { ", tolerated" } else { "" }
                ),
                HostOutcome::Skipped { reason } => format!("skipped ({reason})"),
                HostOutcome::Unreachable { reason, tolerated } => format!(
                    "unreachable ({reason}){}",
                    if *tolerated { ", tolerated" } else { "" }
                ),
            };
            Some(format!("{} {host}: {outcome}", end.task))
        }
        HostEvent::Warning(text) => Some(format!("warning: {text}")),
        HostEvent::Error(text) => Some(format!("error: {text}")),
        _ => None,
    });
    ends.collect::<Vec<_>>().join("\n")
}

fn hosts(names: &str) -> TaskOptions {
    let mut options = TaskOptions::default();
    options.scope.hosts = names.split_whitespace().map(str::to_owned).collect();
    options
}

/// The hosts and roles of a recorded case, found by running a task that prints them.
pub(super) fn host_list(case: &Json) -> Result<(Vec<String>, Vec<String>), String> {
    let section = |name: &str| {
        case.get(name)
            .cloned()
            .unwrap_or_else(|| serde_json::json!({}))
    };
    let mut env = section("env");
    env["roledefs"] = serde_json::json!({
        "r1": ["b", "c"], "r2": ["c", "d"], "lazy": {"command": "lazy"},
        "dict": {"hosts": ["x", "y"], "note": 1}, "empty": [],
    });
    if let Some(dedupe) = case.get("dedupe") {
        env["dedupe_hosts"] = dedupe.clone();
    }
    let mut task = section("task");
    task["echo"] = "{{ all_hosts | to_json }} {{ effective_roles | to_json }}".into();
    let mut execute = section("arg");
    execute["task"] = "t".into();
    let text = serde_json::json!({
        "env": env,
        "tasks": {
            "t": task,
            "outer": {"hosts": ["one"], "execute": execute},
        },
    });
    let mut runbook = runbook(&text.to_string(), &["outer"], TaskOptions::default());
    let mut events = Vec::new();
    loop {
        let todo = runbook.next();
        events.extend(runbook.take_events());
        if runbook.state() != RunState::Running {
            break;
        }
        for one in todo {
            let EngineRequest::Perform { id, .. } = one else {
                return Err(format!("{one:?}"));
            };
            let output = RunOutput {
                stdout: CapturedOutput::from_bytes("l1\nl2\n"),
                ..RunOutput::not_run(Exit::Code(0))
            };
            runbook.complete_action(id, &ActionResult::Run(output));
        }
    }
    let said = events.iter().find_map(|event| match event {
        HostEvent::Message { text, .. } => Some(text),
        _ => None,
    });
    let Some(said) = said else {
        return Err(outcomes(&events));
    };
    let mut lists = serde_json::Deserializer::from_str(said).into_iter::<Vec<String>>();
    let mut next = || lists.next().unwrap().unwrap();
    Ok((next(), next()))
}

const TWO: &str = "tasks: {a: one, b: two}";

#[test]
fn tasks_come_one_after_the_other_and_so_do_their_hosts() {
    let mut runbook = runbook(TWO, &["a", "b"], hosts("h1 h2"));
    let (ran, _) = drive(&mut runbook, |_, _| Exit::Code(0));
    assert_eq!(ran, ["h1: one", "h2: one", "h1: two", "h2: two"]);
    assert_eq!(runbook.state(), RunState::Done);
}

#[test]
fn the_first_failure_stops_all() {
    let mut runbook = runbook(TWO, &["a", "b"], hosts("h1 h2 h3"));
    let (ran, events) = drive(&mut runbook, |_, host| Exit::Code(i32::from(host == "h2")));
    assert_eq!(ran, ["h1: one", "h2: one"]);
    assert_eq!(runbook.state(), RunState::Failed);
    assert_eq!(runbook.not_reached(), ["b".into()]);
    insta::assert_snapshot!(outcomes(&events), @r"
    a h1: ok
    a h2: failed (exit code 1)
    a h3: skipped (another host failed)
    ");
}

#[test]
fn in_parallel_all_hosts_of_a_task_run_before_a_failure_stops() {
    let mut options = hosts("h1 h2 h3 h4");
    options.switches.parallel = true;
    options.pool_size = Some(2);
    let mut runbook = runbook(TWO, &["a", "b"], options);
    let (ran, _) = drive(&mut runbook, |_, host| Exit::Code(i32::from(host == "h1")));
    assert_eq!(ran, ["h1: one", "h2: one", "h3: one", "h4: one"]);
    assert_eq!(runbook.state(), RunState::Failed);
}

#[test]
fn no_further_host_begins_once_too_many_failed() {
    let mut options = hosts("h1 h2 h3 h4 h5");
    options.switches.parallel = true;
    options.pool_size = Some(1);
    options.max_fail = Some("40%".parse().unwrap());
    let mut runbook = runbook(TWO, &["a", "b"], options);
    let (ran, events) = drive(&mut runbook, |_, _| Exit::Code(1));
    assert_eq!(ran, ["h1: one", "h2: one"]);
    insta::assert_snapshot!(outcomes(&events), @r"
    a h1: failed (exit code 1)
    a h2: failed (exit code 1)
    a h3: skipped (too many hosts failed)
    a h4: skipped (too many hosts failed)
    a h5: skipped (too many hosts failed)
    ");
}

#[test]
fn with_warnings_only_the_run_goes_on_but_for_an_abort() {
    let mut options = hosts("h1 h2");
    options.switches.warn_only = true;
    let text = "tasks: {a: {steps: [one, {register: r, run: two}, {echo: '{{ r.code }}'}]}, b: {abort: enough}}";
    let mut runbook = runbook(text, &["a", "b"], options);
    let (ran, events) = drive(&mut runbook, |text, _| {
        Exit::Code(i32::from(text == "one") * 3)
    });
    assert_eq!(ran, ["h1: one", "h1: two", "h2: one", "h2: two"]);
    assert_eq!(runbook.state(), RunState::Failed);
    insta::assert_snapshot!(outcomes(&events), @r"
    warning: [h1] task `a` continues after a failure: exit code 3: out
    a h1: failed (exit code 3), tolerated
    warning: [h2] task `a` continues after a failure: exit code 3: out
    a h2: failed (exit code 3), tolerated
    b h1: failed (enough)
    b h2: skipped (another host failed)
    ");
}

#[test]
fn a_bad_host_is_passed_over_and_tried_again_with_the_next_task() {
    let mut options = hosts("h1 h2");
    options.switches.skip_bad_hosts = true;
    let mut runbook = runbook(TWO, &["a", "b"], options);
    let (ran, events) = drive(&mut runbook, |_, host| match host {
        "h1" => Exit::Unreachable("nobody there".into()),
        _ => Exit::Code(0),
    });
    assert_eq!(ran, ["h1: one", "h2: one", "h1: two", "h2: two"]);
    assert_eq!(runbook.state(), RunState::Done);
    insta::assert_snapshot!(outcomes(&events), @r"
    a h1: unreachable (nobody there), tolerated
    a h2: ok
    b h1: unreachable (nobody there), tolerated
    b h2: ok
    ");
}

#[test]
fn what_a_task_sets_counts_for_those_after_it_but_not_among_parallel_hosts() {
    let text = |parallel: bool| {
        format!(
            "tasks:\n  a:\n    parallel: {parallel}\n    steps:\n      - set: {{vars: {{seen: '{{{{ (vars.seen | default(0)) + 1 }}}}'}}}}\n      - run: 'echo {{{{ vars.seen }}}}'\n  b: {{run: 'end {{{{ vars.seen | default(0) }}}}'}}\n"
        )
    };
    let mut serial = runbook(&text(false), &["a", "b:host=x"], hosts("h1 h2"));
    let (ran, _) = drive(&mut serial, |_, _| Exit::Code(0));
    assert_eq!(ran, ["h1: echo 1", "h2: echo 2", "x: end 2"]);
    let mut parallel = runbook(&text(true), &["a", "b:host=x"], hosts("h1 h2"));
    let (ran, _) = drive(&mut parallel, |_, _| Exit::Code(0));
    assert_eq!(ran, ["h1: echo 1", "h2: echo 1", "x: end 0"]);
}

#[test]
fn a_task_that_multiplies_runs_gets_one_warning() {
    let text = "tasks: {outer: {execute: inner}, inner: {hosts: [x, y, z], run: one}}";
    let mut runbook = runbook(text, &["outer"], hosts("h1 h2"));
    let (ran, events) = drive(&mut runbook, |_, _| Exit::Code(0));
    assert_eq!(ran.len(), 6);
    let told = outcomes(&events);
    assert_eq!(told.matches("warning").count(), 1);
    assert!(told.contains(
        "warning: task `outer` runs on 2 hosts and executes `inner` on each of them: 2 × 3 = 6 runs"
    ));
}

#[test]
fn a_task_that_executes_itself_for_ever_is_stopped() {
    let mut runbook = runbook("tasks: {a: {execute: a}}", &["a"], TaskOptions::default());
    drive(&mut runbook, |_, _| Exit::Code(0));
    assert_eq!(runbook.state(), RunState::Failed);
}

#[test]
fn a_password_is_asked_for_once_and_counts_for_all() {
    let text = "tasks: {a: {sudo: one}}";
    let mut engine = runbook(text, &["a"], hosts("h1 h2"));
    let mut asked = 0;
    let mut given = Vec::new();
    while engine.state() == RunState::Running {
        for one in engine.next() {
            match one {
                EngineRequest::Perform { id, request, .. } => {
                    let [ChainExecutor::Sudo(other)] = request.chain.as_ref().unwrap().executors()
                    else {
                        panic!("{request:?}");
                    };
                    assert_eq!(other.user, "root");
                    let password = other.password.as_ref();
                    given.push(password.map(|it| it.reveal().to_owned()));
                    let exit = match password {
                        Some(_) => Exit::Code(0),
                        None => Exit::NeedsAnswer {
                            question: Question::Become("me@h1:22".into()),
                            refused: false,
                        },
                    };
                    engine.complete_action(id, &result(exit));
                }
                EngineRequest::PromptSecret { id, question } => {
                    assert_eq!(question.to_string(), "the sudo password of me@h1:22");
                    asked += 1;
                    engine.answer_secret(id, Some(&Secret::new("pw")));
                }
                other @ EngineRequest::Prompt { .. } => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(asked, 1);
    assert_eq!(given, [None, Some("pw".into()), Some("pw".into())]);
}

#[test]
fn nobody_is_asked_while_hosts_run_at_the_same_time() {
    let mut options = hosts("h1");
    options.switches.parallel = true;
    let mut runbook = runbook("tasks: {a: one}", &["a"], options);
    let (_, events) = drive(&mut runbook, |_, _| Exit::NeedsAnswer {
        question: Question::Login("me@h1:22".into()),
        refused: false,
    });
    insta::assert_snapshot!(outcomes(&events), @"a h1: failed (needs the login password of me@h1:22, but questions are not possible while several hosts run at the same time; `--ask-password` asks once, before anything runs)");
}

#[test]
fn a_secret_is_in_no_words_and_in_no_event() {
    let text = "tasks: {a: {steps: [{prompt: Token?, secret: true, register: token}, {run: 'use {{ token }}'}, {sudo: 'use {{ token }}'}, {echo: 'it is {{ token }}'}]}}";
    let mut engine = runbook(text, &["a"], hosts("h1"));
    let mut events = Vec::new();
    while engine.state() == RunState::Running {
        for one in engine.next() {
            match one {
                EngineRequest::Perform { id, request, .. } => {
                    let Action::Run(command) = &request.action else {
                        panic!("{request:?}");
                    };
                    let words = command.program.argv().join(" ");
                    assert!(!words.contains("s3cret"), "{words}");
                    engine.complete_action(id, &result(Exit::Code(0)));
                }
                EngineRequest::Prompt { id, secret, .. } => {
                    assert!(secret);
                    engine.answer_prompt(id, Some("s3cret"));
                }
                other @ EngineRequest::PromptSecret { .. } => panic!("{other:?}"),
            }
        }
        events.extend(engine.take_events());
    }
    assert_eq!(engine.state(), RunState::Done, "{events:?}");
    assert!(!format!("{events:?}").contains("s3cret"), "{events:?}");
}

#[test]
fn a_secret_of_the_environment_reaches_commands_here_and_is_in_no_event() {
    let text = "tasks: {a: {steps: [{local: 'echo $TOKEN'}, {echo: 'it is s3cret'}]}}";
    let mut options = hosts("h1");
    options.variables.add_secret("TOKEN", "s3cret");
    let mut engine = runbook(text, &["a"], options);
    let todo = engine.next();
    let [EngineRequest::Perform { id, request, .. }] = &todo[..] else {
        panic!("{todo:?}");
    };
    let Action::Run(command) = &request.action else {
        panic!("{request:?}");
    };
    assert_eq!(command.env.get("TOKEN"), Some("s3cret"));
    assert!(command.hidden().occur_in("s3cret"));
    assert!(!format!("{request:?}").contains("s3cret"));
    engine.complete_action(*id, &result(Exit::Code(0)));
    assert!(engine.next().is_empty());
    let events = format!("{:?}", engine.take_events());
    assert!(events.contains("it is <<REDACTED>>"), "{events}");
    assert!(!events.contains("s3cret"), "{events}");
}

#[test]
fn an_interruption_begins_nothing_any_more() {
    let mut engine = runbook(TWO, &["a", "b"], hosts("h1 h2"));
    let todo = engine.next();
    let [EngineRequest::Perform { id, .. }] = &todo[..] else {
        panic!("{todo:?}");
    };
    engine.interrupt();
    engine.complete_action(*id, &result(Exit::Cancelled));
    assert!(engine.next().is_empty());
    assert_eq!(engine.state(), RunState::Interrupted);
    insta::assert_snapshot!(outcomes(&engine.take_events()), @r"
    a h1: failed (interrupted)
    a h2: skipped (interrupted)
    ");
    assert_eq!(engine.not_reached(), ["b".into()]);
}

#[test]
fn a_hundred_thousand_runs_take_little_time() {
    let mut text = "env: {parallel: true}\ntasks:\n".to_owned();
    let mut calls = Vec::new();
    for task in 0..10 {
        text += &["  t", &task.to_string(), ": {run: 'echo {{ host }}'}\n"].concat();
        calls.push(format!("t{task}"));
    }
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    // Rendering templates is slow without optimization.
    let count = if cfg!(debug_assertions) {
        1_000
    } else {
        10_000
    };
    let names: Vec<String> = (0..count).map(|host| format!("h{host}")).collect();
    let mut runbook = runbook(&text, &calls, hosts(&names.join(" ")));
    let start = Instant::now();
    let (ran, _) = drive(&mut runbook, |_, _| Exit::Code(0));
    assert_eq!(ran.len(), 10 * count);
    println!("{} runs took {:?}", ran.len(), start.elapsed());
}
