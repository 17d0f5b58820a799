//! Loads the types of a service template and of all files that it imports, directly or not.
//!
//! [`load`] declares the types in namespaces, one per file, without resolving them. The files come from an
//! [`Importer`], which the session implements.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keys::{IMPORT, SERVICE_TEMPLATE, VERSIONS, VERSIONS_1_0};
use super::options::{ExtraImport, ReadOptions};
use super::scope::TypeScope;
use super::section::TypeSection;
use super::types::{BUILT_IN, Namespace, ROOT, TypeBody, Types};
use crate::diagnostic::{Check, Diagnostic, Diagnostics, Severity, SourceId, Span};
use crate::value::Value;
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The maximum number of files that a service template imports, directly or not.
const MAX_FILES: usize = 10_000;

/// A loaded file, with the namespace of its types.
#[derive(Debug, Clone)]
pub(super) struct LoadedFile {
    pub(super) root: Node,
    pub(super) namespace: u32,
}

/// The result of loading: types, files and conditions of imports.
#[derive(Debug)]
pub(super) struct LoadedTypes {
    pub(super) types: Types,
    /// The loaded files. The service template comes first.
    pub(super) files: Vec<LoadedFile>,
    /// The conditions of imports, with their locations.
    pub(super) conditions: Vec<(Span, Value)>,
}

/// Loads the service template and its imports, with those that the options add or leave out.
pub(super) fn load(
    root: &Node,
    base_dir: &Path,
    importer: &mut dyn Importer,
    options: &ReadOptions,
) -> LoadedTypes {
    let mut loader = TypeLoader {
        types: Types::built_in(Arc::new(base_dir.to_owned())),
        importer,
        seen: HashMap::new(),
        files: Vec::new(),
        skipped: &options.skipped_imports,
        extra: &options.extra_imports,
        conditions: Vec::new(),
    };
    loader.seen.insert(identity(root), ROOT);
    loader.files.push(LoadedFile {
        root: root.clone(),
        namespace: ROOT,
    });
    let mut next = 0;
    while let Some(file) = loader.files.get(next).cloned() {
        loader.load_file(&file);
        next += 1;
    }
    LoadedTypes {
        types: loader.types,
        files: loader.files,
        conditions: loader.conditions,
    }
}

/// Returns a key that identifies a part of a file, to import it only once.
fn identity(root: &Node) -> (SourceId, u32, u32) {
    let span = root.span();
    (span.source, span.start, span.end)
}

struct TypeLoader<'a> {
    types: Types,
    importer: &'a mut dyn Importer,
    seen: HashMap<(SourceId, u32, u32), u32>,
    files: Vec<LoadedFile>,
    skipped: &'a HashSet<Span>,
    extra: &'a [ExtraImport],
    conditions: Vec<(Span, Value)>,
}

/// A parsed item of `imports`, not loaded yet.
struct ImportItem {
    file: Arc<str>,
    repository: Option<Arc<str>>,
    prefix: Option<Arc<str>>,
    condition: Option<Value>,
    /// The folder of relative paths, if it is not that of the importing file.
    base_dir: Option<Arc<PathBuf>>,
    span: Span,
}

impl TypeLoader<'_> {
    fn load_file(&mut self, file: &LoadedFile) {
        let Some(map) = file.root.as_map() else {
            return;
        };
        let mut requested = Vec::new();
        {
            let scope = TypeScope::of(&self.types, file.namespace);
            check_header(scope, map);
            if let Some(node) = map.get("imports").filter(|node| !node.is_null()) {
                let subject = || "the service template".to_owned();
                for item in scope.list_at(map, "imports", subject) {
                    requested.extend(parse_import(scope, item));
                }
                if node.as_seq().is_some_and(<[Node]>::is_empty) {
                    scope
                        .problems()
                        .warning(Check::UnusedKey, "`imports` is empty", node.span());
                }
            }
            let extra = self.extra.iter().filter(|_| file.namespace == ROOT);
            for ExtraImport { item, base_dir } in extra {
                let import = parse_import(scope, item);
                requested.extend(import.map(|import| ImportItem {
                    base_dir: Some(Arc::clone(base_dir)),
                    ..import
                }));
            }
        }
        self.declare(map, file.namespace);
        for mut requested in requested {
            if let Some(condition) = requested.condition.take() {
                self.conditions.push((requested.span, condition));
            }
            if !self.skipped.contains(&requested.span) {
                self.import(&requested, file);
            }
        }
    }

    /// Declares the types of a file. If two sections declare the same name, the later section wins.
    fn declare(&mut self, map: &Mapping, namespace: u32) {
        for section in TypeSection::ALL {
            let Some(node) = map.get(section.key()) else {
                continue;
            };
            let Some(types) = node.as_map() else {
                if !node.is_null() {
                    self.types
                        .problems
                        .report(node.type_mismatch(format_args!("`{}`", section.key()), "a map"));
                }
                continue;
            };
            for (name, entry) in types {
                let body = TypeBody::Node(entry.value.clone());
                let section = self.effective_section(*section, name, entry);
                self.types
                    .declare(namespace, section, Arc::clone(name), entry.key_span, body);
            }
        }
    }

    /// Returns the section that a type really belongs to.
    ///
    /// If the type derives from a normative type, this is the section of that type. Reports a mismatch.
    fn effective_section(&self, section: TypeSection, name: &str, entry: &MapEntry) -> TypeSection {
        let parent = entry.value.get("derived_from").and_then(Node::as_str);
        let Some(meant) = parent.and_then(TypeSection::from_normative_type) else {
            return section;
        };
        if meant != section && section != TypeSection::Any {
            let message = format!(
                "`{name}` is {}, but it is declared among the {}s",
                meant.noun_with_article(),
                section.noun()
            );
            let problem = Diagnostic::warning(message)
                .check(Check::InvalidType)
                .label(entry.key_span, "");
            let help = format!("move it to `{}`", meant.key());
            self.types.problems.report(problem.help(help));
        }
        meant
    }

    fn import(&mut self, requested: &ImportItem, from: &LoadedFile) {
        if self.files.len() >= MAX_FILES {
            let message = format!("more than {MAX_FILES} files are imported");
            self.types
                .problems
                .error(Check::Import, message, requested.span);
            return;
        }
        let own_folder = self.types.base_dir(from.namespace);
        let request = ImportRequest {
            file: Arc::clone(&requested.file),
            repository: requested.repository.clone(),
            span: requested.span,
            from: from.root.span().source,
            base_dir: Arc::clone(requested.base_dir.as_ref().unwrap_or(own_folder)),
        };
        let imported = match self.importer.import(&request) {
            Ok(imported) => imported,
            Err(diagnostic) => return self.types.problems.report(diagnostic),
        };
        let known = self.seen.get(&identity(&imported.root)).copied();
        let namespace = known.unwrap_or_else(|| {
            let namespace = u32::try_from(self.types.namespaces.len()).unwrap_or(u32::MAX);
            self.types.namespaces.push(Namespace {
                base_dir: Arc::new(imported.base_dir),
                ..Namespace::default()
            });
            self.seen.insert(identity(&imported.root), namespace);
            self.files.push(LoadedFile {
                root: imported.root,
                namespace,
            });
            namespace
        });
        let edge = (namespace, requested.prefix.clone());
        self.types.namespaces[from.namespace as usize]
            .imports
            .push(edge);
    }
}

/// Checks the keys of a file and its `tosca_definitions_version`.
fn check_header(scope: TypeScope<'_>, map: &Mapping) {
    scope
        .problems()
        .report_unknown_keys(&SERVICE_TEMPLATE, "a service template", map);
    check_repositories(scope, map);
    let Some(entry) = map.entry("tosca_definitions_version") else {
        return;
    };
    let node = &entry.value;
    let version = node.as_str().unwrap_or_default();
    let is_first = map
        .iter()
        .next()
        .is_some_and(|(key, _)| &**key == "tosca_definitions_version");
    if VERSIONS_1_0.contains(&version) && !is_first {
        let message =
            "`tosca_definitions_version` must be the first line of a template in TOSCA 1.0";
        let problem = Diagnostic::warning(message)
            .check(Check::InvalidType)
            .label(entry.key_span, "");
        scope.report(problem.help("move it to the top of the file"));
    }
    if VERSIONS.contains(&version) {
        return;
    }
    let message = match version {
        "tosca_2_0" => "TOSCA 2.0 is not supported yet".to_owned(),
        _ => format!("`{}` is not a supported version of TOSCA", node.to_value()),
    };
    scope.report(
        Diagnostic::error(message)
            .check(Check::Unsupported)
            .label(node.span(), "")
            .help(format!("use one of {}", VERSIONS.join(", "))),
    );
}

/// Checks that each repository has a `url`. A name with a dot is a rule for packages.
fn check_repositories(scope: TypeScope<'_>, map: &Mapping) {
    let section = map.get("repositories").and_then(Node::as_map);
    for (name, entry) in section.into_iter().flatten() {
        let url = entry.value.get("url").unwrap_or(&entry.value);
        let has_url = url.as_str().is_some_and(|url| !url.is_empty());
        if has_url || name.contains('.') {
            continue;
        }
        let message = format!("repository `{name}` has no `url`");
        let problem = Diagnostic::error(message)
            .check(Check::MissingProperty)
            .label(entry.key_span, "");
        scope.report(problem.help("add `url:` with its address or the path of a folder"));
    }
}

/// Reads an item of `imports`: a file name, a map with `file`, or a name with either of them.
fn parse_import(scope: TypeScope<'_>, item: &Node) -> Option<ImportItem> {
    if let Some(file) = item.as_str() {
        return Some(ImportItem {
            file: file.into(),
            repository: None,
            prefix: None,
            condition: None,
            base_dir: None,
            span: item.span(),
        });
    }
    let subject = || "an import".to_owned();
    let map = scope.map(item, subject)?;
    if map.len() == 1 && map.get("file").is_none() {
        // TOSCA 1.0 allows a name for an import.
        let named = map.iter().next().map(|(_, entry)| &entry.value);
        let is_name = map.iter().all(|(key, _)| !IMPORT.has_key(key));
        let is_import = |node: &&Node| node.as_str().is_some() || node.get("file").is_some();
        if let Some(node) = named.filter(|node| is_name && is_import(node)) {
            return parse_import(scope, node);
        }
    }
    scope
        .problems()
        .report_unknown_keys(&IMPORT, "an import", map);
    if map.get("when").is_some_and(is_disabled) {
        return None;
    }
    let Some(file) = scope.text_at(map, "file", subject) else {
        let problem = Diagnostic::error("an import has no `file`")
            .check(Check::Import)
            .label(item.span(), "");
        scope.report(problem.help("add `file:` with the path of the file to import"));
        return None;
    };
    Some(ImportItem {
        file,
        repository: scope.text_at(map, "repository", subject),
        prefix: scope.text_at(map, "namespace_prefix", subject),
        condition: map
            .get("when")
            .filter(|node| !matches!(node.kind(), NodeKind::Bool(_)))
            .map(Node::to_value),
        base_dir: None,
        span: map.get("file").map_or(item.span(), Node::span),
    })
}

/// Whether a `when` condition is literally false.
fn is_disabled(node: &Node) -> bool {
    matches!(node.kind(), NodeKind::Bool(false) | NodeKind::Null)
}

/// The sorted locations of types that have not been used.
#[derive(Debug)]
pub(super) struct UnusedTypes(Vec<Span>);

impl Types {
    /// Returns the types of files that have not been used so far.
    pub(super) fn unused(&self) -> UnusedTypes {
        let own = self.decls.iter().filter(|decl| {
            decl.namespace != BUILT_IN && decl.resolved.get().is_none() && decl.span.is_some()
        });
        let spans = own.map(|decl| {
            let body = decl.node().span();
            Span {
                end: body.end.max(decl.span.end),
                ..decl.span
            }
        });
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_by_key(|span| (span.source, span.start));
        UnusedTypes(spans)
    }
}

impl UnusedTypes {
    /// Turns errors about unused types into warnings, except in the file `own`.
    pub(super) fn downgrade_errors(&self, problems: Diagnostics, own: SourceId) -> Diagnostics {
        let problems = problems.into_iter();
        problems
            .map(|problem| self.downgrade_error(problem, own))
            .collect()
    }

    fn downgrade_error(&self, mut problem: Diagnostic, own: SourceId) -> Diagnostic {
        let place = problem.span().filter(|span| span.source != own);
        if place.is_some_and(|span| self.contains(span)) && problem.severity == Severity::Error {
            problem.severity = Severity::Warning;
        }
        problem
    }

    fn contains(&self, place: Span) -> bool {
        let key = (place.source, place.start);
        let next = self
            .0
            .partition_point(|span| (span.source, span.start) <= key);
        let before = next.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|span| span.source == place.source && place.start < span.end)
    }
}

/// Loads imported files.
///
/// An implementation must return the same source for the same file, so that circular imports terminate.
pub trait Importer {
    /// Loads a file, with merge directives and includes expanded, and selects the part that its fragment
    /// names.
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic>;
}

/// A request to load an imported file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// The path, relative to the importing file or to the repository. It may end in `#/pointer`.
    pub file: Arc<str>,
    /// The name of the repository that contains the file.
    pub repository: Option<Arc<str>>,
    pub span: Span,
    /// The source of the importing text.
    pub from: SourceId,
    /// The directory of the importing file.
    pub base_dir: Arc<PathBuf>,
}

/// A loaded file, as the importer returns it.
#[derive(Debug, Clone)]
pub struct Imported {
    pub source: SourceId,
    /// The expanded content, or the part of it that the fragment names.
    pub root: Node,
    /// The directory that relative paths in the file refer to.
    pub base_dir: PathBuf,
}

/// An importer that loads nothing: every import is an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoImports;

impl Importer for NoImports {
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic> {
        let message = format!("`{}` cannot be imported here", request.file);
        Err(Diagnostic::error(message)
            .check(Check::Import)
            .label(request.span, ""))
    }
}
