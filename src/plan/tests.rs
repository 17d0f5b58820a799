//! Tests of planning: single rules by example, and invariants of plans for generated models.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{
    AdHoc, ChangeDetection, Error, JobGoal, NoActionReason, Plan, PlanItem, Reason, Removal,
    Repair, RepeatPolicy, StepActivity, StepId, StepTarget, WorkflowKind, exclusion_reason, plan,
    plan_added, refuse_cycles, template_order,
};
use crate::name::{NodeState, OperationRef, Status};
use crate::topology::testing::{Model, add};
use crate::topology::{Creator, Topology};
use crate::value::Handle;

/// The policy that repeats every operation.
struct All;

impl RepeatPolicy for All {
    fn must_repeat(&self, _: Handle, _: &std::sync::Arc<crate::tosca::Operation>) -> bool {
        true
    }
}

fn deploy() -> JobGoal {
    JobGoal::default()
}

fn goal(workflow: WorkflowKind) -> JobGoal {
    JobGoal {
        workflow,
        ..JobGoal::default()
    }
}

fn planned(topology: &Topology, goal: &JobGoal) -> Plan {
    plan(topology, goal, &()).unwrap()
}

/// Returns the steps in the order of the plan's items.
fn in_order(plan: &Plan) -> Vec<StepId> {
    let mut stack: Vec<PlanItem> = plan.items.iter().rev().copied().collect();
    let mut steps = Vec::new();
    while let Some(item) = stack.pop() {
        match item {
            PlanItem::Step(step) => steps.push(step),
            PlanItem::Group(group) => stack.extend(plan.groups[group].items.iter().rev()),
        }
    }
    steps
}

fn target(target: &StepTarget) -> String {
    match target {
        StepTarget::Node(name) => name.to_string(),
        StepTarget::Relationship {
            source,
            requirement_index: place,
        } => format!("{source}[{place}]"),
    }
}

/// Returns the steps in plan order, formatted as `target.operation`.
fn steps(plan: &Plan) -> Vec<String> {
    let steps = in_order(plan).into_iter().map(|step| &plan.steps[step]);
    let described = steps.map(|step| match &step.activity {
        StepActivity::Operation { reference, .. } => {
            format!("{}.{}", target(&step.target), reference.operation)
        }
        StepActivity::SetState(word) => format!("{} = {word}", target(&step.target)),
    });
    described.collect()
}

fn reasons(plan: &Plan) -> Vec<&Reason> {
    plan.steps.iter().map(|step| &step.reason).collect()
}

fn leave_of<'a>(plan: &'a Plan, name: &str) -> Option<&'a NoActionReason> {
    let mut left = plan.no_action.iter();
    left.find(|(own, _)| own.as_str() == name)
        .map(|(_, why)| why)
}

fn skip_of<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
    let mut skipped = plan.skipped.iter();
    let found = skipped.find(|(own, _)| own.as_str() == name);
    found.map(|(_, why)| why.as_str())
}

fn handle(topology: &Topology, name: &str) -> Handle {
    topology.find(name).unwrap()
}

fn one() -> Model {
    Model::default().node("a")
}

/// Returns a model in which `a` requires `b` and is described before it.
fn two() -> Model {
    Model::default().node("a").requires("b").node("b")
}

#[test]
fn a_new_instance_is_created_configured_and_started() {
    let plan = planned(&one().topology(), &deploy());
    assert_eq!(steps(&plan), ["a.create", "a.configure", "a.start"]);
    assert!(reasons(&plan).iter().all(|reason| **reason == Reason::Add));
    assert_eq!(plan.drafts.len(), 1);
    assert_eq!(plan.drafts[0].status, Status::Pending);
}

#[test]
fn each_step_enters_the_state_of_its_operation() {
    let plan = planned(&one().topology(), &deploy());
    let states: Vec<_> = plan.steps.iter().map(|step| step.start_state).collect();
    let expected = [
        NodeState::Creating,
        NodeState::Configuring,
        NodeState::Starting,
    ];
    assert_eq!(states, expected.map(Some));
    assert!(plan.steps.last().unwrap().is_final);
}

#[test]
fn what_is_required_comes_first() {
    let plan = planned(&two().topology(), &deploy());
    let expected = [
        "b.create",
        "b.configure",
        "b.start",
        "a.create",
        "a.configure",
        "a.start",
    ];
    assert_eq!(steps(&plan), expected);
}

#[test]
fn a_host_is_drafted_before_what_stands_on_it() {
    let plan = planned(
        &Model::default().node("app").on("vm").node("vm").topology(),
        &deploy(),
    );
    let drafts: Vec<_> = plan
        .drafts
        .iter()
        .map(|draft| draft.name.as_str())
        .collect();
    assert_eq!(drafts, ["vm", "app"]);
    assert_eq!(plan.drafts[1].parent.as_ref().unwrap().as_str(), "vm");
}

#[test]
fn what_works_and_has_not_changed_is_only_compared() {
    let plan = planned(&one().deployed(), &deploy());
    assert_eq!(steps(&plan), ["a.configure"]);
    assert_eq!(reasons(&plan), [&Reason::Reconfigure]);
}

#[test]
fn what_works_is_left_alone_where_nothing_is_compared() {
    let goal = JobGoal {
        change_detection: ChangeDetection::Skip,
        ..deploy()
    };
    let plan = planned(&one().deployed(), &goal);
    assert_eq!(steps(&plan), Vec::<String>::new());
    assert_eq!(leave_of(&plan, "a"), Some(&NoActionReason::NoComparison));
}

#[test]
fn what_must_be_repeated_is_made_anew() {
    let topology = one().deployed();
    let plan = plan(&topology, &deploy(), &All).unwrap();
    assert_eq!(steps(&plan), ["a.create", "a.configure", "a.start"]);
    assert_eq!(plan.decided.len(), 3);
}

#[test]
fn force_does_everything_again() {
    let goal = JobGoal {
        force: true,
        ..deploy()
    };
    let plan = planned(&one().deployed(), &goal);
    assert_eq!(steps(&plan), ["a.create", "a.start"]);
    assert!(
        reasons(&plan)
            .iter()
            .all(|reason| **reason == Reason::Force)
    );
}

#[test]
fn an_instance_in_error_is_repaired() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_local(a, Some(Status::Error));
    let plan = planned(&topology, &deploy());
    assert_eq!(steps(&plan), ["a.configure"]);
    assert_eq!(reasons(&plan)[0], &Reason::Repair);
}

#[test]
fn an_instance_in_error_is_left_where_nothing_is_repaired() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_local(a, Some(Status::Error));
    topology.update_record(a, |entity| entity.last_config_change = None);
    let goal = JobGoal {
        repair: Repair::None,
        skip_new: true,
        ..deploy()
    };
    let plan = planned(&topology, &goal);
    assert_eq!(steps(&plan), Vec::<String>::new());
    assert_eq!(
        leave_of(&plan, "a"),
        Some(&NoActionReason::NoRepair(Status::Error))
    );
}

#[test]
fn a_degraded_instance_is_repaired_if_that_is_asked_for() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_local(a, Some(Status::Degraded));
    assert_eq!(
        reasons(&planned(&topology, &deploy())),
        [&Reason::Reconfigure]
    );
    let goal = JobGoal {
        repair: Repair::Degraded,
        ..deploy()
    };
    let plan = plan(&topology, &goal, &()).unwrap();
    assert!(
        reasons(&plan)
            .iter()
            .all(|reason| **reason == Reason::Degraded)
    );
}

#[test]
fn an_absent_instance_is_made_again() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_local(a, Some(Status::Absent));
    topology.set_state(a, Some(NodeState::Deleted));
    let plan = planned(&topology, &deploy());
    assert_eq!(steps(&plan), ["a.create", "a.configure", "a.start"]);
    assert_eq!(reasons(&plan)[0], &Reason::Missing);
}

#[test]
fn a_stopped_instance_is_started() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_local(a, Some(Status::Pending));
    topology.set_state(a, Some(NodeState::Stopped));
    let plan = planned(&topology, &deploy());
    assert_eq!(steps(&plan).last().unwrap(), "a.start");
    assert!(!steps(&plan).contains(&"a.create".to_owned()));
}

#[test]
fn nothing_new_is_made_where_that_is_not_wanted() {
    let goal = JobGoal {
        skip_new: true,
        ..deploy()
    };
    let plan = planned(&one().topology(), &goal);
    assert!(plan.steps.is_empty() && plan.drafts.is_empty());
    assert_eq!(leave_of(&plan, "a"), Some(&NoActionReason::SkipNew));
}

#[test]
fn a_customised_instance_is_compared_only_if_all_are() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.update_record(a, |entity| entity.customized = Some(true.into()));
    let plan = planned(&topology, &deploy());
    assert_eq!(leave_of(&plan, "a"), Some(&NoActionReason::Customized));
    let goal = JobGoal {
        change_detection: ChangeDetection::Always,
        ..deploy()
    };
    assert_eq!(steps(&planned(&topology, &goal)), ["a.configure"]);
}

#[test]
fn an_instance_that_another_manages_is_left_alone() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_created(a, Some(Creator::ManagedBy("::b".into())));
    let plan = planned(&topology, &deploy());
    assert_eq!(
        leave_of(&plan, "a"),
        Some(&NoActionReason::Managed("::b".into()))
    );
}

#[test]
fn a_new_instance_is_checked_first_if_that_is_asked_for() {
    let goal = JobGoal {
        check: true,
        ..deploy()
    };
    let plan = planned(&one().checks().topology(), &goal);
    assert_eq!(steps(&plan)[0], "a.check");
    assert_eq!(plan.drafts[0].status, Status::Unknown);
}

#[test]
fn a_template_without_operations_needs_no_step() {
    let plan = planned(&one().bare().topology(), &deploy());
    assert!(plan.steps.is_empty());
    assert_eq!(plan.drafts.len(), 1);
}

#[test]
fn operations_that_nothing_implements_are_passed_over() {
    let plan = planned(&one().operations("configure: 'true'").topology(), &deploy());
    assert_eq!(steps(&plan), ["a.configure"]);
}

#[test]
fn a_template_that_is_chosen_brings_what_it_requires() {
    let topology = two().node("c").topology();
    let goal = JobGoal {
        template: Some("a".into()),
        ..deploy()
    };
    let plan = planned(&topology, &goal);
    let drafts: Vec<_> = plan
        .drafts
        .iter()
        .map(|draft| draft.name.as_str())
        .collect();
    assert_eq!(drafts, ["b", "a"]);
}

#[test]
fn an_instance_that_is_not_named_is_left_alone() {
    let goal = JobGoal {
        instances: vec!["a".into()],
        ..deploy()
    };
    let plan = planned(&two().topology(), &goal);
    assert_eq!(steps(&plan), ["a.create", "a.configure", "a.start"]);
    assert_eq!(leave_of(&plan, "b"), Some(&NoActionReason::NotNamed));
}

#[test]
fn an_instance_that_is_excluded_is_left_alone() {
    let goal = JobGoal {
        excluded: ["b".into()].into(),
        ..deploy()
    };
    let plan = planned(&two().topology(), &goal);
    assert_eq!(steps(&plan), ["a.create", "a.configure", "a.start"]);
    assert_eq!(leave_of(&plan, "b"), Some(&NoActionReason::Excluded));
}

#[test]
fn an_unknown_template_is_refused() {
    let goal = JobGoal {
        template: Some("x".into()),
        ..deploy()
    };
    let refused = plan(&one().topology(), &goal, &());
    assert!(matches!(refused, Err(Error::UnknownTemplate(name)) if name.as_str() == "x"));
}

#[test]
fn an_unknown_exclusion_is_refused() {
    let goal = JobGoal {
        excluded: ["x".into()].into(),
        ..deploy()
    };
    let refused = plan(&one().topology(), &goal, &());
    assert!(matches!(refused, Err(Error::UnknownExcluded(name)) if name.as_str() == "x"));
}

#[test]
fn templates_that_require_each_other_are_refused() {
    let model = Model::default()
        .node("a")
        .requires("b")
        .node("b")
        .requires("a");
    let refused = refuse_cycles(&model.topology());
    assert!(matches!(refused, Err(Error::Cycle { path, .. }) if path.len() == 2));
}

#[test]
fn a_circle_of_templates_without_operations_is_no_problem() {
    let model = Model::default().node("a").requires("b").bare();
    let model = model.node("b").requires("a").bare();
    assert!(refuse_cycles(&model.topology()).is_ok());
}

#[test]
fn a_dependent_template_needs_one_that_requires_it() {
    let model = Model::default()
        .node("lone")
        .directive("dependent")
        .node("a");
    let topology = model.topology();
    let order = template_order(&topology, &deploy());
    let order: Vec<_> = order.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(order, ["a"]);
    let lone = &topology.template().nodes["lone"];
    assert!(
        exclusion_reason(&topology, &deploy(), lone)
            .unwrap()
            .contains("no template requires it")
    );
    let a = &topology.template().nodes["a"];
    assert_eq!(exclusion_reason(&topology, &deploy(), a), None);
}

#[test]
fn a_teardown_removes_dependents_first() {
    let plan = planned(&two().deployed(), &goal(WorkflowKind::Undeploy));
    assert_eq!(steps(&plan), ["a.stop", "a.delete", "b.stop", "b.delete"]);
}

#[test]
fn a_teardown_leaves_what_this_ensemble_has_not_created() {
    let mut topology = one().deployed();
    let a = handle(&topology, "a");
    topology.set_created(a, None);
    let mut goal = goal(WorkflowKind::Undeploy);
    let plan = planned(&topology, &goal);
    assert!(plan.steps.is_empty());
    assert!(
        skip_of(&plan, "a")
            .unwrap()
            .contains("wasn't created by this ensemble")
    );
    goal.removal.unmanaged = true;
    assert_eq!(steps(&planned(&topology, &goal)), ["a.stop", "a.delete"]);
}

#[test]
fn what_a_protected_instance_requires_stays_with_it() {
    let model = Model::default()
        .node("a")
        .requires("b")
        .directive("protected")
        .node("b");
    let plan = planned(&model.deployed(), &goal(WorkflowKind::Undeploy));
    assert!(plan.steps.is_empty());
    assert!(skip_of(&plan, "a").unwrap().contains("protected"));
    assert!(
        skip_of(&plan, "b")
            .unwrap()
            .contains("required instances depend on it")
    );
}

#[test]
fn a_teardown_leaves_what_is_excluded_and_what_it_stands_on() {
    let goal = JobGoal {
        excluded: ["a".into()].into(),
        ..goal(WorkflowKind::Undeploy)
    };
    let plan = planned(&two().node("c").deployed(), &goal);
    assert_eq!(steps(&plan), ["c.stop", "c.delete"]);
    assert_eq!(skip_of(&plan, "a"), Some("excluded"));
}

#[test]
fn a_stop_stops_dependents_first_and_deletes_nothing() {
    let plan = planned(&two().deployed(), &goal(WorkflowKind::Stop));
    assert_eq!(steps(&plan), ["a.stop", "b.stop"]);
}

#[test]
fn a_teardown_of_nothing_is_an_empty_plan() {
    let plan = planned(&two().topology(), &goal(WorkflowKind::Undeploy));
    assert!(plan.steps.is_empty() && plan.drafts.is_empty());
}

#[test]
fn prune_removes_what_the_deploy_did_not_come_to() {
    let topology = two().node("c").deployed();
    let goal = JobGoal {
        template: Some("a".into()),
        removal: Removal {
            prune: true,
            unmanaged: false,
        },
        change_detection: ChangeDetection::Skip,
        ..deploy()
    };
    let plan = planned(&topology, &goal);
    assert_eq!(steps(&plan), ["c.stop", "c.delete"]);
    assert!(
        reasons(&plan)
            .iter()
            .all(|reason| **reason == Reason::Prune)
    );
}

#[test]
fn a_check_asks_each_instance_that_can_tell() {
    let model = Model::default()
        .node("a")
        .checks()
        .node("b")
        .node("c")
        .checks();
    let plan = planned(&model.deployed(), &goal(WorkflowKind::Check));
    assert_eq!(steps(&plan), ["a.check", "c.check"]);
}

#[test]
fn an_operation_runs_on_each_instance_that_has_it() {
    let model = Model::default()
        .node("a")
        .node("b")
        .operations("create: 'true'");
    let goal = JobGoal {
        ad_hoc: AdHoc {
            operation: Some(OperationRef::new("Standard", "stop")),
            ..AdHoc::default()
        },
        ..goal(WorkflowKind::Run)
    };
    let plan = planned(&model.deployed(), &goal);
    assert_eq!(steps(&plan), ["a.stop"]);
    assert_eq!(reasons(&plan), [&Reason::Run]);
}

#[test]
fn a_command_runs_once_without_an_instance() {
    let goal = JobGoal {
        ad_hoc: AdHoc {
            command: vec!["uptime".to_owned()],
            ..AdHoc::default()
        },
        ..goal(WorkflowKind::Run)
    };
    assert_eq!(steps(&planned(&two().deployed(), &goal)), ["root.run"]);
}

#[test]
fn a_command_on_an_unknown_instance_is_refused() {
    let goal = JobGoal {
        ad_hoc: AdHoc {
            command: vec!["uptime".to_owned()],
            ..AdHoc::default()
        },
        instances: vec!["x".into()],
        ..goal(WorkflowKind::Run)
    };
    let refused = plan(&one().deployed(), &goal, &());
    assert!(matches!(refused, Err(Error::UnknownInstance(name)) if name.as_str() == "x"));
}

#[test]
fn instances_that_a_job_adds_are_brought_up_in_their_order() {
    let mut topology = two().topology();
    let root = topology.root();
    let a = add(&mut topology, "a", "a", root);
    let b = add(&mut topology, "b", "b", root);
    let plan = plan_added(&topology, &deploy(), &[a, b]);
    let expected = [
        "b.create",
        "b.configure",
        "b.start",
        "a.create",
        "a.configure",
        "a.start",
    ];
    assert_eq!(steps(&plan), expected);
    assert!(
        plan_added(&topology, &goal(WorkflowKind::Undeploy), &[a, b])
            .steps
            .is_empty()
    );
}

/// Generates templates that require some of those before them, described in shuffled order.
fn random() -> impl Strategy<Value = (Model, Vec<Vec<usize>>)> {
    let picks = prop::collection::vec(prop::collection::btree_set(0_usize..100, 0..4), 1..10);
    let shuffled = picks.prop_flat_map(|picks| {
        let order: Vec<usize> = (0..picks.len()).collect();
        (Just(picks), Just(order).prop_shuffle())
    });
    shuffled.prop_map(|(picks, order)| {
        let edges: Vec<Vec<usize>> = (0..picks.len())
            .map(|place| {
                let targets = picks[place].iter().filter(|_| place > 0);
                let targets: BTreeSet<usize> = targets.map(|pick| pick % place).collect();
                targets.into_iter().collect()
            })
            .collect();
        let mut model = Model::default();
        for place in order {
            model = model.node(&format!("n{place}"));
            for (nth, target) in edges[place].iter().enumerate() {
                // Hosts some templates on the first one that they require.
                model = if nth == 0 && place % 3 == 0 {
                    model.on(&format!("n{target}"))
                } else {
                    model.requires(&format!("n{target}"))
                };
            }
        }
        (model, edges)
    })
}

/// Returns the positions of the first and last step of each instance.
fn spans(plan: &Plan, count: usize) -> Vec<Option<(usize, usize)>> {
    let mut spans = vec![None; count];
    for (at, step) in in_order(plan).into_iter().enumerate() {
        let (StepTarget::Node(name) | StepTarget::Relationship { source: name, .. }) =
            &plan.steps[step].target;
        let place: usize = name.as_str()[1..].parse().unwrap();
        let span = spans[place].get_or_insert((at, at));
        span.1 = at;
    }
    spans
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_deploy_orders_every_instance_after_those_it_requires((model, edges) in random()) {
        let plan = planned(&model.topology(), &deploy());
        let spans = spans(&plan, edges.len());
        for (place, targets) in edges.iter().enumerate() {
            let (first, _) = spans[place].expect("each instance is made");
            for target in targets {
                let (_, last) = spans[*target].expect("each instance is made");
                prop_assert!(last < first, "n{place} requires n{target}: {:?}", steps(&plan));
            }
        }
    }

    #[test]
    fn a_teardown_orders_every_instance_before_those_it_requires((model, edges) in random()) {
        let plan = planned(&model.deployed(), &goal(WorkflowKind::Undeploy));
        let spans = spans(&plan, edges.len());
        for (place, targets) in edges.iter().enumerate() {
            let (_, last) = spans[place].expect("each instance is removed");
            for target in targets {
                let (first, _) = spans[*target].expect("each instance is removed");
                prop_assert!(last < first, "n{place} requires n{target}: {:?}", steps(&plan));
            }
        }
    }

    #[test]
    fn planning_twice_gives_the_same_plan((model, _) in random(), workflow in 0_usize..4) {
        let workflows = [WorkflowKind::Deploy, WorkflowKind::Undeploy, WorkflowKind::Stop, WorkflowKind::Check];
        let goal = goal(workflows[workflow].clone());
        for topology in [model.topology(), model.deployed()] {
            let (one, two) = (planned(&topology, &goal), planned(&topology, &goal));
            prop_assert_eq!(steps(&one), steps(&two));
            prop_assert_eq!(reasons(&one), reasons(&two));
            prop_assert_eq!((&one.drafts, &one.no_action), (&two.drafts, &two.no_action));
            prop_assert_eq!((one.items, one.skipped), (two.items, two.skipped));
        }
    }

    #[test]
    fn no_step_is_for_an_instance_outside_of_the_filter(
        (model, edges) in random(),
        picks in prop::collection::btree_set(0_usize..100, 1..4),
        excludes in any::<bool>(),
        deploys in any::<bool>(),
    ) {
        let chosen: Vec<usize> = picks.iter().map(|pick| pick % edges.len()).collect();
        let names = chosen.iter().map(|place| format!("n{place}").as_str().into());
        let mut goal = goal(if deploys { WorkflowKind::Deploy } else { WorkflowKind::Check });
        if excludes {
            goal.excluded = names.collect();
        } else {
            goal.instances = names.collect();
        }
        let topology = if deploys { model.topology() } else { model.deployed() };
        let plan = planned(&topology, &goal);
        for (place, span) in spans(&plan, edges.len()).into_iter().enumerate() {
            prop_assert!(span.is_none() || chosen.contains(&place) != excludes, "n{place}");
        }
    }

    #[test]
    fn every_step_stands_in_the_plan_exactly_once((model, _) in random(), exists in any::<bool>()) {
        let topology = if exists { model.deployed() } else { model.topology() };
        for workflow in [WorkflowKind::Deploy, WorkflowKind::Undeploy, WorkflowKind::Stop] {
            let plan = planned(&topology, &goal(workflow));
            let mut found = in_order(&plan);
            found.sort_unstable();
            prop_assert_eq!(found, (0..plan.steps.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn drafts_come_after_what_they_stand_on((model, edges) in random()) {
        let plan = planned(&model.topology(), &deploy());
        prop_assert_eq!(plan.drafts.len(), edges.len());
        let place = |name: &str| plan.drafts.iter().position(|draft| draft.name.as_str() == name);
        for (at, draft) in plan.drafts.iter().enumerate() {
            if let Some(parent) = &draft.parent {
                prop_assert!(place(parent.as_str()).is_some_and(|parent| parent < at));
            }
        }
    }

    #[test]
    fn what_works_gets_no_new_instance((model, edges) in random()) {
        let plan = planned(&model.deployed(), &deploy());
        prop_assert!(plan.drafts.is_empty());
        prop_assert_eq!(plan.steps.len(), edges.len());
        prop_assert!(reasons(&plan).iter().all(|reason| **reason == Reason::Reconfigure));
    }
}
