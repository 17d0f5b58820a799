//! The command `explain`: why the next job would or would not change an instance.
//!
//! Calls `ops::explain` and turns the answer into an `ExplainView`, which `ui` prints.

use std::sync::Arc;

use clap::Args;

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{
    CommonJobArgs, CompareArgs, EnsembleArg, JobArgs, PlanInputs, ReachArgs, RemovalArgs,
    ScopeArgs, WorkflowArg,
};
use crate::cli::job_views::task_of_plan;
use crate::cli::output::{Context, relative};
use crate::cli::request::job::plan_request;
use crate::cli::screen::job::JobScreen;
use crate::diagnostic::SourceLocator;
use crate::drift::KnownFinding;
use crate::job::{DetectedChange, ProposedTask};
use crate::name::{InstanceName, Priority, Status, TemplateName};
use crate::ops::explain::{Explanation, InstanceLinks};
use crate::ops::{self, Failure};
use crate::plan::{Reason, exclusion_reason};
use crate::topology::QuerySubject;
use crate::topology::{Creator, EntityKind};
use crate::ui::{ExplainFact, ExplainView, FailureLine, LastChange, LinkView, words};
use crate::value::{Handle, Value};

/// Explain an instance: why the next job would change it or not, its dependencies and its last
/// change
#[derive(Debug, Args)]
pub(in crate::cli) struct ExplainArgs {
    /// The instance: its name (for a nested one, with those of the outer topologies) or its key
    instance: String,
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(
        long,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    ensemble: String,
    #[command(flatten)]
    workflow: WorkflowArg,
    #[command(flatten)]
    narrow: ScopeArgs,
    #[command(flatten)]
    compare: CompareArgs,
    #[command(flatten)]
    reach: ReachArgs,
    #[command(flatten)]
    removal: RemovalArgs,
    #[command(flatten)]
    inputs: PlanInputs,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

impl ExplainArgs {
    /// Splits the options into the name of the instance and the options of the explained job.
    fn into_job(self) -> (String, JobArgs) {
        let any = CommonJobArgs {
            inputs: self.inputs,
            output: self.output,
            ..CommonJobArgs::default()
        };
        let job = JobArgs {
            ensemble: EnsembleArg {
                ensemble: self.ensemble,
            },
            any,
            narrow: self.narrow,
            compare: self.compare,
            reach: self.reach,
            removal: self.removal,
            workflow: self.workflow,
            ..JobArgs::default()
        };
        (self.instance, job)
    }
}

/// Explains an instance and returns the exit code.
pub(in crate::cli) fn explain(args: ExplainArgs, cx: &Context) -> Result<u8, Failure> {
    let (name, args) = args.into_job();
    let format = args.any.output;
    let request = plan_request(&args, cx)?;
    let mut screen = JobScreen::new(&cx.output, true, request.interrupts.clone());
    let explained = ops::explain::explain(&request, &name, &mut screen);
    screen.clear_progress();
    let explained = explained?;
    let view = view(&explained);
    match format {
        OutputFormat::Json => cx.output.json(&view.json()),
        OutputFormat::Text => {
            let text = view.text(cx.output.width, cx.output.result_paint());
            cx.output.print_styled_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

fn view(explained: &Explanation) -> ExplainView {
    let sources = relative(&explained.sources);
    let locator = SourceLocator::new(&sources);
    let workflow = explained.goal.workflow.to_string();
    let mut view = match &explained.subject {
        QuerySubject::Instance(handle) => instance(explained, *handle, &locator),
        QuerySubject::Template(name) => template(explained, name, &locator),
        QuerySubject::Orphan(name, record) => ExplainView {
            drift: owned(explained.drift.named(&InstanceName::new(Arc::clone(name)))),
            ..orphan(name, record)
        },
    };
    view.workflow = workflow;
    view.depends_on = links(explained, &explained.dependencies);
    view.dependents = links(explained, &explained.dependents);
    view
}

fn owned(findings: Vec<&KnownFinding>) -> Vec<KnownFinding> {
    findings.into_iter().cloned().collect()
}

fn instance(explained: &Explanation, handle: Handle, places: &SourceLocator<'_>) -> ExplainView {
    let topology = &explained.topology;
    let entity = topology.entity(handle);
    let node = entity.node();
    let mut view = ExplainView {
        name: entity.name.to_string(),
        key: Some(topology.unique_key(handle)),
        template: node.map_or_else(String::new, |node| node.template.name.to_string()),
        type_name: entity.type_name().to_owned(),
        location: node.and_then(|node| places.locate(node.template.span)),
        exists: explained.exists,
        local: entity.local,
        effective: Some(topology.effective(handle)),
        state: entity.state,
        status_reason: status_reason(explained, handle),
        facts: facts(explained, handle),
        last_change: last_change(explained, handle),
        failure: failure(explained, handle, places),
        drift: owned(explained.drift.of_instance(topology, handle)),
        ..ExplainView::default()
    };
    add_tasks(explained, handle, places, &mut view);
    view
}

/// Returns the last failure of an instance, if nothing has succeeded since.
fn failure(
    explained: &Explanation,
    handle: Handle,
    places: &SourceLocator<'_>,
) -> Option<FailureLine> {
    let topology = &explained.topology;
    let failure = explained.failures.get(&topology.unique_key(handle))?;
    let failed = |other: &&Handle| {
        let failure = explained.failures.get(&topology.unique_key(**other));
        failure.is_some_and(|failure| !failure.is_blocked)
    };
    let cause = explained.dependencies.keys().find(failed);
    Some(FailureLine {
        operation: failure.operation.clone(),
        time: failure.time.clone(),
        job: failure.job.to_string(),
        messages: failure.messages.clone(),
        is_blocked: failure.is_blocked,
        is_finding: failure.is_finding,
        cause: cause.map(|of| topology.entity(*of).name.to_string()),
        location: places.locate(topology.operation_span(handle, &failure.operation)),
    })
}

fn template(
    explained: &Explanation,
    name: &TemplateName,
    places: &SourceLocator<'_>,
) -> ExplainView {
    let topology = &explained.topology;
    let mut view = ExplainView {
        name: name.to_string(),
        template: name.to_string(),
        ..ExplainView::default()
    };
    let Some(node) = topology.template().nodes.get(name) else {
        return view;
    };
    view.type_name = node.type_name.to_string();
    view.location = places.locate(node.span);
    view.skip_reasons = skip_reasons(explained, name.as_str());
    if view.skip_reasons.is_empty() {
        let why = exclusion_reason(topology, &explained.goal, node);
        let nothing =
            || "the workflow has no operation for an instance that does not exist".to_owned();
        view.skip_reasons.push(why.unwrap_or_else(nothing));
    }
    view
}

fn orphan(name: &str, record: &Value) -> ExplainView {
    let text = |key: &str| record.get(key).map(ToString::to_string).unwrap_or_default();
    let ready = record.get("readyState");
    let local = ready.and_then(|ready| ready.get("local").unwrap_or(ready).as_str());
    ExplainView {
        name: name.to_owned(),
        template: text("template"),
        type_name: "unknown".to_owned(),
        exists: true,
        local: local.and_then(Status::parse),
        skip_reasons: vec![
            "its template is no longer in the model; `--prune` removes the instance".to_owned(),
        ],
        ..ExplainView::default()
    }
}

/// Returns the reason for which the effective status of an instance differs from its local status.
///
/// None if the instance's own status is the effective one.
fn status_reason(explained: &Explanation, handle: Handle) -> Option<String> {
    let topology = &explained.topology;
    let blamed = topology.blamed_for_status(handle)?;
    let entity = topology.entity(blamed);
    let status = topology.effective(blamed);
    Some(match entity.kind {
        EntityKind::Relationship { .. } => match topology.target_of(blamed) {
            Some(target) => {
                let target_name = &topology.entity(target).name;
                let status = topology.effective(target);
                format!(
                    "`{target_name}` is {status} (requirement `{}`)",
                    entity.name
                )
            }
            None => format!("its requirement `{}` is not met", entity.name),
        },
        EntityKind::Root => format!("the topology that substitutes it is {status}"),
        _ => format!("`{}` is {status}", entity.name),
    })
}

fn facts(explained: &Explanation, handle: Handle) -> Vec<ExplainFact> {
    let topology = &explained.topology;
    let entity = topology.entity(handle);
    let mut facts = Vec::new();
    let mut put = |key, label, text: String, value: Value| {
        facts.push(ExplainFact {
            key,
            label,
            text,
            value,
        });
    };
    let priority = topology.priority(handle);
    if priority != Priority::Required {
        let word = Value::from(priority.as_str());
        put("priority", "priority", priority.to_string(), word);
    }
    if let Some(created) = &entity.created {
        let (label, text) = match created {
            Creator::Task(id) => ("created by", format!("the task {id}")),
            Creator::ManagedBy(by) => ("managed by", by.to_string()),
            Creator::Unmanaged => (
                "created by",
                "not by this ensemble: it existed before".to_owned(),
            ),
        };
        put("created", label, text, created.to_value());
    }
    if let Some(imported) = entity.node().and_then(|node| node.imported.as_deref()) {
        put(
            "imported",
            "imported from",
            imported.to_owned(),
            Value::from(imported),
        );
    }
    let directive = |word| {
        let node = entity.node();
        node.is_some_and(|node| node.template.has_directive(word))
    };
    if entity.protected == Some(true) || directive("protected") {
        put(
            "protected",
            "protected",
            "yes".to_owned(),
            Value::Bool(true),
        );
    }
    if let Some(by) = &entity.customized {
        put("customized", "customized by", by.to_string(), by.clone());
    }
    if entity.computed {
        let why = "no operation creates it; its status is that of its dependencies";
        put("computed", "computed", why.to_owned(), Value::Bool(true));
    }
    facts
}

fn links(explained: &Explanation, links: &InstanceLinks) -> Vec<LinkView> {
    let topology = &explained.topology;
    let view = |(handle, link): (&Handle, &ops::explain::InstanceLink)| LinkView {
        name: topology.entity(*handle).name.to_string(),
        status: topology.effective(*handle),
        is_host: link.is_host,
        is_substitution: link.is_part,
        requirements: link.requirements.iter().cloned().collect(),
        attributes: link.attributes.iter().cloned().collect(),
    };
    links.iter().map(view).collect()
}

/// Adds the planned tasks of an instance and its relationships, and the reasons for tasks that are
/// left out.
fn add_tasks(
    explained: &Explanation,
    of: Handle,
    places: &SourceLocator<'_>,
    view: &mut ExplainView,
) {
    let topology = &explained.topology;
    for task in &explained.tasks {
        let part = task.target != of;
        if task.is_skipped() {
            view.skip_reasons.push(why_skipped(explained, task));
        } else if task.is_included {
            let part = part.then(|| topology.entity(task.target).key.to_string());
            view.tasks.push((part, task_of_plan(task, places)));
        } else {
            let why = format!(
                "{} waits until a required instance needs it, because its template is a default",
                task.operation
            );
            view.skip_reasons.push(why);
        }
    }
    let entity = topology.entity(of);
    view.skip_reasons
        .extend(skip_reasons(explained, entity.name.as_str()));
    if view.tasks.is_empty() && view.skip_reasons.is_empty() {
        let node = entity.node();
        let out = node.and_then(|it| exclusion_reason(topology, &explained.goal, &it.template));
        view.skip_reasons.push(out.unwrap_or_else(|| {
            format!(
                "no operation is implemented that the workflow `{}` would run now",
                explained.goal.workflow
            )
        }));
    }
}

fn skip_reasons(explained: &Explanation, name: &str) -> Vec<String> {
    let plan = &explained.plan;
    let left = plan
        .no_action
        .iter()
        .filter(|(own, _)| own.as_str() == name);
    let left = left.map(|(_, why)| why.to_string());
    let skipped = plan.skipped.iter().filter(|(own, _)| own.as_str() == name);
    left.chain(skipped.map(|(_, why)| format!("left alone: {why}")))
        .collect()
}

fn why_skipped(explained: &Explanation, task: &ProposedTask) -> String {
    let operation = &task.operation;
    if task.reason != Reason::Reconfigure {
        let note = task.note().unwrap_or("the plan leaves this operation out");
        return format!("{operation}: {note}");
    }
    if task.change == DetectedChange::Unknown {
        return format!(
            "it is unknown whether secrets that `{operation}` read have changed, because the key of their \
             digests is not on this machine; nothing else has changed"
        );
    }
    let status = explained.topology.entity(task.target).local;
    let status = status.map_or("unknown", Status::as_str);
    match &task.comparison {
        None => format!(
            "its status is {status}, and `{operation}` has no record to compare with, because it never ran"
        ),
        Some(comparison) if comparison.compared == 0 => {
            format!("its status is {status}, and `{operation}` read nothing that could change")
        }
        Some(comparison) => format!(
            "its status is {status}, and nothing that `{operation}` read has changed ({} compared)",
            words::count(comparison.compared, "value")
        ),
    }
}

fn last_change(explained: &Explanation, handle: Handle) -> Option<LastChange> {
    let entity = explained.topology.entity(handle);
    let id = entity.last_change()?;
    let mut change = LastChange {
        id: id.to_string(),
        ..LastChange::default()
    };
    let records = explained.history.records();
    change.job = records.job_of(id).map(|job| job.to_string());
    let record = match records.record(id) {
        Ok(Some(record)) => record,
        Ok(None) => {
            change.unknown = Some("the change has no record".to_owned());
            return Some(change);
        }
        Err(why) => {
            change.unknown = Some(why.to_string());
            return Some(change);
        }
    };
    let text = |value: Option<&Value>| value.map(ToString::to_string);
    change.time = text(record.get("endTime"));
    change.reason = text(record.get("reason"));
    let implementation = record.get("implementation");
    change.operation = text(implementation.and_then(|it| it.get("operation")));
    let changes = record.get("changes").and_then(Value::as_map);
    for (key, values) in changes.into_iter().flatten() {
        let own = **key == *entity.key.as_str();
        for (name, value) in values.as_map().into_iter().flatten() {
            let name = match name.trim_start_matches('.') {
                name if own => name.to_owned(),
                name => format!("{name} of {key}"),
            };
            change.set.push((name, value.redacted()));
        }
    }
    Some(change)
}
