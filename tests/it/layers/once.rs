//! Finds a second copy of a mechanism that stands in one place.

/// Mechanisms, the text by which their code is known, and the one file that may have it.
const MECHANISMS: &[(&str, &str, &str)] = &[
    ("base64", "base64::engine", "text/base64.rs"),
    ("patterns with stars", "'*' => ", "text/glob.rs"),
    ("quoting for a shell", r#""'\"'\"'""#, "text/quote.rs"),
    ("quoting for a shell", r#""'\\''""#, "text/quote.rs"),
    ("similar names", "strsim::", "text/similar.rs"),
    (
        "rules of environments",
        "\"PY_COLORS\"",
        "value/env_rules.rs",
    ),
    ("random bytes", "getrandom::", "system/random.rs"),
    (
        "the standard output",
        "std::io::stdout()",
        "system/console.rs",
    ),
    ("the error output", "std::io::stderr()", "system/console.rs"),
    (
        "escape sequences of terminals",
        "'\\u{9b}'",
        "text/terminal/pieces.rs",
    ),
];

/// The files, by their paths under `src`, that have a text.
fn files_with<'f>(files: &'f [(String, String)], text: &str) -> Vec<&'f str> {
    let having = files.iter().filter(|(_, source)| source.contains(text));
    having.map(|(path, _)| path.as_str()).collect()
}

#[test]
fn mechanisms_stand_in_one_place() {
    let files = super::rust_files(&super::root().join("src"));
    let files: Vec<(String, String)> = files.into_iter().collect();
    for (mechanism, text, home) in MECHANISMS {
        assert_eq!(files_with(&files, text), [*home], "{mechanism}: {text}");
    }
}

#[test]
fn a_copy_of_a_mechanism_is_found() {
    let files = [
        ("a.rs", "use base64::engine;"),
        ("b.rs", "base64::engine()"),
    ];
    let files = files.map(|(path, source)| (path.to_owned(), source.to_owned()));
    assert_eq!(files_with(&files, "base64::engine"), ["a.rs", "b.rs"]);
    assert_eq!(files_with(&files, "strsim::"), [""; 0]);
}
