//! Public keys in an `authorized_keys` file: parsing lines, and adding or removing keys.
//!
//! Pure text functions; nothing here reads the machine.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::base64;

/// Matches `options kind key comment`, in which the kind is one of OpenSSH's.
static KEY_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(.*?)\s?((?:sk-)?(?:ssh-|ecds)[\w@.-]+\s.+)$").expect("it is a pattern")
});

/// A public key that may log in: one line of `authorized_keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizedKey {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) comment: String,
    pub(super) options: Vec<String>,
}

impl AuthorizedKey {
    /// Parses a line; None if it holds no key.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let found = KEY_LINE.captures(line.trim())?;
        let mut words = found[2].split_whitespace();
        let (kind, text) = (words.next()?.to_owned(), words.next()?.to_owned());
        let words: Vec<&str> = words.collect();
        let options = found.get(1).map_or("", |it| it.as_str());
        Some(Self {
            kind,
            text,
            comment: words.join(" "),
            options: split_options(options),
        })
    }

    /// Formats the key as a line of the file.
    pub(super) fn to_line(&self) -> String {
        let mut line = String::new();
        if !self.options.is_empty() {
            line = format!("{} ", self.options.join(","));
        }
        line = format!("{line}{} {} {}", self.kind, self.text, self.comment);
        line.trim_end().to_owned()
    }

    /// Whether the key text is valid, padded base64.
    pub(super) fn is_valid(&self) -> bool {
        base64::is_padded(&self.text)
    }
}

/// Splits options at commas, except for commas within quotes.
pub(super) fn split_options(text: &str) -> Vec<String> {
    let mut options = vec![String::new()];
    let mut is_quoted = false;
    for sign in text.trim().chars() {
        if sign == '"' {
            is_quoted = !is_quoted;
        }
        if sign == ',' && !is_quoted {
            options.push(String::new());
        } else if let Some(last) = options.last_mut() {
            last.push(sign);
        }
    }
    options.retain(|option| !option.is_empty());
    options
}

/// Returns the key type as the file spells it, also for Salt's short names; None if it is unknown.
pub(super) fn full_kind(kind: &str) -> Option<String> {
    Some(match kind {
        "r" | "rsa" | "ssh-rsa" => "ssh-rsa".to_owned(),
        "d" | "dsa" | "dss" | "ssh-dss" => "ssh-dss".to_owned(),
        "ecdsa" => "ecdsa-sha2-nistp256".to_owned(),
        "ed25519" | "ssh-ed25519" => "ssh-ed25519".to_owned(),
        other if other.starts_with("ecds") || other.starts_with("ssh-") => other.to_owned(),
        other if other.starts_with("sk-") => other.to_owned(),
        _ => return None,
    })
}

/// The presence of a key in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyStatus {
    Same,
    Differs,
    Missing,
}

/// Compares a file with a key. Keys are identified by their text, not by comment or options.
pub(super) fn key_status(file: &str, desired: &AuthorizedKey) -> KeyStatus {
    let found = file
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(AuthorizedKey::parse)
        .find(|key| key.text == desired.text);
    match found {
        None => KeyStatus::Missing,
        Some(key) if key.to_line() == desired.to_line() => KeyStatus::Same,
        Some(_) => KeyStatus::Differs,
    }
}

/// Returns the file with the key added, or with its line replaced.
pub(super) fn with_key(file: &str, desired: &AuthorizedKey) -> String {
    let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
    match lines
        .iter()
        .position(|line| is_line_of(line, &desired.text))
    {
        Some(index) => lines[index] = desired.to_line(),
        None => lines.push(desired.to_line()),
    }
    lines.join("\n") + "\n"
}

/// Returns the file without the lines of the key.
pub(super) fn without_key(file: &str, key: &str) -> String {
    let lines = file.lines().filter(|line| !is_line_of(line, key));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn is_line_of(line: &str, key: &str) -> bool {
    !line.trim_start().starts_with('#')
        && AuthorizedKey::parse(line).is_some_and(|it| it.text == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_options_a_kind_a_key_and_a_comment() {
        let line = "from=\"10.0.0.1,10.0.0.2\",no-pty ssh-ed25519 AAAA ann at home";
        let key = AuthorizedKey::parse(line).unwrap();
        assert_eq!(key.options, ["from=\"10.0.0.1,10.0.0.2\"", "no-pty"]);
        assert_eq!(
            (key.kind.as_str(), key.text.as_str()),
            ("ssh-ed25519", "AAAA")
        );
        assert_eq!(key.comment, "ann at home");
        assert_eq!(key.to_line(), line);
        assert_eq!(AuthorizedKey::parse("# nothing"), None);
        assert!(AuthorizedKey::parse("sk-ssh-ed25519@openssh.com AAAA").is_some());
        assert!(AuthorizedKey::parse("ecdsa-sha2-nistp256 AAAA").is_some());
    }

    #[test]
    fn a_key_is_put_in_place_of_itself_and_taken_out() {
        let file = "# mine\nssh-rsa AAAA one\nssh-rsa BBBB two\n";
        let desired = AuthorizedKey::parse("ssh-rsa AAAA new").unwrap();
        assert_eq!(key_status(file, &desired), KeyStatus::Differs);
        let changed = with_key(file, &desired);
        assert_eq!(changed, "# mine\nssh-rsa AAAA new\nssh-rsa BBBB two\n");
        assert_eq!(key_status(&changed, &desired), KeyStatus::Same);
        assert_eq!(without_key(&changed, "AAAA"), "# mine\nssh-rsa BBBB two\n");
        let other = AuthorizedKey::parse("ssh-rsa CCCC").unwrap();
        assert_eq!(
            with_key("ssh-rsa AAAA one", &other),
            "ssh-rsa AAAA one\nssh-rsa CCCC\n"
        );
    }

    #[test]
    fn what_cannot_be_a_key_is_none() {
        let is_valid = |text: &str| {
            AuthorizedKey::parse(&format!("ssh-rsa {text}"))
                .unwrap()
                .is_valid()
        };
        assert!(is_valid("AAAA") && is_valid("AAA=") && is_valid("AA=="));
        assert!(!is_valid("AAA") && !is_valid("A===") && !is_valid("AA!A"));
        assert_eq!(full_kind("ed25519").as_deref(), Some("ssh-ed25519"));
        assert_eq!(full_kind("nosuch"), None);
    }
}
