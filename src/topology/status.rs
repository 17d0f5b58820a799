//! The effective status: an entity's own status combined with those of its dependencies (rule U-g).

use super::entity::EntityKind;
use super::status_cache::StatusCache;
use super::topology::Topology;
use crate::name::{Priority, Status};
use crate::value::Handle;

impl Topology {
    /// Returns the priority of an entity. If the record sets none, the template decides.
    pub fn priority(&self, of: Handle) -> Priority {
        let entity = self.entity(of);
        entity.priority.unwrap_or_else(|| match &entity.kind {
            EntityKind::Node(node) if !self.is_required(node.template.name.as_str()) => {
                Priority::Ignore
            }
            _ => Priority::Required,
        })
    }

    /// Returns the entities that must be operational for an entity to be operational, in order.
    pub fn operational_dependencies(&self, of: Handle) -> Vec<Handle> {
        let entity = self.entity(of);
        match &entity.kind {
            EntityKind::Root => self.children(of).to_vec(),
            EntityKind::Node(node) => {
                let parent = entity.parent.filter(|parent| *parent != entity.scope);
                let requirements = node.requirements.iter().copied().filter(|requirement| {
                    self.target_of(*requirement)
                        .is_none_or(|target| Some(target) != parent)
                });
                let within = self.root_within(of);
                parent
                    .into_iter()
                    .chain(requirements)
                    .chain(within)
                    .collect()
            }
            EntityKind::Relationship { .. } => self.target_of(of).into_iter().collect(),
            EntityKind::Capability { owner, .. } | EntityKind::Artifact { owner, .. } => {
                vec![*owner]
            }
            EntityKind::Inputs | EntityKind::Outputs => Vec::new(),
        }
    }

    /// Returns the node instances that need this one to be operational, without duplicates.
    ///
    /// These are the sources of its relationships, the instances hosted on it, and the instances of its
    /// nested topology. Dependents of an outer instance depend on every instance nested in it as well.
    pub fn operational_dependents(&self, of: Handle) -> Vec<Handle> {
        if of == self.root() {
            let everything = self.template().nested.keys();
            let roots = everything.filter_map(|outer| self.nested_root(outer));
            let roots = std::iter::once(of).chain(roots);
            return roots
                .flat_map(|root| self.children(root))
                .copied()
                .collect();
        }
        let mut all = Vec::new();
        let mut next = Some(of);
        while let Some(at) = next.filter(|at| self.entity(*at).node().is_some()) {
            let incoming = self.incoming(at).into_iter();
            all.extend(incoming.filter_map(|relationship| self.source_of(relationship)));
            all.extend(self.children(at));
            next = self.outer_entity(self.entity(at).scope);
        }
        let within = self.root_within(of);
        all.extend(within.into_iter().flat_map(|root| self.children(root)));
        let mut seen = std::collections::HashSet::new();
        all.retain(|dependent| seen.insert(*dependent));
        all
    }

    /// Returns the effective status of an entity. It is cached until a dependency changes.
    pub fn effective(&self, of: Handle) -> Status {
        if let Some((foreign, inner)) = self.external_ensemble_of(of) {
            return foreign.effective(inner);
        }
        let mut cache = self.cache.lock();
        if let Some(status) = cache.get(of) {
            return status;
        }
        let order = crate::dag::dependencies_first([of], |handle| {
            if cache.get(handle).is_some() || self.status_alone(handle).is_some() {
                return Vec::new();
            }
            self.operational_dependencies(handle)
        });
        for handle in order {
            if cache.get(handle).is_none() {
                let status = self.combine_status(handle, &cache);
                cache.set(handle, Some(status));
            }
        }
        cache.get(of).unwrap_or(Status::Unknown)
    }

    /// Returns the dependency because of which an entity's effective status differs from its own. None if
    /// they do not differ.
    pub fn blamed_for_status(&self, of: Handle) -> Option<Handle> {
        let entity = self.entity(of);
        let own = if entity.computed {
            Some(Status::Ok)
        } else {
            entity.local
        };
        if own == Some(self.effective(of)) {
            return None;
        }
        let mut blamed = None;
        for dependency in self.operational_dependencies(of) {
            let (priority, status) = (self.priority(dependency), self.effective(dependency));
            if priority == Priority::Ignore || status == Status::Ok {
                continue;
            }
            if priority == Priority::Required && !matches!(status, Status::Pending) {
                return Some(dependency);
            }
            blamed = blamed.or(Some(dependency));
        }
        blamed
    }

    /// Whether the effective status is `ok` or `degraded`.
    pub fn is_operational(&self, of: Handle) -> bool {
        self.effective(of).is_operational()
    }

    /// Returns the status of an entity if it does not depend on others. None if dependencies matter.
    fn status_alone(&self, of: Handle) -> Option<Status> {
        let entity = self.entity(of);
        match entity.local {
            _ if matches!(entity.kind, EntityKind::Root) => None,
            None | Some(Status::Unknown) => Some(Status::Unknown),
            Some(status @ (Status::Error | Status::Absent)) => Some(status),
            Some(_) => None,
        }
    }

    fn combine_status(&self, of: Handle, cache: &StatusCache) -> Status {
        if let Some(status) = self.status_alone(of) {
            return status;
        }
        let entity = self.entity(of);
        let own = if entity.computed {
            Status::Ok
        } else {
            entity.local.unwrap_or(Status::Unknown)
        };
        self.aggregate(of, cache)
            .map_or(own, |below| own.max(below))
    }

    /// Combines the statuses of the dependencies. A dependency without a cached status is part of a cycle
    /// and does not count.
    fn aggregate(&self, of: Handle, cache: &StatusCache) -> Option<Status> {
        let mut aggregate = None;
        for dependency in self.operational_dependencies(of) {
            let so_far = *aggregate.get_or_insert(Status::Ok);
            let priority = self.priority(dependency);
            let Some(status) = cache
                .get(dependency)
                .filter(|_| priority != Priority::Ignore)
            else {
                continue;
            };
            if priority == Priority::Required && !status.is_operational() {
                if status != Status::Pending {
                    return Some(Status::Error);
                }
                aggregate = Some(Status::Pending);
            } else if so_far <= Status::Degraded && status != Status::Ok {
                aggregate = Some(Status::Degraded);
            }
        }
        aggregate
    }

    /// Clears the cached effective status of an entity and of all its dependents.
    pub(super) fn touch_status(&mut self, of: Handle) {
        let mut stack = vec![of];
        let mut first = true;
        while let Some(handle) = stack.pop() {
            let cache = self.cache.get_mut();
            let known = cache.get(handle).is_some();
            cache.set(handle, None);
            if !known && !first {
                continue;
            }
            first = false;
            match &self.entity(handle).kind {
                EntityKind::Node(_) => {
                    stack.extend(self.incoming(handle));
                    stack.extend(self.children(handle));
                    stack.push(self.root_of(handle));
                }
                EntityKind::Root => stack.extend(self.outer_entity(handle)),
                EntityKind::Relationship { source, .. } => stack.extend(*source),
                _ => {}
            }
        }
    }
}
