//! Keeps a private vocabulary out of names and comments. `docs/contributing/conventions.md` explains the rule.

use super::{code_of, root, rust_files};

/// Words that no identifier and no file name has as a part: each has a standard term instead.
const REFUSED_WORDS: &[&str] = &[
    "because",
    "begun",
    "deed",
    "deeds",
    "departed",
    "errand",
    "going",
    "hands",
    "helpers",
    "misc",
    "nowhere",
    "odd",
    "surroundings",
    "told",
    "undecided",
    "wish",
    "wishes",
    "withheld",
];

/// Names of types that meant many things. The name of a type says what it is a place, a way or a world of.
const REFUSED_TYPES: &[&str] = &["Asked", "Given", "Place", "Said", "Way", "World"];

/// The words that no comment begins with: the subject of the sentence comes first.
const REFUSED_FIRST_WORDS: &[&str] = &[
    "it", "its", "nobody", "one", "somebody", "what", "who", "whoever",
];

/// The parts of an identifier in lower case: `MAX_Bytes` and `maxBytes` have the parts `max` and `bytes`.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in identifier.chars() {
        let begins = c == '_' || c.is_uppercase() && was_lower;
        if begins && parts.last().is_some_and(|it| !it.is_empty()) {
            parts.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
    }
    parts
}

fn is_refused(identifier: &str) -> bool {
    identifier.starts_with("MOST_")
        || REFUSED_TYPES.contains(&identifier)
        || parts(identifier)
            .iter()
            .any(|part| REFUSED_WORDS.contains(&part.as_str()))
}

/// The lines of a source that have a refused word in an identifier, or first in a comment.
fn refused(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in code_of(source).lines().enumerate() {
        let identifiers = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        for identifier in identifiers.filter(|it| is_refused(it)) {
            found.push(format!("{}: `{identifier}`", index + 1));
        }
    }
    let mut is_within = false;
    for (index, line) in source.lines().enumerate() {
        let text = line.trim_start().strip_prefix("//");
        let comment = text.map(|text| text.trim_start_matches(['/', '!']).trim_start());
        let first = comment
            .unwrap_or_default()
            .split(|c: char| !c.is_alphanumeric())
            .next();
        let first = first.unwrap_or_default().to_lowercase();
        if !is_within && REFUSED_FIRST_WORDS.contains(&first.as_str()) {
            found.push(format!("{}: a comment begins with `{first}`", index + 1));
        }
        is_within = comment.is_some();
    }
    found
}

#[test]
fn names_and_comments_use_the_terms_of_the_field() {
    let mut problems = Vec::new();
    for (path, source) in rust_files(&root().join("src")) {
        let path_parts = path.split(['/', '.']).flat_map(parts);
        let mut names = path_parts.filter(|part| REFUSED_WORDS.contains(&part.as_str()));
        if let Some(name) = names.next() {
            problems.push(format!("{path}: the name has `{name}`"));
        }
        problems.extend(refused(&source).iter().map(|it| format!("{path}:{it}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_refused_word_is_found_in_code_and_first_in_comments_only() {
    let source = "/// What it is.\nstruct Deed; // told\n\n// A wish.\n// It goes on.\nfn was_told() -> &'static str {\n    \
                  \"going\"\n}\n\n// It is one.\nconst MOST_BYTES: Way = 1;\n";
    let expected = [
        "2: `Deed`",
        "6: `was_told`",
        "11: `MOST_BYTES`",
        "11: `Way`",
        "1: a comment begins with `what`",
        "10: a comment begins with `it`",
    ];
    assert_eq!(refused(source), expected);
}
