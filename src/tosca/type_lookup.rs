//! Finds the type that a name stands for in a file: among the types of the file, of its imports, and of the
//! built-in profiles.
//!
//! A name is unique among the types of one kind only: a capability type and a node type may share a name.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use crate::value::FoldSet;

use super::definition::TypeKey;
use super::import_graph::{ImportGraph, without_prefix};
use super::section::TypeSection;
use super::types::{BUILT_IN, ROOT, Types};

impl Types {
    /// Returns the type that a name stands for in a namespace.
    ///
    /// A type of the section is preferred to one of another kind. `section` also selects the prefix for short
    /// names of normative types, such as `Compute`.
    pub(super) fn find(&self, namespace: u32, name: &str, section: TypeSection) -> Option<TypeKey> {
        self.find_of_kind(namespace, name, section)
            .or_else(|| self.find_declared(namespace, name, None))
            .or_else(|| self.find_built_in(name, section))
    }

    /// Returns the type of the section that a name stands for. A type of the section `types` may be of any
    /// kind.
    fn find_of_kind(&self, namespace: u32, name: &str, section: TypeSection) -> Option<TypeKey> {
        if section == TypeSection::Any {
            return None;
        }
        let built_in = || {
            let found = self.find_built_in(name, section);
            found.filter(|key| self.decl(*key).section == section)
        };
        self.find_declared(namespace, name, Some(section))
            .or_else(built_in)
    }

    /// Returns the type of the section that a name stands for, if the ancestors of the nearest one of the
    /// section `types` tell that it is of another kind.
    pub(super) fn find_by_ancestors(
        &self,
        namespace: u32,
        name: &str,
        section: TypeSection,
    ) -> Option<TypeKey> {
        let key = self.find(namespace, name, section)?;
        if self.decl(key).section != TypeSection::Any || self.section(key) == section {
            return Some(key);
        }
        let exact =
            self.search_imports(namespace, name, |found| self.decl(found).section == section);
        let exact = exact.or_else(|| self.find_built_in(name, section));
        exact
            .filter(|found| self.decl(*found).section == section)
            .or(Some(key))
    }

    fn find_built_in(&self, name: &str, section: TypeSection) -> Option<TypeKey> {
        let known = &self.namespaces[BUILT_IN as usize].names;
        if let Some(key) = known.get(name) {
            return Some(*key);
        }
        let short = name.strip_prefix("tosca:").unwrap_or(name);
        if short.starts_with("tosca.") {
            return None;
        }
        let prefix = section.prefix();
        known
            .get(format!("{prefix}{short}").as_str())
            .or_else(|| match section {
                TypeSection::Data => known.get(format!("{prefix}network.{short}").as_str()),
                _ => None,
            })
            .copied()
    }

    /// Returns the type with the name that the file or one of its imports declares. `section` is `None` for
    /// types of every kind.
    fn find_declared(
        &self,
        namespace: u32,
        name: &str,
        section: Option<TypeSection>,
    ) -> Option<TypeKey> {
        let fits = |key: TypeKey| {
            let own = self.decl(key).section;
            section.is_none_or(|section| own == section || own == TypeSection::Any)
        };
        if let Some(key) = self.own_type(namespace, name, &fits) {
            return Some(key);
        }
        if self.namespaces[namespace as usize].imports.is_empty() || !self.may_be_declared(name) {
            return None;
        }
        let memo = (namespace, Arc::from(name), section);
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lookups.get(&memo) {
            return *found;
        }
        let found = self.search_imports(namespace, name, fits);
        lookups.insert(memo, found);
        found
    }

    /// Returns the type that fits among those of a file with the name. The last one of the file has priority.
    fn own_type(
        &self,
        namespace: u32,
        name: &str,
        fits: &impl Fn(TypeKey) -> bool,
    ) -> Option<TypeKey> {
        let here = &self.namespaces[namespace as usize];
        let (_, name, last) = here.names.get_full(name)?;
        if fits(*last) {
            return Some(*last);
        }
        if here.shadowed.is_empty() {
            return None;
        }
        let sections = TypeSection::ALL.iter().rev();
        let others = sections.filter_map(|it| here.shadowed.get(&(*it, Arc::clone(name))));
        others.copied().find(|key| fits(*key))
    }

    /// Whether any file declares a type of the name, or of the part of it after a prefix.
    fn may_be_declared(&self, name: &str) -> bool {
        let mut ends = name.match_indices(['.', ':']);
        self.declared.contains_key(name)
            || ends.any(|(place, _)| self.declared.contains_key(&name[place + 1..]))
    }

    /// Searches a file and its imports for a type that fits, depth first, the last import first.
    fn search_imports(
        &self,
        namespace: u32,
        name: &str,
        fits: impl Fn(TypeKey) -> bool,
    ) -> Option<TypeKey> {
        // If only one type can match, the order does not affect the result, and breadth first finds it
        // sooner.
        let is_only = self.is_declared_once(name);
        let mut seen = FoldSet::default();
        let mut stack = VecDeque::from([(namespace, name)]);
        let next = |stack: &mut VecDeque<_>| {
            if is_only {
                stack.pop_front()
            } else {
                stack.pop_back()
            }
        };
        while let Some((namespace, name)) = next(&mut stack) {
            if !seen.insert((namespace, name.len())) {
                continue;
            }
            if let Some(key) = self.own_type(namespace, name, &fits) {
                return Some(key);
            }
            // The entry that is pushed last is popped first, so the last import has priority.
            for (imported, prefix) in &self.namespaces[namespace as usize].imports {
                let local = match prefix {
                    None => Some(name),
                    Some(prefix) => without_prefix(name, prefix),
                };
                stack.extend(local.map(|local| (*imported, local)));
            }
        }
        None
    }

    /// Whether one declaration has the name, and no part of the name is a prefix of another type.
    fn is_declared_once(&self, name: &str) -> bool {
        let mut ends = name.match_indices(['.', ':']);
        self.declared.get(name) == Some(&1)
            && !ends.any(|(place, _)| self.declared.contains_key(&name[place + 1..]))
    }

    /// Whether the service template's file can refer to the type by its unprefixed name.
    pub(super) fn is_known_to_root(&self, key: TypeKey) -> bool {
        let decl = self.decl(key);
        if !self.is_declared_once(&decl.name) {
            let section = Some(decl.section).filter(|section| *section != TypeSection::Any);
            return self.find_declared(ROOT, &decl.name, section) == Some(key);
        }
        self.import_graph().is_unprefixed(decl.namespace)
    }

    pub(super) fn import_graph(&self) -> &Arc<ImportGraph> {
        self.import_graph.get_or_init(|| {
            let imports = self.namespaces.iter().map(|here| here.imports.clone());
            Arc::new(ImportGraph::new(ROOT, imports.collect()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReadOptions;
    use super::super::testing::{read_template, read_template_with};
    use std::fmt::Write as _;

    #[test]
    fn a_local_type_hides_no_imported_type_of_another_kind() {
        let files = [(
            "types.yaml",
            "capability_types: {Service: {properties: {p: {type: integer, default: 1}}}}
node_types: {Web: {capabilities: {service: Service}}}",
        )];
        let text = "
imports: [types.yaml]
node_types:
  Service:
    requirements: [{uses: {capability: Service, relationship: tosca.relationships.DependsOn}}]
topology_template:
  node_templates:
    s: {type: Service, requirements: [{uses: w}]}
    w: {type: Web}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
        let first = case.targets("s");
        let first = first.lines().find(|line| line.starts_with("uses"));
        insta::assert_snapshot!(first.unwrap_or_default(), @"uses → w (tosca.relationships.DependsOn, service)");
    }

    #[test]
    fn an_imported_type_hides_no_later_one_of_another_kind() {
        let files = [
            (
                "nodes.yaml",
                "node_types: {Service: {properties: {n: {type: integer, default: 1}}}}",
            ),
            ("capabilities.yaml", "capability_types: {Service: {}}"),
            ("artifacts.yaml", "artifact_types: {Service: {}}"),
        ];
        let text = "
imports:
- {file: nodes.yaml, namespace_prefix: l}
- {file: capabilities.yaml, namespace_prefix: l}
- {file: artifacts.yaml, namespace_prefix: l}
node_types: {Web: {capabilities: {c: l.Service}, artifacts: {a: {type: l.Service, file: f}}}}
topology_template: {node_templates: {s: {type: l.Service}, w: {type: Web}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
        assert!(case.node("s").properties.contains_key("n"));
        assert!(case.node("s").is_a("l.Service"));
    }

    #[test]
    fn a_capability_type_does_not_hide_the_short_name_of_a_normative_node_type() {
        let case = read_template(
            "
capability_types: {Compute: {}}
topology_template: {node_templates: {a: {type: Compute}, b: {type: tosca:Compute}}}
",
        );
        assert_eq!(case.report(), "");
        assert!(case.node("a").is_a("tosca.nodes.Compute"));
    }

    #[test]
    fn a_type_of_the_section_types_hides_no_type_of_another_kind() {
        let files = [("types.yaml", "node_types: {Service: {}}")];
        let text = "
imports: [types.yaml]
types: {Service: {derived_from: tosca.capabilities.Root}, Mine: {derived_from: Local}, Local: {derived_from: Service}}
topology_template: {node_templates: {a: {type: Service}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
    }

    #[test]
    fn a_name_of_another_kind_is_named_in_the_message() {
        let case = read_template(
            "
capability_types: {C: {}}
topology_template: {node_templates: {a: {type: C}}}
",
        );
        insta::assert_snapshot!(case.report(), @"service.yaml:3:48: `C` is a capability type, but a node type is required");
    }

    #[test]
    fn each_prefixed_name_of_a_type_is_known() {
        let files = [
            ("a.yaml", "imports: [{file: b.yaml, namespace_prefix: b}, {file: a.yaml, namespace_prefix: self}]
node_types: {A: {derived_from: b.B}}"),
            ("b.yaml", "node_types: {B: {}}"),
        ];
        let text = "
imports: [{file: a.yaml, namespace_prefix: x}, {file: a.yaml, namespace_prefix: y.v1}]
topology_template: {node_templates: {n: {type: y.v1.A}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
        let node = case.node("n");
        for name in [
            "A",
            "x.A",
            "y.v1.A",
            "x:A",
            "B",
            "x.b.B",
            "y.v1.b.B",
            "x.self.self.b.B",
        ] {
            assert!(node.is_a(name), "{name}");
        }
        for name in ["x.B", "b.B", "y.A", "x.b.A", "z.A", "xA", ".A"] {
            assert!(!node.is_a(name), "{name}");
        }
    }

    /// Each file imports all files of the next layer with a prefix, so the last type has 8^12 names.
    #[test]
    fn layers_of_prefixed_imports_cost_only_what_they_hold() {
        let mut files: Vec<(&'static str, &'static str)> = Vec::new();
        for layer in 0..12 {
            for at in 0..8 {
                let mut text = format!("node_types: {{T{layer}: {{}}}}\nimports: [");
                for next in 0..if layer < 11 { 8 } else { 0 } {
                    let file = format!("l{}_{next}", layer + 1);
                    let _ = write!(text, "{{file: {file}, namespace_prefix: p{next}}}, ");
                }
                text.push_str("]\n");
                let name: &'static str = Box::leak(format!("l{layer}_{at}").into_boxed_str());
                files.push((name, Box::leak(text.into_boxed_str())));
            }
        }
        let text = "
imports: [{file: l0_0, namespace_prefix: p}]
topology_template: {node_templates: {n: {type: p.p1.p7.p0.p0.p0.p3.p0.p0.p0.p0.p5.T11}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        let node = case.node("n");
        assert_eq!(
            node.type_name.as_str(),
            "p.p1.p7.p0.p0.p0.p3.p0.p0.p0.p0.p5.T11"
        );
        assert!(node.is_a("p.p2.p2.p2.p2.p2.p2.p2.p2.p2.p2.p5.T11"));
        assert!(!node.is_a("p.p1.p7.p0.p0.p0.p3.p0.p0.p0.p0.p6.T11"));
        assert!(node.node_type.info.ancestors.len() < 8);
    }
}
