//! Ordinary texts: words, numbers and names that occur in any output, so that they are not searched for even if they
//! are the values of secrets.

use std::sync::{LazyLock, OnceLock};

use super::super::FoldSet;
use super::common_texts::{TEXTS, WORDS};
use super::windows::{is_varied, windows};

/// The minimum number of digits of a number that is searched for.
const MIN_DIGITS: usize = 4;

/// Returns true if this machine knows an absolute path or a host by this name.
static IS_EXISTING_NAME: OnceLock<fn(&str) -> bool> = OnceLock::new();

/// Sets the function that says whether a text is an existing absolute path or the name of this machine.
///
/// The first call counts. Without it, no such name is ordinary.
pub fn set_existing_names(exists: fn(&str) -> bool) {
    // A second call comes from the same program.
    IS_EXISTING_NAME.set(exists).ok();
}

fn exists(name: &str) -> bool {
    IS_EXISTING_NAME.get().is_some_and(|exists| exists(name))
}

/// Returns true if a text occurs in any output, so that nothing is searched for if a secret has this value.
pub(super) fn is_ordinary(text: &str) -> bool {
    let text = text.trim();
    let is_word = || {
        let word = text.to_ascii_lowercase();
        WORDS.contains(&word.as_str())
    };
    is_small_number(text) || is_word() || exists(text)
}

/// Returns true if a text is a number of few digits, or a year of this or the last century.
fn is_small_number(text: &str) -> bool {
    let digits = text.trim_start_matches('-');
    let is_year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (digits.len() < MIN_DIGITS || is_year)
}

/// Returns true if a window of a secret is not a part of a common text, and not a run of one or two characters.
pub(super) fn is_telling(window: u64) -> bool {
    static COMMON: LazyLock<FoldSet<u64>> = LazyLock::new(|| {
        let texts = TEXTS.iter().chain(WORDS);
        let compact = texts.clone().map(|text| text.replace(' ', ""));
        let all = texts.map(|text| (*text).to_owned()).chain(compact);
        all.flat_map(|text| windows(text.as_bytes()).collect::<Vec<_>>())
            .collect()
    });
    is_varied(window) && !COMMON.contains(&window)
}

/// Returns the parts of a secret in which eight consecutive characters tell the secret.
///
/// Of a URL with a login, that is the login. Of another URL, everything after the host. Of an absolute path, the part
/// that does not exist.
pub(super) fn telling_parts(secret: &str) -> Vec<&str> {
    if let Some((scheme, rest)) = secret.split_once("://")
        && is_scheme(scheme)
        && !rest.contains(char::is_whitespace)
    {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let query = path.find(['?', '#']).map(|at| &path[at..]);
        return match authority.rsplit_once('@') {
            Some((login, _)) => [Some(login), query].into_iter().flatten().collect(),
            None => vec![path],
        };
    }
    if secret.starts_with('/') && !secret.contains('\n') {
        let ends = secret.match_indices('/').map(|(at, _)| at).skip(1);
        let existing = ends.take_while(|at| exists(&secret[..*at])).last();
        return vec![&secret[existing.unwrap_or(0)..]];
    }
    vec![secret]
}

/// Returns the password within a URL, and the text after a scheme if it is a token.
pub(super) fn password_of_url(secret: &str) -> Option<&str> {
    let (scheme, rest) = secret.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    is_scheme(scheme).then_some(password)
}

fn is_scheme(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    !text.is_empty() && text.chars().all(is_part)
}
