//! Loads the types of a service template and of all files it imports.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keys::{IMPORT, SERVICE_TEMPLATE, VERSIONS};
use super::scope::Scope;
use super::section::Section;
use super::types::{BUILT_IN, Body, Namespace, ROOT, Types};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity, SourceId, Span};
use crate::value::Value;
use crate::yaml::{Entry, Kind, Mapping, Node};

/// How many files may be imported, directly or not.
const MOST_FILES: usize = 10_000;

/// A file that was loaded.
#[derive(Debug, Clone)]
pub(super) struct LoadedFile {
    pub(super) root: Node,
    pub(super) namespace: u32,
}

/// Everything that was loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The types of all files.
    pub(super) types: Types,
    /// The files, the service template first.
    pub(super) files: Vec<LoadedFile>,
    /// The conditions of imports, by the places where they are stated.
    pub(super) conditions: Vec<(Span, Value)>,
}

/// Loads all files but those of `skipped` imports.
pub(super) fn load(
    root: &Node,
    base_dir: &Path,
    importer: &mut dyn Importer,
    skipped: &HashSet<Span>,
) -> Loaded {
    let mut loader = Loader {
        types: Types::built_in(Arc::new(base_dir.to_owned())),
        importer,
        seen: HashMap::new(),
        files: Vec::new(),
        skipped,
        conditions: Vec::new(),
    };
    loader.seen.insert(identity(root), ROOT);
    loader.files.push(LoadedFile {
        root: root.clone(),
        namespace: ROOT,
    });
    let mut next = 0;
    while let Some(file) = loader.files.get(next).cloned() {
        loader.file(&file);
        next += 1;
    }
    Loaded {
        types: loader.types,
        files: loader.files,
        conditions: loader.conditions,
    }
}

/// What tells one part of one text from another.
fn identity(root: &Node) -> (SourceId, u32, u32) {
    let span = root.span();
    (span.source, span.start, span.end)
}

struct Loader<'a> {
    types: Types,
    importer: &'a mut dyn Importer,
    seen: HashMap<(SourceId, u32, u32), u32>,
    files: Vec<LoadedFile>,
    skipped: &'a HashSet<Span>,
    conditions: Vec<(Span, Value)>,
}

/// What an item of `imports` asks for.
struct Wanted {
    file: Arc<str>,
    repository: Option<Arc<str>>,
    prefix: Option<Arc<str>>,
    condition: Option<Value>,
    span: Span,
}

impl Loader<'_> {
    fn file(&mut self, file: &LoadedFile) {
        let Some(map) = file.root.as_map() else {
            return;
        };
        let mut wanted = Vec::new();
        {
            let scope = Scope::of(&self.types, file.namespace);
            check_header(scope, map);
            if let Some(node) = map.get("imports").filter(|node| !node.is_null()) {
                let what = || "the service template".to_owned();
                for item in scope.list_at(map, "imports", what) {
                    wanted.extend(wanted_file(scope, item));
                }
                if node.as_seq().is_some_and(<[Node]>::is_empty) {
                    scope.problems().warning("`imports` is empty", node.span());
                }
            }
        }
        self.declare(map, file.namespace);
        for mut wanted in wanted {
            if let Some(condition) = wanted.condition.take() {
                self.conditions.push((wanted.span, condition));
            }
            if !self.skipped.contains(&wanted.span) {
                self.import(&wanted, file);
            }
        }
    }

    /// Declares the types of a file. What has the same name in two sections is the one of the
    /// later section.
    fn declare(&mut self, map: &Mapping, namespace: u32) {
        for section in Section::ALL {
            let Some(node) = map.get(section.key()) else {
                continue;
            };
            let Some(types) = node.as_map() else {
                if !node.is_null() {
                    self.types
                        .problems
                        .report(node.must_be(format_args!("`{}`", section.key()), "a map"));
                }
                continue;
            };
            for (name, entry) in types {
                let body = Body::Node(entry.value.clone());
                let section = self.meant(*section, name, entry);
                self.types
                    .declare(namespace, section, Arc::clone(name), entry.key_span, body);
            }
        }
    }

    /// The section that a type belongs to: the one of the normative type that it derives from,
    /// even if it stands in another.
    fn meant(&self, section: Section, name: &str, entry: &Entry) -> Section {
        let parent = entry.value.get("derived_from").and_then(Node::as_str);
        let Some(meant) = parent.and_then(Section::of_normative) else {
            return section;
        };
        if meant != section && section != Section::Any {
            let message = format!(
                "`{name}` is {}, but stands among {}s",
                meant.one(),
                section.noun()
            );
            let problem = Diagnostic::warning(message).label(entry.key_span, "");
            let help = format!("move it to `{}`", meant.key());
            self.types.problems.report(problem.help(help));
        }
        meant
    }

    fn import(&mut self, wanted: &Wanted, from: &LoadedFile) {
        if self.files.len() >= MOST_FILES {
            let message = format!("more than {MOST_FILES} files are imported");
            self.types.problems.error(message, wanted.span);
            return;
        }
        let request = ImportRequest {
            file: Arc::clone(&wanted.file),
            repository: wanted.repository.clone(),
            span: wanted.span,
            from: from.root.span().source,
            base_dir: Arc::clone(self.types.base_dir(from.namespace)),
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
        let edge = (namespace, wanted.prefix.clone());
        self.types.namespaces[from.namespace as usize]
            .imports
            .push(edge);
    }
}

/// Checks the keys of a file and the version of its language.
fn check_header(scope: Scope<'_>, map: &Mapping) {
    scope
        .problems()
        .unknown_keys(&SERVICE_TEMPLATE, "a service template", map);
    let Some(node) = map.get("tosca_definitions_version") else {
        return;
    };
    let version = node.as_str().unwrap_or_default();
    if VERSIONS.contains(&version) {
        return;
    }
    let message = match version {
        "tosca_2_0" => "TOSCA 2.0 cannot be read yet".to_owned(),
        _ => format!(
            "`{}` is not a version of TOSCA that can be read",
            node.to_value()
        ),
    };
    scope.report(
        Diagnostic::error(message)
            .label(node.span(), "")
            .help(format!("use one of {}", VERSIONS.join(", "))),
    );
}

/// Reads an item of `imports`: a file name, a map with `file`, or a name with either.
fn wanted_file(scope: Scope<'_>, item: &Node) -> Option<Wanted> {
    if let Some(file) = item.as_str() {
        return Some(Wanted {
            file: file.into(),
            repository: None,
            prefix: None,
            condition: None,
            span: item.span(),
        });
    }
    let what = || "an import".to_owned();
    let map = scope.map(item, what)?;
    if map.len() == 1 && map.get("file").is_none() {
        // In TOSCA 1.0 an import may have a name.
        let named = map.iter().next().map(|(_, entry)| &entry.value);
        let is_name = map.iter().all(|(key, _)| !IMPORT.knows(key));
        let is_import = |node: &&Node| node.as_str().is_some() || node.get("file").is_some();
        if let Some(node) = named.filter(|node| is_name && is_import(node)) {
            return wanted_file(scope, node);
        }
    }
    scope.problems().unknown_keys(&IMPORT, "an import", map);
    if map.get("when").is_some_and(is_off) {
        return None;
    }
    let Some(file) = scope.text_at(map, "file", what) else {
        let problem = Diagnostic::error("an import has no `file`").label(item.span(), "");
        scope.report(problem.help("say which file to import"));
        return None;
    };
    Some(Wanted {
        file,
        repository: scope.text_at(map, "repository", what),
        prefix: scope.text_at(map, "namespace_prefix", what),
        condition: map
            .get("when")
            .filter(|node| !matches!(node.kind(), Kind::Bool(_)))
            .map(Node::to_value),
        span: map.get("file").map_or(item.span(), Node::span),
    })
}

/// Whether a condition plainly does not hold.
fn is_off(node: &Node) -> bool {
    matches!(node.kind(), Kind::Bool(false) | Kind::Null)
}

/// Where the types stand that nothing has asked for, sorted.
#[derive(Debug)]
pub(super) struct Unused(Vec<Span>);

impl Types {
    /// The types that nothing has asked for so far.
    pub(super) fn unused(&self) -> Unused {
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
        Unused(spans)
    }
}

impl Unused {
    /// Makes warnings of errors that are about unused types of other files than `own`.
    pub(super) fn ease(&self, problems: Diagnostics, own: SourceId) -> Diagnostics {
        let problems = problems.into_iter();
        problems.map(|problem| self.eased(problem, own)).collect()
    }

    fn eased(&self, mut problem: Diagnostic, own: SourceId) -> Diagnostic {
        let place = problem.span().filter(|span| span.source != own);
        if place.is_some_and(|span| self.holds(span)) && problem.severity == Severity::Error {
            problem.severity = Severity::Warning;
        }
        problem
    }

    fn holds(&self, place: Span) -> bool {
        let key = (place.source, place.start);
        let next = self
            .0
            .partition_point(|span| (span.source, span.start) <= key);
        let before = next.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|span| span.source == place.source && place.start < span.end)
    }
}

/// Fetches imported files. A file asked for twice must answer with the same source, so that files
/// that import each other end.
pub trait Importer {
    /// Fetches one file, expanded, with its fragment applied.
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic>;
}

/// A file that a service template asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// The file, relative to the one that asks or to the repository; it may end in `#/pointer`.
    pub file: Arc<str>,
    /// The repository it is in.
    pub repository: Option<Arc<str>>,
    /// Where it is asked for.
    pub span: Span,
    /// The text that asks for it.
    pub from: SourceId,
    /// The directory of the file that asks for it.
    pub base_dir: Arc<PathBuf>,
}

/// A file that was fetched.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Its text.
    pub source: SourceId,
    /// Its content, expanded, with the fragment applied.
    pub root: Node,
    /// The directory that its own names are relative to.
    pub base_dir: PathBuf,
}

/// Imports nothing: every import is a problem.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoImports;

impl Importer for NoImports {
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic> {
        let message = format!("`{}` cannot be imported here", request.file);
        Err(Diagnostic::error(message).label(request.span, ""))
    }
}
