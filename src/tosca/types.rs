//! The types of a service template: declaration, name lookup and ancestry.
//!
//! [`Types`] stores the declarations of all files. Each file has a namespace, and imports connect namespaces,
//! possibly with a prefix. A type is resolved and checked on first use (see `resolve.rs`), so that the large
//! built-in profiles cost nothing.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use indexmap::IndexMap;

use crate::dag::find_cycle;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::name::TypeName;
use crate::text::did_you_mean;
use crate::value::{Fold, FoldMap, FoldSet};
use crate::yaml::Node;

use super::built_in_types::{built_in_types, parse_built_in};
use super::definition::{TypeKey, simple_kind};
use super::entity_types::{
    CapabilityType, DataType, GroupType, InterfaceType, NodeType, PolicyType, RelationshipType,
};
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
type Lookups = FoldMap<(u32, Arc<str>), Option<TypeKey>>;

/// The declared, imported and built-in types of a service template.
#[derive(Debug)]
pub struct Types {
    pub(super) decls: Vec<TypeDecl>,
    pub(super) namespaces: Vec<Namespace>,
    /// The directories of texts that merge directives included.
    pub(super) directories: std::collections::HashMap<SourceId, Arc<PathBuf>>,
    /// The prefixed names that the service template's file has for imported types.
    prefixed: OnceLock<FoldMap<TypeKey, Vec<TypeName>>>,
    lookups: Mutex<Lookups>,
    /// A cache of hints for unknown names.
    hints: Mutex<FoldMap<Arc<str>, Option<String>>>,
    /// The names of all types in files, with the number of files that declare each.
    declared: FoldMap<Arc<str>, u32>,
    /// The namespaces that the service template's file imports without a prefix, directly or not.
    unprefixed_imports: OnceLock<FoldSet<u32>>,
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
    /// Types with the same name as a later type of another section.
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
            prefixed: OnceLock::new(),
            lookups: Mutex::default(),
            hints: Mutex::default(),
            declared: FoldMap::default(),
            unprefixed_imports: OnceLock::new(),
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

    /// Returns the type that a name stands for in a namespace.
    ///
    /// `section` selects the prefix for short names of normative types, such as `Compute`.
    pub(super) fn find(&self, namespace: u32, name: &str, section: TypeSection) -> Option<TypeKey> {
        if let Some(key) = self.find_declared(namespace, name) {
            return Some(self.namesake_in_section(key, section));
        }
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

    /// Returns the type itself, or the type of the same name and file that belongs to the section.
    fn namesake_in_section(&self, key: TypeKey, section: TypeSection) -> TypeKey {
        let decl = self.decl(key);
        let shadowed = &self.namespaces[decl.namespace as usize].shadowed;
        if decl.section == section || shadowed.is_empty() {
            return key;
        }
        let other = shadowed.get(&(section, Arc::clone(&decl.name)));
        other.copied().unwrap_or(key)
    }

    /// Returns the type with the name that the file or one of its imports declares.
    fn find_declared(&self, namespace: u32, name: &str) -> Option<TypeKey> {
        let start = &self.namespaces[namespace as usize];
        if let Some(key) = start.names.get(name) {
            return Some(*key);
        }
        if start.imports.is_empty() || !self.may_be_declared(name) {
            return None;
        }
        let memo = (namespace, Arc::from(name));
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lookups.get(&memo) {
            return *found;
        }
        let found = self.search_imports(namespace, name);
        lookups.insert(memo, found);
        found
    }

    /// Whether any file declares a type of the name, or of the part of it after a prefix.
    fn may_be_declared(&self, name: &str) -> bool {
        let mut ends = name.match_indices(['.', ':']);
        self.declared.contains_key(name)
            || ends.any(|(place, _)| self.declared.contains_key(&name[place + 1..]))
    }

    /// Searches the imports of a file for a name, depth first, the last import first.
    fn search_imports(&self, namespace: u32, name: &str) -> Option<TypeKey> {
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
            if !seen.insert((namespace, name)) {
                continue;
            }
            let here = &self.namespaces[namespace as usize];
            if let Some(key) = here.names.get(name) {
                return Some(*key);
            }
            // The entry that is pushed last is popped first, so the last import has priority.
            for (imported, prefix) in &here.imports {
                let local = match prefix {
                    None => Some(name),
                    Some(prefix) => name
                        .strip_prefix(&**prefix)
                        .and_then(|rest| rest.strip_prefix(['.', ':'])),
                };
                if let Some(local) = local {
                    stack.push_back((*imported, local));
                }
            }
        }
        None
    }

    /// Whether exactly one file declares the name, and no part of the name is a prefix of another type.
    fn is_declared_once(&self, name: &str) -> bool {
        let mut ends = name.match_indices(['.', ':']);
        self.declared.get(name) == Some(&1)
            && !ends.any(|(place, _)| self.declared.contains_key(&name[place + 1..]))
    }

    /// Whether the service template's file can refer to the type by its unprefixed name.
    fn is_known_to_root(&self, key: TypeKey) -> bool {
        let decl = self.decl(key);
        if !self.is_declared_once(&decl.name) {
            return self.find_declared(ROOT, &decl.name) == Some(key);
        }
        let reached = self.unprefixed_imports.get_or_init(|| {
            let mut reached = FoldSet::default();
            let mut stack = vec![ROOT];
            while let Some(namespace) = stack.pop() {
                if reached.insert(namespace) {
                    let imports = self.namespaces[namespace as usize].imports.iter();
                    let plain = imports.filter(|(_, prefix)| prefix.is_none());
                    stack.extend(plain.map(|(imported, _)| *imported));
                }
            }
            reached
        });
        reached.contains(&decl.namespace)
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
        let local = TypeName::new(Arc::clone(&decl.name));
        if decl.namespace != BUILT_IN && !self.is_known_to_root(key) {
            let names = self.prefixed().get(&key);
            return names
                .and_then(|names| names.first().cloned())
                .unwrap_or(local);
        }
        local
    }

    /// Returns every name that can refer to a type: local, prefixed and alternative names.
    pub(super) fn all_names(&self, key: TypeKey) -> Vec<TypeName> {
        let decl = self.decl(key);
        let mut names = vec![self.name(key)];
        let local = TypeName::new(Arc::clone(&decl.name));
        let prefixed = self.prefixed().get(&key).into_iter().flatten().cloned();
        let aliases = self.aliases(key);
        for name in std::iter::once(local).chain(prefixed).chain(aliases) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn prefixed(&self) -> &FoldMap<TypeKey, Vec<TypeName>> {
        self.prefixed.get_or_init(|| {
            let mut names: FoldMap<TypeKey, Vec<TypeName>> = FoldMap::default();
            let mut seen = FoldSet::default();
            let mut stack = vec![(ROOT, String::new(), 0)];
            while let Some((namespace, prefix, depth)) = stack.pop() {
                if depth > 8 || !seen.insert((namespace, prefix.clone())) {
                    continue;
                }
                let here = &self.namespaces[namespace as usize];
                if !prefix.is_empty() {
                    for (name, key) in &here.names {
                        let known = names.entry(*key).or_default();
                        known.push(TypeName::new(format!("{prefix}{name}")));
                    }
                }
                for (imported, own) in &here.imports {
                    let own = own
                        .as_ref()
                        .map(|own| format!("{own}."))
                        .unwrap_or_default();
                    stack.push((*imported, format!("{prefix}{own}"), depth + 1));
                }
            }
            names
        })
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
                    None if *name == *decl.name => self
                        .problems
                        .error(format!("type `{name}` derives from itself"), span),
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
            self.problems.error(message, decl.span);
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
        let mut diagnostic =
            Diagnostic::error(format!("there is no {noun} `{name}`")).label(span, "");
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
