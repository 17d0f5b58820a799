//! Topologies for tests, described in a few words and made without a file.

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

/// The type of all templates: each may be hosted on another.
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

/// The operations of a template, unless it has none.
const OPERATIONS: &str =
    "create: 'true', configure: 'true', start: 'true', stop: 'true', delete: 'true'";

/// A template that is described.
#[derive(Debug, Default)]
struct Described {
    name: String,
    requirements: Vec<(&'static str, String)>,
    directives: Vec<&'static str>,
    operations: Option<&'static str>,
    checks: bool,
}

/// Node templates that are described one after another. What is said after a node is about it.
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

    /// The last template requires another.
    pub(crate) fn requires(self, target: &str) -> Self {
        self.change(|node| node.requirements.push(("dependency", target.to_owned())))
    }

    /// The last template is hosted on another.
    pub(crate) fn on(self, host: &str) -> Self {
        self.change(|node| node.requirements.push(("host", host.to_owned())))
    }

    /// The last template has a directive.
    pub(crate) fn directive(self, directive: &'static str) -> Self {
        self.change(|node| node.directives.push(directive))
    }

    /// The last template has these operations only, as `name: command`.
    pub(crate) fn operations(self, operations: &'static str) -> Self {
        self.change(|node| node.operations = Some(operations))
    }

    /// The last template has no operations.
    pub(crate) fn bare(self) -> Self {
        self.change(|node| node.operations = None)
    }

    /// The last template has an operation that finds its status.
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

    /// The topology of these templates, in which nothing exists.
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

    /// The topology of these templates, each with an instance that was created and works.
    pub(crate) fn deployed(&self) -> Topology {
        let mut topology = self.topology();
        for node in &self.nodes {
            self.deploy(&mut topology, &node.name);
        }
        topology
    }

    /// Adds an instance that was created and works, after the one that it is hosted on.
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

/// Adds an instance of a template, of which nothing is known.
pub(crate) fn add(topology: &mut Topology, name: &str, template: &str, parent: Handle) -> Handle {
    let template = TemplateName::new(template);
    let template = Arc::clone(&topology.template().nodes[&template]);
    topology.add_node(name.into(), template, parent, Some(Status::Unknown))
}

/// The id of a task.
pub(crate) fn change() -> ChangeId {
    ChangeId::parse("A6BL7ntS0001").expect("it is an id")
}
