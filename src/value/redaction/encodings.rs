//! The forms in which programs print a text: escaped, quoted or encoded.

use std::collections::BTreeSet;

use super::super::digest::hex;
use super::super::encode_percent;
use crate::text::{base64, force_quote_word, shlex_quote};

/// The minimum length of an encoded form that is searched for. Shorter ones occur by chance.
const MIN_ENCODED: usize = 6;

/// The characters besides letters, digits and `-._~` that some encoders of URLs leave as they are.
const URL_SAFE: [&[u8]; 4] = [b"", b"/", b"!*'()", b"/:@!$&'()*+,;="];

/// Returns the forms of a text other than itself that programs print, each once.
pub(super) fn encodings(text: &str) -> Vec<Vec<u8>> {
    let mut forms = BTreeSet::new();
    let mut add = |form: String| forms.insert(form.into_bytes());
    for escaped in escaped(text) {
        add(escaped);
    }
    for safe in URL_SAFE {
        let encoded = encode_percent(text, safe);
        add(encoded.replace("%20", "+"));
        add(encoded);
    }
    for encoded in base64_parts(text.as_bytes()) {
        add(encoded.replace('+', "-").replace('/', "_"));
        add(encoded);
    }
    add(hex(text.as_bytes()));
    let with_spaces: Vec<Vec<u8>> = forms.iter().map(|form| without_spaces(form)).collect();
    forms.extend(with_spaces);
    forms.extend(swapped_pairs(text.as_bytes()));
    forms.insert(without_spaces(text.as_bytes()));
    forms.remove(text.as_bytes());
    forms.retain(|form| form.len() >= MIN_ENCODED);
    forms.into_iter().collect()
}

/// Returns a text in other cases, and as JSON, YAML, XML and shells escape it.
fn escaped(text: &str) -> Vec<String> {
    let unquoted = |quoted: String| {
        let inner = quoted.get(1..quoted.len().saturating_sub(1));
        inner.unwrap_or_default().to_owned()
    };
    let json = unquoted(serde_json::to_string(text).unwrap_or_default());
    let mut forms = vec![
        json.replace('/', "\\/"),
        unquoted(force_quote_word(text)),
        shlex_quote(text).trim_matches('\'').to_owned(),
        backslashed(text, |c| !c.is_ascii_alphanumeric() && !"_./-".contains(c)),
        backslashed(text, |c| "\"\\$`".contains(c)),
        backslashed(&json.replace("\\\"", "\""), |c| c == '\''),
        xml_escaped(text),
    ];
    if !text.is_ascii() {
        forms.extend([
            text.to_uppercase(),
            text.to_lowercase(),
            ascii_json(&json),
            // Octal numbers, as shells quote bytes.
            octal(text),
        ]);
    }
    forms.push(json);
    forms
}

fn backslashed(text: &str, needs: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if needs(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn xml_escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;").replace('"', "&quot;");
    text.replace('\'', "&#39;")
}

/// Replaces the characters of a JSON text that are not ASCII by `\u` and four digits.
fn ascii_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if c.is_ascii() {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

fn octal(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b' '..=b'~' => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    text.bytes().map(byte).collect()
}

/// Returns the base64 digits that are determined by the bytes alone, for each place in a group of three bytes.
fn base64_parts(bytes: &[u8]) -> impl Iterator<Item = String> {
    (0..3).map(move |before| {
        let padded = [&[0; 2][..before], bytes].concat();
        let encoded = base64::encode(&padded);
        // The first and the last digit also hold bits of the neighbours.
        let start = [0, 2, 3][before];
        let end = padded.len() * 8 / 6;
        encoded.get(start..end).unwrap_or_default().to_owned()
    })
}

/// Returns the bytes in pairs with both bytes exchanged, as `hexdump` prints them on most machines.
fn swapped_pairs(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let swapped = |bytes: &[u8]| {
        let pairs = bytes.chunks_exact(2);
        pairs.flat_map(|pair| [pair[1], pair[0]]).collect()
    };
    let second = bytes.get(1..).unwrap_or_default();
    // Short ones are ordinary words too often.
    let is_long = bytes.len() > super::windows::WINDOW;
    [swapped(bytes), swapped(second)]
        .into_iter()
        .filter(move |_| is_long)
}

fn without_spaces(text: &[u8]) -> Vec<u8> {
    let kept = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    kept.copied().collect()
}
