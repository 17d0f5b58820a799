//! Source mapping: traces positions in rendered texts back to the templates.

use crate::diagnostic::{Diagnostics, Source, SourceId, Sources, Span};

/// The path suffix that marks a rendered text among the sources.
pub(super) const RENDERED_SUFFIX: &str = " (rendered)";

/// Moves the labels of diagnostics from rendered texts to the templates, where possible.
pub(in crate::states) fn trace_to_templates(
    problems: Diagnostics,
    sources: &Sources,
) -> Diagnostics {
    let trace = |mut problem: crate::diagnostic::Diagnostic| {
        for label in &mut problem.labels {
            if let Some(span) = trace_span(label.span, sources) {
                label.span = span;
            }
        }
        problem
    };
    problems.into_iter().map(trace).collect()
}

/// Finds the corresponding line in the template: by number if both texts have the same number of lines, or
/// else by a unique equal line.
fn trace_span(span: Span, sources: &Sources) -> Option<Span> {
    let rendered = sources.get(span.source)?;
    let id = source_template(rendered)?;
    let (from, to) = (&*rendered.text, &*sources.get(id)?.text);
    let start = from.floor_char_boundary(span.start as usize);
    let begin = from[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = from[begin..].lines().next().unwrap_or_default();
    let number = from[..begin].matches('\n').count();
    if from.matches('\n').count() == to.matches('\n').count() {
        let (place, own) = lines_with_offsets(to).nth(number)?;
        return Some(matching_columns(id, place, own, line, span, begin));
    }
    let mut same =
        lines_with_offsets(to).filter(|(_, own)| *own == line && !line.trim().is_empty());
    let (place, own) = same.next()?;
    same.next()
        .is_none()
        .then(|| matching_columns(id, place, own, line, span, begin))
}

/// The template that a text was rendered from.
fn source_template(rendered: &Source) -> Option<SourceId> {
    let path = rendered.path.to_str()?;
    path.ends_with(RENDERED_SUFFIX)
        .then_some(rendered.included_from?.source)
}

/// The lines with their byte offsets.
fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split('\n').map(move |line| {
        let place = at;
        at += line.len() + 1;
        (place, line)
    })
}

/// The same columns if the lines are equal, or else the whole line without its indentation.
fn matching_columns(
    source: SourceId,
    place: usize,
    own: &str,
    line: &str,
    span: Span,
    begin: usize,
) -> Span {
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    if own == line {
        let column = (span.start as usize).saturating_sub(begin);
        let width =
            (span.end.saturating_sub(span.start) as usize).min(own.len().saturating_sub(column));
        return Span::new(source, byte(place + column), byte(place + column + width));
    }
    let blanks = own.len() - own.trim_start().len();
    Span::new(source, byte(place + blanks), byte(place + own.len()))
}
