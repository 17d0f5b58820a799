//! Teardown and prune: what is removed, in which order, and what is left (rules 18 to 21).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::goal::Workflow;
use super::planner::Planner;
use super::step::Reason;
use crate::name::{Priority, Status};
use crate::topology::{Created, Entity};
use crate::value::Handle;

/// What happens to an instance that a removal comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It goes.
    Delete,
    /// It stays, and so does what it depends on.
    Keep,
    /// It is passed over.
    Skip,
}

impl Planner<'_> {
    /// Removes what the filters admit.
    pub(super) fn undeploy(&mut self) {
        let template = self.goal.template.clone();
        let reason = Reason::Workflow(self.goal.workflow.as_str().into());
        self.remove(&reason, &|entity| {
            template.as_ref().is_none_or(|template| {
                let node = entity.node();
                node.is_some_and(|node| node.template.is_or_is_in(template))
            })
        });
    }

    /// Removes instances that the workflow did not come to.
    pub(super) fn prune(&mut self) {
        let visited = self.visited.clone();
        self.remove(&Reason::Prune, &|entity| !visited.contains(&entity.name));
    }

    /// Walks from the root over operational dependents, depth first, so that dependents come
    /// before what they depend on. Uses no recursion.
    fn remove(&mut self, reason: &Reason, include: &dyn Fn(&Entity) -> bool) {
        struct Frame {
            node: Handle,
            dependents: std::vec::IntoIter<Handle>,
            kept: bool,
        }
        let root = self.topology.root();
        let held = self.held_by_orphans();
        let frame = |planner: &Self, node| Frame {
            node,
            dependents: planner.topology.operational_dependents(node).into_iter(),
            kept: held.contains(&node),
        };
        // Whether an instance stays, once that is known; cycles find none.
        let mut stays: HashMap<Handle, Option<bool>> = HashMap::from([(root, None)]);
        let mut stack = vec![frame(self, root)];
        while let Some(top) = stack.last_mut() {
            if let Some(next) = top.dependents.next() {
                match stays.entry(next) {
                    Entry::Occupied(known) => top.kept |= known.get().unwrap_or(false),
                    Entry::Vacant(unknown) => {
                        unknown.insert(None);
                        let next = frame(self, next);
                        stack.push(next);
                    }
                }
                continue;
            }
            let (node, kept) = (top.node, top.kept);
            stack.pop();
            if node == root {
                continue;
            }
            let keep = self.remove_one(node, kept, reason, include);
            stays.insert(node, Some(keep));
            if keep && let Some(below) = stack.last_mut() {
                below.kept = true;
            }
        }
    }

    /// The instances on which stands what nobody can remove, for want of a template.
    fn held_by_orphans(&self) -> HashSet<Handle> {
        let orphans = self.topology.orphans();
        let holding = orphans.filter(|orphan| !self.goal.force && orphan.holds_its_host());
        holding.map(|orphan| orphan.parent).collect()
    }

    /// Decides about one instance; says whether what it depends on must stay.
    fn remove_one(
        &mut self,
        node: Handle,
        dependents_stay: bool,
        reason: &Reason,
        include: &dyn Fn(&Entity) -> bool,
    ) -> bool {
        let verdict = self.verdict(node, include);
        if dependents_stay {
            if verdict == Verdict::Delete {
                let why = "required instances depend on it (use --force to override)";
                self.skip(node, why);
            }
            return true;
        }
        if verdict == Verdict::Delete {
            self.delete(node, reason);
        }
        verdict == Verdict::Keep
    }

    fn delete(&mut self, node: Handle, reason: &Reason) {
        let subject = self.subject(node);
        if self.topology.entity(node).computed {
            self.plan
                .statuses
                .push((subject.name.clone(), Status::Absent));
        }
        let stops = self.goal.workflow == Workflow::Stop && *reason != Reason::Prune;
        let workflow = if stops { "stop" } else { "undeploy" };
        let doubt = self.topology.entity(node).in_doubt.clone();
        let mut reason = reason.clone();
        if doubt.is_some_and(|doubt| doubt.takes_down()) && !self.goal.force {
            match self.doubt(&subject, &["check"]) {
                Some(again) => reason = again,
                None => self.generate(&subject, Some(Reason::Check), "check"),
            }
        }
        self.generate(&subject, Some(reason), workflow);
    }

    /// Decides whether an instance goes; the order of the tests matters (rules 19 and 20).
    fn verdict(&mut self, node: Handle, include: &dyn Fn(&Entity) -> bool) -> Verdict {
        let entity = self.topology.entity(node);
        let mut is_virtual = false;
        let mut why = protection(entity);
        if entity
            .node()
            .is_some_and(|node| node.template.stand_in.is_some())
        {
            // What stands in for it decides.
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
                why = self.not_ours(node);
            }
        }
        let is_meant = include(entity);
        if !is_meant {
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
            return Verdict::Delete;
        };
        let keeps = !is_virtual
            && !self.goal.force
            && self.topology.is_operational(node)
            && self.topology.priority(node) == Priority::Required;
        // What the user did not mean needs no reason.
        if is_meant {
            self.skip(node, &why);
        }
        if keeps { Verdict::Keep } else { Verdict::Skip }
    }

    fn not_ours(&self, node: Handle) -> Option<String> {
        let entity = self.topology.entity(node);
        if self.goal.workflow == Workflow::Stop && entity.local == Some(Status::Absent) {
            return Some("instance doesn't exist".to_owned());
        }
        // A stop takes nothing away, so that it leaves alone what may not be there.
        if entity.begun && self.goal.workflow != Workflow::Stop {
            return None;
        }
        if self.goal.removal.unmanaged {
            let gone = matches!(entity.local, Some(Status::Absent | Status::Pending));
            return gone.then(|| "instance doesn't exist".to_owned());
        }
        match &entity.created {
            None | Some(Created::No) => Some(
                "instance wasn't created by this ensemble (use --destroyunmanaged to override)"
                    .to_owned(),
            ),
            Some(Created::ManagedBy(other)) if self.is_left_behind(node, other) => None,
            Some(Created::ManagedBy(other)) => Some(format!(
                "creation and deletion is managed by another instance {other} \
                 (use --destroyunmanaged to override)"
            )),
            Some(Created::By(_)) => None,
        }
    }

    /// Whether the instance that managed another is gone, so that nobody else removes this one.
    fn is_left_behind(&self, node: Handle, manager: &str) -> bool {
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
