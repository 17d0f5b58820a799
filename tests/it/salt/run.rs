//! Runs of the recorded cases. Each runs for real in a separate folder, with both orderings, and is compared
//! with the real Salt: the result of each state, the order, and the commands that really ran.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use unfurl::testing::host::RunOutput;
use unfurl::testing::states::{
    ActionId, Aggregation, CompiledStates, Engine, EngineOptions, FactCache, Mode, ModuleContext,
    NextAction, RunOrdering, StateRenderer, StateResult, StateSummary, Timestamp, compile,
};
use unfurl::testing::value::Value;

use super::corpus::{Case, cases};
use super::performer::{change, read};

/// A way to drive the engine. All ways must give the same results.
#[derive(Debug, Clone, Copy)]
struct DriveMode {
    /// The value of [`EngineOptions::max_batch`].
    max_batch: usize,
    /// Whether all facts are read before the first state runs.
    reads_facts_first: bool,
}

const WAYS: [DriveMode; 3] = [
    DriveMode {
        max_batch: 0,
        reads_facts_first: false,
    },
    DriveMode {
        max_batch: 0,
        reads_facts_first: true,
    },
    DriveMode {
        max_batch: 8,
        reads_facts_first: true,
    },
];

/// Intended deviations with the DAG ordering. Salt lifts requirements before it resolves a negative order
/// (rule S16), so the requirements of such a state run too early there.
const DEVIATIONS: [&str; 1] = ["dag-negative-child"];

#[test]
fn every_case_runs_as_in_salt_with_the_classic_ordering() {
    requires!("corpus/salt");
    all_cases(RunOrdering::Classic);
}

#[test]
fn every_case_runs_as_in_salt_with_the_newer_ordering() {
    requires!("corpus/salt");
    all_cases(RunOrdering::Dag);
}

#[expect(clippy::print_stderr, reason = "a test says what it has seen")]
fn all_cases(ordering: RunOrdering) {
    let (mut wrong, mut ran, mut comments, mut others) = (Vec::new(), 0, 0, Vec::new());
    for case in cases() {
        for way in WAYS {
            let folder = tempfile::tempdir().unwrap();
            if ordering == RunOrdering::Dag && DEVIATIONS.contains(&case.name.as_str()) {
                continue;
            }
            match run_case(&case, ordering, way, folder.path()) {
                None => {}
                Some(Ok(differing)) => {
                    ran += 1;
                    comments += differing.len();
                    others.extend(differing);
                }
                Some(Err(why)) => wrong.push(format!("{} {way:?}:\n{why}", case.name)),
            }
        }
    }
    eprintln!("{ran} runs as in Salt with {ordering:?}; {comments} comments differ");
    if std::env::var_os("SHOW_COMMENTS").is_some() {
        others.sort();
        others.dedup();
        eprintln!("{}", others.join("\n"));
    }
    assert!(
        wrong.is_empty(),
        "{} runs differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Runs a case and returns the comments that differ, or a description of the errors. None if Salt did not run
/// the case.
fn run_case(
    case: &Case,
    ordering: RunOrdering,
    way: DriveMode,
    folder: &Path,
) -> Option<Result<Vec<String>, String>> {
    let expected = case.expected(ordering);
    let runs = match &expected["runs"] {
        Json::Array(runs) => runs.clone(),
        _ => vec![expected["run"].clone()],
    };
    if runs.iter().any(|run| !run["steps"].is_array()) {
        return None;
    }
    seed(&case.folder.join("seed"), folder);
    let machine = case.machine(folder);
    let world = Arc::new(ModuleContext {
        id: Arc::clone(&machine.id),
        roots: machine.roots.clone(),
        renderer: Arc::new(StateRenderer::new(machine.clone())),
        grains: machine.grains.clone(),
        pillar: machine.pillar.clone(),
        options: machine.options.clone(),
    });
    let mut comments = Vec::new();
    let mut failed = String::new();
    for run in &runs {
        let compiled = match compiled(case, ordering, &machine) {
            Ok(compiled) => compiled,
            Err(why) => return Some(Err(why)),
        };
        if compiled.is_unmatched {
            return None;
        }
        let order = compiled.run_order();
        let setup = setup(case, &machine.options, way);
        let mut engine = Engine::new(compiled.low, Arc::clone(&world), setup);
        drive(&mut engine, way);
        compare(case, run, &engine, folder, &mut failed, &mut comments);
        let ran = order_of(engine.results());
        if ran.as_ref().is_some_and(|ran| *ran != order) {
            let _ = writeln!(failed, "  shows the order {order:?}, but runs {ran:?}");
        }
    }
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let log: Vec<&str> = log.split_whitespace().collect();
    let wanted = expected["log"].as_array().cloned().unwrap_or_default();
    if json!(log) != Json::Array(wanted.clone()) {
        let _ = writeln!(failed, "  log {log:?} instead of {}", Json::Array(wanted));
    }
    Some(if failed.is_empty() {
        Ok(comments)
    } else {
        Err(failed)
    })
}

/// The chunks in the order in which they ran. None if a failure may have changed the order.
fn order_of(results: &[StateResult]) -> Option<Vec<u32>> {
    if results.iter().any(|it| it.outcome.result == Some(false)) {
        return None;
    }
    let mut results: Vec<&StateResult> = results.iter().collect();
    results.sort_by_key(|result| result.number);
    let mut order = Vec::new();
    for chunk in results.iter().filter_map(|result| result.chunk) {
        // A state that listens runs a second time at the end.
        if !order.contains(&chunk) {
            order.push(chunk);
        }
    }
    Some(order)
}

fn compiled(
    case: &Case,
    ordering: RunOrdering,
    machine: &unfurl::testing::states::MinionData,
) -> Result<CompiledStates, String> {
    let renderer = StateRenderer::new(machine.clone());
    let mut facts = FactCache::default();
    for _ in 0..10 {
        match compile(&case.request(ordering), &renderer, &facts) {
            Ok(compiled) => return Ok(compiled),
            Err(unfurl::testing::states::CompileError::Needs(needed)) => {
                for fact in needed {
                    let reading = read(&fact);
                    facts.learn(fact, reading);
                }
            }
            Err(unfurl::testing::states::CompileError::Problems(problems, _)) => {
                return Err(format!("  does not compile: {problems:?}"));
            }
        }
    }
    Err("  asks facts without end".to_owned())
}

fn seed(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir_all(&target).unwrap();
            seed(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn setup(case: &Case, options: &Value, way: DriveMode) -> EngineOptions {
    let flag = |key: &str| options.get(key).is_some_and(Value::is_truthy);
    EngineOptions {
        mode: if case.about["test"] == true {
            Mode::Test
        } else {
            Mode::Apply
        },
        failhard: flag("failhard"),
        aggregate: if flag("state_aggregate") {
            Aggregation::Always
        } else {
            Aggregation::Never
        },
        max_batch: way.max_batch,
        ..EngineOptions::default()
    }
}

/// Performs the engine's requests on this machine until the run ends.
fn drive(engine: &mut Engine, way: DriveMode) {
    let mut facts = FactCache::default();
    let mut under_way: VecDeque<(ActionId, Vec<RunOutput>)> = VecDeque::new();
    let mut now = 0;
    let learn = |facts: &mut FactCache, needed: Vec<unfurl::testing::host::fact::Fact>| {
        for fact in needed {
            let reading = read(&fact);
            facts.learn(fact, reading);
        }
    };
    if way.reads_facts_first {
        for _ in 0..5 {
            let needed = engine.prefetch_facts(&facts);
            if needed.is_empty() {
                break;
            }
            learn(&mut facts, needed);
        }
    }
    for _ in 0..100_000 {
        now += 1;
        match engine.next(&mut facts, None, Timestamp(now)) {
            NextAction::Read(needed) => learn(&mut facts, needed),
            NextAction::Change {
                action: deed,
                changes,
                ..
            } => {
                let mut outputs = Vec::new();
                for one in &changes {
                    let (output, is_good) = change(one);
                    outputs.push(output);
                    if !is_good {
                        break;
                    }
                }
                under_way.push_back((deed, outputs));
            }
            NextAction::Sleep { action: deed, .. } => {
                engine.finish_sleep(deed, &mut facts, Timestamp(now));
            }
            NextAction::Wait => {
                let (deed, outputs) = under_way.pop_front().expect("something is under way");
                engine.finish_change(deed, outputs, &mut facts, Timestamp(now));
            }
            NextAction::AtLimit => panic!("there is no gate"),
            NextAction::Done => return,
        }
    }
    panic!("it does not end");
}

fn row(result: &StateResult, folder: &Path) -> Json {
    let folder = folder.to_string_lossy();
    let fold = |text: &str| text.replace(&*folder, "__TMP__");
    let mut row = json!({
        "id": fold(&result.id),
        "state": &*result.state,
        "fun": &*result.fun,
        "name": fold(&result.name),
        "result": result.outcome.result,
        "changed": result.is_changed(),
        "comment": fold(&result.outcome.comment),
    });
    if result.skipped {
        row["ran"] = false.into();
    }
    if result.parallel {
        row["parallel"] = true.into();
    }
    row
}

fn compare(
    case: &Case,
    run: &Json,
    engine: &Engine,
    folder: &Path,
    failed: &mut String,
    comments: &mut Vec<String>,
) {
    let mut results: Vec<&StateResult> = engine.results().iter().collect();
    results.sort_by_key(|it| it.number);
    let mut found: Vec<Json> = results.iter().map(|it| row(it, folder)).collect();
    let mut wanted = run["steps"].as_array().cloned().unwrap_or_default();
    for (wanted, found) in wanted.iter_mut().zip(&mut found) {
        let says = |row: &mut Json| row.as_object_mut().and_then(|it| it.remove("comment"));
        let (theirs, ours) = (says(wanted), says(found));
        if theirs.as_ref().and_then(Json::as_str).map(str::trim)
            != ours.as_ref().and_then(Json::as_str).map(str::trim)
        {
            comments.push(format!("  {}: {ours:?} instead of {theirs:?}", case.name));
        }
    }
    if found != wanted {
        for place in 0..found.len().max(wanted.len()) {
            let (ours, theirs) = (found.get(place), wanted.get(place));
            if ours != theirs {
                let show = |it: Option<&Json>| it.map_or("nothing".into(), Json::to_string);
                let _ = writeln!(failed, "  {}\n    instead of {}", show(ours), show(theirs));
                if let Some(ours) = results.get(place) {
                    let _ = writeln!(failed, "    comment: {}", ours.outcome.comment);
                }
            }
        }
    }
    let StateSummary {
        succeeded,
        unchanged,
        changed,
        failed: bad,
        ..
    } = StateSummary::of(engine.results());
    let ours = json!({
        "changed": changed, "failed": bad, "succeeded": succeeded,
        "total": engine.results().len(), "unchanged_none": unchanged,
    });
    if ours != run["summary"] {
        let _ = writeln!(failed, "  {ours}\n    instead of {}", run["summary"]);
    }
}
