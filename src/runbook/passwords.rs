//! The passwords that are known, in two tiers: that of a host, or else the last one given
//! (spec/hosts.md F49 to F53).

use std::collections::HashMap;
use std::path::PathBuf;

use crate::host::{Question, Secret};

/// The passwords and passphrases that are known. Addresses are written `user@host:port`.
#[derive(Debug, Clone, Default)]
pub struct Passwords {
    logins: Tier<String>,
    becomes: Tier<String>,
    passphrases: Tier<PathBuf>,
}

/// Secrets of single things, and the one for all others.
#[derive(Debug, Clone)]
struct Tier<K> {
    own: HashMap<K, Secret>,
    other: Option<Secret>,
}

impl<K> Default for Tier<K> {
    fn default() -> Self {
        Self {
            own: HashMap::new(),
            other: None,
        }
    }
}

impl Passwords {
    /// Sets the password for all hosts without one of their own.
    pub fn set_login(&mut self, password: Secret) {
        self.logins.other = Some(password);
    }

    /// Sets the sudo password for all hosts without one of their own.
    pub fn set_become(&mut self, password: Secret) {
        self.becomes.other = Some(password);
    }

    /// Keeps an answer, for what was asked and for all that have none (F50).
    pub fn keep(&mut self, question: &Question, answer: &Secret) {
        match question {
            Question::Login(address) => {
                self.logins.own.insert(address.clone(), answer.clone());
                self.logins.other = Some(answer.clone());
            }
            Question::Become(address) => {
                self.becomes.own.insert(address.clone(), answer.clone());
                self.becomes.other = Some(answer.clone());
            }
            Question::Passphrase(file) => {
                self.passphrases.own.insert(file.clone(), answer.clone());
                self.passphrases.other = Some(answer.clone());
            }
            Question::Prompt(_) => {}
        }
    }

    /// The password to log in with.
    pub fn login(&self, address: &str) -> Option<&Secret> {
        let own = self.logins.own.get(address);
        own.or(self.logins.other.as_ref())
    }

    /// The password for sudo: its own, or else that of the login (F51).
    pub fn become_other(&self, address: &str) -> Option<&Secret> {
        let own = self.becomes.own.get(address);
        own.or(self.becomes.other.as_ref())
            .or_else(|| self.login(address))
    }

    /// The passphrase for one of these key files.
    pub fn passphrase(&self, files: &[PathBuf]) -> Option<&Secret> {
        let own = files.iter().find_map(|file| self.passphrases.own.get(file));
        own.or(self.passphrases.other.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_its_host_and_for_those_without_one() {
        let mut known = Passwords::default();
        let revealed = |secret: Option<&Secret>| secret.map(|it| it.reveal().to_owned());
        known.keep(&Question::Login("u@a:22".into()), &Secret::new("one"));
        known.keep(&Question::Login("u@b:22".into()), &Secret::new("two"));
        assert_eq!(revealed(known.login("u@a:22")).unwrap(), "one");
        assert_eq!(revealed(known.login("u@c:22")).unwrap(), "two");
        assert_eq!(revealed(known.become_other("u@a:22")).unwrap(), "one");
        known.keep(&Question::Become("u@a:22".into()), &Secret::new("root"));
        assert_eq!(revealed(known.become_other("u@b:22")).unwrap(), "root");
        assert!(!format!("{known:?}").contains("root"));
    }
}
