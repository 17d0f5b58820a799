//! Links to source files in styled text (OSC 8).
//!
//! A view marks a place with [`place_link`], which names a path relative to the current folder. The mark
//! becomes a real link only where the terminal shows links; elsewhere the text alone remains. No other
//! link passes, so that text of others cannot lead a click anywhere else.

const MARK: &str = "\u{1b}]8;;place:";
const END: &str = "\u{1b}\\";
/// The sequence that ends a link.
pub(super) const CLOSE: &str = "\u{1b}]8;;\u{1b}\\";

/// The place from which paths of links are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkBase {
    /// The name of this machine, which terminals compare with their own.
    pub host: String,
    /// The absolute path of the current folder.
    pub folder: String,
}

/// A mark in styled text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkMark<'t> {
    /// The start of a link to a path, which is percent-encoded.
    Open(&'t str),
    Close,
}

/// Marks a text as a link to a file. `path` is absolute or relative to the current folder.
pub fn place_link(path: &str, text: &str) -> String {
    format!("{MARK}{}{END}{text}{CLOSE}", percent_encoded(path))
}

/// Reads an escape sequence as a mark. None for any other sequence.
pub(super) fn link_mark(sequence: &str) -> Option<LinkMark<'_>> {
    if sequence == CLOSE {
        return Some(LinkMark::Close);
    }
    let path = sequence.strip_prefix(MARK)?.strip_suffix(END)?;
    let is_encoded = |byte: u8| is_plain(byte) || byte == b'%';
    (!path.is_empty() && path.bytes().all(is_encoded)).then_some(LinkMark::Open(path))
}

/// Appends the sequence that begins a link to an encoded path.
pub(super) fn push_open(text: &mut String, path: &str, base: &LinkBase) {
    text.push_str("\u{1b}]8;;file://");
    text.push_str(&percent_encoded(&base.host));
    if !path.starts_with('/') {
        text.push_str(&percent_encoded(&base.folder));
        text.push('/');
    }
    text.push_str(path);
    text.push_str(END);
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte)
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::super::escape::{escape_except_colours, escape_with_links};
    use super::*;

    fn base() -> LinkBase {
        LinkBase {
            host: "here".to_owned(),
            folder: "/my work".to_owned(),
        }
    }

    #[test]
    fn a_marked_place_is_a_link_to_its_file() {
        let marked = format!("at {}.", place_link("a b/e.yaml", "a b/e.yaml:3:1"));
        assert_eq!(escape_except_colours(&marked), "at a b/e.yaml:3:1.");
        assert_eq!(
            escape_with_links(&marked, &base()),
            "at \u{1b}]8;;file://here/my%20work/a%20b/e.yaml\u{1b}\\a b/e.yaml:3:1\u{1b}]8;;\u{1b}\\."
        );
        let absolute = escape_with_links(&place_link("/x", "x"), &base()).into_owned();
        assert!(
            absolute.starts_with("\u{1b}]8;;file://here/x\u{1b}\\"),
            "{absolute:?}"
        );
    }

    #[test]
    fn a_link_that_is_left_open_ends_with_the_text() {
        let open = "\u{1b}]8;;place:x\u{1b}\\rest";
        let shown = escape_with_links(open, &base()).into_owned();
        assert!(shown.ends_with("rest\u{1b}]8;;\u{1b}\\"), "{shown:?}");
    }

    #[test]
    fn other_links_are_shown_as_escapes() {
        for link in [
            "\u{1b}]8;;http://x/\u{1b}\\y",
            "\u{1b}]8;id=1;place:x\u{1b}\\y",
            "\u{1b}]8;;place:x\u{7}y",
            "\u{1b}]0;title\u{7}",
        ] {
            let shown = escape_with_links(link, &base()).into_owned();
            assert!(shown.starts_with("\\u001b]"), "{shown:?}");
        }
    }
}
