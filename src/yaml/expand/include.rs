//! Include directives: parses their values, requests the files from the [`Loader`](super::super::Loader) and
//! selects the named part.

use super::expander::{Expander, Resolution};
use super::resolution::step_into;
use crate::yaml::directive::{Directive, fragment};
use crate::yaml::{IncludeRequest, LoadResult, MapEntry, Node};

impl Expander<'_> {
    /// Loads the file of an include directive.
    pub(super) fn include(&mut self, directive: &Directive, entry: &MapEntry) -> Resolution {
        let span = entry.key_span;
        let Some((request, pointer)) = self.request(directive, entry) else {
            self.problem(
                format!("cannot include {}", entry.value.kind_name()),
                span,
                "the name of the file is missing",
                "write `+include: file.yaml` or `+include: {file: file.yaml}`",
            );
            return Resolution::Empty;
        };
        let raw = entry.value.get("merge").and_then(Node::as_str) == Some("raw");
        match self.fetch(&request) {
            LoadResult::Found { root, .. } if !root.is_null() => {
                if let Some(node) = part_of(&root, &pointer) {
                    return Resolution::Node {
                        node,
                        raw,
                        route: None,
                    };
                }
                self.problem(
                    format!(
                        "`{}` has no value at `#/{}`",
                        request.file,
                        pointer.join("/")
                    ),
                    span,
                    "included here",
                    "correct the pointer after `#`",
                );
                Resolution::Empty
            }
            LoadResult::Deferred => Resolution::Unresolved,
            LoadResult::Missing if !request.optional => {
                self.problem(
                    format!("the included file `{}` does not exist", request.file),
                    span,
                    "included here",
                    "correct its path, or write `+?include` if the file is optional",
                );
                Resolution::Empty
            }
            _ => Resolution::Empty,
        }
    }

    /// Requests a file from the loader, only once per including text.
    fn fetch(&mut self, request: &IncludeRequest) -> LoadResult {
        let key = (
            request.from,
            request.file.clone(),
            request.repository.clone(),
        );
        if let Some(known) = self.included.get(&key) {
            return known.clone();
        }
        let loaded = match self.loader.load(request) {
            Ok(loaded) => loaded,
            Err(problems) => {
                self.problems.append(problems);
                LoadResult::Skipped
            }
        };
        if let LoadResult::Found { root, .. } = &loaded {
            self.find_anchors(root);
        }
        if !matches!(loaded, LoadResult::Deferred) {
            self.included.insert(key, loaded.clone());
        }
        loaded
    }

    /// Parses the value of the directive: `file` or `{file, repository, when}`.
    fn request(
        &self,
        directive: &Directive,
        entry: &MapEntry,
    ) -> Option<(IncludeRequest, Vec<String>)> {
        let value = &entry.value;
        let text = |key: &str| value.get(key).and_then(Node::as_str).map(str::to_owned);
        let url = value.as_str().map(str::to_owned).or_else(|| text("file"))?;
        let (file, pointer) = match url.split_once('#') {
            Some((file, pointer)) => (file.to_owned(), fragment(pointer)),
            None => (url, Vec::new()),
        };
        let repository = value.get("repository");
        let stated = |key| {
            repository
                .and_then(|it: &Node| it.get(key))
                .and_then(Node::as_str)
        };
        let request = IncludeRequest {
            repository: text("repository").or_else(|| stated("name").map(str::to_owned)),
            repository_url: stated("url").map(str::to_owned),
            condition_variable: text("when"),
            optional: directive.optional,
            span: entry.key_span,
            from: entry.key_span.source,
            document: self.document.clone(),
            file,
        };
        (!request.file.is_empty()).then_some((request, pointer))
    }
}

fn part_of(root: &Node, pointer: &[String]) -> Option<Node> {
    pointer
        .iter()
        .try_fold(root, |node, part| node.step(&step_into(node, part)))
        .cloned()
}
