//! The packages that an ensemble uses: which revision of each is selected, and whether its clone has it.

use std::path::{Path, PathBuf};

use super::package_lock::{LockedRepository, PackageLock};
use super::used_package::UsedPackage;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::git::{Repository, Revision};
use crate::package::{
    Conflict, PackageRequest, PackageRule, RuleError, Selection, parse_rules, select,
};
use crate::project::{Environment, FileLoader, PackageUse, fetch_help};
use crate::system::env::Env;
use crate::yaml::Node;

/// The variable with package rules.
const RULES_VARIABLE: &str = "UNFURL_PACKAGE_RULES";

/// A package with the revision that it must have.
#[derive(Debug, Clone)]
pub(crate) struct PackageTarget {
    /// The request that decides on the revision.
    pub(crate) request: PackageRequest,
    pub(crate) selection: Selection,
    /// The name of the repository, if it has one.
    pub(crate) name: Option<String>,
    /// The place of the deciding request.
    pub(crate) span: Span,
    /// The root of the clone, if there is one in the project.
    pub(crate) clone: Option<PathBuf>,
    /// The entry of the lock that applies.
    pub(crate) locked: Option<LockedRepository>,
}

/// Adds the repositories and package rules of an environment to a loader.
pub(super) fn declare(
    environment: &Environment,
    base: &Path,
    env: &Env,
    loader: &mut FileLoader<'_>,
) -> Diagnostics {
    let mut problems = Diagnostics::default();
    let mut rules = Vec::new();
    if let Some(section) = environment.repositories().and_then(Node::as_map) {
        loader.declare_repositories(section, base);
        for (name, entry) in section.iter().filter(|(name, _)| name.contains('.')) {
            match rule_of(name, &entry.value) {
                Ok(rule) => rules.push(rule),
                Err(error) => problems.push(Diagnostic::error(error).label(entry.value.span(), "")),
            }
        }
    }
    let own = environment
        .variables
        .iter()
        .find(|(name, _)| name == RULES_VARIABLE);
    let own = own.and_then(|(_, value)| value.as_str());
    if let Some(text) = own.or_else(|| env.non_empty(RULES_VARIABLE)) {
        match parse_rules(text) {
            Ok(more) => rules.extend(more),
            Err(error) => problems.push(Diagnostic::error(format!("`{RULES_VARIABLE}`: {error}"))),
        }
    }
    loader.add_package_rules(rules);
    problems
}

fn rule_of(pattern: &str, node: &Node) -> Result<PackageRule, RuleError> {
    let text = |key: &str| {
        node.get(key)
            .and_then(|value| value.to_value().as_str().map(str::to_owned))
    };
    let url = node.as_str().map(str::to_owned).or_else(|| text("url"));
    PackageRule::new(
        pattern,
        url.as_deref().unwrap_or_default(),
        text("revision").as_deref(),
    )
}

/// Selects a revision for each package. The problems are requests that exclude each other.
pub(super) fn targets(
    uses: &[PackageUse],
    lock: &PackageLock,
) -> (Vec<PackageTarget>, Diagnostics) {
    let requests: Vec<PackageRequest> = uses.iter().map(|used| used.request.clone()).collect();
    let (selected, conflicts) = select(&requests);
    let mut problems: Diagnostics = conflicts
        .iter()
        .map(|conflict| conflict_of(uses, *conflict))
        .collect();
    let mut targets = Vec::new();
    for (id, selection) in selected {
        let used = &uses[selection.decided_by];
        if let Some(other) = selection.unreleased {
            problems.push(unreleased(used, &uses[other]));
        }
        let of_package = || uses.iter().filter(|other| other.request.id == id);
        targets.push(PackageTarget {
            locked: lock.entry_for(&id, &selection).cloned(),
            request: used.request.clone(),
            name: of_package().find_map(|other| other.name.clone()),
            span: used.span,
            clone: of_package().find_map(|other| other.clone.clone()),
            selection,
        });
    }
    (targets, problems)
}

fn conflict_of(uses: &[PackageUse], Conflict { first, second }: Conflict) -> Diagnostic {
    let (first, second) = (&uses[first], &uses[second]);
    let revision = |used: &PackageUse| used.request.revision.clone().unwrap_or_default();
    let message = format!(
        "the package `{}` cannot have the revisions `{}` and `{}` at the same time",
        first.request.id,
        revision(first),
        revision(second)
    );
    Diagnostic::error(message)
        .label(second.span, format!("needs `{}`", revision(second)))
        .label(first.span, format!("needs `{}`", revision(first)))
        .help("ask for versions with the same major number, or set one revision with a package rule in `repositories` of \
               the environment")
}

fn unreleased(used: &PackageUse, other: &PackageUse) -> Diagnostic {
    let revision = |used: &PackageUse| used.request.revision.clone().unwrap_or_default();
    let message = format!(
        "the package `{}` is used in the version `{}`, but `{}` is asked for: versions that begin with 0 promise nothing",
        used.request.id,
        revision(used),
        revision(other)
    );
    Diagnostic::warning(message).label(other.span, "asked for here")
}

/// Checks that the clone of each package has the selected revision, and returns the packages that are used.
pub(super) fn check(
    targets: &[PackageTarget],
    is_locked: bool,
    problems: &mut Diagnostics,
) -> Vec<UsedPackage> {
    let mut used = Vec::new();
    for target in targets {
        if is_locked && target.locked.is_none() {
            problems.push(not_locked(target));
        }
        let repository = target.clone.as_ref();
        let repository = repository.and_then(|root| Repository::discover(root).ok().flatten());
        let found = repository.and_then(|repository| Some((repository.checked_out()?, repository)));
        let Some((revision, repository)) = found else {
            continue;
        };
        let root = repository.root().to_owned();
        let package = used_package(target, root, revision);
        if is_locked {
            for problem in unlocked(target, &package) {
                problems.push(problem);
            }
        } else if let Some(problem) = wrong_revision(target, &repository, &package) {
            problems.push(problem);
        }
        used.push(package);
    }
    used
}

fn used_package(target: &PackageTarget, root: PathBuf, revision: Revision) -> UsedPackage {
    let wanted = target.selection.revision.clone();
    let of_tag = || {
        let tag = revision.tag.as_deref()?;
        Some(target.request.version_of_tag(tag)?.0.to_owned())
    };
    let locked = target
        .locked
        .as_ref()
        .and_then(LockedRepository::discovered);
    let is_discovered = wanted.is_none() && !target.selection.is_current;
    let discovered = is_discovered
        .then(|| locked.map(str::to_owned).or_else(of_tag))
        .flatten();
    UsedPackage {
        request: target.request.clone(),
        clone: root,
        revision,
        wanted,
        discovered,
    }
}

/// Returns the problem of a clone that does not have the selected revision.
fn wrong_revision(
    target: &PackageTarget,
    repository: &Repository,
    package: &UsedPackage,
) -> Option<Diagnostic> {
    if target.selection.is_current {
        return None;
    }
    let here = &package.revision;
    let tag = target
        .selection
        .revision
        .as_deref()
        .map(|revision| target.request.tag_of(revision));
    let is_branch = target.request.version().is_none() && tag.is_some() && tag == here.branch;
    if is_branch {
        return None;
    }
    let (wanted, name) = match (&target.locked, &tag) {
        (Some(locked), _) => {
            let tag = locked.tag.as_deref().unwrap_or("the locked commit");
            (
                Some(locked.commit.clone()),
                format!("{tag} ({})", short(&locked.commit)),
            )
        }
        (None, Some(tag)) => (
            repository.resolve(tag).map(|found| found.commit),
            tag.clone(),
        ),
        (None, None) => return None,
    };
    if wanted.as_ref() == Some(&here.commit) {
        return moved_tag(target, repository);
    }
    let url = target.request.source();
    let folder = package.clone.display();
    let current = here.tag.clone().or_else(|| here.branch.clone());
    let current = current.map_or_else(
        || short(&here.commit),
        |name| format!("{name} ({})", short(&here.commit)),
    );
    let message = format!("the clone `{folder}` of `{url}` is at {current}, but {name} is needed");
    if package.has_changed_files() {
        let help = "commit or remove the changes there; until then, the clone is used as it is";
        return Some(
            Diagnostic::warning(format!("{message}; it has uncommitted changes"))
                .label(target.span, "needed here")
                .help(help),
        );
    }
    Some(
        Diagnostic::error(message)
            .label(target.span, "needed here")
            .help(fetch_help()),
    )
}

/// Returns a warning if a tag names another commit than the lock.
fn moved_tag(target: &PackageTarget, repository: &Repository) -> Option<Diagnostic> {
    let locked = target.locked.as_ref()?;
    let tag = locked.tag.as_deref()?;
    let now = repository
        .resolve(tag)
        .filter(|found| found.commit != locked.commit)?;
    let message = format!(
        "the tag `{tag}` of `{}` names the commit {} now, but {} is locked and used",
        target.request.source(),
        short(&now.commit),
        short(&locked.commit)
    );
    let help = "find out why the tag was moved; to accept it, remove the entry from `lock` in the ensemble";
    Some(
        Diagnostic::warning(message)
            .label(target.span, "")
            .help(help),
    )
}

fn refused_by_lock(target: &PackageTarget, what: &str) -> Diagnostic {
    let url = target.request.source();
    let problem = Diagnostic::error(format!("`--locked`: the repository `{url}` {what}"));
    problem.label(target.span, "used here")
}

fn not_locked(target: &PackageTarget) -> Diagnostic {
    let help = "a job without `--locked` writes its commit into `lock` of the ensemble";
    refused_by_lock(target, "is not locked").help(help)
}

/// Returns the ways in which a clone differs from the lock.
fn unlocked(target: &PackageTarget, package: &UsedPackage) -> Vec<Diagnostic> {
    let Some(locked) = &target.locked else {
        return Vec::new();
    };
    let refused = |what: String| refused_by_lock(target, &what);
    let mut problems = Vec::new();
    let here = &package.revision;
    if here.commit != locked.commit {
        let what = format!(
            "is at {}, but {} is locked",
            short(&here.commit),
            short(&locked.commit)
        );
        problems.push(refused(what).help(fetch_help()));
    } else if locked.tree.as_ref().is_some_and(|tree| *tree != here.tree) {
        let help =
            "the lock or the clone was changed by hand: delete the clone, and run the job again";
        problems.push(refused("has other files than those that are locked".to_owned()).help(help));
    }
    if locked.is_dirty || package.is_dirty() {
        let help = "commit the changes in the clone, and run a job without `--locked`";
        problems
            .push(refused("has uncommitted changes, which no lock contains".to_owned()).help(help));
    }
    problems
}

/// Returns errors for folders of this machine that are used as repositories, because no lock contains their state.
pub(super) fn unlocked_folders(uses: &[(PathBuf, Span)], own: &[&Path]) -> Diagnostics {
    let root = |folder: &Path| {
        Repository::discover(folder)
            .ok()
            .flatten()
            .map(|it| it.root().to_owned())
    };
    let roots: Vec<PathBuf> = own.iter().filter_map(|folder| root(folder)).collect();
    let is_own = |folder: &PathBuf| {
        let is_inside = own.iter().any(|own| folder.starts_with(own));
        match root(folder) {
            Some(root) => roots.contains(&root),
            None => is_inside,
        }
    };
    let foreign = uses.iter().filter(|(folder, _)| !is_own(folder));
    foreign
        .map(|(folder, span)| {
            let message = format!("`--locked`: the repository `{}` is a folder of this machine, which no lock contains", folder.display());
            let help = "declare it with the address of a git repository";
            Diagnostic::error(message).label(*span, "used here").help(help)
        })
        .collect()
}

/// Returns the first digits of a commit id.
fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
}
