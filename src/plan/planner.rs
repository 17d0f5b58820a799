//! The planner: walks the templates in order and collects the steps of the plan. [`plan`] is the entry.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::check_ability::CheckAbility;
use super::error::Error;
use super::goal::{JobGoal, WorkflowKind};
use super::no_action::NoActionReason;
use super::order::{host_of, is_referenced, template_order};
use super::step::{
    GroupId, InstanceDraft, Plan, PlanItem, PlanStep, Reason, RunCondition, StepGroup, StepTarget,
};
use crate::dag::dependencies_first;
use crate::name::{InstanceName, NodeState, Status, TemplateName};
use crate::topology::{Creator, Entity, Topology};
use crate::tosca::{NodeTemplate, Operation};
use crate::value::Handle;

/// A policy that decides which operations must be repeated because their inputs changed.
pub trait RepeatPolicy {
    /// Whether an operation that created or configured an instance must be repeated.
    fn must_repeat(&self, target: Handle, operation: &Arc<Operation>) -> bool;

    /// Returns how what an operation has made can be looked at without changing anything.
    fn check_ability(&self, _operation: &Operation) -> CheckAbility {
        CheckAbility::Cannot
    }
}

/// The policy that repeats no operation.
impl RepeatPolicy for () {
    fn must_repeat(&self, _target: Handle, _operation: &Arc<Operation>) -> bool {
        false
    }
}

/// An instance to plan for: an existing one or a draft.
#[derive(Debug, Clone)]
pub(super) struct PlannedInstance {
    pub(super) name: InstanceName,
    pub(super) template: Arc<NodeTemplate>,
    pub(super) handle: Option<Handle>,
    pub(super) status: Option<Status>,
}

/// Makes the plan for a goal. `repeats` decides which operations of existing instances must be repeated.
///
/// ```
/// # use std::{path::Path, sync::Arc};
/// # use unfurl::testing::diagnostic::Sources;
/// # use unfurl::testing::tosca::{NoImports, ReadOptions, read};
/// # use unfurl::testing::topology::{Topology, TopologyInputs};
/// # use unfurl::testing::yaml::{Limits, parse};
/// use unfurl::testing::plan::{JobGoal, WorkflowKind, plan};
///
/// # let mut sources = Sources::default();
/// let text = "
/// tosca_definitions_version: tosca_simple_unfurl_1_0_0
/// topology_template:
///   node_templates:
///     web:
///       type: tosca:Root
///       interfaces:
///         Standard:
///           operations:
///             configure: echo hello
/// ";
/// # let source = sources.add("service.yaml", text, None);
/// # let root = parse(&sources, source, &Limits::default()).unwrap();
/// # let (service, _) = read(&root, Path::new("/"), &mut NoImports, &ReadOptions::default());
/// # let topology = Topology::new(Arc::new(service.unwrap()), TopologyInputs::default());
/// let goal = JobGoal { workflow: WorkflowKind::Deploy, ..JobGoal::default() };
/// let plan = plan(&topology, &goal, &()).unwrap();
/// assert_eq!(plan.drafts.len(), 1, "the instance of `web` does not exist yet");
/// ```
pub fn plan(
    topology: &Topology,
    goal: &JobGoal,
    repeats: &dyn RepeatPolicy,
) -> Result<Plan, Error> {
    let nodes = &topology.template().nodes;
    if let Some(template) = &goal.template
        && !nodes.contains_key(template)
    {
        return Err(Error::UnknownTemplate(template.clone()));
    }
    let unknown = |name: &&InstanceName| {
        !nodes.contains_key(name.as_str()) && topology.find(name.as_str()).is_none()
    };
    if let Some(name) = goal.excluded.iter().find(unknown) {
        return Err(Error::UnknownExcluded(name.clone()));
    }
    let mut planner = Planner::new(topology, goal, repeats);
    match &goal.workflow {
        _ if goal.drift => planner.look(),
        WorkflowKind::Deploy | WorkflowKind::Check | WorkflowKind::Discover => {
            planner.templates()?;
        }
        WorkflowKind::Undeploy | WorkflowKind::Stop => planner.undeploy(),
        WorkflowKind::Run => planner.run()?,
        // If the model has no workflow of that name, each instance runs its `connect` operation.
        WorkflowKind::Custom(name) if &**name == "connect" && !planner.has_workflow(name) => {
            planner.templates()?;
        }
        WorkflowKind::Custom(name) => planner.plan_custom_workflow(name)?,
    }
    // A teardown removes all instances anyway.
    if goal.removal.prune && goal.workflow == WorkflowKind::Deploy {
        planner.prune();
    }
    Ok(planner.plan)
}

/// Makes the plan for instances that tasks of a running job have added, each after those it requires.
///
/// A deploy creates and configures them. A check or discover job only queries unknown statuses and
/// creates nothing.
pub fn plan_added(topology: &Topology, goal: &JobGoal, added: &[Handle]) -> Plan {
    let mut planner = Planner::new(topology, goal, &());
    if goal.drift {
        return planner.plan;
    }
    let all: HashSet<Handle> = added.iter().copied().collect();
    let order = dependencies_first(added.iter().copied(), |of| {
        let node = topology.entity(of).node();
        let requirements = node.into_iter().flat_map(|node| &node.requirements);
        let targets = requirements.filter_map(|relationship| topology.target_of(*relationship));
        targets.filter(|target| all.contains(target)).collect()
    });
    for handle in order {
        let subject = planner.subject(handle);
        let status = subject.status.unwrap_or(Status::Unknown);
        match goal.workflow {
            WorkflowKind::Deploy => planner.include(&subject, true),
            WorkflowKind::Check | WorkflowKind::Discover if status == Status::Unknown => {
                planner.plan_workflow(&subject, Some(Reason::Check), "check");
            }
            _ => {}
        }
    }
    planner.plan
}

/// A plan under construction, with its input.
pub(super) struct Planner<'a> {
    pub(super) topology: &'a Topology,
    pub(super) goal: &'a JobGoal,
    pub(super) repeat_policy: &'a dyn RepeatPolicy,
    pub(super) plan: Plan,
    /// The indices of drafts in the plan, by name.
    drafts: HashMap<InstanceName, usize>,
    pub(super) visited: HashSet<InstanceName>,
    /// Templates for which an instance will be drafted by the end of planning.
    expected_templates: HashSet<TemplateName>,
}

impl<'a> Planner<'a> {
    fn new(topology: &'a Topology, goal: &'a JobGoal, repeats: &'a dyn RepeatPolicy) -> Self {
        Self {
            topology,
            goal,
            repeat_policy: repeats,
            plan: Plan::default(),
            drafts: HashMap::new(),
            visited: HashSet::new(),
            expected_templates: HashSet::new(),
        }
    }
}

impl Planner<'_> {
    fn has_workflow(&self, name: &str) -> bool {
        self.topology.template().workflows.contains_key(name)
    }

    fn templates(&mut self) -> Result<(), Error> {
        let order = template_order(self.topology, self.goal);
        let missing = |template: &&Arc<NodeTemplate>| {
            self.topology.instances_of(&template.name).is_empty()
                && self.no_draft_reason(template).is_none()
        };
        self.expected_templates = order
            .iter()
            .filter(missing)
            .map(|t| t.name.clone())
            .collect();
        for template in order {
            let existing = self.topology.instances_of(&template.name).to_vec();
            for handle in &existing {
                let subject = self.subject(*handle);
                self.visited.insert(subject.name.clone());
                self.include(&subject, true);
            }
            if existing.is_empty() {
                self.include_new(&template)?;
            }
        }
        Ok(())
    }

    /// Returns the reason not to draft an instance of a template. None if one is drafted.
    fn no_draft_reason(&self, template: &NodeTemplate) -> Option<NoActionReason> {
        let referenced = is_referenced(self.topology, &template.name);
        let unneeded = template.has_directive("dependent") && !referenced;
        let deploys = self.goal.workflow == WorkflowKind::Deploy;
        let is_substituted = template.has_directive("substitute");
        let may_add = is_substituted || !deploys || !self.goal.skip_new || self.goal.force;
        if unneeded {
            Some(NoActionReason::NotRequired)
        } else if template.is_selected() {
            Some(NoActionReason::Selected)
        } else {
            (!may_add).then_some(NoActionReason::SkipNew)
        }
    }

    fn include_new(&mut self, template: &Arc<NodeTemplate>) -> Result<(), Error> {
        if let Some(why) = self.no_draft_reason(template) {
            let name = InstanceName::new(template.name.shared());
            self.plan.no_action.push((name, why));
            return Ok(());
        }
        let is_substituted = template.has_directive("substitute");
        let subject = self.draft(template)?;
        self.visited.insert(subject.name.clone());
        if !is_substituted {
            self.include(&subject, false);
        }
        Ok(())
    }

    /// Whether a subject passes the filters, by its instance name and its template name.
    pub(super) fn admits(&self, subject: &PlannedInstance) -> bool {
        self.goal.admits(&subject.name) && !self.excludes(subject)
    }

    fn excludes(&self, subject: &PlannedInstance) -> bool {
        let names = [subject.name.as_str(), subject.template.name.as_str()];
        names.into_iter().any(|name| self.goal.excludes(name))
    }

    fn include(&mut self, subject: &PlannedInstance, exists: bool) {
        if !self.admits(subject) {
            let named = self.excludes(subject);
            let why = if named {
                NoActionReason::Excluded
            } else {
                NoActionReason::NotNamed
            };
            return self.note_no_action(subject, why);
        }
        if self.goal.workflow == WorkflowKind::Deploy {
            self.deploy(subject, exists);
        } else {
            let workflow = self.goal.workflow.as_str().to_owned();
            let reason = Reason::Workflow(workflow.as_str().into());
            self.plan_workflow(subject, Some(reason), &workflow);
        }
    }

    /// Records why the plan has nothing to do for a subject.
    pub(super) fn note_no_action(&mut self, subject: &PlannedInstance, why: NoActionReason) {
        self.plan.no_action.push((subject.name.clone(), why));
    }

    /// Returns an existing instance as a subject of planning.
    pub(super) fn subject(&self, handle: Handle) -> PlannedInstance {
        let entity = self.topology.entity(handle);
        let node = entity
            .node()
            .expect("subjects are made of node instances only");
        PlannedInstance {
            name: entity.name.clone(),
            template: Arc::clone(&node.template),
            handle: Some(handle),
            status: entity.local,
        }
    }

    /// Drafts an instance of a template, and its hosts if they are missing too.
    pub(super) fn draft(&mut self, template: &Arc<NodeTemplate>) -> Result<PlannedInstance, Error> {
        let mut chain = vec![Arc::clone(template)];
        let mut seen = HashSet::from([template.name.clone()]);
        let mut parent = None;
        while let Some(host) = host_of(self.topology, &chain[chain.len() - 1]) {
            if let Some(name) = self.instance_name_of(&host) {
                parent = Some(name);
                break;
            }
            if !seen.insert(host.clone()) {
                return Err(Error::HostCycle(host));
            }
            let Some(next) = self.topology.template().nodes.get(&host) else {
                break;
            };
            chain.push(Arc::clone(next));
        }
        for missing in chain.iter().rev() {
            if let Some(taken) = self.topology.find(missing.name.as_str()) {
                return Err(Error::DuplicateName {
                    name: self.topology.entity(taken).name.clone(),
                    of: self.template_of(taken),
                });
            }
            parent = Some(self.add_draft(missing, parent));
        }
        let name = InstanceName::new(template.name.shared());
        let status = self.plan.drafts[self.drafts[&name]].status;
        Ok(PlannedInstance {
            name,
            template: Arc::clone(template),
            handle: None,
            status: Some(status),
        })
    }

    fn template_of(&self, instance: Handle) -> TemplateName {
        let entity = self.topology.entity(instance);
        let node = entity.node();
        node.map_or_else(
            || TemplateName::new(entity.template_name()),
            |node| node.template.name.clone(),
        )
    }

    fn add_draft(&mut self, template: &NodeTemplate, parent: Option<InstanceName>) -> InstanceName {
        let name = InstanceName::new(template.name.shared());
        if !self.drafts.contains_key(&name) {
            let unknown = self.goal.check || template.has_directive("check");
            let status = if unknown {
                Status::Unknown
            } else {
                Status::Pending
            };
            self.drafts.insert(name.clone(), self.plan.drafts.len());
            let template = template.name.clone();
            self.plan.drafts.push(InstanceDraft {
                name: name.clone(),
                template,
                parent,
                status,
            });
        }
        name
    }

    fn instance_name_of(&self, template: &TemplateName) -> Option<InstanceName> {
        if let Some(handle) = self.topology.instances_of(template).first() {
            return Some(self.topology.entity(*handle).name.clone());
        }
        self.drafts
            .get_key_value(template.as_str())
            .map(|(name, _)| name.clone())
    }

    /// Returns the instances of a template: the existing ones, or the one to be drafted.
    pub(super) fn present_or_planned(&self, template: &TemplateName) -> Vec<InstanceName> {
        let existing = self.topology.instances_of(template).iter();
        let names = existing.map(|handle| self.topology.entity(*handle).name.clone());
        let expected_templates = self.expected_templates.get(template);
        let expected_templates =
            expected_templates.map(|template| InstanceName::new(template.shared()));
        names.chain(expected_templates).collect()
    }

    /// Returns the relationships of a subject with the index of their requirement.
    pub(super) fn own_relationships(
        subject: &PlannedInstance,
    ) -> impl Iterator<Item = (StepTarget, usize)> {
        let name = subject.name.clone();
        (0..subject.template.requirements.len()).map(move |place| {
            (
                StepTarget::Relationship {
                    source: name.clone(),
                    requirement_index: place,
                },
                place,
            )
        })
    }

    /// Adds a step to a group, or at the top level of the plan.
    pub(super) fn push_step(&mut self, mut step: PlanStep, group: Option<GroupId>) {
        step.group = group;
        let item = PlanItem::Step(self.plan.steps.len());
        self.plan.steps.push(step);
        match group {
            Some(group) => self.plan.groups[group].items.push(item),
            None => self.plan.items.push(item),
        }
    }

    /// Opens a group within another, or at the top level of the plan.
    pub(super) fn open_group(
        &mut self,
        target: StepTarget,
        workflow: &str,
        parent: Option<GroupId>,
    ) -> GroupId {
        let group = self.plan.groups.len();
        self.plan.groups.push(StepGroup {
            target,
            workflow: workflow.into(),
            items: Vec::new(),
            parent,
            condition: RunCondition::Always,
        });
        match parent {
            Some(parent) => self.plan.groups[parent].items.push(PlanItem::Group(group)),
            None => self.plan.items.push(PlanItem::Group(group)),
        }
        group
    }

    /// Whether an instance was created by this ensemble or by another instance on its behalf.
    pub(super) fn is_created(&self, subject: &PlannedInstance) -> bool {
        self.entity(subject)
            .and_then(|entity| entity.created.as_ref())
            .is_some_and(Creator::is_truthy)
    }

    /// Whether this ensemble began to create an instance and did not finish.
    pub(super) fn is_partially_created(&self, subject: &PlannedInstance) -> bool {
        self.entity(subject)
            .is_some_and(|entity| entity.partially_created)
    }

    pub(super) fn state(&self, subject: &PlannedInstance) -> Option<NodeState> {
        self.entity(subject)?.state
    }

    pub(super) fn entity(&self, subject: &PlannedInstance) -> Option<&Entity> {
        subject.handle.map(|handle| self.topology.entity(handle))
    }
}
