//! Finds the place of a name within the text of a value, so that a message points at the name.

use crate::diagnostic::{Sources, Span};

/// Returns the place of the first occurrence of a word in the text of a span, or the whole span if the text does
/// not have it.
pub(super) fn narrow(sources: &Sources, span: Span, word: &str) -> Span {
    find(sources, span, word).unwrap_or(span)
}

/// Returns the place of the key of a value: the word before the colon in front of the value.
pub(super) fn key_before(sources: &Sources, value: Span, key: &str) -> Span {
    let found = || {
        let text = &sources.get(value.source)?.text;
        let before = text.get(..value.start as usize)?;
        let at = before.rfind(key)?;
        let between = before[at + key.len()..].trim_matches(['"', '\'', ' ', '\n', '\r', '\t']);
        between.strip_prefix(':')?;
        part(Span::new(value.source, 0, value.start), at, key.len())
    };
    found().unwrap_or(value)
}

/// Returns the place of a line of a template that a value contains. The first line has the number 1.
pub(super) fn template_line(
    sources: &Sources,
    span: Span,
    template: &str,
    line: usize,
) -> Option<Span> {
    let wanted = template.trim().lines().nth(line.checked_sub(1)?)?.trim();
    let text = sources.text(span);
    // Equal lines may come before: count those of the template up to the wanted one.
    let same = template
        .trim()
        .lines()
        .take(line)
        .filter(|own| own.trim() == wanted)
        .count();
    let mut start = 0;
    let mut seen = 0;
    for own in text.split_inclusive('\n') {
        if let Some(at) = own.find(wanted).filter(|_| !wanted.is_empty()) {
            seen += 1;
            if seen == same {
                return part(span, start + at, wanted.len());
            }
        }
        start += own.len();
    }
    None
}

fn find(sources: &Sources, span: Span, word: &str) -> Option<Span> {
    if word.is_empty() || !span.is_some() {
        return None;
    }
    let text = sources.text(span);
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    let mut places = text.match_indices(word).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    let (at, _) = places.next()?;
    part(span, at, word.len())
}

/// Returns the span of `length` bytes at an offset of another span.
fn part(span: Span, at: usize, length: usize) -> Option<Span> {
    let start = span.start + u32::try_from(at).ok()?;
    let end = start + u32::try_from(length).ok()?;
    Some(Span::new(span.source, start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_points_at_the_word_and_not_at_a_part_of_another_one() {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", "x: {get_input: [regions, region]}", None);
        let span = Span::new(id, 3, 33);
        assert_eq!(narrow(&sources, span, "region"), Span::new(id, 25, 31));
        assert_eq!(narrow(&sources, span, "nothing"), span);
        assert_eq!(narrow(&sources, Span::NONE, "region"), Span::NONE);
    }
}
