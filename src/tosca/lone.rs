//! Reads node templates that stand outside of a topology.

use crate::name::TemplateName;
use crate::value::FoldMap;
use crate::yaml::Node;

use super::known::Known;
use super::matching::Index;
use super::node_template::{NodeReader, Unmatched};
use super::relationship::Plain;
use super::requirement::Resolver;
use super::scope::Scope;
use super::template::{NodeTemplate, TopologyTemplate};

impl Scope<'_> {
    /// Reads a template whose requirements may name templates of a topology.
    pub(super) fn lone_template(
        self,
        name: &TemplateName,
        node: &Node,
        topology: &TopologyTemplate,
    ) -> Option<NodeTemplate> {
        let mut reader = NodeReader::new(self);
        let unmatched = reader.read(&name.shared(), node, node.span())?;
        let named = unmatched.stated.iter().filter_map(|def| def.node.as_ref());
        let mut all: Vec<Unmatched> = named
            .filter_map(|node| topology.nodes.get(&*node.name))
            .filter(|template| template.name != *name)
            .map(|template| Unmatched {
                template: NodeTemplate::clone(template),
                stated: Vec::new(),
            })
            .collect();
        let place = all.len();
        all.push(unmatched);
        let requirements = {
            let mut resolver = Resolver {
                types: self.types,
                index: Index::new(self.types, &all),
                relationships: &topology.relationships,
                plain: Plain::default(),
                match_declared: false,
                assignments: Vec::new(),
                given: &FoldMap::default(),
                known: Known::default(),
            };
            resolver.requirements(place)
        };
        let mut template = all.pop()?.template;
        template.requirements = requirements;
        Some(template)
    }
}
