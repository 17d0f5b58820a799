//! Tests of the engine with hand-written low data, a fake machine and a small state module.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::diagnostic::{Sources, Span};
use crate::host::change::{Change, CommandRun};
use crate::host::fact::{Fact, FactReading, ProbeOutput};
use crate::host::{CapturedOutput, Exit, RunOutput};
use crate::states::{
    ChangeOutcome, ChangeSet, Chunk, ChunkIndex, FactCache, FileRoots, FileRootsError, Halt,
    LinkTarget, LowData, Mode, ModuleContext, RenderTemplate, Requisite, RequisiteLink,
    RunOrdering, StateDecision, StateOutcome, TemplateRequest,
};
use crate::states::{StateCall, StateFunction, StateModule};
use crate::value::{FoldMap, Map, Value};

fn span() -> Span {
    Span::new(Sources::default().add("main.sls", "", None), 0, 0)
}

/// A state tree that contains no files.
struct NoFiles;

impl FileRoots for NoFiles {
    fn read(&self, _: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        Ok(None)
    }
    fn list(&self, _: &str) -> Result<Vec<String>, FileRootsError> {
        Ok(Vec::new())
    }
    fn mode(&self, _: &str) -> Result<Option<u32>, FileRootsError> {
        Ok(None)
    }
}

/// A renderer that returns templates unchanged.
struct PlainRenderer;

impl RenderTemplate for PlainRenderer {
    fn render(&self, request: &TemplateRequest<'_>, _: &FactCache) -> Result<String, Halt> {
        Ok(request.text.to_owned())
    }
}

fn module_context() -> Arc<ModuleContext> {
    Arc::new(ModuleContext {
        id: "golden".into(),
        roots: Arc::new(NoFiles).into(),
        renderer: Arc::new(PlainRenderer),
        grains: Value::map([("role", "web".into())]),
        pillar: Value::map([("port", 80.into())]),
        options: Value::Null,
    })
}

/// A builder for low data in tests: `id: module.function`, with requisites on earlier or later IDs.
#[derive(Default)]
struct LowDataBuilder {
    low: LowData,
    links: Vec<(usize, Requisite, String)>,
}

fn json_map(text: &str) -> Map {
    fn value(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(it) => (*it).into(),
            serde_json::Value::Number(it) => it.as_i64().unwrap().into(),
            serde_json::Value::String(it) => Value::str(it.as_str()),
            serde_json::Value::Array(it) => Value::list(it.iter().map(value)),
            serde_json::Value::Object(it) => {
                Value::map(it.iter().map(|(key, it)| (key.as_str(), value(it))))
            }
        }
    }
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    value(&json).as_map().unwrap().clone()
}

impl LowDataBuilder {
    fn state(&mut self, id: &str, fun: &str, args: &str, keywords: &str) -> &mut Self {
        let (state, fun) = fun.split_once('.').unwrap();
        let mut args = json_map(args);
        let name = args
            .shift_remove("name")
            .map_or(id.to_owned(), |it| it.to_string());
        self.low.chunks.push(Chunk {
            id: id.into(),
            sls: "main".into(),
            env: "base".into(),
            state: state.into(),
            fun: fun.into(),
            name: name.into(),
            order: 10_000.into(),
            args,
            keywords: json_map(keywords),
            links: Vec::new(),
            span: span(),
        });
        let at = ChunkIndex::try_from(self.low.chunks.len() - 1).unwrap();
        self.low.order.push(at);
        self
    }

    fn add(&mut self, id: &str, fun: &str) -> &mut Self {
        self.state(id, fun, "{}", "{}")
    }

    /// Gives the last state a requisite. `target` may contain several IDs separated by spaces.
    fn on(&mut self, kind: Requisite, target: &str) -> &mut Self {
        self.links
            .push((self.low.chunks.len() - 1, kind, target.to_owned()));
        self
    }

    fn low(&self, ordering: RunOrdering) -> Arc<LowData> {
        let mut low = self.low.clone();
        low.ordering = ordering;
        let mut places: FoldMap<String, u32> = FoldMap::default();
        for (at, kind, target) in &self.links {
            let ids: Vec<&str> = target.split(' ').collect();
            let found: Box<[u32]> = (0u32..)
                .zip(&low.chunks)
                .filter(|(_, chunk)| ids.contains(&&*chunk.id))
                .map(|(at, _)| at)
                .collect();
            let state = low.chunks[*at].state.clone();
            let target = if found.is_empty() {
                LinkTarget::Missing
            } else {
                let sets = &mut low.sets;
                LinkTarget::Set(*places.entry(target.clone()).or_insert_with(|| {
                    sets.push(found);
                    u32::try_from(sets.len() - 1).unwrap()
                }))
            };
            low.chunks[*at].links.push(RequisiteLink {
                repeats: 1,
                kind: *kind,
                target,
                written: Value::map([(state, ids[0].into())]),
                span: span(),
            });
        }
        low.has_links = !self.links.is_empty();
        Arc::new(low)
    }
}

/// A fake machine. The text of a probe or command determines its result.
#[derive(Default)]
struct Machine {
    log: Vec<String>,
    /// The number of round trips to the machine.
    trips: usize,
    /// For each command, the number of runs that still fail.
    fails: FoldMap<String, usize>,
}

impl Machine {
    fn read(&mut self, fact: &Fact) -> FactReading {
        match fact {
            Fact::Probe(probe) => {
                self.log.push(format!("? {}", probe.text));
                let code = match probe.text.as_str() {
                    "true" => 0,
                    "false" => 1,
                    text if text.starts_with("has ") => {
                        i32::from(!self.log.contains(&text[4..].to_owned()))
                    }
                    _ => 0,
                };
                FactReading::Probe(ProbeOutput {
                    code,
                    stdout: b"said\n".to_vec(),
                    stderr: Vec::new(),
                })
            }
            _ => FactReading::Absent,
        }
    }

    fn change(&mut self, change: &Change) -> RunOutput {
        let Change::Run(run) = change else {
            panic!("{change:?}");
        };
        self.log.push(run.text.clone());
        let left = self.fails.entry(run.text.clone()).or_default();
        let fails = run.text.starts_with("bad") || *left > 0;
        *left = left.saturating_sub(1);
        RunOutput {
            stderr: CapturedOutput::from_bytes(if fails { "it is bad\n" } else { "" }),
            ..RunOutput::not_run(Exit::Code(i32::from(fails)))
        }
    }
}

fn drive(engine: &mut Engine, machine: &mut Machine, facts: &mut FactCache) {
    let mut now = 0;
    let mut under_way: VecDeque<(ActionId, Vec<RunOutput>)> = VecDeque::new();
    for _ in 0..1_000_000 {
        now += 1000;
        match engine.next(facts, None, Timestamp(now)) {
            NextAction::Read(needed) => {
                machine.trips += 1;
                for fact in needed {
                    let reading = machine.read(&fact);
                    facts.learn(fact, reading);
                }
            }
            NextAction::Change {
                action, changes, ..
            } => {
                machine.trips += 1;
                let mut outputs = Vec::new();
                for change in &changes {
                    let output = machine.change(change);
                    let good = match change {
                        Change::Run(run) => run.good_codes.clone(),
                        _ => Vec::new(),
                    };
                    let code = output.exit.code().unwrap();
                    let fails = code != 0 && !good.contains(&code);
                    outputs.push(output);
                    if fails {
                        break;
                    }
                }
                under_way.push_back((action, outputs));
            }
            NextAction::Sleep {
                action: action_id,
                time,
                ..
            } => {
                now += i64::try_from(time.as_micros()).unwrap();
                engine.finish_sleep(action_id, facts, Timestamp(now));
            }
            NextAction::Wait => {
                let (action_id, outputs) = under_way.pop_front().expect("something is under way");
                engine.finish_change(action_id, outputs, facts, Timestamp(now));
            }
            NextAction::AtLimit => panic!("there is no gate"),
            NextAction::Done => return,
        }
    }
    panic!("it does not end");
}

fn run_with(
    tree: &LowDataBuilder,
    ordering: RunOrdering,
    setup: EngineOptions,
) -> (Vec<String>, Vec<String>) {
    let mut engine = Engine::new(tree.low(ordering), module_context(), setup);
    let mut machine = Machine::default();
    let mut facts = FactCache::default();
    drive(&mut engine, &mut machine, &mut facts);
    (result_lines(&engine), machine.log)
}

fn result_lines(engine: &Engine) -> Vec<String> {
    let mut results: Vec<&StateResult> = engine.results().iter().collect();
    results.sort_by_key(|it| it.number);
    let show = |it: &&StateResult| {
        let result = match it.outcome.result {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "would",
        };
        let changed = if it.is_changed() { " changed" } else { "" };
        let skipped = if it.skipped { " skipped" } else { "" };
        format!(
            "{} {result}{changed}{skipped}: {}",
            it.id, it.outcome.comment
        )
    };
    results.iter().map(show).collect()
}

fn run(tree: &LowDataBuilder) -> Vec<String> {
    run_with(tree, RunOrdering::Classic, EngineOptions::default()).0
}

fn log(tree: &LowDataBuilder) -> Vec<String> {
    run_with(tree, RunOrdering::Classic, EngineOptions::default()).1
}

#[test]
fn a_chain_of_a_hundred_thousand_requires_runs_backwards() {
    const LENGTH: usize = 100_000;
    let mut tree = LowDataBuilder::default();
    for at in 0..LENGTH {
        tree.add(&format!("s{at}"), "test.nop");
    }
    let mut low = LowData::clone(&tree.low(RunOrdering::Classic));
    for at in 0..LENGTH - 1 {
        let next = u32::try_from(at + 1).unwrap();
        low.sets.push([next].into());
        low.chunks[at].links.push(RequisiteLink {
            repeats: 1,
            kind: Requisite::Require,
            target: LinkTarget::Set(next - 1),
            written: Value::Null,
            span: span(),
        });
    }
    let mut engine = Engine::new(Arc::new(low), module_context(), EngineOptions::default());
    drive(
        &mut engine,
        &mut Machine::default(),
        &mut FactCache::default(),
    );
    assert_eq!(engine.results().len(), LENGTH);
    assert_eq!(&*engine.results()[0].id, "s99999");
    assert!(
        engine
            .results()
            .iter()
            .all(|it| it.outcome.result == Some(true))
    );
}

#[test]
fn a_set_is_counted_once_for_all_that_require_it() {
    const LENGTH: u32 = 3_000;
    let mut tree = LowDataBuilder::default();
    for at in 0..2 * LENGTH {
        tree.add(&format!("s{at}"), "test.nop");
    }
    let mut low = LowData::clone(&tree.low(RunOrdering::Classic));
    low.sets.push((LENGTH..2 * LENGTH).collect());
    for at in 0..LENGTH as usize {
        low.chunks[at].links.push(RequisiteLink {
            repeats: 1,
            kind: Requisite::Require,
            target: LinkTarget::Set(0),
            written: Value::Null,
            span: span(),
        });
    }
    let mut engine = Engine::new(Arc::new(low), module_context(), EngineOptions::default());
    drive(
        &mut engine,
        &mut Machine::default(),
        &mut FactCache::default(),
    );
    assert_eq!(engine.results().len(), 2 * LENGTH as usize);
    assert_eq!(&*engine.results()[0].id, "s3000");
}

#[test]
fn what_is_required_runs_first_and_a_failure_is_passed_on() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "test.nop").on(Requisite::Require, "b");
    tree.add("b", "test.fail_without_changes")
        .on(Requisite::Require, "c");
    tree.add("c", "test.nop");
    let lines = [
        "c yes: Success!",
        "b NO: Failure!",
        "a NO: One or more requisite failed: main.b",
    ];
    assert_eq!(run(&tree), lines);
}

/// A state module for tests. Its changes are commands that succeed or fail by their names, and their effects
/// are predicted without reading facts.
static ACT: StateModule = StateModule {
    name: "act",
    functions: &[
        StateFunction::new("run", act)
            .options("seen also idle")
            .without_effect("idle"),
        StateFunction::new("need", need).requires("fact"),
    ],
    watch: Some(act),
    aggregate: Some(|all| {
        let names = all.iter().map(|it| it["name"].clone());
        Some(Map::from_iter([("also".into(), Value::list(names))]))
    }),
};

static TABLE: &[&StateModule] = &[
    &ACT,
    &crate::states::modules::cmd::MODULE,
    &crate::states::modules::environ::MODULE,
    &crate::states::modules::module::MODULE,
    &crate::states::modules::test::MODULE,
];

fn act(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    if let Some(seen) = call.text("seen")? {
        facts.content(&seen)?;
    }
    let changes = Map::from_iter([("ran".into(), call.name.into())]);
    let touched = crate::host::fact::Domain::Path(format!("/{}", call.name));
    let text = match call.arg("also") {
        Some(also) => also.to_string(),
        None => call.name.to_owned(),
    };
    Ok(StateDecision::Change(ChangeSet {
        predicted: StateOutcome::would_change(changes.clone(), "would run"),
        steps: vec![Change::Run(CommandRun::new(text).touching([touched]))],
        finish: ChangeOutcome::Fixed(StateOutcome::changed(changes, "ran")),
    }))
}

/// A state function that fails if the probe in its `fact` argument fails.
fn need(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let text = call.required("fact")?;
    let probe = crate::states::command_args::volatile_probe(
        text,
        crate::host::fact::CommandSetting::default(),
    );
    let found = facts.probe(probe)?.code == 0;
    Ok(StateDecision::Done(if found {
        StateOutcome::unchanged("it is there")
    } else {
        StateOutcome::failed("it is not there")
    }))
}

fn options() -> EngineOptions {
    EngineOptions {
        modules: TABLE,
        ..EngineOptions::default()
    }
}

fn test_mode_options() -> EngineOptions {
    EngineOptions {
        mode: Mode::Test,
        ..options()
    }
}

#[test]
fn a_chain_of_prereqs_runs_from_its_end_once_all_were_tested() {
    let mut tree = LowDataBuilder::default();
    tree.add("c", "cmd.run");
    tree.add("b", "cmd.run").on(Requisite::Prereq, "c");
    tree.add("a", "cmd.run").on(Requisite::Prereq, "b");
    assert_eq!(log(&tree), ["a", "b", "c"]);
    let (_, log) = run_with(&tree, RunOrdering::Dag, EngineOptions::default());
    assert_eq!(log, ["a", "b", "c"]);
}

#[test]
fn a_prereq_of_what_stays_as_it_is_does_not_run() {
    let mut tree = LowDataBuilder::default();
    tree.add("t", "test.nop");
    tree.add("p", "cmd.run").on(Requisite::Prereq, "t");
    let lines = ["p yes: No changes detected", "t yes: Success!"];
    assert_eq!(run(&tree), lines);
    let (lines, log) = run_with(&tree, RunOrdering::Dag, EngineOptions::default());
    assert_eq!(
        lines,
        ["p yes skipped: No changes detected", "t yes: Success!"]
    );
    assert!(log.is_empty());
}

#[test]
fn a_failed_prereq_keeps_its_target_from_running() {
    let mut tree = LowDataBuilder::default();
    tree.add("t", "cmd.run");
    tree.add("bad p", "cmd.run").on(Requisite::Prereq, "t");
    tree.links.clear();
    tree.low.chunks[1].id = "p".into();
    tree.links.push((1, Requisite::Prereq, "t".into()));
    let lines = [
        "p NO changed: Command \"bad p\" run",
        "t would: Command \"t\" would have been executed",
    ];
    assert_eq!(run(&tree), lines);
}

#[test]
fn onfail_waits_for_one_failure_and_onfail_all_for_all() {
    let mut tree = LowDataBuilder::default();
    tree.add("good", "test.nop");
    tree.add("bad", "test.fail_without_changes");
    tree.add("one", "test.nop")
        .on(Requisite::Onfail, "good bad");
    tree.add("all", "test.nop")
        .on(Requisite::OnfailAll, "good bad");
    tree.add("any", "test.nop")
        .on(Requisite::OnfailAny, "good bad");
    tree.add("none", "test.nop").on(Requisite::Onfail, "good");
    let unchanged = "State was not run because onfail req did not change";
    let lines = [
        "good yes: Success!".to_owned(),
        "bad NO: Failure!".to_owned(),
        "one yes: Success!".to_owned(),
        format!("all yes skipped: {unchanged}"),
        "any yes: Success!".to_owned(),
        format!("none yes skipped: {unchanged}"),
    ];
    assert_eq!(run(&tree), lines);
}

#[test]
fn require_any_and_onchanges_any_need_one_of_their_targets() {
    let mut tree = LowDataBuilder::default();
    tree.add("good", "test.nop");
    tree.add("bad", "test.fail_with_changes");
    tree.add("new", "test.succeed_with_changes");
    tree.add("a", "test.nop")
        .on(Requisite::RequireAny, "good bad");
    tree.add("b", "test.nop").on(Requisite::RequireAny, "bad");
    tree.add("c", "test.nop")
        .on(Requisite::OnchangesAny, "bad new");
    tree.add("d", "test.nop").on(Requisite::Onchanges, "bad");
    let lines = run(&tree);
    assert_eq!(lines[3], "a yes: Success!");
    assert_eq!(lines[4], "b NO: One or more requisite failed: main.bad");
    assert_eq!(lines[5], "c yes: Success!");
    let unchanged = "State was not run because none of the onchanges reqs changed";
    assert_eq!(lines[6], format!("d yes skipped: {unchanged}"));
}

#[test]
fn a_watcher_reacts_if_it_changed_nothing_itself() {
    let mut tree = LowDataBuilder::default();
    tree.add("new", "test.succeed_with_changes");
    tree.add("w", "test.nop").on(Requisite::Watch, "new");
    tree.add("own", "act.run").on(Requisite::Watch, "new");
    tree.state("skips", "test.nop", "{}", r#"{"unless": "true"}"#)
        .on(Requisite::Watch, "new");
    let (lines, log) = run_with(&tree, RunOrdering::Classic, options());
    assert_eq!(lines[1], "w yes changed: Watch statement fired.");
    assert_eq!(lines[2], "own yes changed: ran");
    assert_eq!(lines[3], "skips yes: unless condition is true");
    assert_eq!(log, ["own", "? true"]);
}

#[test]
fn listeners_react_once_at_the_end_even_after_a_failure_that_ends_the_run() {
    let mut tree = LowDataBuilder::default();
    tree.add("l", "cmd.wait").on(Requisite::Listen, "new");
    tree.links.push((0, Requisite::Listen, "new other".into()));
    tree.add("new", "test.succeed_with_changes");
    tree.add("other", "test.succeed_with_changes");
    tree.state(
        "bad",
        "test.fail_without_changes",
        "{}",
        r#"{"failhard": true}"#,
    );
    tree.add("never", "cmd.run");
    let (lines, log) = run_with(&tree, RunOrdering::Classic, options());
    assert_eq!(log, ["l"]);
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[4], "listener_l yes changed: Command \"l\" run");
}

#[test]
fn a_circle_of_requires_fails_and_ends() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "test.nop").on(Requisite::Require, "b");
    tree.add("b", "test.nop").on(Requisite::Require, "c");
    tree.add("c", "test.nop").on(Requisite::Require, "a");
    let lines = [
        "c NO: Recursive requisite found",
        "b NO: One or more requisite failed: main.c",
        "a NO: One or more requisite failed: main.b",
    ];
    assert_eq!(run(&tree), lines);
}

#[test]
fn what_is_required_and_missing_is_named() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "test.nop").on(Requisite::Require, "ghost");
    tree.add("b", "test.nop").on(Requisite::Require, "a");
    let lines = run(&tree);
    let named = "The following requisites were not found:\n                   require:\n                       test: ghost\n";
    assert_eq!(lines[0], format!("a NO: {named}"));
    assert_eq!(lines[1], "b NO: One or more requisite failed: main.a");
}

#[test]
fn a_state_is_tried_again_until_it_succeeds() {
    let mut tree = LowDataBuilder::default();
    tree.state(
        "r",
        "cmd.run",
        "{}",
        r#"{"retry": {"attempts": 5, "interval": 7}}"#,
    );
    let mut engine = Engine::new(
        tree.low(RunOrdering::Classic),
        module_context(),
        EngineOptions::default(),
    );
    let mut machine = Machine::default();
    machine.fails.insert("r".into(), 2);
    drive(&mut engine, &mut machine, &mut FactCache::default());
    assert_eq!(machine.log, ["r", "r", "r"]);
    let result = &engine.results()[0];
    assert_eq!(result.outcome.result, Some(true));
    let said = "Returned a result of \"False\", with the following comment: \"Command \"r\" run\"";
    let comment = format!("Attempt 1: {said}\nAttempt 2: {said}\nCommand \"r\" run");
    assert_eq!(result.outcome.comment, comment);
    assert!(
        result.duration >= Duration::from_secs(14),
        "{:?}",
        result.duration
    );
}

#[test]
fn a_dry_run_says_how_often_it_would_be_tried() {
    let mut tree = LowDataBuilder::default();
    tree.state("r", "cmd.run", "{}", r#"{"retry": {"attempts": 3}}"#);
    let (lines, log) = run_with(&tree, RunOrdering::Classic, test_mode_options());
    assert!(log.is_empty());
    assert!(lines[0].ends_with("a maximum of 3 times or until a result of True is returned"));
}

#[test]
fn conditions_are_asked_like_in_salt() {
    let mut tree = LowDataBuilder::default();
    tree.state(
        "both",
        "test.nop",
        "{}",
        r#"{"onlyif": "false", "unless": ["true", "true"]}"#,
    );
    tree.state(
        "one",
        "test.nop",
        "{}",
        r#"{"unless": ["true", "false", "never"]}"#,
    );
    tree.state("bad", "test.nop", "{}", r#"{"onlyif": [true]}"#);
    tree.state("empty", "test.nop", "{}", r#"{"unless": []}"#);
    tree.state(
        "fun",
        "test.nop",
        "{}",
        r#"{"unless": [{"fun": "test.echo", "text": "x"}]}"#,
    );
    tree.state("path", "test.nop", "{}", r#"{"creates": ["/a", "/b"]}"#);
    tree.state(
        "check",
        "test.nop",
        "{}",
        r#"{"check_cmd": ["true", "false"]}"#,
    );
    let (lines, log) = run_with(&tree, RunOrdering::Classic, options());
    let wanted = [
        "both yes: onlyif condition is false\nunless condition is true",
        "one yes: Success!",
        "bad yes: Success!",
        "empty NO: An exception occurred in this state: `unless` is an empty list",
        "fun yes: unless condition is true",
        "path yes: Success!",
        "check NO: check_cmd determined the state failed",
    ];
    assert_eq!(lines, wanted);
    assert_eq!(log, ["? false", "? true"]);
}

#[test]
fn slots_are_looked_up_when_a_state_runs() {
    let mut tree = LowDataBuilder::default();
    let comment = r#"{"comment": "__slot__:salt:pillar.get(port) ~ \" is it\""}"#;
    tree.state("p", "test.nop", comment, "{}");
    let comment = r#"{"comment": "__slot__:salt:cmd.run('ask me') ~ !"}"#;
    tree.state("c", "test.nop", comment, "{}");
    tree.state("odd", "test.nop", r#"{"comment": "__slot__:odd"}"#, "{}");
    let (lines, log) = run_with(&tree, RunOrdering::Classic, options());
    assert_eq!(
        lines,
        ["p yes: 80", "c yes: said!", "odd yes: __slot__:odd"]
    );
    assert_eq!(log, ["? { ask me\n} 2>&1"]);
}

#[test]
fn a_disabled_function_does_not_run_and_is_not_there_for_others() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "cmd.run");
    tree.add("b", "test.nop").on(Requisite::Require, "a");
    let setup = EngineOptions {
        disabled: vec!["cmd.*".into()],
        ..options()
    };
    let (lines, log) = run_with(&tree, RunOrdering::Classic, setup);
    assert!(log.is_empty());
    assert!(
        lines[0]
            .starts_with("a NO: The state function \"cmd.run\" is currently disabled by \"cmd.*\"")
    );
    assert!(lines[1].starts_with("b NO: The following requisites were not found:"));
}

#[test]
fn calls_of_one_function_are_joined_if_they_could_run_now() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "act.run");
    tree.add("b", "act.run");
    tree.add("late", "act.run").on(Requisite::Require, "n");
    tree.add("n", "test.nop");
    let setup = EngineOptions {
        aggregate: Aggregation::Modules(vec!["act".into()]),
        ..options()
    };
    let (_, log) = run_with(&tree, RunOrdering::Classic, setup);
    assert_eq!(log, ["['a', 'b']", "b", "late"]);
}

#[test]
fn only_so_many_states_run_beside_each_other_and_requisites_wait() {
    let mut tree = LowDataBuilder::default();
    for id in ["p1", "p2", "p3"] {
        tree.state(id, "cmd.run", "{}", r#"{"parallel": true}"#);
    }
    tree.add("end", "cmd.run")
        .on(Requisite::Require, "p1 p2 p3");
    let setup = EngineOptions {
        max_parallel: 2,
        ..options()
    };
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), setup);
    let mut facts = FactCache::default();
    let mut actions = Vec::new();
    loop {
        match engine.next(&mut facts, None, Timestamp(1)) {
            NextAction::Change {
                action: action_id,
                chunk,
                ..
            } => actions.push((action_id, chunk)),
            NextAction::Wait => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(actions.iter().map(|it| it.1).collect::<Vec<_>>(), [0, 1]);
    let good = || vec![RunOutput::not_run(Exit::Code(0))];
    engine.finish_change(actions[1].0, good(), &mut facts, Timestamp(2));
    let NextAction::Change {
        action: third,
        chunk: 2,
        ..
    } = engine.next(&mut facts, None, Timestamp(3))
    else {
        panic!("the third takes the free place");
    };
    engine.finish_change(third, good(), &mut facts, Timestamp(4));
    engine.finish_change(actions[0].0, good(), &mut facts, Timestamp(5));
    let NextAction::Change { chunk: 3, .. } = engine.next(&mut facts, None, Timestamp(6)) else {
        panic!("all that is required has ended");
    };
}

#[test]
fn no_state_beyond_the_limit_starts_unless_it_is_required() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "test.nop").on(Requisite::Require, "c");
    tree.add("b", "test.nop");
    tree.add("c", "test.nop");
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), options());
    let mut facts = FactCache::default();
    assert!(matches!(
        engine.next(&mut facts, Some(0), Timestamp(1)),
        NextAction::AtLimit
    ));
    assert_eq!(
        result_lines(&engine),
        ["c yes: Success!", "a yes: Success!"]
    );
    assert!(matches!(
        engine.next(&mut facts, Some(1), Timestamp(1)),
        NextAction::Done | NextAction::AtLimit
    ));
    assert_eq!(engine.results().len(), 3);
}

#[test]
fn a_failure_that_an_earlier_change_might_mend_is_a_prediction() {
    let mut tree = LowDataBuilder::default();
    tree.state("before", "act.need", r#"{"fact": "has x"}"#, "{}");
    tree.add("x", "cmd.run");
    tree.state("after", "act.need", r#"{"fact": "has x"}"#, "{}");
    let (lines, log) = run_with(&tree, RunOrdering::Classic, test_mode_options());
    assert_eq!(lines[0], "before NO: it is not there");
    assert_eq!(lines[2], "after would: it is not there");
    assert_eq!(log, ["? has x"]);
    let (lines, _) = run_with(&tree, RunOrdering::Classic, options());
    assert_eq!(lines[2], "after yes: it is there");
}

#[test]
fn what_is_set_in_the_environment_is_there_for_later_commands() {
    let mut tree = LowDataBuilder::default();
    tree.state(
        "e",
        "environ.setenv",
        r#"{"name": "COLOUR", "value": "red"}"#,
        "{}",
    );
    tree.state(
        "again",
        "environ.setenv",
        r#"{"name": "COLOUR", "value": "red"}"#,
        "{}",
    );
    tree.add("c", "cmd.run");
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), options());
    let mut facts = FactCache::default();
    let mut machine = Machine::default();
    loop {
        match engine.next(&mut facts, None, Timestamp(1)) {
            NextAction::Read(needed) => needed.into_iter().for_each(|fact| {
                let reading = machine.read(&fact);
                facts.learn(fact, reading);
            }),
            NextAction::Change { changes, .. } => {
                let Change::Run(run) = &changes[0] else {
                    panic!("{changes:?}");
                };
                assert_eq!(run.setting.env, [("COLOUR".to_owned(), "red".to_owned())]);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    let lines = result_lines(&engine);
    assert_eq!(lines[0], "e yes changed: Environ values were set");
    assert_eq!(
        lines[1],
        "again yes: Environ values were already set with the correct values"
    );
}

#[test]
fn functions_are_called_as_states_in_both_forms() {
    let mut tree = LowDataBuilder::default();
    tree.state("test.echo", "module.run", r#"{"text": "hi"}"#, "{}");
    tree.state(
        "new",
        "module.run",
        r#"{"test.echo": ["hi"], "cmd.retcode": ["bad"]}"#,
        "{}",
    );
    tree.state("no.such", "module.run", "{}", "{}");
    let (lines, log) = run_with(&tree, RunOrdering::Classic, options());
    assert_eq!(
        lines[0],
        "test.echo yes changed: Module function test.echo executed"
    );
    assert_eq!(lines[1], "new yes changed: test.echo: hi, cmd.retcode: 1");
    assert_eq!(
        lines[2],
        "no.such NO: Module function no.such is not available"
    );
    assert_eq!(log, ["bad"]);
}

#[test]
fn a_misspelt_function_and_a_missing_argument_are_said() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "test.nopp");
    tree.add("b", "act.need");
    tree.state("c", "act.run", r#"{"odd": 1, "idle": true}"#, "{}");
    tree.state("d", "act.run", r#"{"idle": false}"#, "{}");
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), options());
    drive(
        &mut engine,
        &mut Machine::default(),
        &mut FactCache::default(),
    );
    let lines = result_lines(&engine);
    let found =
        "State 'test.nopp' was not found in SLS 'main'\nReason: 'test.nopp' is not available.\n";
    assert_eq!(
        lines[0],
        format!("a NO: {found}Hint: did you mean `test.nop`?\n")
    );
    assert_eq!(
        lines[1],
        "b NO: Missing parameter fact for state act.need\n"
    );
    let warnings = &engine.results()[2].outcome.warnings;
    assert_eq!(
        warnings,
        &[
            "'odd' is an invalid keyword argument for 'act.run'",
            "'idle' of 'act.run' has no effect in this program"
        ]
    );
    assert!(engine.results()[3].outcome.warnings.is_empty());
}

#[test]
fn the_map_of_results_has_the_keys_of_salt_and_hides_what_must_not_be_logged() {
    let mut tree = LowDataBuilder::default();
    tree.state(
        "s",
        "cmd.run",
        r#"{"name": "say secret"}"#,
        r#"{"no_log": true}"#,
    );
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), options());
    drive(
        &mut engine,
        &mut Machine::default(),
        &mut FactCache::default(),
    );
    let map = to_value(engine.results());
    let (key, row) = map.as_map().unwrap().first().unwrap();
    assert_eq!(&**key, "cmd_|-s_|-say secret_|-run");
    assert!(!row.get("comment").unwrap().to_string().contains("secret"));
    let keys: Vec<&str> = row.as_map().unwrap().keys().map(|key| &**key).collect();
    let wanted = [
        "name",
        "changes",
        "result",
        "comment",
        "__sls__",
        "__id__",
        "__run_num__",
        "start_time",
        "duration",
    ];
    assert_eq!(keys, wanted);
}

#[test]
fn facts_of_all_states_are_gathered_before_any_runs() {
    let mut tree = LowDataBuilder::default();
    for id in 0..50 {
        let fact = format!(r#"{{"fact": "has {id}"}}"#);
        tree.state(&format!("s{id}"), "act.need", &fact, "{}");
    }
    tree.state(
        "slot",
        "test.nop",
        r#"{"comment": "__slot__:salt:cmd.run(later)"}"#,
        "{}",
    );
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), options());
    let mut facts = FactCache::default();
    let mut machine = Machine::default();
    let needed = engine.prefetch_facts(&facts);
    assert!(needed.len() >= 50, "{needed:?}");
    for fact in needed {
        let reading = machine.read(&fact);
        facts.learn(fact, reading);
    }
    assert!(engine.prefetch_facts(&facts).is_empty());
    drive(&mut engine, &mut machine, &mut facts);
    assert!(machine.trips <= 1, "{} trips", machine.trips);
}

#[test]
fn changes_of_several_states_go_out_together_and_are_taken_back_after_a_failure() {
    let mut tree = LowDataBuilder::default();
    tree.add("a", "act.run");
    tree.add("b", "act.run").on(Requisite::Require, "a");
    tree.state("bad", "act.run", "{}", "{}");
    tree.add("c", "act.run").on(Requisite::Require, "bad");
    tree.add("d", "act.run").on(Requisite::Onchanges, "a");
    let ahead = EngineOptions {
        max_batch: 8,
        ..options()
    };
    let mut engine = Engine::new(tree.low(RunOrdering::Classic), module_context(), ahead);
    let mut machine = Machine::default();
    drive(&mut engine, &mut machine, &mut FactCache::default());
    assert_eq!(machine.trips, 2);
    assert_eq!(machine.log, ["a", "b", "bad", "d"]);
    let lines = [
        "a yes changed: ran",
        "b yes changed: ran",
        "bad NO: it is bad",
        "c NO: One or more requisite failed: main.bad",
        "d yes changed: ran",
    ];
    assert_eq!(result_lines(&engine), lines);
}

/// A deterministic generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

fn random_tree(chance: &mut Random) -> LowDataBuilder {
    const FUNS: [&str; 9] = [
        "act.run",
        "act.run",
        "act.run",
        "test.nop",
        "cmd.run",
        "cmd.wait",
        "test.succeed_with_changes",
        "test.fail_without_changes",
        "act.need",
    ];
    let mut tree = LowDataBuilder::default();
    let length = 2 + chance.below(14);
    for at in 0..length {
        let bad = if chance.below(5) == 0 { "bad " } else { "" };
        let args = format!(
            r#"{{"name": "{bad}n{at}", "fact": "has n{}"}}"#,
            chance.below(length)
        );
        let keywords = match chance.below(12) {
            0 => r#"{"unless": "has n1"}"#,
            1 => r#"{"failhard": true}"#,
            2 => r#"{"check_cmd": "true"}"#,
            3 => r#"{"parallel": true}"#,
            4 => r#"{"retry": {"attempts": 2, "interval": 1}}"#,
            _ => "{}",
        };
        tree.state(
            &format!("s{at}"),
            FUNS[chance.below(FUNS.len())],
            &args,
            keywords,
        );
        for _ in 0..chance.below(3) {
            // Requisites lead only to earlier states, so there is no cycle.
            let kind = Requisite::ALL[chance.below(Requisite::ALL.len())];
            if at > 0 {
                let target = format!("s{}", chance.below(at));
                tree.on(kind, &target);
            }
        }
    }
    if chance.below(2) == 0 {
        tree.low.order.reverse();
    }
    tree
}

#[test]
fn random_trees_give_each_state_one_result_and_the_same_however_they_are_driven() {
    for seed in 0..3_000 {
        let tree = random_tree(&mut Random(seed));
        let stops = tree
            .low
            .chunks
            .iter()
            .any(|it| it.keywords.contains_key("failhard"));
        for ordering in [RunOrdering::Classic, RunOrdering::Dag] {
            let plain = run_with(&tree, ordering, options());
            let ahead = EngineOptions {
                max_batch: 8,
                ..options()
            };
            let ahead = run_with(&tree, ordering, ahead);
            assert_eq!(plain.0, ahead.0, "seed {seed}, {ordering:?}");
            let commands = |log: &[String]| -> Vec<String> {
                log.iter()
                    .filter(|it| !it.starts_with('?'))
                    .cloned()
                    .collect()
            };
            assert_eq!(
                commands(&plain.1),
                commands(&ahead.1),
                "seed {seed}, {ordering:?}"
            );
            let own = |line: &&String| !line.starts_with("listener_");
            let results = plain.0.iter().filter(own).count();
            if stops {
                assert!(results <= tree.low.chunks.len(), "seed {seed}");
            } else {
                assert_eq!(results, tree.low.chunks.len(), "seed {seed}, {ordering:?}");
            }
        }
    }
}
