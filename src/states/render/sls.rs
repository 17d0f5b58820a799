//! Rendering of an SLS file to a YAML node, by the renderers that its first line names.

use std::sync::Arc;

use super::location_vars::template_location_vars;
use super::pipe::RenderPipe;
use super::programs::{PythonStates, decrypt_text};
use super::renderer::{RenderError, StateRenderer, TemplateError};
use super::source_map::RENDERED_SUFFIX;
use super::stateconf::{self, Stage, StateconfParameters};
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources, Span};
use crate::expr::DocumentError;
use crate::states::FactCache;
use crate::value::{Map, Value};
use crate::yaml::{Limits, MapEntry, Mapping, Node, NodeKind, Schema, parse_as};

/// The name and location of an SLS file.
#[derive(Debug, Clone, Copy)]
pub(in crate::states) struct SlsSource<'a> {
    /// The SLS name. Empty for a file that is not an SLS, such as a top file.
    pub(in crate::states) sls: &'a str,
    /// The path in the state tree.
    pub(in crate::states) path: &'a str,
    pub(in crate::states) env: &'a str,
}

/// A state file with the options of its rendering.
struct SlsText<'a> {
    name: SlsSource<'a>,
    /// The source with the text as it is written.
    written: SourceId,
    /// The text to render: the whole one or its beginning.
    text: &'a str,
    pipe: &'a RenderPipe,
}

fn failure(problem: impl std::fmt::Display, source: SourceId) -> RenderError {
    let start = Span::new(source, 0, 0);
    RenderError::Failed(Diagnostic::error(problem).label(start, "").into())
}

impl StateRenderer {
    /// Renders an SLS file and parses the result. Adds the written and the rendered text to the sources.
    pub(in crate::states) fn render_sls(
        &self,
        name: &SlsSource<'_>,
        text: &Arc<str>,
        sources: &mut Sources,
        facts: &FactCache,
        parameters: &mut StateconfParameters,
    ) -> Result<Node, RenderError> {
        let written = sources.add(name.path, Arc::clone(text), None);
        let fail = |problem: String| failure(problem, written);
        let pipe = RenderPipe::of(text).map_err(fail)?;
        if pipe.python {
            return self.render_python(name, text, written, sources);
        }
        let sls = SlsText {
            name: *name,
            written,
            text,
            pipe: &pipe,
        };
        let variables = template_location_vars(name.sls, name.path);
        let Some(options) = pipe.stateconf else {
            let root = self.render_text(&sls, &variables, sources, facts)?;
            return if pipe.gpg {
                self.decrypt(&root).map_err(fail)
            } else {
                Ok(root)
            };
        };
        let mut render = |text, stage| {
            let mut variables = variables.clone();
            variables.extend(stateconf::variables(name.sls, parameters));
            let root = self.render_text(&SlsText { text, ..sls }, &variables, sources, facts)?;
            stateconf::process(&root, name.sls, stage, parameters).map_err(fail)
        };
        if let Some(part) = stateconf::parameter_part(text) {
            render(part, Stage::Parameters)?;
        }
        render(text, Stage::Whole(options))
    }

    /// Renders a template to data.
    fn render_text(
        &self,
        sls: &SlsText<'_>,
        variables: &Map,
        sources: &mut Sources,
        facts: &FactCache,
    ) -> Result<Node, RenderError> {
        let SlsText {
            name,
            written,
            text,
            pipe,
        } = *sls;
        let has_jinja = ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark));
        let (mut rendered, mut secret) = (text.to_owned(), false);
        if pipe.jinja && has_jinja {
            let document = self.render_document((name.env, name.path), text, variables, facts);
            let document = document.map_err(|template_error| match template_error {
                TemplateError::Needs(facts) => RenderError::Needs(facts),
                TemplateError::Failed(flaw) => {
                    let place = (name.env, written);
                    RenderError::Failed(self.template_diagnostic(flaw, place, sources).into())
                }
            })?;
            secret = document.sensitive && !self.secrets.is_empty();
            rendered = document.text;
        }
        let mut source = written;
        if sources
            .get(written)
            .is_none_or(|whole| *whole.text != *rendered)
        {
            let path = format!("{}{RENDERED_SUFFIX}", name.path);
            let template = Span::new(written, 0, 0);
            source = sources.add(path, rendered, Some(template));
        }
        if pipe.json {
            let text = sources.get(source).map(|source| Arc::clone(&source.text));
            let text = without_shebang(text.as_deref().unwrap_or_default());
            if let Err(error) = serde_json::from_str::<serde_json::Value>(&text) {
                let problem = format!("the rendered file is not valid JSON: {error}");
                return Err(failure(problem, written));
            }
        }
        self.parse(source, secret, sources)
            .map_err(RenderError::Failed)
    }

    /// Runs a state file that is a program in Python.
    fn render_python(
        &self,
        name: &SlsSource<'_>,
        text: &str,
        written: SourceId,
        sources: &mut Sources,
    ) -> Result<Node, RenderError> {
        let minion = self.minion();
        let words: [(&str, Value); 6] = [
            ("grains", minion.grains.clone()),
            ("pillar", minion.pillar.clone()),
            ("opts", minion.options.clone()),
            ("env", name.env.into()),
            ("saltenv", name.env.into()),
            ("sls", name.sls.into()),
        ];
        let mut variables = Map::new();
        for (word, value) in words {
            if !matches!(word, "saltenv" | "sls") || value.is_truthy() {
                variables.insert(format!("__{word}__").into(), value.clone());
            }
            variables.insert(word.into(), value);
        }
        let program = PythonStates {
            path: name.path,
            text,
            variables: &variables,
        };
        let programs = self
            .programs()
            .map_err(|problem| failure(problem, written))?;
        let states = programs.run_python(&program);
        let states = states.map_err(|problem| failure(self.secrets.mask(&problem), written))?;
        let path = format!("{}{RENDERED_SUFFIX}", name.path);
        let source = sources.add(path, states, Some(Span::new(written, 0, 0)));
        self.parse(source, !self.secrets.is_empty(), sources)
            .map_err(RenderError::Failed)
    }

    /// Decrypts the texts of a file that have PGP messages.
    fn decrypt(&self, node: &Node) -> Result<Node, String> {
        let programs = self.programs()?;
        let kind = match node.kind() {
            NodeKind::Seq(items) => {
                let items = items.iter().map(|item| self.decrypt(item));
                NodeKind::Seq(items.collect::<Result<_, _>>()?)
            }
            NodeKind::Map(map) => {
                let entries = map.iter().map(|(key, entry)| {
                    let value = self.decrypt(&entry.value)?;
                    Ok((Arc::clone(key), MapEntry::new(entry.key_span, value)))
                });
                NodeKind::Map(entries.collect::<Result<Mapping, String>>()?)
            }
            NodeKind::Str(text) => match decrypt_text(text, programs)? {
                Some(clear) => {
                    let kind = NodeKind::Str(clear.reveal().to_string().into());
                    return Ok(Node::new(kind, node.span(), Some("!sensitive".into())));
                }
                None => return Ok(node.clone()),
            },
            _ => return Ok(node.clone()),
        };
        Ok(Node::new(kind, node.span(), node.tag().map(Into::into)))
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
        (env, written): (&str, SourceId),
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
            && let Ok(Some(bytes)) = self.roots().within(env).read(&path)
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
