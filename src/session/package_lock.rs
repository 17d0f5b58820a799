//! The section `lock` of a manifest: the commits of the packages that the last job used.

use crate::ensemble::Manifest;
use crate::git::Repository;
use crate::package::{PackageRule, Selection, Version, parse_rules};
use crate::text::without_logins;
use crate::value::{Map, Value};
use crate::yaml::Node;

use super::used_package::UsedPackage;

/// The section of a manifest.
pub(crate) const SECTION: &str = "lock";
/// The end of a commit id if there were uncommitted changes.
const DIRTY: &str = "-dirty";
/// The version of Unfurl whose format the section has.
const FORMAT_VERSION: &str = "1.2.0";

/// A locked repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedRepository {
    id: String,
    pub(crate) commit: String,
    /// Whether there were uncommitted changes, which the lock does not contain.
    pub(crate) is_dirty: bool,
    /// The id of the tree of all files; records of Unfurl in Python have none.
    pub(crate) tree: Option<String>,
    pub(crate) tag: Option<String>,
    /// The revision that the model asked for.
    revision: Option<String>,
    /// The version that was found because the model asked for none.
    discovered: Option<String>,
}

/// The locked repositories of an ensemble.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackageLock {
    entries: Vec<LockedRepository>,
    /// The package rules of the job that wrote the lock.
    pub(crate) rules: Vec<PackageRule>,
}

impl PackageLock {
    /// Reads the lock of a manifest. Entries without a package or a commit are left out.
    pub(crate) fn of(manifest: &Manifest) -> Self {
        let Some(section) = manifest.root().get(SECTION) else {
            return Self::default();
        };
        let list = |key: &str| section.get(key).and_then(Node::as_seq).unwrap_or_default();
        let rules = list("package_rules").iter().filter_map(Node::as_str);
        Self {
            entries: list("repositories").iter().filter_map(entry).collect(),
            rules: rules
                .filter_map(|rule| parse_rules(rule).ok())
                .flatten()
                .collect(),
        }
    }

    /// Returns the entry for a package, if it fulfils what is asked for now.
    pub(crate) fn entry_for(&self, id: &str, selection: &Selection) -> Option<&LockedRepository> {
        let entry = self.entries.iter().find(|entry| entry.id == id)?;
        let wanted = selection.revision.as_deref();
        entry
            .fulfils(wanted)
            .then_some(entry)
            .filter(|_| !selection.is_current)
    }
}

impl LockedRepository {
    fn fulfils(&self, wanted: Option<&str>) -> bool {
        let Some(wanted) = wanted else { return true };
        let known = self.revision.as_deref().or(self.discovered.as_deref());
        if known == Some(wanted) {
            return true;
        }
        match (known.and_then(Version::parse), Version::parse(wanted)) {
            (Some(known), Some(wanted)) => known >= wanted && known.shares_major_with(&wanted),
            _ => false,
        }
    }

    /// Returns the version that was found because the model asked for none.
    pub(crate) fn discovered(&self) -> Option<&str> {
        self.discovered.as_deref()
    }
}

fn entry(node: &Node) -> Option<LockedRepository> {
    let text = |key: &str| {
        let value = node.get(key)?.to_value().as_str().map(str::to_owned)?;
        (!value.is_empty() && value != "(MISSING)").then_some(value)
    };
    let commit = text("commit")?;
    let is_dirty = commit.ends_with(DIRTY);
    let commit = commit.trim_end_matches(DIRTY).to_ascii_lowercase();
    let is_id = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(LockedRepository {
        id: text("package_id")?,
        commit: Some(commit).filter(|_| is_id)?,
        is_dirty,
        tree: text("tree"),
        tag: text("tag"),
        revision: text("revision"),
        discovered: text("discovered_revision"),
    })
}

/// Returns the section for the packages that an ensemble uses; `None` if it uses none.
pub(super) fn section_of(packages: &[UsedPackage], rules: &[PackageRule]) -> Option<Value> {
    if packages.is_empty() {
        return None;
    }
    let mut program = Map::new();
    program.insert("version".into(), Value::from(FORMAT_VERSION));
    program.insert("digest".into(), Value::from(env!("CARGO_PKG_VERSION")));
    let runtime = Map::from_iter([("unfurl".into(), Value::from(program))]);
    let rules = rules.iter().map(|rule| Value::from(rule.to_string()));
    Some(Value::from(Map::from_iter([
        ("runtime".into(), Value::from(runtime)),
        ("package_rules".into(), Value::list(rules)),
        (
            "repositories".into(),
            Value::list(packages.iter().map(record_of)),
        ),
    ])))
}

/// Returns the record of a package, in the order of keys that Unfurl writes.
fn record_of(package: &UsedPackage) -> Value {
    let mut record = Map::new();
    let mut set = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            record.insert(key.into(), Value::from(value));
        }
    };
    let repository = Repository::discover(&package.clone).ok().flatten();
    let repository = repository.as_ref();
    let is_dirty = package.is_dirty();
    let commit = &package.revision.commit;
    let commit = if is_dirty {
        format!("{commit}{DIRTY}")
    } else {
        commit.clone()
    };
    let url = package.request.source().to_string();
    set("url", Some(&url));
    set("commit", Some(&commit));
    set(
        "tree",
        Some(&package.revision.tree)
            .filter(|_| !is_dirty)
            .map(String::as_str),
    );
    set(
        "initial",
        repository.and_then(Repository::first_commit).as_deref(),
    );
    set(
        "discovered_revision",
        Some(package.discovered.as_deref().unwrap_or_default()),
    );
    set("package_id", Some(&package.request.id));
    set("revision", package.wanted.as_deref());
    set("branch", package.revision.branch.as_deref());
    set("tag", package.revision.tag.as_deref());
    let origin = repository
        .and_then(Repository::origin)
        .map(|origin| without_logins(&origin));
    set(
        "origin",
        origin
            .as_deref()
            .filter(|origin| *origin != package.request.source().address),
    );
    Value::from(record)
}
