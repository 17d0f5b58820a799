//! The manifest `ensemble.yaml`: checks its structure, gives access to its sections and writes new section
//! values into its text.
//!
//! [`Manifest::read`] is the entry point. Parsing and the expansion of merge directives happen before, in the
//! session's loader.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::tosca::service_template_keys;
use crate::value::{Map, Value, canonical_sha256};
use crate::yaml::{
    self, EncryptedPlace, Expanded, KeySpec, KeyTable, Node, OtherKeys, Patch, PatchError, PatchOp,
    Route, Schema, Shape, TagWriter, keys, tables,
};

/// The supported values of `apiVersion`.
const VERSIONS: &[&str] = &["unfurl/v1alpha1", "unfurl/v1.0.0"];

/// Returns the key table of a manifest's top level. `environment` is the shape of the `environment` section.
pub const fn manifest_keys(environment: Shape) -> [KeySpec; 11] {
    keys! {
        "apiVersion" Shape::Words(VERSIONS), "The version of the file format";
        "kind" Shape::Words(&["Ensemble", "Manifest"]), "The kind of this file";
        "metadata" Shape::Map, "Metadata of the ensemble";
        "spec" Shape::Of(&SPEC_KEYS), "What should exist";
        "environment" environment, "Settings with lower priority than those of the selected \
                                    environment";
        "status" Shape::Map, "What exists; written by jobs";
        "lastJob" Shape::Map, "The last job; written by jobs";
        "changes" Shape::Any, "Change records, if the ensemble stores them in this file";
        "jobsLog" Shape::Text, "The file that lists all jobs";
        "changeLog" Shape::Text, "The file that lists all changes";
        "lock" Shape::Map, "The revisions of the repositories used";
    }
}

/// The keys of a manifest, with `environment` as an unspecified map.
pub static MANIFEST_KEYS: KeyTable = KeyTable {
    name: "manifest",
    about: "An ensemble: what should exist, and what exists",
    keys: &manifest_keys(Shape::Map),
    required: &["apiVersion", "kind", "spec"],
    rest: OtherKeys::Open,
};

tables! {
    pub SPEC_KEYS open "spec" "What should exist" {
        "service_template" Shape::Of(service_template_keys()), "The TOSCA service template";
        "tosca" Shape::Of(service_template_keys()), "Older name of `service_template`";
        "inputs" Shape::Map, "Values of the topology's inputs";
        "deployment_blueprints" Shape::Map,
            "Templates that replace others, by the name of the deployment blueprint";
        "resource_templates" Shape::Map, "More node templates";
        "instances" Shape::Map, "Additional instances";
    }
}

/// A manifest: the user's specification and the recorded status.
#[derive(Debug, Clone)]
pub struct Manifest {
    path: PathBuf,
    text: Arc<str>,
    expanded: Expanded,
    writer: Arc<dyn TagWriter>,
}

/// The input of [`Manifest::read`]: a manifest's text, parsed and expanded.
#[derive(Debug, Clone)]
pub struct ManifestSource {
    pub path: PathBuf,
    pub text: Arc<str>,
    pub source: SourceId,
    /// The parsed tree, with merge directives expanded.
    pub expanded: Expanded,
    /// The encoder of secrets in records.
    pub writer: Arc<dyn TagWriter>,
}

impl Manifest {
    /// Checks the required structure of a manifest.
    ///
    /// # Errors
    ///
    /// Diagnostics with source positions for each problem.
    pub fn read(source: ManifestSource) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::default();
        check_root(&source.expanded.root, &mut problems);
        check_text(&source, &mut problems);
        if problems.has_errors() {
            return Err(problems);
        }
        Ok(Self {
            path: source.path,
            text: source.text,
            expanded: source.expanded,
            writer: source.writer,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder that contains the manifest.
    pub fn base_dir(&self) -> &Path {
        self.path.parent().unwrap_or_else(|| Path::new("."))
    }

    /// Returns the text as read from disk.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the whole tree, with merge directives expanded.
    pub fn root(&self) -> &Node {
        &self.expanded.root
    }

    /// Returns the service template: `spec.service_template`, or `spec.tosca`.
    pub fn service_template(&self) -> Option<&Node> {
        let spec = self.root().get("spec")?;
        spec.get("service_template")
            .or_else(|| spec.get("tosca"))
            .filter(|node| !node.is_null())
    }

    /// Returns `spec.deployment_blueprints`, which complement those of the service template.
    pub fn blueprints(&self) -> Option<&Node> {
        let spec = self.root().get("spec")?;
        spec.get("deployment_blueprints")
            .filter(|node| !node.is_null())
    }

    /// Returns the recorded `status` section.
    pub fn status(&self) -> Value {
        self.value_at("status")
    }

    fn value_at(&self, key: &str) -> Value {
        let value = self.root().get(key).map(Node::to_value);
        value.unwrap_or_default()
    }

    /// Returns the manifest's own `environment` section.
    pub fn environment(&self) -> Option<&Node> {
        self.root()
            .get("environment")
            .filter(|node| !node.is_null())
    }

    /// Returns the id of the last recorded job.
    pub fn last_job(&self) -> Option<String> {
        let id = self.root().get("lastJob")?.get("changeId")?;
        id.as_str().map(str::to_owned)
    }

    /// Whether change records are stored in the manifest itself.
    pub fn keeps_changes_inline(&self) -> bool {
        self.root().get("changes").is_some()
    }

    /// Returns the change records stored in the manifest.
    pub fn inline_changes(&self) -> Value {
        self.value_at("changes")
    }

    /// Returns the digest of the `spec` section: 40 hexadecimal digits of SHA-256.
    pub fn spec_digest(&self) -> String {
        let spec = self.root().get("spec");
        let spec = spec.map(Node::to_value).unwrap_or_default();
        canonical_sha256(&spec)[..40].to_owned()
    }

    /// Returns the node templates that tasks have added (`spec.discovered`).
    pub fn discovered(&self) -> Map {
        let discovered = Route::keys(["spec", "discovered"]).find(self.root());
        let discovered = discovered.map(Node::to_value);
        discovered
            .and_then(|discovered| discovered.as_map().cloned())
            .unwrap_or_default()
    }

    /// Returns the text with new section values. `name` is a top-level key, `name/name` a nested one, and `name/-` a new
    /// item at the end of a list. All other bytes stay unchanged.
    pub fn with_sections(&self, sections: &[(String, Value)]) -> Result<String, PatchError> {
        let routes = routes_of(sections, &self.expanded.raw).zip(sections);
        let is_new = |route: &Route, value: &Value| {
            let now = route.find(self.root()).map(Node::to_value);
            now.as_ref() != Some(value)
        };
        let patches: Vec<Patch> = routes
            .filter(|(route, (_, value))| is_new(route, value))
            .map(|(route, (_, value))| self.section_patch(route, value))
            .collect();
        let patches = self.sealed_patches(patches);
        yaml::apply(&self.text, &self.expanded.raw, &patches)
    }

    /// Encrypts the secrets in patches. A secret that the text has already keeps its encrypted text.
    fn sealed_patches(&self, mut patches: Vec<Patch>) -> Vec<Patch> {
        let has_secrets = |patch: &Patch| match &patch.op {
            PatchOp::Set(value) => {
                value.has_sensitive() || value.has_local() || self.expanded.raw.has_tags()
            }
            PatchOp::Remove => false,
        };
        if !patches.iter().any(has_secrets) {
            return patches;
        }
        let closed = yaml::parse_text(Schema::Core, &self.text).ok();
        for Patch { route, op } in &mut patches {
            let place = closed.as_ref().and_then(|closed| {
                let (opened, closed) = (route.find(&self.expanded.raw)?, route.find(closed)?);
                Some(EncryptedPlace { opened, closed })
            });
            if let PatchOp::Set(value) = op {
                *value = yaml::seal_or_keep(value, place, Some(&*self.writer));
            }
        }
        patches
    }

    /// Encrypts the secrets in a value that is written outside of the manifest.
    pub fn sealed(&self, value: &Value) -> Value {
        if value.has_sensitive() || value.has_local() {
            yaml::seal(value, &*self.writer)
        } else {
            value.clone()
        }
    }

    /// Returns true if the text has merge directives, which may use values of any key.
    pub fn has_merges(&self) -> bool {
        !self.expanded.merges.is_empty()
    }

    /// Returns the place of a value that a merge directive supplies and the text of the manifest itself does not.
    pub fn included_place(&self, section: &str) -> Option<Span> {
        let included = self.expanded.base(&route_of(section))?;
        Some(included.span())
    }

    /// Applies sections as [`Manifest::with_sections`] does, but to a text that the user has edited in the
    /// meantime. Returns `None` if the sections do not fit into that text.
    pub fn with_sections_in(&self, text: &str, sections: &[(String, Value)]) -> Option<String> {
        let raw = yaml::parse_text(Schema::Core, text).ok()?;
        raw.as_map()?;
        let routes = routes_of(sections, &raw).zip(sections);
        let patches =
            routes.map(|(route, (_, value))| self.section_patch(route, &self.sealed(value)));
        yaml::apply(text, &raw, &patches.collect::<Vec<_>>()).ok()
    }

    /// Returns the patch that sets a section. If a merge directive contributes to the section, only the
    /// difference is written.
    fn section_patch(&self, route: Route, value: &Value) -> Patch {
        let own = match self.expanded.base(&route) {
            Some(base) => yaml::diff(&base.to_value(), value),
            None => value.clone(),
        };
        Patch::set(route, own)
    }
}

/// Converts a section's name to a route. The name is a JSON pointer without its first `/`.
fn route_of(section: &str) -> Route {
    let unescaped = |key: &str| key.replace("~1", "/").replace("~0", "~");
    Route::keys(section.split('/').map(unescaped))
}

/// Returns the routes of sections in a text with this root.
fn routes_of(sections: &[(String, Value)], root: &Node) -> impl Iterator<Item = Route> {
    let mut added: HashMap<&str, usize> = HashMap::new();
    sections.iter().map(move |(name, _)| {
        let Some(list) = name.strip_suffix("/-") else {
            return route_of(name);
        };
        let route = route_of(list);
        let length = route
            .find(root)
            .and_then(Node::as_seq)
            .map_or(0, <[_]>::len);
        let added = added.entry(list).or_default();
        *added += 1;
        route.index(length + *added - 1)
    })
}

/// Returns the name of the section that holds the value of an input.
pub fn input_section(input: &str) -> String {
    let escaped = input.replace('~', "~0").replace('/', "~1");
    format!("spec/inputs/{escaped}")
}

fn check_root(root: &Node, problems: &mut Diagnostics) {
    let Some(map) = root.as_map() else {
        let message = format!(
            "an ensemble must be a map, but this file holds {}",
            root.kind_name()
        );
        let help = "start it with `apiVersion: unfurl/v1.0.0` and `kind: Ensemble`";
        problems.push(Diagnostic::error(message).label(root.span(), "").help(help));
        return;
    };
    for key in MANIFEST_KEYS.required {
        if map.get(key).is_none_or(Node::is_null) {
            let message = format!("the ensemble has no `{key}`");
            let help = match *key {
                "apiVersion" => "add `apiVersion: unfurl/v1.0.0`",
                "kind" => "add `kind: Ensemble`",
                _ => "add `spec:` with a `service_template`",
            };
            problems.push(Diagnostic::error(message).label(root.span(), "").help(help));
        }
    }
    for key in MANIFEST_KEYS.keys {
        let Some(node) = map.get(key.name).filter(|node| !node.is_null()) else {
            continue;
        };
        let name = key.name;
        match key.shape {
            Shape::Words(allowed) if !node.as_str().is_some_and(|it| allowed.contains(&it)) => {
                let message = format!("`{name}` must be {}", allowed.join(" or "));
                problems.push(Diagnostic::error(message).label(node.span(), "unknown value"));
            }
            Shape::Map | Shape::Of(_) if node.as_map().is_none() => {
                problems.push(node.type_mismatch(format_args!("`{name}`"), "a map"));
            }
            _ => {}
        }
    }
    let instances = map.get("status").and_then(|status| status.get("instances"));
    if let Some(node) = instances.filter(|node| !node.is_null() && node.as_map().is_none()) {
        let help =
            "restore the file from git; otherwise a job treats the recorded instances as missing";
        problems.push(node.type_mismatch("`status.instances`", "a map").help(help));
    }
}

/// Rejects YAML syntax into which a record cannot be written without changing the rest of the text.
fn check_text(source: &ManifestSource, problems: &mut Diagnostics) {
    let text = &source.text;
    let mut returns = text.match_indices('\r').map(|(at, _)| at);
    let lone = returns.find(|at| !text[at + 1..].starts_with('\n'));
    let complex = text.starts_with("? ").then_some(0);
    let complex = complex.or_else(|| text.find("\n? ").map(|at| at + 1));
    let mut refuse = |at: usize, message: &str, help: &str| {
        let at = u32::try_from(at).unwrap_or(u32::MAX - 1);
        let span = Span::new(source.source, at, at + 1);
        problems.push(Diagnostic::error(message).label(span, "here").help(help));
    };
    if let Some(at) = lone {
        let help = "save the file with LF or CRLF at the end of lines";
        refuse(
            at,
            "a line ends with a carriage return without a line feed",
            help,
        );
    }
    if let Some(at) = complex {
        let help = "write it as `key: value`, so that jobs can add the record";
        refuse(
            at,
            "a top-level key of the ensemble is written with `?`",
            help,
        );
    }
}
