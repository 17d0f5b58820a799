//! Placeholders in option values: `%h`, `~` and `${NAME}`.

use std::path::PathBuf;

use sha1::{Digest as _, Sha1};

use super::context::LocalUser;
use super::line::words;
use crate::host::names::{is_shell_word, shown};
use crate::system::user;
use crate::value::hex;

/// The character before the letter of a placeholder that only the host key gives.
pub(crate) const KEY_TOKEN: char = '\u{1}';

/// The reasons why placeholders cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The placeholder does not exist, or not for this option.
    #[error("the placeholder `%{token}` is not allowed in `{text}`")]
    Unknown { token: String, text: String },
    /// The environment variable is not set.
    #[error("the variable `{name}` in `{text}` is not set")]
    Variable { name: String, text: String },
    /// The value would mean more than a word to the shell that gets the text.
    #[error(
        "`%{token}` in `{text}` is not put into a shell command, because its value `{}` contains \
         characters that a shell interprets",
        shown(.value)
    )]
    Unsafe {
        token: char,
        text: String,
        value: String,
    },
    /// The user of a `~name` path does not exist.
    #[error("the user in `{0}` does not exist")]
    Home(String),
}

/// The values of the placeholders for one host.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    pub local: &'a LocalUser,
    /// `%h`: the host to connect to.
    pub host: &'a str,
    /// `%n`: the host as the user wrote it.
    pub original: &'a str,
    /// `%p`: the port of the host.
    pub port: u16,
    /// `%r`: the login user on the host.
    pub user: &'a str,
    /// `%k`: the name under which the host key is known.
    pub key_alias: &'a str,
    /// `%j`: the jump hosts, separated by commas.
    pub jumps: &'a str,
}

impl Tokens<'_> {
    /// Expands a path: `~`, placeholders and variables.
    pub fn path(&self, text: &str) -> Result<PathBuf, TokenError> {
        let text = with_home(text, self.local)?;
        self.replace_in_path(&text).map(PathBuf::from)
    }

    /// Expands the command of a `Match exec`.
    pub(super) fn command(&self, text: &str) -> Result<String, TokenError> {
        replace(text, |token| self.shell_value(token, text))
    }

    /// Expands a `ProxyCommand`, which has only a few placeholders.
    pub fn proxy_command(&self, text: &str) -> Result<String, TokenError> {
        replace(text, |token| match token {
            'h' | 'k' | 'n' | 'p' | 'r' => self.shell_value(token, text),
            _ => Ok(None),
        })
    }

    /// Expands the words of a `KnownHostsCommand`, which runs without a shell.
    ///
    /// Placeholders for the key become [`KEY_TOKEN`] and their letter.
    pub fn known_hosts_command(&self, text: &str) -> Result<Vec<String>, TokenError> {
        let expand = |word: String| {
            replace(&word, |token| match token {
                'H' | 'I' | 'K' | 'f' | 't' => Ok(Some(format!("{KEY_TOKEN}{token}"))),
                token => Ok(self.token_value(token)),
            })
        };
        words(text)
            .unwrap_or_default()
            .into_iter()
            .map(expand)
            .collect()
    }

    /// Expands a part of `ProxyJump`, which is no shell text.
    pub fn proxy_jump(&self, text: &str) -> Result<String, TokenError> {
        replace(text, |token| match token {
            'h' | 'k' | 'n' | 'p' | 'r' => Ok(self.token_value(token)),
            _ => Ok(None),
        })
    }

    /// Returns the value of a placeholder in a shell text.
    ///
    /// Names are checked where they enter. This second check holds for every value, whatever its
    /// source.
    fn shell_value(&self, token: char, text: &str) -> Result<Option<String>, TokenError> {
        let Some(value) = self.token_value(token) else {
            return Ok(None);
        };
        // A home folder may have spaces, which run nothing.
        let is_word = match token {
            'd' => is_shell_word(&value.replace(' ', "")),
            _ => is_shell_word(&value),
        };
        if is_word {
            return Ok(Some(value));
        }
        Err(TokenError::Unsafe {
            token,
            text: text.to_owned(),
            value,
        })
    }

    fn replace_in_path(&self, text: &str) -> Result<String, TokenError> {
        let token_value = |token| Ok(self.token_value(token));
        // Placeholders are replaced only between variables: the value of a variable has none.
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let unset = |name: &str| TokenError::Variable {
                name: name.to_owned(),
                text: text.to_owned(),
            };
            let (name, behind) = after.split_once('}').ok_or_else(|| unset(after))?;
            let value = self.local.env.get(name).ok_or_else(|| unset(name))?;
            whole += &replace(before, token_value)?;
            whole += value;
            rest = behind;
        }
        Ok(whole + &replace(rest, token_value)?)
    }

    fn token_value(&self, token: char) -> Option<String> {
        let LocalUser {
            user,
            uid,
            home,
            host: here,
            ..
        } = self.local;
        Some(match token {
            'C' => {
                let port = self.port.to_string();
                let mut hash = Sha1::new();
                for part in [here, self.host, &port, self.user, self.jumps] {
                    hash.update(part.as_bytes());
                }
                hex(&hash.finalize())
            }
            'L' => here.split('.').next().unwrap_or(here).to_owned(),
            'd' => home.display().to_string(),
            'h' => self.host.to_owned(),
            'i' => uid.to_string(),
            'j' => self.jumps.to_owned(),
            'k' => self.key_alias.to_owned(),
            'l' => here.clone(),
            'n' => self.original.to_owned(),
            'p' => self.port.to_string(),
            'r' => self.user.to_owned(),
            'u' => user.clone(),
            _ => return None,
        })
    }
}

/// Expands `HostName`, which has only the placeholders `%h` and `%%`.
pub(super) fn host_name(text: &str, host: &str) -> Result<String, TokenError> {
    replace(text, |token| Ok((token == 'h').then(|| host.to_owned())))
}

fn replace(
    text: &str,
    value: impl Fn(char) -> Result<Option<String>, TokenError>,
) -> Result<String, TokenError> {
    let mut whole = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            whole.push(c);
            continue;
        }
        let token = characters.next();
        match token {
            Some('%') => whole.push('%'),
            token => match token.map(&value).transpose()?.flatten() {
                Some(value) => whole += &value,
                None => {
                    return Err(TokenError::Unknown {
                        token: token.map(String::from).unwrap_or_default(),
                        text: text.to_owned(),
                    });
                }
            },
        }
    }
    Ok(whole)
}

/// Replaces `~` or `~name` at the start of a path with a home folder.
pub(super) fn with_home(text: &str, local: &LocalUser) -> Result<String, TokenError> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(text.to_owned());
    };
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let home = if name.is_empty() {
        local.home.clone()
    } else {
        let unknown = || TokenError::Home(text.to_owned());
        user::home_of(name).ok_or_else(unknown)?
    };
    Ok(home
        .join(path.trim_start_matches('/'))
        .display()
        .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(local: &LocalUser) -> Tokens<'_> {
        Tokens {
            local,
            host: "h.example",
            original: "h",
            port: 2022,
            user: "u",
            key_alias: "k",
            jumps: "",
        }
    }

    fn local() -> LocalUser {
        LocalUser {
            user: "me".to_owned(),
            uid: 7,
            home: "/home/me".into(),
            host: "here.example".to_owned(),
            env: [("A".to_owned(), "100%".to_owned())].into_iter().collect(),
        }
    }

    #[test]
    fn placeholders_home_and_variables_are_replaced() {
        let local = local();
        let path = |text: &str| match tokens(&local).path(text) {
            Ok(path) => path.display().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            path("~/k-%h-%n-%p-%r-%u"),
            "/home/me/k-h.example-h-2022-u-me"
        );
        assert_eq!(
            path("%d/%i/%L/%l/%k/%%"),
            "/home/me/7/here/here.example/k/%"
        );
        assert_eq!(path("/${A}/x"), "/100%/x");
        insta::assert_snapshot!(path("/${B}/x"), @"the variable `B` in `/${B}/x` is not set");
        insta::assert_snapshot!(path("/%q"), @"the placeholder `%q` is not allowed in `/%q`");
        insta::assert_snapshot!(path("/%"), @"the placeholder `%` is not allowed in `/%`");
        insta::assert_snapshot!(path("~no such user/x"), @"the user in `~no such user/x` does not exist");
    }

    #[test]
    fn a_proxy_command_has_few_placeholders() {
        let local = local();
        let tokens = tokens(&local);
        let command = tokens.proxy_command("nc %h %p %%").unwrap();
        assert_eq!(command, "nc h.example 2022 %");
        assert!(tokens.proxy_command("nc %u").is_err());
    }

    #[test]
    fn a_value_with_signs_of_a_shell_is_not_put_into_a_command() {
        let local = LocalUser {
            home: "/home/my self".into(),
            ..local()
        };
        let tokens = |user| Tokens {
            user,
            ..tokens(&local)
        };
        let hostile = tokens("$(id)");
        insta::assert_snapshot!(hostile.command("x %r").unwrap_err(), @"`%r` in `x %r` is not put into a shell command, because its value `$(id)` contains characters that a shell interprets");
        assert!(hostile.proxy_command("x %r").is_err());
        assert_eq!(hostile.proxy_command("x %h").unwrap(), "x h.example");
        assert_eq!(hostile.proxy_jump("%r").unwrap(), "$(id)");
        assert_eq!(tokens("u").command("%d/x").unwrap(), "/home/my self/x");
        assert!(tokens("DOMAIN\\u").proxy_command("x %r").is_err());
    }
}
