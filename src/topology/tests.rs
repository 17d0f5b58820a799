//! Tests of the topology: lookups, relationships, effective status and records of changes.

use std::sync::Arc;

use proptest::prelude::*;

use super::testing::{Model, add, change};
use super::{Creator, Topology, is_computed};
use crate::name::{Priority, Status};
use crate::value::{Handle, Value};

fn handle(topology: &Topology, name: &str) -> Handle {
    topology.find(name).unwrap()
}

fn names(topology: &Topology, handles: &[Handle]) -> Vec<String> {
    let names = handles.iter();
    names
        .map(|it| topology.entity(*it).name.to_string())
        .collect()
}

/// Returns a model in which `app` is hosted on `vm` and requires `db`.
fn stack() -> Model {
    let model = Model::default().node("vm").node("db");
    model.node("app").on("vm").requires("db")
}

#[test]
fn a_new_topology_has_no_instances() {
    let topology = stack().topology();
    assert_eq!(topology.nodes(), []);
    assert_eq!(topology.find("app"), None);
    assert_eq!(topology.effective(topology.root()), Status::Ok);
}

#[test]
fn instances_are_found_by_name_and_by_template() {
    let topology = stack().deployed();
    let app = handle(&topology, "app");
    assert_eq!(topology.entity(app).name.as_str(), "app");
    assert_eq!(topology.instances_of(&"app".into()), [app]);
    assert_eq!(topology.instances_of(&"other".into()), []);
}

#[test]
fn hosts_come_before_what_stands_on_them() {
    let topology = stack().deployed();
    assert_eq!(names(&topology, &topology.nodes()), ["vm", "app", "db"]);
}

#[test]
fn an_instance_is_a_child_of_its_host_alone() {
    let topology = stack().deployed();
    let vm = handle(&topology, "vm");
    assert_eq!(names(&topology, topology.children(vm)), ["app"]);
    assert_eq!(
        names(&topology, topology.children(topology.root())),
        ["vm", "db"]
    );
}

#[test]
fn a_relationship_leads_from_its_source_to_its_target() {
    let topology = stack().deployed();
    let (app, db) = (handle(&topology, "app"), handle(&topology, "db"));
    let incoming = topology.incoming(db);
    assert_eq!(incoming.len(), 1);
    assert_eq!(topology.source_of(incoming[0]), Some(app));
    assert_eq!(topology.target_of(incoming[0]), Some(db));
}

#[test]
fn a_relationship_without_an_instance_has_no_target() {
    let model = stack();
    let mut topology = model.topology();
    let root = topology.root();
    let app = add(&mut topology, "app", "app", root);
    let requirements = topology.entity(app).node().unwrap().requirements.clone();
    assert!(
        requirements
            .iter()
            .all(|it| topology.target_of(*it).is_none())
    );
}

#[test]
fn the_templates_that_require_another_are_known() {
    let topology = stack().topology();
    let sources = topology.templates_requiring(&"db".into());
    assert_eq!(sources.len(), 1);
    assert_eq!(sources[0].0.as_str(), "app");
    assert!(topology.templates_requiring(&"app".into()).is_empty());
}

#[test]
fn what_works_on_what_works_is_ok() {
    let topology = stack().deployed();
    for handle in topology.nodes() {
        assert_eq!(topology.effective(handle), Status::Ok);
    }
    assert_eq!(topology.effective(topology.root()), Status::Ok);
}

#[test]
fn an_error_of_a_dependency_is_one_of_its_dependents() {
    let mut topology = stack().deployed();
    let (app, db) = (handle(&topology, "app"), handle(&topology, "db"));
    topology.set_local(db, Some(Status::Error));
    assert_eq!(topology.effective(app), Status::Error);
    assert_eq!(topology.effective(handle(&topology, "vm")), Status::Ok);
    assert_eq!(topology.entity(app).local, Some(Status::Ok));
}

#[test]
fn an_error_of_a_host_is_one_of_what_stands_on_it() {
    let mut topology = stack().deployed();
    let (app, vm) = (handle(&topology, "app"), handle(&topology, "vm"));
    topology.set_local(vm, Some(Status::Error));
    assert_eq!(topology.effective(app), Status::Error);
    assert_eq!(topology.blamed_for_status(app), Some(vm));
}

#[test]
fn a_pending_dependency_makes_its_dependents_pending() {
    let mut topology = stack().deployed();
    let (app, vm) = (handle(&topology, "app"), handle(&topology, "vm"));
    topology.set_local(vm, Some(Status::Pending));
    assert_eq!(topology.effective(app), Status::Pending);
}

#[test]
fn a_degraded_dependency_degrades_its_dependents() {
    let mut topology = stack().deployed();
    let (app, vm) = (handle(&topology, "app"), handle(&topology, "vm"));
    topology.set_local(vm, Some(Status::Degraded));
    assert_eq!(topology.effective(app), Status::Degraded);
    assert!(topology.is_operational(app));
}

#[test]
fn a_dependency_that_is_ignored_does_not_count() {
    let mut topology = stack().deployed();
    let (app, vm) = (handle(&topology, "app"), handle(&topology, "vm"));
    topology.update_record(vm, |entity| entity.priority = Some(Priority::Ignore));
    topology.set_local(vm, Some(Status::Error));
    assert_eq!(topology.effective(app), Status::Ok);
}

#[test]
fn a_repaired_dependency_repairs_its_dependents() {
    let mut topology = stack().deployed();
    let (app, db) = (handle(&topology, "app"), handle(&topology, "db"));
    topology.set_local(db, Some(Status::Error));
    assert_eq!(topology.effective(app), Status::Error);
    topology.set_local(db, Some(Status::Ok));
    assert_eq!(topology.effective(app), Status::Ok);
}

#[test]
fn an_instance_without_operations_is_as_well_as_what_it_requires() {
    let model = Model::default()
        .node("db")
        .node("app")
        .requires("db")
        .bare();
    let mut topology = model.deployed();
    let (app, db) = (handle(&topology, "app"), handle(&topology, "db"));
    assert!(topology.entity(app).computed);
    topology.set_local(db, Some(Status::Error));
    assert_eq!(topology.effective(app), Status::Error);
    assert_eq!(topology.effective(topology.root()), Status::Error);
}

#[test]
fn an_operation_that_only_looks_makes_no_instance() {
    let topology = Model::default()
        .node("a")
        .bare()
        .checks()
        .node("b")
        .topology();
    let operations = |name: &str| Arc::clone(&topology.template().nodes[name].operations);
    assert!(is_computed(&operations("a")));
    assert!(!is_computed(&operations("b")));
}

#[test]
fn dependents_are_sources_and_what_stands_on_an_instance() {
    let model = stack().node("agent").on("vm").node("web").requires("vm");
    let topology = model.deployed();
    let vm = handle(&topology, "vm");
    let dependents = topology.operational_dependents(vm);
    let mut dependents = names(&topology, &dependents);
    dependents.sort();
    assert_eq!(dependents, ["agent", "app", "web"]);
}

#[test]
fn a_template_that_nothing_requires_by_default_is_not_required() {
    let model = Model::default().node("app").requires("db");
    let model = model
        .node("db")
        .directive("default")
        .node("spare")
        .directive("default");
    let topology = model.topology();
    assert!(topology.is_required("app"));
    assert!(topology.is_required("db"));
    assert!(!topology.is_required("spare"));
}

#[test]
fn an_attribute_that_stays_the_same_is_no_change() {
    let mut topology = stack().deployed();
    let app = handle(&topology, "app");
    let name: Arc<str> = "url".into();
    assert!(topology.set_attribute(app, &name, Value::from("a")));
    let (generation, version) = (topology.generation(), topology.version(app, "url"));
    assert!(!topology.set_attribute(app, &name, Value::from("a")));
    assert_eq!(topology.generation(), generation);
    assert!(topology.set_attribute(app, &name, Value::from("b")));
    assert!(topology.version(app, "url") > version);
    assert_eq!(topology.version(app, "other"), 0);
}

#[test]
fn each_changed_instance_is_reported_once() {
    let mut topology = stack().deployed();
    topology.take_touched();
    let (app, vm) = (handle(&topology, "app"), handle(&topology, "vm"));
    topology.set_local(app, Some(Status::Error));
    topology.set_attribute(app, &"url".into(), Value::from("a"));
    topology.set_local(vm, Some(Status::Ok));
    assert_eq!(topology.take_touched(), [app]);
    assert_eq!(topology.take_touched(), []);
}

#[test]
fn a_change_of_a_relationship_is_one_of_its_source() {
    let mut topology = stack().deployed();
    topology.take_touched();
    let app = handle(&topology, "app");
    let relationship = topology.entity(app).node().unwrap().requirements[0];
    topology.set_local(relationship, Some(Status::Absent));
    assert_eq!(topology.instance_of(relationship), Some(app));
    assert_eq!(topology.take_touched(), [app]);
}

#[test]
fn who_made_an_instance_is_read_as_it_was_written() {
    let all = [
        Creator::Task(change()),
        Creator::ManagedBy("::app".into()),
        Creator::Unmanaged,
    ];
    for created in all {
        assert_eq!(Creator::from_value(&created.to_value()), Some(created));
    }
    assert_eq!(Creator::from_value(&Value::Int(1)), None);
    assert!(!Creator::Unmanaged.is_truthy());
}

#[test]
fn a_copy_of_a_topology_changes_alone() {
    let topology = stack().deployed();
    let mut copy = topology.clone();
    let db = handle(&topology, "db");
    copy.set_local(db, Some(Status::Error));
    assert_eq!(topology.effective(db), Status::Ok);
    assert_eq!(copy.effective(db), Status::Error);
}

/// Generates instances that require some of the instances before them.
fn random() -> impl Strategy<Value = (Model, Vec<Vec<usize>>)> {
    let edges = prop::collection::vec(prop::collection::btree_set(0_usize..100, 0..4), 1..12);
    edges.prop_map(|edges| {
        let mut all: Vec<Vec<usize>> = Vec::new();
        let mut model = Model::default();
        for (place, picks) in edges.iter().enumerate() {
            model = model.node(&format!("n{place}"));
            let mut targets: Vec<usize> = match place {
                0 => Vec::new(),
                _ => picks.iter().map(|pick| pick % place).collect(),
            };
            targets.sort_unstable();
            targets.dedup();
            for target in &targets {
                model = model.requires(&format!("n{target}"));
            }
            all.push(targets);
        }
        (model, all)
    })
}

/// Returns all instances that an instance requires, directly or indirectly, including itself.
fn required_by(edges: &[Vec<usize>], of: usize) -> Vec<usize> {
    let (mut found, mut stack) = (vec![of], vec![of]);
    while let Some(at) = stack.pop() {
        for target in &edges[at] {
            if !found.contains(target) {
                found.push(*target);
                stack.push(*target);
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_error_reaches_all_that_require_its_instance_and_no_other(
        (model, edges) in random(),
        pick in 0_usize..100,
    ) {
        let mut topology = model.deployed();
        let broken = pick % edges.len();
        let broken_handle = handle(&topology, &format!("n{broken}"));
        topology.set_local(broken_handle, Some(Status::Error));
        for place in 0..edges.len() {
            let is_reached = required_by(&edges, place).contains(&broken);
            let expected = if is_reached { Status::Error } else { Status::Ok };
            let of = handle(&topology, &format!("n{place}"));
            prop_assert_eq!(topology.effective(of), expected, "n{}", place);
        }
    }

    #[test]
    fn the_order_of_changes_does_not_matter_for_the_status(
        (model, edges) in random(),
        changes in prop::collection::vec((0_usize..100, 0_usize..4), 0..8),
    ) {
        let statuses = [Status::Ok, Status::Error, Status::Degraded, Status::Pending];
        let mut stepwise = model.deployed();
        let mut at_once = model.deployed();
        let nodes = stepwise.nodes();
        for (pick, status) in changes {
            let of = handle(&stepwise, &format!("n{}", pick % edges.len()));
            stepwise.set_local(of, Some(statuses[status]));
            at_once.set_local(of, Some(statuses[status]));
            // Reading the status in between fills the cache, which the later changes must invalidate.
            stepwise.effective(stepwise.root());
        }
        for of in nodes {
            prop_assert_eq!(stepwise.effective(of), at_once.effective(of));
        }
    }
}
