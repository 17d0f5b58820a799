//! Test topologies, built from short descriptions without files.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::entity::{Creator, TopologyInputs};
use super::topology::Topology;
use crate::diagnostic::Sources;
use crate::name::{ChangeId, NodeState, Status, TemplateName};
use crate::tosca::{NoImports, ReadOptions, read};
use crate::value::Handle;
use crate::yaml::{Limits, parse};

/// A single node type for all templates. A template may be hosted on any other.
const TYPES: &str = "
tosca_definitions_version: tosca_simple_unfurl_1_0_0
node_types:
  Thing:
    derived_from: tosca.nodes.Root
    requirements:
      - host: {node: tosca.nodes.Root, relationship: tosca.relationships.HostedOn, occurrences: [0, 1]}
topology_template:
  node_templates:
";

/// The default operations of a template.
const OPERATIONS: &str =
    "create: 'true', configure: 'true', start: 'true', stop: 'true', delete: 'true'";

/// The description of a node template.
#[derive(Debug, Default)]
struct Described {
    name: String,
    requirements: Vec<(&'static str, String)>,
    directives: Vec<&'static str>,
    operations: Option<&'static str>,
    checks: bool,
}

/// A builder for node templates. Methods after `node` modify the template added last.
#[derive(Debug, Default)]
pub(crate) struct Model {
    nodes: Vec<Described>,
}

impl Model {
    /// Adds a template with the operations `create`, `configure`, `start`, `stop` and `delete`.
    pub(crate) fn node(mut self, name: &str) -> Self {
        self.nodes.push(Described {
            name: name.to_owned(),
            operations: Some(OPERATIONS),
            ..Described::default()
        });
        self
    }

    fn change(mut self, change: impl FnOnce(&mut Described)) -> Self {
        change(self.nodes.last_mut().expect("a node is described"));
        self
    }

    /// Makes the last template require another.
    pub(crate) fn requires(self, target: &str) -> Self {
        self.change(|node| node.requirements.push(("dependency", target.to_owned())))
    }

    /// Hosts the last template on another.
    pub(crate) fn on(self, host: &str) -> Self {
        self.change(|node| node.requirements.push(("host", host.to_owned())))
    }

    /// Adds a directive to the last template.
    pub(crate) fn directive(self, directive: &'static str) -> Self {
        self.change(|node| node.directives.push(directive))
    }

    /// Replaces the operations of the last template, given as `name: command`.
    pub(crate) fn operations(self, operations: &'static str) -> Self {
        self.change(|node| node.operations = Some(operations))
    }

    /// Removes all operations from the last template.
    pub(crate) fn bare(self) -> Self {
        self.change(|node| node.operations = None)
    }

    /// Adds a `check` operation to the last template.
    pub(crate) fn checks(self) -> Self {
        self.change(|node| node.checks = true)
    }

    fn text(&self) -> String {
        let mut text = TYPES.to_owned();
        for node in &self.nodes {
            let requirements = node.requirements.iter();
            let requirements = requirements.map(|(name, target)| format!("{{{name}: {target}}}"));
            let requirements: Vec<String> = requirements.collect();
            let mut interfaces = Vec::new();
            if let Some(operations) = node.operations {
                interfaces.push(format!("Standard: {{operations: {{{operations}}}}}"));
            }
            if node.checks {
                interfaces.push("Install: {operations: {check: 'true'}}".to_owned());
            }
            writeln!(
                text,
                "    {}: {{type: Thing, directives: [{}], requirements: [{}], interfaces: {{{}}}}}",
                node.name,
                node.directives.join(", "),
                requirements.join(", "),
                interfaces.join(", "),
            )
            .expect("a string takes all text");
        }
        text
    }

    /// Returns a topology of the templates, without instances.
    pub(crate) fn topology(&self) -> Topology {
        let mut sources = Sources::default();
        let source = sources.add("service.yaml", self.text().as_str(), None);
        let root = parse(&sources, source, &Limits::default()).expect("the text is YAML");
        let options = ReadOptions::default();
        let (service, problems) = read(&root, Path::new("/project"), &mut NoImports, &options);
        let problems: Vec<_> = problems.iter().map(|it| it.message.clone()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        Topology::new(
            Arc::new(service.expect("it is a map")),
            TopologyInputs::default(),
        )
    }

    /// Returns a topology in which each template has an instance that was created and works.
    pub(crate) fn deployed(&self) -> Topology {
        let mut topology = self.topology();
        for node in &self.nodes {
            self.deploy(&mut topology, &node.name);
        }
        topology
    }

    /// Adds an instance that was created and works, after its host.
    fn deploy(&self, topology: &mut Topology, name: &str) {
        if topology.find(name).is_some() {
            return;
        }
        let described = self.nodes.iter().find(|node| node.name == name);
        let described = described.expect("it is described");
        let mut requirements = described.requirements.iter();
        let host = requirements.find(|(name, _)| *name == "host");
        let parent = match host {
            Some((_, host)) => {
                self.deploy(topology, host);
                topology.find(host).expect("it was added")
            }
            None => topology.root(),
        };
        let handle = add(topology, name, name, parent);
        topology.set_local(handle, Some(Status::Ok));
        topology.set_state(handle, Some(NodeState::Started));
        topology.set_created(handle, Some(Creator::Task(change())));
        topology.set_last_config_change(handle, change());
    }
}

/// Adds an instance of a template with unknown status.
pub(crate) fn add(topology: &mut Topology, name: &str, template: &str, parent: Handle) -> Handle {
    let template = TemplateName::new(template);
    let template = Arc::clone(&topology.template().nodes[&template]);
    topology.add_node(name.into(), template, parent, Some(Status::Unknown))
}

pub(crate) fn change() -> ChangeId {
    ChangeId::parse("A6BL7ntS0001").expect("it is an id")
}
