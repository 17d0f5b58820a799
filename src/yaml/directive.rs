//! The syntax of merge directives: parses keys such as `+/pointer`, `+*anchor` and `+include`. The module
//! `expand` resolves them.

use crate::value::decode_percent;

/// The key of the merge strategy: `whiteout`, `nullout`, `merge`, `replace` or `error`.
pub(super) const STRATEGY: &str = "+%";

/// The key that gives a map a name, like an anchor.
pub(super) const ANCHOR: &str = "+&";

/// A parsed key of a merge directive: `+[?][include…][*anchor][.…][/json/pointer]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directive {
    /// Whether a missing target is not an error.
    pub(super) optional: bool,
    pub(super) from: PointerBase,
    /// The keys and indices to follow from the base.
    pub(super) pointer: Vec<String>,
}

/// The base from which the pointer of a directive starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PointerBase {
    /// The file that the value of the directive names.
    Include,
    Anchor(String),
    /// The map that contains the directive (1), its parent map (2) and so on.
    Relative(usize),
    Root,
}

impl Directive {
    /// Parses a key. None if it is not a directive. An error means an escape other than `~0` and `~1`.
    pub(super) fn parse(key: &str) -> Result<Option<Self>, String> {
        let Some(rest) = key.strip_prefix('+') else {
            return Ok(None);
        };
        let mut parts = rest.split('/');
        let first = parts.next().unwrap_or_default();
        let unescaped = unescape(first);
        let (optional, first_rest) = match unescaped.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, unescaped.as_str()),
        };
        let dots = first_rest.bytes().take_while(|byte| *byte == b'.').count();
        let from = if first_rest.starts_with("include") {
            PointerBase::Include
        } else if let Some(name) = first_rest.strip_prefix('*').filter(|name| !name.is_empty()) {
            PointerBase::Anchor(name.split_whitespace().next().unwrap_or(name).to_owned())
        } else if dots > 0 && dots == first_rest.len() {
            PointerBase::Relative(dots)
        } else if first_rest.is_empty() && rest.contains('/') {
            PointerBase::Root
        } else {
            return Ok(None);
        };
        if let Some(place) = bad_escape(rest) {
            return Err(rest[place..].chars().take(2).collect());
        }
        let pointer = parts.map(unescape).collect();
        Ok(Some(Self {
            optional,
            from,
            pointer,
        }))
    }
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn bad_escape(pointer: &str) -> Option<usize> {
    let bytes = pointer.as_bytes();
    (0..bytes.len())
        .find(|place| bytes[*place] == b'~' && !matches!(bytes.get(place + 1), Some(b'0' | b'1')))
}

/// Splits a URL fragment that is a JSON pointer into its parts.
pub(super) fn fragment(text: &str) -> Vec<String> {
    let text = text.trim_start_matches('/');
    if text.is_empty() {
        return Vec::new();
    }
    text.split('/')
        .map(|part| unescape(&decode_percent(part)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str) -> Option<(bool, PointerBase, String)> {
        let directive = Directive::parse(key).unwrap()?;
        Some((
            directive.optional,
            directive.from,
            directive.pointer.join(" "),
        ))
    }

    #[test]
    fn keys_are_read_by_the_grammar() {
        let root = |pointer: &str| Some((false, PointerBase::Root, pointer.to_owned()));
        assert_eq!(read("+/a/b"), root("a b"));
        assert_eq!(read("+/a~1b/~0"), root("a/b ~"));
        assert_eq!(
            read("+?include: x".trim_end_matches(": x")),
            Some((true, PointerBase::Include, String::new()))
        );
        assert_eq!(
            read("+include-2"),
            Some((false, PointerBase::Include, String::new()))
        );
        assert_eq!(
            read("+*anc/x"),
            Some((false, PointerBase::Anchor("anc".into()), "x".into()))
        );
        assert_eq!(
            read("+./x"),
            Some((false, PointerBase::Relative(1), "x".into()))
        );
        assert_eq!(
            read("+?../x/y"),
            Some((true, PointerBase::Relative(2), "x y".into()))
        );
    }

    #[test]
    fn other_keys_are_left_alone() {
        for key in ["+", "+1", "+a/b", "+..x", "+?", "+?x", "a", "", "+%", "+&"] {
            assert_eq!(read(key), None, "{key}");
        }
        assert_eq!(Directive::parse("+/a~2"), Err("~2".to_owned()));
    }

    #[test]
    fn fragments_are_pointers() {
        assert_eq!(fragment("/a~1b/c%20d"), ["a/b", "c d"]);
        assert_eq!(fragment("other"), ["other"]);
        assert!(fragment("").is_empty());
    }
}
