//! The alphabets of host and user names.
//!
//! `ProxyCommand`, `Match exec` and commands of tasks put these names into shell texts. A cloud, a
//! host or a file of another person may have chosen the name, so a name with a character that a
//! shell interprets is refused wherever it enters. Placeholders are checked a second time when they
//! are replaced.

use std::fmt::{Display, Formatter};

/// The maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 255;
/// The characters of host names besides letters and digits. `:` and `%` are in IPv6 addresses.
const HOST_SIGNS: &str = "._:%-";
/// The characters of user names besides letters and digits. `\` is in `DOMAIN\user`.
const USER_SIGNS: &str = "._-+@%=:,\\";
/// The characters that a shell interprets, besides white space and control characters.
const SHELL_SIGNS: &str = "'\"`$\\;&<>|(){}*?!#~^";

/// The part of a host string that a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    Host,
    User,
}

impl Display for NameKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Host => "host name",
            Self::User => "user name",
        })
    }
}

/// The reasons why a text is not a name of a host or a user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the {0} is empty")]
    Empty(NameKind),
    #[error("the {0} is longer than {MAX_NAME_BYTES} bytes")]
    TooLong(NameKind),
    #[error("the {0} starts with `-`, so programs would take it for an option")]
    LooksLikeOption(NameKind),
    /// The name has a character outside of the alphabet.
    #[error("the {kind} contains {}; only letters, digits and {} are allowed", quoted(*.character), signs_of(*.kind))]
    Character { kind: NameKind, character: char },
}

/// Returns a character for a message, with control and invisible characters escaped.
fn quoted(character: char) -> String {
    match character {
        ' ' => "a space".to_owned(),
        '\'' | '"' | '\\' => format!("`{character}`"),
        character => format!("`{}`", character.escape_debug()),
    }
}

/// Returns the allowed signs for a message.
fn signs_of(kind: NameKind) -> String {
    let signs = match kind {
        NameKind::Host => HOST_SIGNS,
        NameKind::User => USER_SIGNS,
    };
    let signs: Vec<String> = signs.chars().map(|sign| format!("`{sign}`")).collect();
    signs.join(" ")
}

/// Checks the name or address of a host. An IPv6 address has no brackets.
pub fn check_host_name(name: &str) -> Result<(), NameError> {
    check(name, NameKind::Host, HOST_SIGNS)
}

/// Checks the name of a user.
pub fn check_user_name(name: &str) -> Result<(), NameError> {
    check(name, NameKind::User, USER_SIGNS)
}

fn check(name: &str, kind: NameKind, signs: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty(kind));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(NameError::TooLong(kind));
    }
    if name.starts_with('-') {
        return Err(NameError::LooksLikeOption(kind));
    }
    let is_foreign = |c: &char| !c.is_alphanumeric() && !signs.contains(*c);
    match name.chars().find(is_foreign) {
        Some(character) => Err(NameError::Character { kind, character }),
        None => Ok(()),
    }
}

/// Checks an item of a host list, before anything is done for it.
///
/// An item may be an alias of an inventory, which may contain more characters than the name of a
/// host, such as spaces. A shell that gets the alias must not run a part of it.
pub fn check_host_list_item(item: &str) -> Result<(), NameError> {
    let kind = NameKind::Host;
    if item.starts_with('-') {
        return Err(NameError::LooksLikeOption(kind));
    }
    // A backslash is in `DOMAIN\user@host`, and brackets are around IPv6 addresses.
    let is_foreign = |c: &char| *c != ' ' && *c != '\\' && is_shell_sign(*c);
    match item.chars().find(is_foreign) {
        Some(character) => Err(NameError::Character { kind, character }),
        None => Ok(()),
    }
}

/// Whether a shell takes a text for one plain word, also next to other texts.
pub(super) fn is_shell_word(text: &str) -> bool {
    !text.starts_with('-') && !text.contains(is_shell_sign)
}

/// Whether a shell gives this character a meaning of its own.
fn is_shell_sign(c: char) -> bool {
    c.is_whitespace() || c.is_control() || SHELL_SIGNS.contains(c)
}

/// Returns a text for a message: escaped, and cut if it is very long.
pub(super) fn shown(text: &str) -> String {
    let escape = |c: char| match c {
        '\'' | '"' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    let start: String = text.chars().take(MAX_NAME_BYTES).map(escape).collect();
    let rest = if text.chars().count() > MAX_NAME_BYTES {
        "…"
    } else {
        ""
    };
    start + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_real_systems_are_accepted() {
        for host in [
            "web1",
            "10.0.0.1",
            "::1",
            "fe80::1%eth0",
            "a.b-c.example",
            "my_host",
            "büro",
        ] {
            assert_eq!(check_host_name(host), Ok(()), "{host}");
        }
        for user in [
            "root",
            "deploy-1",
            "_apt",
            "user@example.com",
            "DOMAIN\\user",
            "a+b",
            "user%domain",
            "a=b",
        ] {
            assert_eq!(check_user_name(user), Ok(()), "{user}");
        }
    }

    #[test]
    fn signs_of_a_shell_are_in_no_name() {
        for sign in SHELL_SIGNS
            .chars()
            .chain(" \n\t\0\u{9b}\u{202e}/[]".chars())
        {
            assert!(check_host_name(&format!("a{sign}b")).is_err(), "{sign:?}");
            let user = check_user_name(&format!("a{sign}b"));
            assert_eq!(user.is_ok(), sign == '\\', "{sign:?}");
        }
        for sign in SHELL_SIGNS.chars() {
            assert!(!is_shell_word(&format!("a{sign}b")), "{sign:?}");
        }
        assert!(!is_shell_word("-a") && is_shell_word("a@[::1]:22,b"));
    }

    #[test]
    fn a_message_names_the_character() {
        let of = |name| check_host_name(name).unwrap_err().to_string();
        insta::assert_snapshot!(of("a$(id)"), @"the host name contains `$`; only letters, digits and `.` `_` `:` `%` `-` are allowed");
        insta::assert_snapshot!(of("a\u{1b}"), @r"the host name contains `\u{1b}`; only letters, digits and `.` `_` `:` `%` `-` are allowed");
        insta::assert_snapshot!(of("-oProxyCommand=x"), @"the host name starts with `-`, so programs would take it for an option");
        insta::assert_snapshot!(of(&"a".repeat(256)), @"the host name is longer than 255 bytes");
        assert_eq!(shown("a\u{1b}\"é"), "a\\u{1b}\"é");
    }
}
