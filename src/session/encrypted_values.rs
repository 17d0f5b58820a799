//! Warns about values that are encrypted with `!vault`, because they are not decrypted.

use crate::diagnostic::{Diagnostic, Diagnostics, Source, SourceId, Sources, Span};

/// The tag of an encrypted value.
const TAG: &str = "!vault";
/// The maximum number of places that are listed.
const MAX_LISTED: usize = 5;

/// Returns a warning for each of the first encrypted values in the texts, and one for the others.
pub(super) fn encrypted_values(sources: &Sources) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let mut places = sources.iter().flat_map(tags_in);
    for span in places.by_ref().take(MAX_LISTED) {
        let message = "a value is encrypted with `!vault` and is not decrypted";
        let help =
            "tasks get the encrypted text: give them the value by a variable of the environment";
        let warning = Diagnostic::warning(message).label(span, "encrypted");
        warnings.push(warning.help(help));
    }
    let others = places.count();
    if others > 0 {
        let message = format!("{others} more values are encrypted with `!vault`");
        warnings.push(Diagnostic::warning(message));
    }
    warnings
}

/// Returns the places of the tag in front of values.
fn tags_in((id, source): (SourceId, &Source)) -> impl Iterator<Item = Span> {
    let text = &*source.text;
    text.match_indices(TAG).filter_map(move |(start, _)| {
        let line = &text[text[..start].rfind('\n').map_or(0, |end| end + 1)..start];
        let before = line.trim();
        let after = text[start + TAG.len()..].chars().next();
        let is_tag = before.ends_with([':', '-', ',', '[', '{'])
            && !before.starts_with('#')
            && after.is_none_or(char::is_whitespace);
        let end = u32::try_from(start + TAG.len()).ok()?;
        is_tag.then(|| Span::new(id, end - u32::try_from(TAG.len()).unwrap_or(0), end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_in_front_of_values_are_reported() {
        let mut sources = Sources::default();
        let text =
            "# a: !vault |\na: !vault |\n  x\nb: [!vault x, 1]\nc: say !vault\nd: !vaulted x\n";
        sources.add("ensemble.yaml", text, None);
        let warnings = encrypted_values(&sources);
        let lines = warnings.iter().filter_map(Diagnostic::span);
        let lines: Vec<String> = lines
            .filter_map(|span| sources.position(span))
            .map(|place| place.to_string())
            .collect();
        assert_eq!(lines, ["ensemble.yaml:2:4", "ensemble.yaml:4:5"]);
    }

    #[test]
    fn a_long_list_is_cut() {
        let mut sources = Sources::default();
        sources.add("ensemble.yaml", "- !vault x\n".repeat(9), None);
        let warnings = encrypted_values(&sources);
        let last = warnings.iter().last().unwrap();
        assert_eq!(warnings.len(), MAX_LISTED + 1);
        assert_eq!(last.message, "4 more values are encrypted with `!vault`");
    }
}
