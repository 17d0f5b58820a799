//! Finds the place of a name within the text of a value, so that a message points at the name.

use crate::diagnostic::{Sources, Span};

/// Returns the place of the first occurrence of a word in the text of a span, or the whole span if the text does
/// not have it.
pub(super) fn narrow(sources: &Sources, span: Span, word: &str) -> Span {
    find(sources, span, word).unwrap_or(span)
}

fn find(sources: &Sources, span: Span, word: &str) -> Option<Span> {
    if word.is_empty() || !span.is_some() {
        return None;
    }
    let text = sources
        .get(span.source)?
        .text
        .get(span.start as usize..span.end as usize)?;
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    let mut places = text.match_indices(word).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    let (at, _) = places.next()?;
    let start = span.start + u32::try_from(at).ok()?;
    Some(Span::new(
        span.source,
        start,
        start + u32::try_from(word.len()).ok()?,
    ))
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
