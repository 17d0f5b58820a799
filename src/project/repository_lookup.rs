//! Finds the folders of the repositories that files name. Clones nothing, and uses no network.
//!
//! A repository is a folder of this machine, a clone in the project that starts with a certain commit, or a package: a
//! clone in the project whose remote `origin` has the address of the package.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::embedded;
use super::local_clones;
use crate::diagnostic::{Check, Diagnostic, Span};
use crate::git::{Repository, find_repository_below};
use crate::package::{PackageRequest, PackageRule, apply_rules, comparable_address};
use crate::system::fs;
use crate::text::without_logins;
use crate::yaml::{IncludeRequest, Mapping, Node};

/// The maximum depth below a project at which clones are searched.
const MAX_DEPTH: usize = 2;
/// The name by which `--allow` permits to fetch repositories.
pub const NETWORK_PERMISSION: &str = "network";
/// The sections of a document that declare repositories; the first one that has a name counts.
const SECTIONS: [&[&str]; 4] = [
    &["environment", "repositories"],
    &["spec", "service_template", "repositories"],
    &["spec", "tosca", "repositories"],
    &["repositories"],
];

/// A use of a package by a file, with the clone that was found for it.
#[derive(Debug, Clone)]
pub struct PackageUse {
    /// The name of the repository, if it has one.
    pub name: Option<String>,
    /// The package, with the package rules applied.
    pub request: PackageRequest,
    /// The place of the declaration, or of the use if there is no declaration.
    pub span: Span,
    /// The root of the clone; `None` if there is none in the project.
    pub clone: Option<PathBuf>,
}

/// The declaration of a repository.
#[derive(Debug, Clone)]
struct Declaration {
    url: String,
    revision: Option<String>,
    span: Span,
    /// The folder to which a path is relative.
    base: Option<PathBuf>,
}

/// A repository that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundRepository {
    pub(super) folder: PathBuf,
    /// Whether it is a clone that was found by its commits or its origin.
    pub(super) is_clone: bool,
}

/// The declared repositories, and the clones in the project.
#[derive(Debug, Default)]
pub(super) struct RepositoryLookup {
    folders: HashMap<String, PathBuf>,
    predefined: HashMap<&'static str, PathBuf>,
    declared: HashMap<String, Declaration>,
    rules: Vec<PackageRule>,
    uses: Vec<PackageUse>,
    /// The folders of this machine that are used as repositories, with the places that name them.
    local_uses: Vec<(PathBuf, Span)>,
    /// The clones in the project by the comparable form of their origin.
    clones: OnceCell<HashMap<String, Vec<PathBuf>>>,
}

impl RepositoryLookup {
    pub(super) fn new() -> Self {
        Self {
            predefined: HashMap::from([("unfurl", embedded::root())]),
            ..Self::default()
        }
    }

    /// Sets the folder of a repository.
    pub(super) fn set_folder(&mut self, name: String, folder: PathBuf) {
        self.folders.insert(name, folder);
    }

    /// Sets the folder of a predefined repository, which a declaration may replace.
    pub(super) fn set_predefined(&mut self, name: &'static str, folder: &Path) {
        self.predefined.insert(name, folder.to_owned());
    }

    pub(super) fn add_rules(&mut self, rules: impl IntoIterator<Item = PackageRule>) {
        for rule in rules {
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
    }

    /// Adds declarations. A name that is declared already keeps its meaning; returns warnings about these.
    pub(super) fn declare(&mut self, section: &Mapping, base: Option<&Path>) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        for (name, entry) in section {
            // A key with a dot is a rule for packages.
            let Some(new) = declaration(&entry.value, base).filter(|_| !name.contains('.')) else {
                continue;
            };
            match self.declared.get(&**name) {
                Some(old)
                    if old.span != new.span
                        && (&old.url, &old.revision) != (&new.url, &new.revision) =>
                {
                    let message =
                        format!("another declaration of the repository `{name}` is ignored");
                    let warning = Diagnostic::warning(message).label(new.span, "ignored");
                    warnings.push(warning.label(old.span, "declared here first"));
                }
                Some(_) => {}
                None => drop(self.declared.insert(name.to_string(), new)),
            }
        }
        warnings
    }

    /// Adds the declarations of a document. Its paths are relative to the text that names the repository.
    pub(super) fn declare_all_of(&mut self, document: &Node) -> Vec<Diagnostic> {
        let sections = sections_of(document);
        sections
            .flat_map(|section| self.declare(section, None))
            .collect()
    }

    /// Returns the packages that files have used so far.
    pub(super) fn uses(&self) -> &[PackageUse] {
        &self.uses
    }

    /// Returns the folders of this machine that are used as repositories, with the places that name them.
    pub(super) fn local_uses(&self) -> &[(PathBuf, Span)] {
        &self.local_uses
    }

    /// Returns the rules for packages.
    pub(super) fn rules(&self) -> &[PackageRule] {
        &self.rules
    }

    /// Finds the repository that a request names; `None` if nothing has declared it.
    ///
    /// `here` is the folder of the text that names it.
    pub(super) fn find(
        &mut self,
        request: &IncludeRequest,
        here: &Path,
    ) -> Result<Option<FoundRepository>, Diagnostic> {
        let near = |folder| {
            Ok(Some(FoundRepository {
                folder,
                is_clone: false,
            }))
        };
        let name = request.repository.as_deref();
        if let Some(folder) = name.and_then(|name| self.folders.get(name)) {
            return near(folder.clone());
        }
        let Some(declared) = self.declaration_for(request) else {
            let Some(name) = name else { return Ok(None) };
            let is_place = ["self", "spec", "project"].contains(&name);
            let known = self.predefined.get(name).cloned();
            return match known.or_else(|| is_place.then(|| here.to_owned())) {
                Some(folder) => near(folder),
                None => Ok(None),
            };
        };
        if embedded::is_own_url(&declared.url) {
            return near(embedded::root());
        }
        let base = declared.base.as_deref().unwrap_or(here);
        if let Some(folder) = local_folder(&declared.url, base) {
            let used = (folder.clone(), declared.span);
            if !self.local_uses.contains(&used) {
                self.local_uses.push(used);
            }
            return near(folder);
        }
        let project = self.predefined.get("project").map(PathBuf::as_path);
        if let Some(folder) = local_clones::find_clone(&declared.url, here, project) {
            return Ok(Some(FoundRepository {
                folder,
                is_clone: true,
            }));
        }
        self.find_package(&declared, request)
    }

    /// Returns the declaration that a request means, with the place of its own URL if it has one.
    fn declaration_for(&self, request: &IncludeRequest) -> Option<Declaration> {
        if let Some(url) = &request.repository_url {
            return Some(Declaration {
                url: url.clone(),
                revision: None,
                span: request.span,
                base: None,
            });
        }
        let name = request.repository.as_deref()?;
        if let Some(known) = self.declared.get(name) {
            return Some(known.clone());
        }
        let mut sections = sections_of(&request.document);
        sections.find_map(|section| declaration(section.get(name)?, None))
    }

    fn find_package(
        &mut self,
        declared: &Declaration,
        request: &IncludeRequest,
    ) -> Result<Option<FoundRepository>, Diagnostic> {
        let missing = || {
            let url = without_logins(&declared.url);
            Diagnostic::error(format!("the repository `{url}` is not on this machine"))
                .check(Check::ImportNotFetched)
                .label(request.span, "needed here")
        };
        let Some(mut package) = PackageRequest::of(&declared.url, declared.revision.as_deref())
        else {
            return Err(
                missing().help("clone it, and set its URL to `file:` and the path of the clone")
            );
        };
        apply_rules(&self.rules, &mut package);
        let source = package.source();
        if embedded::is_own_url(&source.address) {
            return Ok(Some(FoundRepository {
                folder: embedded::root(),
                is_clone: false,
            }));
        }
        let project = self.predefined.get("project").cloned().unwrap_or_default();
        if let Some(folder) = local_folder(&source.address, &project) {
            let folder = folder.join(&source.path);
            return Ok(Some(FoundRepository {
                folder,
                is_clone: false,
            }));
        }
        let clone = self.clone_of(&source.address, &package);
        self.note_use(declared, request, &package, clone.as_deref());
        let Some(root) = clone else {
            return Err(missing().help(fetch_help()));
        };
        let [whole, without_major] = package.folders().map(|path| root.join(path));
        let folder = if fs::is_dir(&whole) {
            whole
        } else {
            without_major
        };
        Ok(Some(FoundRepository {
            folder,
            is_clone: true,
        }))
    }

    /// Notes the use of a package, once.
    fn note_use(
        &mut self,
        declared: &Declaration,
        request: &IncludeRequest,
        package: &PackageRequest,
        clone: Option<&Path>,
    ) {
        let project = self.predefined.get("project");
        let project = project.and_then(|project| fs::canonicalize(project).ok());
        // The repository around the project may be its own package: it has the revision that the user works on.
        if project
            .zip(clone)
            .is_some_and(|(project, root)| project.starts_with(root))
        {
            return;
        }
        let same = |known: &PackageUse| known.span == declared.span && known.request == *package;
        if !self.uses.iter().any(same) {
            self.uses.push(PackageUse {
                name: request.repository.clone(),
                request: package.clone(),
                span: declared.span,
                clone: clone.map(Path::to_owned),
            });
        }
    }

    /// Returns the clone of an address in the project; of several ones, that with the requested revision.
    fn clone_of(&self, address: &str, package: &PackageRequest) -> Option<PathBuf> {
        let clones = self.clones.get_or_init(|| {
            let project = self.predefined.get("project");
            project
                .map(|project| find_clones(project))
                .unwrap_or_default()
        });
        let all = clones.get(&comparable_address(address))?;
        let tag = package
            .revision
            .as_deref()
            .map(|revision| package.tag_of(revision));
        let is_there = |root: &&PathBuf| {
            let repository = Repository::discover(root).ok().flatten();
            let found = repository
                .and_then(|it| Some(it.resolve(tag.as_deref()?)?.commit == it.head().ok()??));
            found.unwrap_or(false)
        };
        let wanted = (all.len() > 1).then(|| all.iter().find(is_there)).flatten();
        wanted.or_else(|| all.first()).cloned()
    }
}

/// Returns the hint for a repository that a job may fetch.
pub fn fetch_help() -> String {
    format!(
        "`unfurl validate --allow {NETWORK_PERMISSION}` clones it into the project; jobs do so, too, with `--allow \
         {NETWORK_PERMISSION}` or if you trust the project (`unfurl trust`)"
    )
}

/// Returns the clones in a folder and in its subfolders, by their addresses.
fn find_clones(folder: &Path) -> HashMap<String, Vec<PathBuf>> {
    let mut found: HashMap<String, Vec<PathBuf>> = HashMap::new();
    find_repository_below(folder, MAX_DEPTH, &mut |repository| {
        if let Some(origin) = repository.origin() {
            let clones = found.entry(comparable_address(&origin)).or_default();
            clones.push(repository.root().to_owned());
        }
        None::<()>
    });
    found
}

fn sections_of(document: &Node) -> impl Iterator<Item = &Mapping> {
    SECTIONS.iter().filter_map(move |keys| {
        let section = keys.iter().try_fold(document, |node, key| node.get(key));
        section.and_then(Node::as_map)
    })
}

fn declaration(node: &Node, base: Option<&Path>) -> Option<Declaration> {
    let text = |key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    Some(Declaration {
        url: node.as_str().map(str::to_owned).or_else(|| text("url"))?,
        revision: node
            .get("revision")
            .and_then(|revision| revision.to_value().as_str().map(str::to_owned)),
        span: node.span(),
        base: base.map(Path::to_owned),
    })
}

/// Returns the folder that a URL refers to, if the URL is a local path.
fn local_folder(url: &str, here: &Path) -> Option<PathBuf> {
    let path = match url.strip_prefix("file:") {
        Some(path) => path.strip_prefix("//").unwrap_or(path),
        None if url.contains("://") || is_remote_shorthand(url) || is_package_id(url, here) => {
            return None;
        }
        None => url,
    };
    let path = path.split_once('#').map_or(path, |(path, _revision)| path);
    Some(fs::absolute(Path::new(path), here))
}

/// Whether the text is the id of a package: it begins with the name of a host, and there is no such folder.
fn is_package_id(url: &str, here: &Path) -> bool {
    let path = url.split_once('#').map_or(url, |(path, _)| path);
    let host = path.split_once('/').map_or("", |(host, _)| host);
    let is_host =
        host.contains('.') && !host.starts_with('.') && !path.split('/').any(|part| part == "..");
    is_host && !fs::exists(&here.join(path))
}

/// Whether the URL has the form `user@host:path`, as git accepts it.
fn is_remote_shorthand(url: &str) -> bool {
    url.split_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}
