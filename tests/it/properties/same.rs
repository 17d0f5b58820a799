//! Determinism: the same model gives the same plans and records, however many tasks run in parallel.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use unfurl::testing::plan::WorkflowKind;

use super::lab::Lab;
use super::laws;
use super::model::Model;
use super::picks;

/// The number of runs with many parallel tasks: 3 by default, 10 in the test command, 100 there with
/// `UNFURL_LOOPS=full`.
fn runs() -> usize {
    let runs = std::env::var("UNFURL_PROPERTY_RUNS");
    runs.map_or(3, |runs| runs.parse().unwrap())
}

/// The text without the lines with start and end times.
fn without_times(text: &str) -> String {
    let is_time = |line: &&str| {
        let line = line.trim_start_matches(['-', ' ']);
        line.starts_with("startTime:") || line.starts_with("endTime:")
    };
    let lines = text.lines().filter(|line| !is_time(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The files that git would track, without times.
fn timeless(lab: &Lab) -> BTreeMap<String, String> {
    let files = lab.tracked().into_iter();
    files
        .map(|(name, text)| (name, without_times(&text)))
        .collect()
}

/// The text with ids masked, because tasks get their ids in the order in which they end.
fn without_ids(text: &str) -> String {
    let id = regex::Regex::new("A[0-9A-Za-z]{7}[0-9a-f]{4}").unwrap();
    id.replace_all(text, "ID").into_owned()
}

/// Checks that two lives of a model give the same plans and files.
pub(super) fn lives_are_the_same(model: &Model) -> Result<(), String> {
    let mut lives = Vec::new();
    for _ in 0..2 {
        let mut lab = Lab::new(&model.text());
        let (plan, _) = lab.plan(WorkflowKind::Deploy);
        lab.job(WorkflowKind::Deploy, 1);
        let (down, _) = lab.plan(WorkflowKind::Undeploy);
        lab.job(WorkflowKind::Undeploy, 1);
        lives.push((plan, down, timeless(&lab)));
    }
    if lives[0] != lives[1] {
        return Err(format!(
            "two lives differ: {:#?}\n{:#?}",
            lives[0], lives[1]
        ));
    }
    Ok(())
}

/// Checks that parallel tasks leave the same record as sequential ones, and run in the order of requirements.
pub(super) fn parallel_is_the_same(model: &Model) -> Result<(), String> {
    let (mut one, mut many) = (Lab::new(&model.text()), Lab::new(&model.text()));
    for workflow in [
        WorkflowKind::Deploy,
        WorkflowKind::Undeploy,
        WorkflowKind::Deploy,
    ] {
        one.job(workflow.clone(), 1);
        let ran = many.job(workflow.clone(), 16);
        laws::in_order(model, &ran, &many, workflow == WorkflowKind::Undeploy)?;
        let (one, many) = (record(&one), record(&many));
        if one != many {
            return Err(format!(
                "{workflow} at the same time differs:\n{one}\n{many}"
            ));
        }
    }
    Ok(())
}

/// The ensemble with its record, without times and ids.
fn record(lab: &Lab) -> String {
    without_ids(&without_times(&lab.text()))
}

/// The complete record in an order that does not depend on the order of tasks.
fn whole_record(lab: &Lab) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for (name, text) in timeless(lab) {
        let text = without_ids(&text);
        match &*name {
            "jobs.tsv" => {
                let lines = text.lines().map(|line| {
                    // The line of the job holds its start time.
                    let fields = line
                        .split('\t')
                        .filter(|field| !field.starts_with("startTime="));
                    fields.collect::<Vec<_>>().join("\t")
                });
                parts.extend(lines);
            }
            name if name.starts_with("changes/") => {
                parts.extend(text.split("\n- ").map(str::to_owned));
            }
            _ => parts.push(text),
        }
    }
    parts.sort();
    parts
}

#[test]
fn runs_of_500_nodes_at_the_same_time_leave_the_same_record() {
    let strategy = picks::models_of(500);
    let mut runner = TestRunner::deterministic();
    let mut model = strategy.new_tree(&mut runner).unwrap().current();
    // Enough processes that tasks overtake each other, but few enough that the test is fast.
    let processes = model.nodes.iter_mut().flat_map(|node| &mut node.own);
    for (at, (_, implementation)) in processes.enumerate() {
        implementation.process = at % 100 == 0;
        implementation.reads.truncate(1);
    }
    let text = model.text();
    let mut first = None;
    for run in 0..runs() {
        let mut lab = Lab::new(&text);
        let ran = lab.job(WorkflowKind::Deploy, 16);
        assert!(ran.ok, "{:?}", ran.problems);
        assert!(ran.times.len() > 500);
        laws::in_order(&model, &ran, &lab, false).unwrap();
        let overlap = |(_, began, ended): &(_, usize, usize)| ended - began > 1;
        assert!(ran.times.iter().any(overlap), "nothing ran side by side");
        let record = whole_record(&lab);
        let first = first.get_or_insert_with(|| record.clone());
        assert!(record == *first, "run {run} differs");
    }
}
