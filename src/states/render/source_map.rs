//! Places in rendered texts, taken back to where they were written.

use crate::diagnostic::{Diagnostics, Source, SourceId, Sources, Span};

/// The suffix of the path of a rendered text.
pub(super) const RENDERED_SUFFIX: &str = " (rendered)";

/// The problems with each place taken back to the template, where it can be told.
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

/// The same line of the template: it has as many lines as the text, or this very line once.
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

/// Each line with the byte at which it begins.
fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split('\n').map(move |line| {
        let place = at;
        at += line.len() + 1;
        (place, line)
    })
}

/// The same columns of an equal line, or else all of the line.
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
