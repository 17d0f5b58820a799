//! The types of a service template: declaration, name lookup and ancestry.
//!
//! [`Types`] stores the declarations of all files. Each file has a namespace, and imports connect namespaces,
//! possibly with a prefix. A type is resolved and checked on first use (see `resolve.rs`), so that the large
//! built-in profiles cost nothing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use indexmap::IndexMap;

use crate::dag::find_cycle;
use crate::diagnostic::{Check, Diagnostic, Diagnostics, SourceId, Span};
use crate::name::TypeName;
use crate::text::did_you_mean;
use crate::value::{Fold, FoldMap, FoldSet};
use crate::yaml::Node;

use super::built_in_types::{built_in_types, parse_built_in};
use super::definition::{TypeKey, simple_kind};
use super::entity_types::{
    CapabilityType, DataType, GroupType, InterfaceType, NodeType, PolicyType, RelationshipType,
};
use super::import_graph::ImportGraph;
use super::operation::ArtifactType;
use super::problems::Problems;
use super::section::TypeSection;

/// The namespace of the built-in types.
pub(super) const BUILT_IN: u32 = 0;

/// The namespace of the service template's own file.
pub(super) const ROOT: u32 = 1;

/// The maximum number of unknown names to search similar names for, because the search is slow.
const MAX_HINTS: usize = 100;
/// The maximum number of types that a type derives from, directly or not. Each type inherits from all of them.
const MAX_ANCESTORS: usize = 250;

/// A cache of lookups: the type that a name stands for in a namespace, or `None`.
type Lookups = FoldMap<(u32, Arc<str>, Option<TypeSection>), Option<TypeKey>>;

/// The declared, imported and built-in types of a service template.
#[derive(Debug)]
pub struct Types {
    pub(super) decls: Vec<TypeDecl>,
    pub(super) namespaces: Vec<Namespace>,
    /// The directories of texts that merge directives included.
    pub(super) directories: std::collections::HashMap<SourceId, Arc<PathBuf>>,
    /// The imports of all files. Made at the first use, when all files are loaded.
    pub(super) import_graph: OnceLock<Arc<ImportGraph>>,
    pub(super) lookups: Mutex<Lookups>,
    /// A cache of hints for unknown names.
    hints: Mutex<FoldMap<Arc<str>, Option<String>>>,
    /// The names of all types in files, with the number of declarations of each.
    pub(super) declared: FoldMap<Arc<str>, u32>,
    pub(super) problems: Problems,
    /// Whether to enforce rules of TOSCA that Unfurl does not enforce.
    pub(super) strict: bool,
}

/// A declared type, with caches for its ancestors and its resolved form.
#[derive(Debug)]
pub(super) struct TypeDecl {
    pub(super) name: Arc<str>,
    pub(super) section: TypeSection,
    pub(super) span: Span,
    pub(super) namespace: u32,
    pub(super) body: TypeBody,
    /// `None` for a type with too many ancestors.
    lineage: OnceLock<Option<Arc<[TypeKey]>>>,
    pub(super) resolved: OnceLock<ResolvedType>,
}

#[derive(Debug)]
pub(super) enum TypeBody {
    Node(Node),
    BuiltIn(&'static str, OnceLock<Node>),
}

/// A resolved type of any kind.
#[derive(Debug, Clone)]
pub(super) enum ResolvedType {
    Node(Arc<NodeType>),
    Relationship(Arc<RelationshipType>),
    Capability(Arc<CapabilityType>),
    Interface(Arc<InterfaceType>),
    Artifact(Arc<ArtifactType>),
    Data(Arc<DataType>),
    Group(Arc<GroupType>),
    Policy(Arc<PolicyType>),
}

/// The types that one file declares, and the files that it imports.
#[derive(Debug, Default)]
pub(super) struct Namespace {
    /// The types in the order of the file, so that hints and lookups are the same in each run.
    pub(super) names: IndexMap<Arc<str>, TypeKey, Fold>,
    /// Types with the same name as a later type of another section of the file.
    pub(super) shadowed: FoldMap<(TypeSection, Arc<str>), TypeKey>,
    pub(super) imports: Vec<(u32, Option<Arc<str>>)>,
    pub(super) base_dir: Arc<PathBuf>,
}

impl TypeDecl {
    pub(super) fn node(&self) -> &Node {
        match &self.body {
            TypeBody::Node(node) => node,
            TypeBody::BuiltIn(text, parsed) => parsed.get_or_init(|| parse_built_in(text)),
        }
    }
}

impl Types {
    /// Creates a store with the built-in types only.
    pub(super) fn built_in(base_dir: Arc<PathBuf>) -> Self {
        let mut types = Self {
            decls: Vec::with_capacity(built_in_types().len() + 16),
            namespaces: vec![Namespace::default(), Namespace::default()],
            directories: std::collections::HashMap::new(),
            import_graph: OnceLock::new(),
            lookups: Mutex::default(),
            hints: Mutex::default(),
            declared: FoldMap::default(),
            problems: Problems::default(),
            strict: false,
        };
        types.namespaces[ROOT as usize].base_dir = base_dir;
        for found in built_in_types() {
            let body = TypeBody::BuiltIn(found.body, OnceLock::new());
            types.declare(BUILT_IN, found.section, found.name.into(), Span::NONE, body);
        }
        types
    }

    /// Adds a type to a namespace. The new type shadows an existing one of the same name.
    pub(super) fn declare(
        &mut self,
        namespace: u32,
        section: TypeSection,
        name: Arc<str>,
        span: Span,
        body: TypeBody,
    ) {
        let key = TypeKey(u32::try_from(self.decls.len()).unwrap_or(u32::MAX));
        if namespace != BUILT_IN {
            *self.declared.entry(Arc::clone(&name)).or_default() += 1;
        }
        let here = &mut self.namespaces[namespace as usize];
        if let Some(before) = here.names.insert(Arc::clone(&name), key) {
            let section = self.decls[before.0 as usize].section;
            here.shadowed.insert((section, Arc::clone(&name)), before);
        }
        self.decls.push(TypeDecl {
            name,
            section,
            span,
            namespace,
            body,
            lineage: OnceLock::new(),
            resolved: OnceLock::new(),
        });
    }

    pub(super) fn decl(&self, key: TypeKey) -> &TypeDecl {
        &self.decls[key.0 as usize]
    }

    pub(super) fn base_dir(&self, namespace: u32) -> &Arc<PathBuf> {
        &self.namespaces[namespace as usize].base_dir
    }

    /// Returns the directory of the text at a location: of the included text, or of the file.
    pub(super) fn base_dir_at(&self, span: Span, namespace: u32) -> &Arc<PathBuf> {
        let included = self.directories.get(&span.source);
        included.unwrap_or_else(|| self.base_dir(namespace))
    }

    /// Returns a type and its ancestors: the type itself, then each parent followed by its own ancestors. A type
    /// with more than [`MAX_ANCESTORS`] counts as one without ancestors.
    pub(super) fn lineage(&self, key: TypeKey) -> Arc<[TypeKey]> {
        let lineage = self.full_lineage(key);
        lineage.map_or_else(|| Arc::new([key]), Arc::clone)
    }

    /// Returns the same; `None` for a type with too many ancestors.
    fn full_lineage(&self, key: TypeKey) -> Option<&Arc<[TypeKey]>> {
        let compute = || {
            let mut seen = FoldSet::default();
            let mut order = Vec::new();
            let mut stack = vec![key];
            while let Some(next) = stack.pop() {
                let known = self.decl(next).lineage.get();
                if order.len() > MAX_ANCESTORS || known.is_some_and(Option::is_none) {
                    return None;
                }
                if seen.insert(next) {
                    order.push(next);
                    stack.extend(self.parents(next).into_iter().rev());
                }
            }
            Some(order.into())
        };
        self.decl(key).lineage.get_or_init(compute).as_ref()
    }

    /// Returns the types that a type derives from directly. Unknown parents are left out.
    pub(super) fn parents(&self, key: TypeKey) -> Vec<TypeKey> {
        let decl = self.decl(key);
        let names = parent_names(decl.node());
        if names.is_empty() {
            let root = decl.section.root().filter(|root| **root != *decl.name);
            let builtin = &self.namespaces[BUILT_IN as usize].names;
            return root
                .and_then(|root| builtin.get(root).copied())
                .into_iter()
                .collect();
        }
        let found = names
            .iter()
            .filter_map(|(name, _)| self.find_parent(decl, name).filter(|parent| *parent != key));
        found.collect()
    }

    fn find_parent(&self, decl: &TypeDecl, name: &str) -> Option<TypeKey> {
        // A file may refine a built-in type under the same name.
        if *name == *decl.name {
            return self.namespaces[BUILT_IN as usize].names.get(name).copied();
        }
        self.find(decl.namespace, name, decl.section)
    }

    /// Returns the kind of a type. An entry of the section `types` has the kind of its ancestors.
    pub(super) fn section(&self, key: TypeKey) -> TypeSection {
        let sections = self.lineage(key);
        sections
            .iter()
            .map(|ancestor| self.decl(*ancestor).section)
            .find(|section| *section != TypeSection::Any)
            .unwrap_or(TypeSection::Node)
    }

    /// Returns the name of a type in its own file, or its prefixed name in the service template's file.
    pub(super) fn name(&self, key: TypeKey) -> TypeName {
        let decl = self.decl(key);
        if decl.namespace != BUILT_IN
            && !self.is_known_to_root(key)
            && let Some(prefix) = self.import_graph().shortest_prefix(decl.namespace)
        {
            return TypeName::new(format!("{prefix}{}", decl.name));
        }
        TypeName::new(Arc::clone(&decl.name))
    }

    /// Returns the names that messages and groups have for a type: its name, its local name and its aliases.
    pub(super) fn all_names(&self, key: TypeKey) -> Vec<TypeName> {
        let decl = self.decl(key);
        let mut names = vec![self.name(key)];
        let local = TypeName::new(Arc::clone(&decl.name));
        for name in std::iter::once(local).chain(self.aliases(key)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Reports types that derive from unknown types, from themselves or from too many types.
    pub(super) fn check_ancestry(&self) {
        let own: Vec<TypeKey> = (0..self.decls.len())
            .filter_map(|index| u32::try_from(index).ok().map(TypeKey))
            .filter(|key| self.decl(*key).namespace != BUILT_IN)
            .collect();
        for key in &own {
            let decl = self.decl(*key);
            for (name, span) in parent_names(decl.node()) {
                if decl.section == TypeSection::Data && simple_kind(&name).is_some() {
                    continue;
                }
                match self.find_parent(decl, &name) {
                    None if *name == *decl.name => self.problems.error(
                        Check::TypeCycle,
                        format!("type `{name}` derives from itself"),
                        span,
                    ),
                    None => self.report_unknown(decl.namespace, &name, decl.section, span),
                    Some(_) => {}
                }
            }
        }
        let deep = own.iter().find(|key| self.full_lineage(**key).is_none());
        if let Some(deep) = deep {
            let decl = self.decl(*deep);
            let message = format!(
                "type `{}` derives from more than {MAX_ANCESTORS} types",
                decl.name
            );
            self.problems.error(Check::InvalidType, message, decl.span);
        }
        if let Some(cycle) = find_cycle(own, |key| self.parents(key)) {
            let names: Vec<_> = cycle
                .0
                .iter()
                .map(|key| format!("`{}`", self.decl(*key).name))
                .collect();
            let span = cycle
                .0
                .first()
                .map_or(Span::NONE, |key| self.decl(*key).span);
            let message = format!("types derive from each other: {}", names.join(" → "));
            self.problems.report(
                Diagnostic::error(message)
                    .check(Check::TypeCycle)
                    .label(span, "")
                    .help("remove one `derived_from` from the cycle"),
            );
        }
    }

    /// Reports that there is no type with the name.
    pub(super) fn report_unknown(
        &self,
        namespace: u32,
        name: &str,
        section: TypeSection,
        span: Span,
    ) {
        let problem = self.unknown(namespace, name, section, span);
        self.problems.report(problem);
    }

    /// Returns the error for a name that no type has, with a hint.
    pub(super) fn unknown(
        &self,
        namespace: u32,
        name: &str,
        section: TypeSection,
        span: Span,
    ) -> Diagnostic {
        let noun = section.noun();
        let mut diagnostic = Diagnostic::error(format!("there is no {noun} `{name}`"))
            .check(Check::UnknownType)
            .label(span, "");
        let hint = self.similar_type(namespace, name);
        let otherwise = || format!("declare it under `{}` or import it", section.key());
        diagnostic.help = Some(hint.unwrap_or_else(otherwise));
        diagnostic
    }

    /// Returns a hint with a similar name. Each name is searched once, and only the first [`MAX_HINTS`] names
    /// are.
    fn similar_type(&self, namespace: u32, name: &str) -> Option<String> {
        let mut hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hint) = hints.get(name) {
            return hint.clone();
        }
        if hints.len() >= MAX_HINTS {
            return None;
        }
        let own = self.namespaces[namespace as usize].names.keys();
        let all = self.namespaces.iter().flat_map(|other| other.names.keys());
        let candidates = own.chain(all).map(|name| &**name);
        let hint = did_you_mean(name, candidates);
        hints.insert(name.into(), hint.clone());
        hint
    }

    /// Removes and returns the problems found since the last call.
    ///
    /// Types are resolved and checked on first use, so new problems can appear after [`super::read`].
    pub fn take_problems(&self) -> Diagnostics {
        self.problems.take()
    }

    /// Whether a type is, or derives from, another. Both are named as in the service template's file.
    pub fn is_derived_from(&self, name: &str, ancestor: &str) -> bool {
        let Some(key) = self.find(ROOT, name, TypeSection::Node) else {
            return false;
        };
        let section = self.section(key);
        self.find(ROOT, ancestor, section)
            .is_some_and(|target| self.lineage(key).contains(&target))
    }
}

/// Returns the names under `derived_from`, with their locations.
pub(super) fn parent_names(node: &Node) -> Vec<(Arc<str>, Span)> {
    strings(node.get("derived_from"))
}

/// Returns the strings of a list, or a single string as a list, with their locations.
pub(super) fn strings(node: Option<&Node>) -> Vec<(Arc<str>, Span)> {
    let Some(node) = node else {
        return Vec::new();
    };
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
    items
        .iter()
        .filter_map(|item| item.as_str().map(|text| (Arc::from(text), item.span())))
        .collect()
}
