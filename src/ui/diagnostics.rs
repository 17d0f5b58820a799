//! Renders diagnostics with the source lines that they refer to, as text and as JSON.
//!
//! The text uses the layout of rustc (`annotate_snippets`). `ui::sarif` converts the JSON.

use std::cmp::Ordering;
use std::collections::HashMap;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Snippet};
use serde_json::{Value as Json, json};

use super::change::location_json;
use super::live::ProgressProblem;
use crate::diagnostic::{Diagnostic, Label, Severity, SourceId, SourcePosition, Sources, Span};
use crate::job::LogLevel;

/// Labels further apart than this many lines are shown in separate snippets.
const MAX_LINES: usize = 40;

/// The maximum number of including files that are named.
const MAX_INCLUDES: usize = 16;

/// The maximum number of diagnostics in a text. Each one takes time, and the first ones are enough to begin with.
const MAX_SHOWN: usize = 1000;

/// Renders diagnostics with excerpts of their source texts.
#[derive(Debug)]
pub struct DiagnosticRenderer<'a> {
    sources: &'a Sources,
    width: usize,
    renderer: annotate_snippets::Renderer,
    /// Whether the text names the check of each problem.
    names_checks: bool,
    /// The start offsets of the lines of each text, cached because many diagnostics may refer to
    /// one large text.
    lines: HashMap<SourceId, Vec<usize>>,
}

impl<'a> DiagnosticRenderer<'a> {
    /// Creates a renderer without colour for a screen of `width` columns.
    pub fn new(sources: &'a Sources, width: usize) -> Self {
        Self {
            sources,
            width,
            renderer: annotate_snippets::Renderer::plain().term_width(width),
            names_checks: false,
            lines: HashMap::new(),
        }
    }

    /// Turns colour on or off in the rendered text.
    #[must_use]
    pub fn colour(mut self, colour: bool) -> Self {
        if colour {
            self.renderer = annotate_snippets::Renderer::styled()
                .hyperlink(false)
                .term_width(self.width);
        }
        self
    }

    /// Adds the name of its check to each problem.
    #[must_use]
    pub fn names_checks(mut self, names_checks: bool) -> Self {
        self.names_checks = names_checks;
        self
    }

    /// Renders diagnostics sorted by position, each followed by an empty line.
    pub fn render<'d>(&mut self, diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> String {
        let mut text = String::new();
        let all = sorted(diagnostics);
        let shown = most_important(&all, MAX_SHOWN);
        for diagnostic in &shown {
            text.push_str(&self.render_one(diagnostic));
            text.push_str("\n\n");
        }
        if shown.len() < all.len() {
            let rest = all.len() - shown.len();
            text.push_str(&format!("note: problems that are not shown: {rest}\n\n"));
        }
        text
    }

    /// Returns diagnostics sorted by position as JSON.
    pub fn json<'d>(&mut self, diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Json {
        let sorted = sorted(diagnostics).into_iter();
        sorted.map(|diagnostic| self.one_json(diagnostic)).collect()
    }

    /// Returns diagnostics sorted by position as events of a job.
    pub fn events<'d>(
        &mut self,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    ) -> Vec<ProgressProblem> {
        let sorted = sorted(diagnostics).into_iter();
        let events = sorted.map(|diagnostic| ProgressProblem {
            level: match diagnostic.severity {
                Severity::Error => LogLevel::Error,
                Severity::Warning => LogLevel::Warning,
                Severity::Note => LogLevel::Info,
            },
            message: diagnostic.message.clone(),
            place: diagnostic.span().and_then(|span| self.location(span)),
            json: self.one_json(diagnostic),
            text: self.render_one(diagnostic) + "\n\n",
            styled: None,
        });
        events.collect()
    }

    fn render_one(&mut self, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()));
        let primary = diagnostic.span();
        for labels in self.clusters(&diagnostic.labels) {
            group = group.element(self.snippet(&labels, primary));
        }
        if let Some(span) = primary {
            for place in self.includes(span) {
                let message = format!("included from {place}");
                group = group.element(Level::NOTE.message(message));
            }
        }
        if let Some(help) = &diagnostic.help {
            let hint = Level::HELP.with_name("hint");
            group = group.element(hint.message(help.as_str()));
        }
        if self.names_checks {
            let check = Level::NOTE.with_name("check");
            group = group.element(check.message(diagnostic.check.name()));
        }
        let text = self.renderer.render(&[group]);
        if diagnostic.labels.is_empty() && (diagnostic.help.is_some() || self.names_checks) {
            without_line(&text, diagnostic.message.split('\n').count())
        } else {
            text
        }
    }

    /// Groups labels into snippets: labels of the same text that are close to each other.
    ///
    /// The group of the primary label comes first.
    fn clusters<'l>(&mut self, labels: &'l [Label]) -> Vec<Vec<&'l Label>> {
        let mut clusters: Vec<Vec<&Label>> = Vec::new();
        for label in labels {
            let line = self.line(label.span);
            let near = clusters.iter_mut().find(|cluster| {
                cluster.first().is_some_and(|first| {
                    first.span.source == label.span.source
                        && self.line(first.span).abs_diff(line) <= MAX_LINES
                })
            });
            match near {
                Some(cluster) => cluster.push(label),
                None => clusters.push(vec![label]),
            }
        }
        clusters
    }

    fn snippet<'s>(
        &mut self,
        labels: &[&'s Label],
        primary: Option<Span>,
    ) -> Snippet<'s, Annotation<'s>>
    where
        'a: 's,
    {
        let sources = self.sources;
        let source = labels
            .first()
            .and_then(|label| sources.get(label.span.source));
        let Some(source) = source else {
            return Snippet::source("");
        };
        let first = labels.iter().map(|label| self.line(label.span)).min();
        let last = labels.iter().map(|label| self.line(label.span)).max();
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
        let starts = self.starts(labels[0].span.source);
        let from = starts.get(first).copied().unwrap_or(0);
        let to = starts.get(last + 1).copied().unwrap_or(source.text.len());
        let annotations = labels.iter().map(|label| {
            let span = self.relative_range(label.span, from, to);
            let kind = if Some(label.span) == primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
            kind.span(span).label(text)
        });
        Snippet::source(&source.text[from..to])
            .line_start(first + 1)
            .path(source.path.display().to_string())
            .annotations(annotations.collect::<Vec<_>>())
    }

    /// Converts a span to an offset range within a snippet, on character boundaries.
    ///
    /// A span over several lines is cut to its first line, so that the message stays readable.
    fn relative_range(&self, span: Span, from: usize, to: usize) -> std::ops::Range<usize> {
        let text = self
            .sources
            .get(span.source)
            .map_or("", |source| &source.text);
        let start = text
            .floor_char_boundary(span.start as usize)
            .clamp(from, to);
        let end = text.floor_char_boundary(span.end as usize).clamp(start, to);
        let line_end = text[start..end]
            .find('\n')
            .map_or(end, |newline| start + newline);
        start - from..line_end - from
    }

    fn includes(&self, span: Span) -> Vec<SourcePosition> {
        let mut positions = Vec::new();
        let mut at = span;
        while let Some(from) = self
            .sources
            .get(at.source)
            .and_then(|source| source.included_from)
        {
            if positions.len() == MAX_INCLUDES {
                break;
            }
            positions.extend(self.sources.position(from));
            at = from;
        }
        positions
    }

    /// Returns the line on which a span starts, counted from 0.
    fn line(&mut self, span: Span) -> usize {
        let start = span.start as usize;
        let starts = self.starts(span.source);
        starts
            .partition_point(|begin| *begin <= start)
            .saturating_sub(1)
    }

    fn starts(&mut self, source: SourceId) -> &[usize] {
        let sources = self.sources;
        self.lines.entry(source).or_insert_with(|| {
            let text = sources.get(source).map_or("", |source| &source.text);
            let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0)
                .chain(newlines.map(|(place, _)| place + 1))
                .collect()
        })
    }

    fn one_json(&mut self, diagnostic: &Diagnostic) -> Json {
        let labels: Json = diagnostic
            .labels
            .iter()
            .filter_map(|label| {
                let mut place = location_json(Some(&self.location(label.span)?));
                place["text"] = label.text.as_str().into();
                Some(place)
            })
            .collect();
        let span = diagnostic.span();
        let included: Json = span
            .map(|span| self.includes(span))
            .unwrap_or_default()
            .iter()
            .map(|place| location_json(Some(place)))
            .collect();
        json!({
            "severity": match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            "check": diagnostic.check.name(),
            "message": diagnostic.message,
            "labels": labels,
            "includedFrom": included,
            "help": diagnostic.help,
        })
    }

    /// Returns the same as `Sources::position`, without reading the text before the line again.
    fn location(&mut self, span: Span) -> Option<SourcePosition> {
        let sources = self.sources;
        let source = sources.get(span.source)?;
        let line = self.line(span);
        let begin = self.starts(span.source).get(line).copied().unwrap_or(0);
        let start = source
            .text
            .floor_char_boundary(span.start as usize)
            .max(begin);
        Some(SourcePosition {
            path: source.path.clone(),
            line: line + 1,
            column: source.text[begin..start].chars().count() + 1,
        })
    }
}

/// Removes one line of a text. Without a snippet, the line between title and hint holds only a `|`.
fn without_line(text: &str, number: usize) -> String {
    let lines = text.split('\n').enumerate();
    let kept: Vec<&str> = lines
        .filter(|(index, _)| *index != number)
        .map(|(_, line)| line)
        .collect();
    kept.join("\n")
}

fn sorted<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Vec<&'d Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.into_iter().collect();
    // Diagnostics without a position come last. The sort is stable, so equal positions keep their
    // order.
    sorted.sort_by(|a, b| match (a.span(), b.span()) {
        (Some(a), Some(b)) => (a.source, a.start).cmp(&(b.source, b.start)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    sorted
}

/// Returns at most `count` of the diagnostics in the same order: all errors before any warning.
fn most_important<'d>(all: &[&'d Diagnostic], count: usize) -> Vec<&'d Diagnostic> {
    let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
    let errors = all.iter().filter(|diagnostic| is_error(diagnostic)).count();
    let mut places = [count.min(errors), count.saturating_sub(errors)];
    let mut has_place = |diagnostic: &&&Diagnostic| {
        let left = &mut places[usize::from(!is_error(diagnostic))];
        let has_place = *left > 0;
        *left = left.saturating_sub(1);
        has_place
    };
    all.iter().filter(|it| has_place(it)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;

    fn sample() -> (Sources, Diagnostics) {
        let mut sources = Sources::default();
        let root = "kind: Ensemble\nspec:\n  +include: part.yaml\nend: é\n";
        let root = sources.add("ensemble.yaml", root, None);
        let include = Span::new(root, 23, 31);
        let part = "web:\n  type: Wbe\n  requirements:\n    - db: databse\n";
        let part = sources.add("part.yaml", part, Some(include));
        let mut found = Diagnostics::default();
        found.push(Diagnostic::error("nothing is known about `x`"));
        found.push(
            Diagnostic::error("`web` requires `databse`, which is not in the topology")
                .label(Span::new(part, 41, 48), "required here")
                .label(Span::new(part, 0, 3), "by this template")
                .help("did you mean `database`?"),
        );
        found.push(Diagnostic::warning("unknown key `end`").label(Span::new(root, 43, 46), ""));
        (sources, found)
    }

    #[test]
    fn diagnostics_show_their_text_sorted_by_place() {
        let (sources, found) = sample();
        insta::assert_snapshot!(DiagnosticRenderer::new(&sources, 100).render(&found), @"
        warning: unknown key `end`
         --> ensemble.yaml:4:1
          |
        4 | end: é
          | ^^^

        error: `web` requires `databse`, which is not in the topology
         --> part.yaml:4:9
          |
        1 | web:
          | --- by this template
        ...
        4 |     - db: databse
          |         ^^^^^^^ required here
          |
          = note: included from ensemble.yaml:3:3
          = hint: did you mean `database`?

        error: nothing is known about `x`
        ");
    }

    #[test]
    fn a_hint_without_a_snippet_directly_follows_the_message() {
        let sources = Sources::default();
        let found = [
            Diagnostic::error("there is no task `deplyo`").help("did you mean `deploy`?"),
            Diagnostic::error("two\nlines").help("first\nsecond"),
        ];
        insta::assert_snapshot!(DiagnosticRenderer::new(&sources, 100).render(&found), @"
        error: there is no task `deplyo`
         = hint: did you mean `deploy`?

        error: two
               lines
         = hint: first
                 second
        ");
        let colourful = DiagnosticRenderer::new(&sources, 100)
            .colour(true)
            .render(&found);
        assert!(!colourful.contains('|'), "{colourful}");
    }

    #[test]
    fn colour_is_used_only_if_asked_for() {
        let (sources, found) = sample();
        let plain = DiagnosticRenderer::new(&sources, 100)
            .colour(false)
            .render(&found);
        let colourful = DiagnosticRenderer::new(&sources, 100)
            .colour(true)
            .render(&found);
        assert!(!plain.contains('\x1b'));
        assert!(colourful.contains('\x1b'));
    }

    #[test]
    fn the_json_names_file_line_and_column() {
        let (sources, found) = sample();
        let json = DiagnosticRenderer::new(&sources, 100).json(&found);
        insta::assert_snapshot!(super::super::pretty(&json[1]), @r#"
        {
          "severity": "error",
          "check": "load",
          "message": "`web` requires `databse`, which is not in the topology",
          "labels": [
            {
              "file": "part.yaml",
              "line": 4,
              "column": 9,
              "text": "required here"
            },
            {
              "file": "part.yaml",
              "line": 1,
              "column": 1,
              "text": "by this template"
            }
          ],
          "includedFrom": [
            {
              "file": "ensemble.yaml",
              "line": 3,
              "column": 3
            }
          ],
          "help": "did you mean `database`?"
        }
        "#);
    }

    #[test]
    fn spans_outside_of_their_text_are_cut() {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", "é", None);
        let diagnostic = Diagnostic::error("odd").label(Span::new(id, 1, 900), "here");
        let far = Diagnostic::error("far").label(Span::new(id, 500, 900), "here");
        let text = DiagnosticRenderer::new(&sources, 80).render([&diagnostic, &far]);
        assert!(text.contains("a.yaml:1:1"), "{text}");
    }
}
