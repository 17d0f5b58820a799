//! Finds public types without a comment.
//!
//! The modules of the crate are private, so the compiler does not ask for comments. Each public type has
//! one. Functions and fields whose names and types say everything need none.

/// The kinds of items that always have a comment. Modules have a header.
const ITEMS: &[&str] = &["struct", "enum", "trait", "type"];

/// Whether a public type begins on a line.
fn begins_item(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("pub ") else {
        return false;
    };
    let mut words = rest.split_whitespace();
    let first = words.next().unwrap_or_default();
    ITEMS.contains(&first)
}

/// The lines of public types that have no comment, counted from 1.
pub(super) fn undocumented(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_documented = |place: usize| {
        let mut above = lines[..place].iter().rev();
        let mut within_attribute = false;
        let before = above.find(|line| {
            within_attribute = line.ends_with(")]") && !line.starts_with("#[")
                || within_attribute && !line.starts_with("#[");
            !within_attribute && !line.starts_with("#[") || line.starts_with("#[doc")
        });
        before.is_some_and(|line| {
            ["///", "#[doc", "$(#["]
                .iter()
                .any(|it| line.starts_with(it))
        })
    };
    (0..lines.len())
        .filter(|place| begins_item(lines[*place]) && !is_documented(*place))
        .map(|place| place + 1)
        .collect()
}

#[test]
fn every_public_type_has_a_comment() {
    let mut problems = Vec::new();
    for (path, source) in super::rust_files(&super::root().join("src")) {
        let lines = undocumented(&source);
        problems.extend(lines.iter().map(|line| format!("{path}:{line}")));
    }
    assert!(problems.is_empty(), "no comment: {}", problems.join(", "));
}

#[test]
fn a_comment_is_found_above_attributes_and_missed_where_there_is_none() {
    let source = "/// A.\n#[derive(Debug)]\n#[expect(\n    lint,\n    reason = \"(x)\"\n)]\npub struct A {\n    \
                  pub b: u8,\n}\n\n#[derive(Debug)]\npub enum C {}\npub fn d() {}\npub mod e;\n";
    assert_eq!(undocumented(source), [12]);
}
