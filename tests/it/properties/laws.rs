//! The laws that hold for every service template. Each checks a model and the record of its jobs so far.

use std::collections::{BTreeMap, BTreeSet};

use unfurl::testing::plan::WorkflowKind;

use super::lab::{JobResult, Lab, Step, StepEnd};
use super::model::{Directive, Expr, Model, Node, name};
use super::oracle::Act;
use super::same;

/// Returns an error with the ensemble's text unless a condition holds.
macro_rules! check_law {
    ($what:expr, $lab:expr, $($why:tt)*) => {
        if !$what {
            return Err(format!("{}\n{}", format_args!($($why)*), $lab.text()));
        }
    };
}

type Law = Result<(), String>;

/// Checks the complete life of a model: deploy, repeat, edit, teardown, deploy again.
pub(super) fn hold_for(model: &Model) -> Law {
    let mut lab = Lab::new(&model.text());
    let first = deploys_as_planned(model, &mut lab)?;
    is_the_same_again(model, &first, &mut lab)?;
    needs_nothing_that_git_ignores(model, &mut lab)?;
    is_checked_without_a_change(model, &mut lab)?;
    follows_edits(model, &mut lab)?;
    goes_and_comes_back(model, &mut lab)?;
    // These laws run further complete lives, so each is checked for a part of the models only.
    match model.text().len() % 4 {
        0 => same::lives_are_the_same(model),
        1 => same::parallel_is_the_same(model),
        _ => Ok(()),
    }
}

fn acts<'s>(steps: impl IntoIterator<Item = &'s Step>) -> BTreeSet<Act> {
    let split = |step: &Step| {
        let operation = step.operation.rsplit('.').next().unwrap();
        (step.target.clone(), operation.to_owned())
    };
    steps.into_iter().map(split).collect()
}

/// Plans a job, runs it and compares both. Planned steps must have run, except those that a check before them
/// made unnecessary.
fn as_planned(
    model: &Model,
    lab: &mut Lab,
    workflow: &WorkflowKind,
    parallel: usize,
) -> Result<JobResult, String> {
    let (planned, _) = lab.plan(workflow.clone());
    let before = lab.statuses();
    let ran = lab.job(workflow.clone(), parallel);
    let words =
        |steps: &[(Step, StepEnd)]| -> Vec<Step> { steps.iter().map(|(s, _)| s.clone()).collect() };
    check_law!(
        words(&planned) == words(&ran.steps),
        lab,
        "{workflow}: planned {planned:#?}\nran {:#?}",
        ran.steps
    );
    for ((step, plan), (_, end)) in planned.iter().zip(&ran.steps) {
        let found = (0..model.nodes.len()).any(|node| {
            name(node) == step.instance && model.nodes[node].directive == Some(Directive::Check)
        });
        let fulfilled = match plan {
            StepEnd::Skipped => *end == StepEnd::Skipped,
            StepEnd::Open => *end == StepEnd::Succeeded || found && *end == StepEnd::Passed,
            StepEnd::Deferred => matches!(end, StepEnd::Succeeded | StepEnd::Skipped),
            _ => false,
        };
        check_law!(
            fulfilled,
            lab,
            "{workflow}: {step:?} was planned as {plan:?} and ended as {end:?}\n{:?}\n{before:#?}",
            ran.problems
        );
    }
    check_law!(ran.ok, lab, "{workflow}: {ran:#?}");
    in_order(model, &ran, lab, *workflow == WorkflowKind::Undeploy)?;
    Ok(ran)
}

/// Checks that the tasks of a node run after those of the nodes it requires, or before them if `reverse`.
pub(super) fn in_order(model: &Model, ran: &JobResult, lab: &Lab, reverse: bool) -> Law {
    let mut spans: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (step, began, ended) in &ran.times {
        let span = spans.entry(&step.instance).or_insert((*began, *ended));
        *span = (span.0.min(*began), span.1.max(*ended));
    }
    for node in 0..model.nodes.len() {
        for target in model.needed(node) {
            let (node, target) = (name(node), name(target));
            let spans = spans.get(&*node).zip(spans.get(&*target));
            let fine = spans.is_none_or(|(node, target)| {
                if reverse {
                    node.1 < target.0
                } else {
                    target.1 < node.0
                }
            });
            check_law!(fine, lab, "{node} requires {target}: {:#?}", ran.times);
        }
    }
    Ok(())
}

fn deploys_as_planned(model: &Model, lab: &mut Lab) -> Result<JobResult, String> {
    let ran = as_planned(model, lab, &WorkflowKind::Deploy, 1)?;
    let (did, due) = (acts(ran.with(StepEnd::Succeeded)), model.first_deploy());
    check_law!(
        did == due,
        lab,
        "it did {did:#?}\nand should have done {due:#?}"
    );
    Ok(ran)
}

/// The steps that every deploy runs: the checks of nodes with the directive `check`.
fn always(model: &Model) -> BTreeSet<Act> {
    let nodes = (0..model.nodes.len()).filter(|node| {
        let is_checked = model.nodes[*node].directive == Some(Directive::Check);
        let is_there = model.is_found(*node) || !model.is_computed(*node);
        is_checked && is_there && model.deploys(*node)
    });
    nodes
        .map(|node| (format!("::{}", name(node)), "check".to_owned()))
        .collect()
}

fn is_the_same_again(model: &Model, first: &JobResult, lab: &mut Lab) -> Law {
    let (_, picture) = lab.plan(WorkflowKind::Deploy);
    // The plan treats the status of an instance that will be checked as unknown.
    let recorded = first.picture.iter().filter(|_| always(model).is_empty());
    // A `default` node that no node requires is not recorded, even if its values were read.
    let nowhere = (0..model.nodes.len()).filter(|node| {
        model.nodes[*node].directive == Some(Directive::Default) && !model.deploys(*node)
    });
    let nowhere: BTreeSet<String> = nowhere.map(|node| format!("::{}", name(node))).collect();
    let recorded = recorded.filter(|(key, _)| !nowhere.contains(&**key));
    for (key, was) in recorded {
        let is = picture.get(key);
        check_law!(
            is == Some(was),
            lab,
            "{key} was\n{was}\nand is read as\n{is:?}"
        );
    }
    runs_nothing(model, lab, "a second deploy")
}

fn runs_nothing(model: &Model, lab: &mut Lab, what: &str) -> Law {
    let before = lab.tracked();
    let ran = as_planned(model, lab, &WorkflowKind::Deploy, 1)?;
    let did = acts(ran.with(StepEnd::Succeeded));
    let due = always(model);
    check_law!(did == due, lab, "{what} runs {did:#?}");
    let after = lab.tracked();
    let same = before == after || !due.is_empty();
    check_law!(same, lab, "{what} changes files:\n{before:#?}\n{after:#?}");
    Ok(())
}

fn needs_nothing_that_git_ignores(model: &Model, lab: &mut Lab) -> Law {
    lab.delete_ignored_files();
    runs_nothing(model, lab, "a deploy of what git tracks")
}

fn is_checked_without_a_change(model: &Model, lab: &mut Lab) -> Law {
    // The check also finds `default` nodes, which would change later laws. So it runs in a copy.
    let lab = &mut lab.copy();
    let before = lab.statuses();
    as_planned(model, lab, &WorkflowKind::Check, 1)?;
    let after = lab.statuses();
    // A node without operations has no own status until a check reports one.
    let made = (0..model.nodes.len()).filter(|node| !model.is_computed(*node));
    for node in made.filter(|node| model.deploys(*node)) {
        let name = name(node);
        let (was, is) = (before.get(&name), after.get(&name));
        check_law!(
            was == is,
            lab,
            "a check changes {name} from {was:?} to {is:?}"
        );
    }
    Ok(())
}

/// Edits some properties one after the other and checks that the right operations run again.
fn follows_edits(model: &Model, lab: &mut Lab) -> Law {
    let nodes = (0..model.nodes.len()).rev();
    let all = nodes.flat_map(|node| model.nodes[node].properties.iter());
    let texts = all.filter_map(|value| match value {
        Expr::Text(text, number) => Some((
            value,
            format!("\"{text}-{number}\""),
            format!("\"{text}-{}\"", number + 1),
        )),
        _ => None,
    });
    for (value, from, to) in texts.take(2) {
        lab.replace(&from, &to);
        let ran = as_planned(model, lab, &WorkflowKind::Deploy, 1)?;
        let mut due = model.rerun(value);
        due.extend(always(model));
        let did = acts(ran.with(StepEnd::Succeeded));
        check_law!(
            did == due,
            lab,
            "{from} was edited: it did {did:#?}\nand should have done {due:#?}"
        );
        runs_nothing(model, lab, "a deploy after that of an edit")?;
    }
    Ok(())
}

fn goes_and_comes_back(model: &Model, lab: &mut Lab) -> Law {
    let before = lab.statuses();
    let ran = as_planned(model, lab, &WorkflowKind::Undeploy, 1)?;
    let (did, due) = (acts(ran.with(StepEnd::Succeeded)), model.teardown());
    check_law!(
        did == due,
        lab,
        "a teardown did {did:#?}\nand should have done {due:#?}"
    );
    for node in model.gone() {
        let name = name(node);
        let status = lab.local(&name);
        check_law!(
            status.as_deref() == Some("absent"),
            lab,
            "{name} is {status:?} after the teardown"
        );
    }
    for node in model.kept() {
        let name = name(node);
        check_law!(
            before.get(&name) == lab.statuses().get(&name),
            lab,
            "{name} is not kept"
        );
    }
    as_planned(model, lab, &WorkflowKind::Deploy, 1)?;
    let after = lab.statuses();
    // A checked node is not compared with the model, so its attribute may hold an older value.
    let checks = |node: &Node| node.directive == Some(Directive::Check);
    let older = model.nodes.iter().any(checks);
    let shown = |all: BTreeMap<String, String>| -> BTreeMap<String, String> {
        let status = |text: String| match text.rsplit_once(' ') {
            Some((status, _)) if older => status.to_owned(),
            _ => text,
        };
        all.into_iter()
            .map(|(name, text)| (name, status(text)))
            .collect()
    };
    let (before, after) = (shown(before), shown(after));
    check_law!(
        before == after,
        lab,
        "what was\n{before:#?} came back as\n{after:#?}"
    );
    runs_nothing(model, lab, "a deploy after all came back")
}
