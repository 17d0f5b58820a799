//! Finds functions that are too long.

/// How long a function may be, from its first line to its last, tests apart.
pub(super) const MAX_FUNCTION_LINES: usize = 60;

/// Whether a function begins on a line.
fn begins_function(line: &str) -> bool {
    let qualifiers = ["pub", "const", "async", "unsafe", "extern"];
    let words = line.split_whitespace();
    let mut words = words.skip_while(|word| {
        let bare = word.split('(').next().unwrap_or_default();
        qualifiers.contains(&bare) || word.ends_with(')') && !word.contains("fn")
    });
    words.next() == Some("fn")
}

/// Whether the lines above a function end with the attribute of tests, and perhaps others.
fn is_test(above: &[&str]) -> bool {
    let mut attributes = above.iter().rev().take_while(|line| !line.is_empty());
    attributes.any(|line| line.trim() == "#[test]")
}

/// The functions that are too long, tests apart: the lines on which they begin, and how long they
/// are. The layout is the formatter's, so the end of a function stands as deep as its beginning.
pub(super) fn long_functions(code: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut long = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        if !begins_function(line) || is_test(&lines[..place]) {
            continue;
        }
        let mut rest = lines[place..].iter();
        let signature_end = rest.find(|line| line.ends_with(['{', '}', ';']));
        if !signature_end.is_some_and(|end| end.ends_with('{')) {
            continue;
        }
        let end = lines[place..]
            .iter()
            .position(|other| other.trim_start() == "}" && depth(other) == depth(line));
        let length = end.map_or(0, |end| end + 1);
        if length > MAX_FUNCTION_LINES {
            long.push((place + 1, length));
        }
    }
    long
}
