//! Text of others in Markdown, for the page of a pipeline.

use super::words;

/// The maximum length of a summary in bytes. The same text fits into a comment of GitHub.
pub(super) const MAX_LENGTH: usize = 65_535;
/// The maximum number of characters of an error and of an output.
pub(super) const MAX_CELL: usize = 400;

/// Shows text in the font of code.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(&words::shorten(text, MAX_CELL)))
}

/// Escapes text for a cell of a table in Markdown.
///
/// Signs that mean something in Markdown or HTML become character references, which mean nothing but the sign.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut last = ' ';
    for c in words::one_line(text).chars() {
        let is_plain = c.is_alphanumeric() || !c.is_ascii() || " -/,%+=();?".contains(c);
        // `www.` alone would become a link.
        if is_plain || (c == '.' && !last.eq_ignore_ascii_case(&'w')) {
            escaped.push(c);
        } else {
            words::append(&mut escaped, format_args!("&#{};", u32::from(c)));
        }
        last = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_changes_the_structure(text in "[ -~\\n\\té|`\\\\<>]{0,40}") {
            let escaped = escape(&text);
            let left = without_references(&escaped);
            prop_assert!(!left.contains(['|', '<', '>', '`', '*', '_', '[', ']', '\\', '\n', '@', '~', '$', '!', '#', ':']));
        }
    }

    /// Removes character references.
    fn without_references(text: &str) -> String {
        let mut parts = text.split("&#");
        let mut left = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once(';').unwrap();
            assert!(number.parse::<u32>().is_ok(), "{text}");
            left.push_str(rest);
        }
        assert!(!left.contains('&'), "{text}");
        left
    }
}
