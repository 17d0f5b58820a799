//! A YAML file whose values are encrypted or replaced in place.

use std::path::{Path, PathBuf};

use super::report::SecretPlace;
use crate::diagnostic::{SourceId, Sources, Span};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::replaced_text::replace_text;
use crate::system::fs;
use crate::yaml::{self, Limits, Node, PatchError, Route, RouteStep, TaggedText};

/// The maximum size of a file, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;

/// A YAML file with its text and its unexpanded tree.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) path: PathBuf,
    pub(super) root: Node,
    sources: Sources,
    source: SourceId,
}

impl TextFile {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        Self::of_bytes(path, fs::read_within(path, MAX_FILE_BYTES)?)
    }

    /// Parses the content of a file.
    pub(super) fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, Failure> {
        let text = String::from_utf8(bytes).map_err(|_| {
            let message = format!("`{}` is not UTF-8 text", path.display());
            let help = "save the file as UTF-8".to_owned();
            Failure::new(FailureKind::Refused, message, Some(help))
        })?;
        Self::parse(path, text)
    }

    pub(super) fn parse(path: &Path, text: String) -> Result<Self, Failure> {
        let mut sources = Sources::default();
        let source = sources.add(path, text, None);
        match yaml::parse(&sources, source, &Limits::default()) {
            Ok(root) => Ok(Self {
                path: path.to_owned(),
                root,
                sources,
                source,
            }),
            Err(problems) => Err(Failure::with_sources(
                FailureKind::Refused,
                problems,
                sources,
            )),
        }
    }

    pub(super) fn text(&self) -> &str {
        self.sources
            .get(self.source)
            .map_or("", |source| &source.text)
    }

    pub(super) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Returns the place of a node, without its end: messages then show the line with its key only.
    pub(super) fn span_of(&self, node: &Node) -> Span {
        let start = yaml::value_start(self.text(), node);
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        Span::new(self.source, start, start)
    }

    /// Returns the place of a node for messages and lists.
    pub(super) fn place_of(&self, project: &Path, node: &Node, route: &Route) -> SecretPlace {
        let position = self.sources.position(self.span_of(node));
        SecretPlace {
            file: relative(project, &self.path),
            line: position.as_ref().map_or(1, |place| place.line),
            column: position.as_ref().map_or(1, |place| place.column),
            name: name_of(route),
        }
    }

    /// Returns the text with new values, each with its tag. All other bytes stay.
    pub(super) fn with_values(&self, values: &[TaggedText]) -> Result<String, Failure> {
        let failed = |error: PatchError| {
            let message = format!("`{}` cannot be changed: {error}", self.path.display());
            let help = "write the value in block style, without anchors".to_owned();
            Failure::new(FailureKind::Refused, message, Some(help))
        };
        yaml::apply_tagged(self.text(), &self.root, values).map_err(failed)
    }

    /// Saves a new text, unless another program has saved the file in the meantime.
    pub(super) fn save(&self, text: &str) -> Result<(), Failure> {
        replace_text(&self.path, text, self.text())
    }
}

/// Returns the path of a file from the folder of its project.
pub(super) fn relative(project: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(project).unwrap_or(path).to_owned()
}

/// Returns the path of a value as its name: the keys and the indices of lists, joined by dots.
pub(super) fn name_of(route: &Route) -> String {
    let steps = route.steps().iter().map(|step| match step {
        RouteStep::Key(key) => key.to_string(),
        RouteStep::Index(index) => index.to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}

/// Returns the route that a name means in a tree. Missing parts are keys.
///
/// A key with dots is found if the tree has it.
pub(super) fn route_of(root: &Node, name: &str) -> Route {
    let words: Vec<&str> = name.split('.').collect();
    let mut route = Route::root();
    let mut node = Some(root.clone());
    let mut at = 0;
    while at < words.len() {
        let list = node.as_ref().and_then(Node::as_seq).map(<[Node]>::len);
        if let (Some(_), Ok(index)) = (list, words[at].parse::<usize>()) {
            route = route.index(index);
            at += 1;
        } else {
            let has = |count: &usize| {
                let key = words[at..at + count].join(".");
                node.as_ref().is_some_and(|node| node.get(&key).is_some())
            };
            let count = (1..=words.len() - at).find(has).unwrap_or(1);
            route = route.key(words[at..at + count].join("."));
            at += count;
        }
        node = route.find(root).cloned();
    }
    route
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    #[test]
    fn a_name_means_keys_and_indices_and_keys_with_dots() {
        let root = parse_text(Schema::Core, "a: {b.c: {d: 1}}\nl: [x, {y: 1}]\n").unwrap();
        for (name, route) in [
            ("a.b.c.d", "/a/b.c/d"),
            ("a.b.c.e.f", "/a/b.c/e/f"),
            ("l.1.y", "/l/1/y"),
            ("n.0", "/n/0"),
        ] {
            let found = route_of(&root, name);
            assert_eq!(found.to_string(), route);
            assert_eq!(name_of(&found), name);
        }
    }
}
