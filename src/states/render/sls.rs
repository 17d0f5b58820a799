//! Rendering of an SLS file to a YAML node: Jinja first, then YAML or JSON.

use std::sync::Arc;

use super::renderer::{RenderError, StateRenderer, TemplateError, template_location_vars};
use super::source_map::RENDERED_SUFFIX;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources, Span};
use crate::expr::DocumentError;
use crate::states::FactCache;
use crate::value::Value;
use crate::yaml::{Limits, Mapping, Node, NodeKind, Schema, parse_as};

/// The name and location of an SLS file.
#[derive(Debug, Clone, Copy)]
pub(in crate::states) struct SlsSource<'a> {
    /// The SLS name. Empty for a file that is not an SLS, such as a top file.
    pub(in crate::states) sls: &'a str,
    /// The path in the state tree.
    pub(in crate::states) path: &'a str,
}

/// The render pipeline that a first line such as `#!jinja|yaml` selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RenderPipe {
    jinja: bool,
    json: bool,
}

impl RenderPipe {
    fn of(text: &str) -> Result<Self, String> {
        let mut pipe = Self {
            jinja: true,
            json: false,
        };
        let Some(line) = text.strip_prefix("#!") else {
            return Ok(pipe);
        };
        let line = line.lines().next().unwrap_or_default().trim();
        if line.starts_with('/') {
            return Ok(pipe);
        }
        pipe.jinja = false;
        for step in line.split('|') {
            match step.split_whitespace().next() {
                Some("jinja") => pipe.jinja = true,
                Some("yaml") => {}
                Some("json") => pipe.json = true,
                other => {
                    let name = other.unwrap_or_default();
                    return Err(format!(
                        "unknown renderer `{name}`: use jinja, yaml or json"
                    ));
                }
            }
        }
        Ok(pipe)
    }
}

impl StateRenderer {
    /// Renders an SLS file and parses the result. Adds the written and the rendered text to the sources.
    pub(in crate::states) fn render_sls(
        &self,
        name: &SlsSource<'_>,
        text: &Arc<str>,
        sources: &mut Sources,
        facts: &FactCache,
    ) -> Result<Node, RenderError> {
        let written = sources.add(name.path, Arc::clone(text), None);
        let fail = |problem: String| {
            let start = Span::new(written, 0, 0);
            RenderError::Failed(Diagnostic::error(problem).label(start, "").into())
        };
        let pipe = RenderPipe::of(text).map_err(fail)?;
        let has_jinja = ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark));
        let (mut source, mut secret) = (written, false);
        if pipe.jinja && has_jinja {
            let document = self.render_document(
                name.path,
                text,
                &template_location_vars(name.sls, name.path),
                facts,
            );
            let document = document.map_err(|template_error| match template_error {
                TemplateError::Needs(facts) => RenderError::Needs(facts),
                TemplateError::Failed(flaw) => {
                    RenderError::Failed(self.template_diagnostic(flaw, written, sources).into())
                }
            })?;
            secret = document.sensitive && !self.secrets.is_empty();
            if document.text != **text {
                let path = format!("{}{RENDERED_SUFFIX}", name.path);
                let template = Span::new(written, 0, 0);
                source = sources.add(path, document.text, Some(template));
            }
        }
        if pipe.json {
            let text = sources.get(source).map(|source| Arc::clone(&source.text));
            let checked = serde_json::from_str::<serde_json::Value>(&without_shebang(
                text.as_deref().unwrap_or_default(),
            ));
            if let Err(error) = checked {
                return Err(fail(format!(
                    "the rendered file is not valid JSON: {error}"
                )));
            }
        }
        self.parse(source, secret, sources)
            .map_err(RenderError::Failed)
    }

    fn parse(
        &self,
        source: SourceId,
        secret: bool,
        sources: &mut Sources,
    ) -> Result<Node, Diagnostics> {
        let parsed = parse_as(Schema::Salt, sources, source, &Limits::default());
        let mut root = parsed.map_err(|problems| {
            problems
                .into_iter()
                .map(conflicting_key)
                .collect::<Diagnostics>()
        });
        if secret {
            root = root.map(|root| self.mark_sensitive(&root));
            sources.replace(source, |text| self.secrets.mask(text));
        }
        root
    }

    /// Marks the scalars that contain a secret as sensitive.
    fn mark_sensitive(&self, node: &Node) -> Node {
        let (kind, tag) = match node.kind() {
            NodeKind::Seq(items) => {
                let items = items.iter().map(|item| self.mark_sensitive(item)).collect();
                (NodeKind::Seq(items), None)
            }
            NodeKind::Map(map) => {
                let entries = map.iter().map(|(key, entry)| {
                    let mut entry = entry.clone();
                    entry.value = self.mark_sensitive(&entry.value);
                    (Arc::clone(key), entry)
                });
                (NodeKind::Map(entries.collect::<Mapping>()), None)
            }
            kind => {
                let marked = matches!(self.secrets.mark(node.to_value()), Value::Sensitive(_));
                (kind.clone(), marked.then(|| "!sensitive".into()))
            }
        };
        Node::new(kind, node.span(), tag)
    }

    /// Makes a diagnostic for a template error, pointing at its line.
    fn template_diagnostic(
        &self,
        flaw: DocumentError,
        written: SourceId,
        sources: &mut Sources,
    ) -> Diagnostic {
        let DocumentError {
            problem,
            template,
            line,
        } = flaw;
        let own = sources
            .get(written)
            .map(|source| source.path.to_string_lossy().into_owned());
        let mut source = written;
        if let Some(path) = template.filter(|path| own.as_ref() != Some(path))
            && let Ok(Some(bytes)) = self.roots().read(&path)
        {
            source = sources.add(path, String::from_utf8_lossy(&bytes).into_owned(), None);
        }
        let diagnostic = Diagnostic::error(problem);
        let text = sources.get(source).map(|source| Arc::clone(&source.text));
        match (text, line) {
            (Some(text), Some(line)) => diagnostic.label(line_of(&text, line, source), ""),
            _ => diagnostic.label(Span::new(source, 0, 0), ""),
        }
    }
}

/// Rewords the error about a duplicate key to Salt's message.
fn conflicting_key(mut diagnostic: Diagnostic) -> Diagnostic {
    if let Some(rest) = diagnostic.message.strip_prefix("the key ")
        && let Some(id) = rest.strip_suffix(" occurs twice")
    {
        diagnostic.message = format!("found conflicting ID {id}");
    }
    diagnostic
}

fn without_shebang(text: &str) -> String {
    match text
        .strip_prefix("#!")
        .and_then(|rest| rest.split_once('\n'))
    {
        Some((_, rest)) => rest.to_owned(),
        None => text.to_owned(),
    }
}

/// The span of a line without its indentation.
fn line_of(text: &str, line: usize, source: SourceId) -> Span {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let line = text[start..].lines().next().unwrap_or_default();
    let blanks = line.len() - line.trim_start().len();
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(source, place(start + blanks), place(start + line.len()))
}
