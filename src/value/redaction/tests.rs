//! Tests of redaction: forms of secrets, ordinary texts, and streams.

use std::fmt::Write as _;

use super::super::{External, ExternalKind, HIDDEN_OUTPUT, Map, REDACTED, Value};
use super::{Redactor, Secrets};
use crate::text::base64;

fn secrets(texts: &[&str]) -> Secrets {
    texts.iter().copied().collect()
}

#[test]
fn a_secret_inside_of_another_leaves_no_rest() {
    let inner = Value::from("hunter2").sensitive();
    let outer = Value::list([Value::from("hunter2-long\nsecond line")]).sensitive();
    let mut secrets = Secrets::default();
    secrets.gather(&Value::list([inner, outer, Value::from("open")]));
    let text = "open hunter2-long, second line of hunter2";
    assert_eq!(
        secrets.redact(text),
        "open <<REDACTED>>, <<REDACTED>> of <<REDACTED>>"
    );
    assert_eq!(
        secrets.mask(text),
        "open ************, *********** of *******"
    );
}

#[test]
fn what_an_external_value_holds_is_found() {
    let external = |value: Value| {
        Value::External(std::sync::Arc::new(External {
            kind: ExternalKind::Other,
            value,
            parts: Map::new(),
            expression: Value::Null,
            digest: None,
            exact: None,
        }))
    };
    let mut secrets = Secrets::default();
    let map = Value::map([("password", Value::from("hunter2").sensitive())]);
    secrets.gather(&external(map));
    secrets.gather(&external(Value::from("sesame")).sensitive());
    secrets.gather(&external(Value::from("open")));
    assert!(secrets.occur_in("hunter2") && secrets.occur_in("sesame"));
    assert!(!secrets.occur_in("open") && secrets.len() == 2);
}

#[test]
fn three_bytes_are_looked_for_within_texts_and_fewer_are_not() {
    let secrets = secrets(&["abc", "xy"]);
    assert!(secrets.occur_in("1abc2") && secrets.occur_in("abc"));
    assert!(!secrets.occur_in("1xy2"));
    assert_eq!(secrets.redact("1abc2xy"), "1<<REDACTED>>2xy");
    assert_eq!(secrets.mask("1abc2xy"), "1***2xy");
}

#[test]
fn a_text_that_is_a_secret_is_found_however_short() {
    let secrets = secrets(&["xy"]);
    assert!(secrets.occur_in("xy"));
    assert!(secrets.may_occur_in("1xy2") && !secrets.may_occur_in("1x2y"));
}

#[test]
fn a_line_of_a_secret_is_found() {
    let secrets = secrets(&["-----BEGIN-----\nabcdefjhij\nk97\n"]);
    assert!(secrets.occur_in("key abcdefjhij"));
    assert_eq!(secrets.redact("key abcdefjhij"), "key <<REDACTED>>");
    assert_eq!(secrets.mask("key abcdefjhij"), "key **********");
    assert!(secrets.occur_in("the last is k97!"));
}

#[test]
fn texts_and_numbers_that_repeat_secrets_are_marked() {
    let mut secrets = secrets(&["hunter2"]);
    secrets.gather(&Value::Int(8080).sensitive());
    let values = Value::list([
        Value::from("it is hunter2"),
        Value::from("open"),
        Value::Int(8080),
    ]);
    let marked = secrets.mark(values);
    assert_eq!(
        marked.redacted().to_string(),
        "['<<REDACTED>>', 'open', '<<REDACTED>>']"
    );
}

#[test]
fn secrets_are_not_shown() {
    assert_eq!(
        format!("{:?}", secrets(&["hunter2", "", "hunter2"])),
        "1 x <<REDACTED>>"
    );
    let (redactor, _) = Redactor::pair(&secrets(&["hunter2"]), []);
    assert_eq!(format!("{redactor:?}"), "Redactor { .. }");
}

/// Secrets with characters that encoders treat in their own ways.
const TRICKY: &[&str] = &[
    "hush-7431-quietly-now-24",
    "p\"w'$(x)`\\;&{} <z>=+/?%",
    "pässwörd→ñandú-73",
    "line one 4711\nline two 0815",
    "Ab3$kL9!zQ7#",
    "aB+/cd==ef/12~~*(x)",
];

/// Returns the forms of a text that programs print, with names.
fn forms(text: &str) -> Vec<(String, String)> {
    let mut forms = vec![
        ("raw".to_owned(), text.to_owned()),
        ("upper".to_owned(), text.to_uppercase()),
        ("ASCII upper".to_owned(), text.to_ascii_uppercase()),
        ("JSON".to_owned(), serde_json::to_string(text).unwrap()),
        (
            "percent".to_owned(),
            super::super::encode_percent(text, b""),
        ),
        ("debug".to_owned(), format!("{text:?}")),
        ("quoted".to_owned(), crate::text::shlex_quote(text)),
        ("quoted".to_owned(), crate::text::force_quote_word(text)),
        (
            "words".to_owned(),
            text.chars().flat_map(|c| [c, ' ']).collect(),
        ),
    ];
    forms.push(("plus".to_owned(), forms[4].1.replace("%20", "+")));
    let half: String = text.chars().take(text.chars().count() / 2 + 3).collect();
    forms.push(("half".to_owned(), half));
    let end: String = text.chars().skip(text.chars().count() / 2 - 3).collect();
    forms.push(("second half".to_owned(), end));
    for before in ["", "x", "xy", "user:"] {
        let encoded = base64::encode(format!("{before}{text}\n").as_bytes());
        let wrapped: Vec<&str> = encoded
            .as_bytes()
            .chunks(7)
            .map(|it| std::str::from_utf8(it).unwrap())
            .collect();
        forms.push((format!("base64 after {before}"), encoded.clone()));
        forms.push(("base64 in lines".to_owned(), wrapped.join("\n")));
        forms.push((
            "base64 for URLs".to_owned(),
            encoded.replace('+', "-").replace('/', "_"),
        ));
    }
    for (name, separator) in [
        ("hex", ""),
        ("hex with spaces", " "),
        ("hex with colons", ":"),
        ("C", ", 0x"),
        ("x", "\\x"),
    ] {
        let mut digits = String::new();
        for byte in text.bytes() {
            write!(digits, "{byte:02x}{separator}").unwrap();
        }
        forms.push((name.to_owned(), digits.to_uppercase()));
        forms.push((name.to_owned(), digits));
    }
    let pairs = text.as_bytes().chunks(2);
    let words = pairs.map(|pair| match pair {
        [one, two] => format!("{two:02x}{one:02x} "),
        _ => String::new(),
    });
    forms.push(("hexdump".to_owned(), words.collect()));
    forms
}

#[test]
fn each_form_of_a_secret_is_found() {
    for secret in TRICKY {
        let secrets = secrets(&[secret]);
        for (name, form) in forms(secret) {
            let text = format!("some text: {form} and more");
            assert!(secrets.occur_in(&text), "{name}: {text}");
            let redacted = secrets.redact(&text);
            assert!(redacted.contains(REDACTED), "{name}: {redacted}");
            assert!(!secrets.occur_in(&redacted), "{name}: {redacted}");
            assert_eq!(secrets.mask(&text).len(), text.len(), "{name}");
        }
    }
}

#[test]
fn eight_characters_of_a_secret_are_found_and_seven_are_not() {
    let secret = "Zx81-qPw7-Lm20-vB93";
    let secrets = secrets(&[secret]);
    for start in 0..=secret.len() - 8 {
        assert!(secrets.occur_in(&format!("<{}>", &secret[start..start + 8])));
        assert!(!secrets.occur_in(&format!("<{}>", &secret[start..start + 7])));
    }
}

#[test]
fn short_secrets_are_found_encoded() {
    let secrets = secrets(&["k7$Qz"]);
    for text in [
        "x k7$qZ.",
        "6b3724517a",
        "pw=k7%24Qz&",
        "k7\\$Qz",
        "azckUXo=",
    ] {
        assert!(secrets.occur_in(text), "{text}");
    }
}

#[test]
fn ordinary_texts_hide_nothing_but_themselves() {
    let ordinary = [
        "true",
        "False",
        "yes",
        "null",
        "localhost",
        "root",
        "admin",
        "443",
        "8080",
        "2026",
        "PRODUCTION",
    ];
    for word in ordinary {
        let secrets = secrets(&[word]);
        assert!(!secrets.occur_in(&format!("it is {word} here")), "{word}");
        assert!(secrets.occur_in(word), "{word}");
        assert_eq!(secrets.redact(word), REDACTED);
    }
}

/// Secrets, with texts that tell nothing about them, and texts that tell a part of them.
const SECRETS_WITH_ORDINARY_PARTS: [(&str, &[&str], &[&str]); 9] = [
    (
        "https://joe:s3cr3t-pw@git.acme.example/team/project.git",
        &[
            "https://git.acme.example/team/project.git",
            "team/project",
            "https%3A%2F%2Fgit.acme",
        ],
        &[
            "s3cr3t-pw",
            "joe:s3cr3t-pw",
            "is s3cr3t-pw.",
            "am9lOnMzY3IzdC1wdw==",
        ],
    ),
    (
        "postgres://app:pw73@db.internal:5432/shopping",
        &["db.internal:5432/shopping", "the shopping list"],
        &[
            "pw73",
            "postgres://app:pw73@db.internal:5432/shopping",
            "app:pw73",
        ],
    ),
    (
        "https://hooks.chat.example/services/T024/B9X7/aKq93zLw",
        &["https://hooks.chat.example/"],
        &["B9X7/aKq93zLw", "aKq93zLw"],
    ),
    (
        "my-production-password",
        &["production", "a password: "],
        &["my-production"],
    ),
    ("127.0.0.1:8443/x7-Ka", &["127.0.0.1"], &["8443/x7-Ka"]),
    ("==========x7Ka", &["============"], &["=====x7Ka"]),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwx9Kq\n-----END OPENSSH PRIVATE KEY-----\n",
        &[
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "-----END OPENSSH PRIVATE KEY-----",
            "b3BlbnNzaC1rZXktdjEAAAAA",
        ],
        &["AAAAMwx9Kq"],
    ),
    (
        "{\n  \"k\": {\n  },\n  \"token\": \"u8Xw2\"\n}\n",
        &["{\n  },\n"],
        &["  \"token\": \"u8Xw2\""],
    ),
    // All of it is common, but the whole is the secret.
    (
        "password1234567890",
        &["password", "34567890"],
        &["password1234567890", "cGFzc3dvcmQxMjM0NTY3ODkw"],
    ),
];

#[test]
fn ordinary_parts_of_a_secret_are_not_searched_for() {
    for (secret, open, hidden) in SECRETS_WITH_ORDINARY_PARTS {
        let secrets = secrets(&[secret]);
        for text in open {
            assert!(!secrets.occur_in(text), "{secret}: {text}");
        }
        for text in hidden {
            assert!(secrets.occur_in(text), "{secret}: {text}");
        }
        assert!(secrets.occur_in(&format!("({secret})")), "{secret}");
    }
}

#[test]
fn a_long_secret_takes_little_memory_and_is_found_in_part() {
    let random = |seed: u32| {
        let mut state = u64::from(seed) + 1;
        std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + u8::try_from(state >> 33 & 63).unwrap())
        })
    };
    let secret: String = random(1).take(1 << 20).collect();
    let secrets = secrets(&[&secret]);
    assert!(secrets.occur_in(&secret[500_000..500_064]));
    assert!(secrets.occur_in(&base64::encode(&secret.as_bytes()[1001..1401])));
    let other: String = random(77).take(1 << 16).collect();
    assert!(!secrets.occur_in(&other));
}

#[test]
fn a_growing_set_finds_all_of_its_secrets() {
    let mut secrets = Secrets::default();
    for number in 0..70 {
        let secret = format!("Qk{number}-{}", number * 7919);
        assert!(!secrets.occur_in(&format!("<{secret}>")));
        secrets.add(secret);
        let copy = secrets.clone();
        for earlier in 0..=number {
            let text = format!("<Qk{earlier}-{}>", earlier * 7919);
            assert!(copy.occur_in(&text), "{text} of {number}");
        }
    }
    let mut joined = self::secrets(&["another-1", "Qk3-23757"]);
    joined.append(&secrets);
    assert!(joined.occur_in("<another-1>") && joined.occur_in("<Qk69-546411>"));
    assert_eq!(joined.len(), 71);
}

fn shown(secrets: &[&str], pieces: &[&[u8]]) -> String {
    let (mut redactor, _) = Redactor::pair(&self::secrets(secrets), []);
    let mut shown: Vec<u8> = Vec::new();
    for piece in pieces {
        shown.extend(redactor.push(piece));
    }
    shown.extend(redactor.finish());
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn output_ends_at_the_line_of_a_secret() {
    for secret in TRICKY {
        for (name, form) in forms(secret) {
            let text = format!("first\nsecond: {form}\nthird\n");
            for size in [1, 3, 1000] {
                let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                let shown = shown(&[secret], &pieces);
                assert!(shown.starts_with("first\n"), "{name}: {shown}");
                assert!(!shown.contains("third"), "{name}: {shown}");
                assert!(
                    shown.ends_with(&format!("{HIDDEN_OUTPUT}\n")),
                    "{name}: {shown}"
                );
                assert!(!secrets(&[secret]).occur_in(&shown), "{name}: {shown}");
            }
        }
    }
}

#[test]
fn both_outputs_end_at_a_secret() {
    let (mut stdout, mut stderr) = Redactor::pair(&secrets(&["hunter27731"]), []);
    assert_eq!(stderr.push(b"one\n"), b"one\n");
    let notice = format!("{HIDDEN_OUTPUT}\n").into_bytes();
    assert_eq!(stdout.push(b"hunter27731\n"), notice);
    assert_eq!(stdout.push(b"more\n"), b"");
    assert_eq!(stderr.push(b"two\n"), notice);
    assert_eq!(stderr.finish(), b"");
    assert_eq!(stdout.finish(), b"");
}

#[test]
fn output_without_secrets_is_passed_on_at_once() {
    let (mut redactor, _) = Redactor::pair(&Secrets::default(), []);
    assert_eq!(redactor.push(b"1 of 3 ..."), b"1 of 3 ...");
    assert_eq!(
        shown(&["hunter27731"], &[b"a\nb", b"c\n", b"d"]),
        "a\nbc\nd"
    );
}

#[test]
fn marks_are_removed() {
    let (mut redactor, _) = Redactor::pair(&Secrets::default(), ["[sudo] ".to_owned()]);
    assert_eq!(redactor.push(b"[sudo] a [sudo] b\n"), b"a b\n");
}

#[test]
fn a_secret_between_control_characters_does_not_show() {
    let secrets = secrets(&["hunter27731"]);
    for text in [
        "a hun\u{1b}[31mter27731 b\n",
        "hun\u{0}ter27731",
        "hunter\u{8}27731\n",
        "h\u{202e}unter27731\n",
        "\u{1b}[1mh\u{1b}[0munter27731",
    ] {
        assert_eq!(
            shown(&["hunter27731"], &[text.as_bytes()]).trim_end(),
            HIDDEN_OUTPUT,
            "{text:?}"
        );
        let redacted = secrets.redact(text);
        assert!(
            redacted.contains(REDACTED) && !secrets.occur_in(&redacted),
            "{text:?}"
        );
    }
    let other = "\u{1b}[31mred\u{1b}[0m \u{e9}\nhunter\n";
    assert_eq!(shown(&["hunter27731"], &[other.as_bytes()]), other);
}

#[test]
fn a_secret_at_the_limit_of_a_long_line_does_not_show() {
    for start in (64 << 10) - 12..(64 << 10) + 4 {
        let text = format!("{}hunter27731{}", "-".repeat(start), "+".repeat(64 << 10));
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1 << 15).collect();
        let shown = shown(&["hunter27731"], &pieces);
        assert!(!shown.contains("unter27731") && shown.contains(HIDDEN_OUTPUT));
    }
}
