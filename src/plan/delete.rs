//! Teardown and prune: which instances are removed, in which order, and which stay (rules 18 to 21).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::goal::WorkflowKind;
use super::planner::Planner;
use super::step::Reason;
use crate::name::{Priority, Status};
use crate::topology::{Creator, Entity};
use crate::value::Handle;

/// The decision about an instance that a removal visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovalDecision {
    Delete,
    /// The instance stays, and so do its dependencies.
    Retain,
    /// The instance is skipped, without an effect on its dependencies.
    Skip,
}

impl Planner<'_> {
    /// Removes the instances that the goal's filters admit.
    pub(super) fn undeploy(&mut self) {
        let template = self.goal.template.clone();
        let reason = Reason::Workflow(self.goal.workflow.as_str().into());
        self.remove(&reason, &|entity| {
            template.as_ref().is_none_or(|template| {
                let node = entity.node();
                node.is_some_and(|node| node.template.is_or_is_nested_in(template))
            })
        });
    }

    /// Removes instances that the workflow did not visit.
    pub(super) fn prune(&mut self) {
        let visited = self.visited.clone();
        self.remove(&Reason::Prune, &|entity| !visited.contains(&entity.name));
    }

    /// Walks from the root over operational dependents, depth first, so that dependents are removed
    /// before their dependencies. Works without recursion.
    fn remove(&mut self, reason: &Reason, include: &dyn Fn(&Entity) -> bool) {
        struct RemovalFrame {
            node: Handle,
            dependents: std::vec::IntoIter<Handle>,
            retained: bool,
        }
        let root = self.topology.root();
        let held = self.hosts_of_orphans();
        let frame = |planner: &Self, node| RemovalFrame {
            node,
            dependents: planner.topology.operational_dependents(node).into_iter(),
            retained: held.contains(&node),
        };
        // Whether an instance stays, once decided. A cycle sees None and treats it as removable.
        let mut stays: HashMap<Handle, Option<bool>> = HashMap::from([(root, None)]);
        let mut stack = vec![frame(self, root)];
        while let Some(top) = stack.last_mut() {
            if let Some(next) = top.dependents.next() {
                match stays.entry(next) {
                    Entry::Occupied(known) => top.retained |= known.get().unwrap_or(false),
                    Entry::Vacant(unknown) => {
                        unknown.insert(None);
                        let next = frame(self, next);
                        stack.push(next);
                    }
                }
                continue;
            }
            let (node, retained) = (top.node, top.retained);
            stack.pop();
            if node == root {
                continue;
            }
            let keep = self.remove_one(node, retained, reason, include);
            stays.insert(node, Some(keep));
            if keep && let Some(below) = stack.last_mut() {
                below.retained = true;
            }
        }
    }

    /// Returns the instances that host an orphan, which cannot be removed because its template is
    /// missing.
    fn hosts_of_orphans(&self) -> HashSet<Handle> {
        let orphans = self.topology.orphans();
        let holding = orphans.filter(|orphan| !self.goal.force && orphan.blocks_host_removal());
        holding.map(|orphan| orphan.parent).collect()
    }

    /// Decides about one instance and returns whether its dependencies must stay.
    fn remove_one(
        &mut self,
        node: Handle,
        dependents_stay: bool,
        reason: &Reason,
        include: &dyn Fn(&Entity) -> bool,
    ) -> bool {
        let decision = self.decide_removal(node, include);
        if dependents_stay {
            if decision == RemovalDecision::Delete {
                let why = "required instances depend on it (use --force to override)";
                self.skip(node, why);
            }
            return true;
        }
        if decision == RemovalDecision::Delete {
            self.delete(node, reason);
        }
        decision == RemovalDecision::Retain
    }

    fn delete(&mut self, node: Handle, reason: &Reason) {
        let subject = self.subject(node);
        if self.topology.entity(node).computed {
            self.plan
                .statuses
                .push((subject.name.clone(), Status::Absent));
        }
        let stops = self.goal.workflow == WorkflowKind::Stop && *reason != Reason::Prune;
        let workflow = if stops { "stop" } else { "undeploy" };
        let doubt = self.topology.entity(node).in_doubt.clone();
        let mut reason = reason.clone();
        if doubt.is_some_and(|doubt| doubt.is_teardown()) && !self.goal.force {
            match self.doubt_reason(&subject, &["check"]) {
                Some(again) => reason = again,
                None => self.plan_workflow(&subject, Some(Reason::Check), "check"),
            }
        }
        self.plan_workflow(&subject, Some(reason), workflow);
    }

    /// Decides whether an instance is removed. The order of the tests matters (rules 19 and 20).
    fn decide_removal(
        &mut self,
        node: Handle,
        include: &dyn Fn(&Entity) -> bool,
    ) -> RemovalDecision {
        let entity = self.topology.entity(node);
        let mut is_virtual = false;
        let mut why = protection(entity);
        if entity
            .node()
            .is_some_and(|node| node.template.representative.is_some())
        {
            // The instances of the nested topology decide about their own removal.
            is_virtual = true;
        }
        if why.is_none() {
            let directive = entity
                .node()
                .is_some_and(|n| n.template.has_directive("virtual"));
            if entity.computed || directive {
                is_virtual = true;
                why = Some("virtual instance".to_owned());
            } else {
                why = self.ownership_objection(node);
            }
        }
        let is_selected = include(entity);
        if !is_selected {
            why = Some("didn't meet removal criteria".to_owned());
        }
        let excluded = |name: &str| self.goal.excludes(name);
        if excluded(entity.name.as_str())
            || entity
                .node()
                .is_some_and(|node| excluded(node.template.name.as_str()))
        {
            why = Some("excluded".to_owned());
        }
        let Some(why) = why else {
            return RemovalDecision::Delete;
        };
        let retains = !is_virtual
            && !self.goal.force
            && self.topology.is_operational(node)
            && self.topology.priority(node) == Priority::Required;
        // Instances that the user did not select need no explanation.
        if is_selected {
            self.skip(node, &why);
        }
        if retains {
            RemovalDecision::Retain
        } else {
            RemovalDecision::Skip
        }
    }

    fn ownership_objection(&self, node: Handle) -> Option<String> {
        let entity = self.topology.entity(node);
        if self.goal.workflow == WorkflowKind::Stop && entity.local == Some(Status::Absent) {
            return Some("instance doesn't exist".to_owned());
        }
        // Stopping removes nothing, so an instance that may not exist is left alone.
        if entity.partially_created && self.goal.workflow != WorkflowKind::Stop {
            return None;
        }
        if self.goal.removal.unmanaged {
            let is_absent = matches!(entity.local, Some(Status::Absent | Status::Pending));
            return is_absent.then(|| "instance doesn't exist".to_owned());
        }
        match &entity.created {
            None | Some(Creator::Unmanaged) => Some(
                "instance wasn't created by this ensemble (use --destroyunmanaged to override)"
                    .to_owned(),
            ),
            Some(Creator::ManagedBy(other)) if self.is_manager_missing(node, other) => None,
            Some(Creator::ManagedBy(other)) => Some(format!(
                "creation and deletion is managed by another instance {other} \
                 (use --destroyunmanaged to override)"
            )),
            Some(Creator::Task(_)) => None,
        }
    }

    /// Whether the instance that managed another is gone, so that no other instance removes this one.
    fn is_manager_missing(&self, node: Handle, manager: &str) -> bool {
        let name = manager.strip_prefix("::").unwrap_or(manager);
        let name = name.split("::").next().unwrap_or(name);
        let found = self.topology.find_from(node, name);
        let is_there = found.is_some_and(|found| {
            let entity = self.topology.entity(found);
            found == self.topology.root() || entity.local != Some(Status::Absent)
        });
        let mut orphans = self.topology.orphans();
        self.goal.removal.prune && !is_there && !orphans.any(|orphan| orphan.name.as_str() == name)
    }

    fn skip(&mut self, node: Handle, why: &str) {
        let name = self.topology.entity(node).name.clone();
        self.plan.skipped.push((name, why.to_owned()));
    }
}

fn protection(entity: &Entity) -> Option<String> {
    let node = entity.node()?;
    let abstract_one = node.template.is_selected() || node.template.has_directive("substitute");
    if node.imported.is_some() || abstract_one {
        Some("read-only instance".to_owned())
    } else if node.template.has_directive("protected") {
        Some("instance with \"protected\" directive".to_owned())
    } else if entity.protected == Some(true) {
        Some("protected instance".to_owned())
    } else {
        None
    }
}
