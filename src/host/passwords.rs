//! Passwords and passphrases in two tiers: for one host, and for all hosts (F49 to F53).
//!
//! The caller asks the user and records the answers here. They stay in memory only.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Address, Destination, Question, Route, Secret};

/// The passwords known so far. They are never written anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passwords {
    login: Tiers<String>,
    sudo: Tiers<String>,
    passphrases: Tiers<PathBuf>,
}

/// The values of single keys, and a default for all others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tiers<K: std::hash::Hash + Eq> {
    by_key: HashMap<K, Secret>,
    default: Option<Secret>,
}

impl<K: std::hash::Hash + Eq> Default for Tiers<K> {
    fn default() -> Self {
        Self {
            by_key: HashMap::new(),
            default: None,
        }
    }
}

impl<K: std::hash::Hash + Eq> Tiers<K> {
    fn get<Q>(&self, key: &Q) -> Option<&Secret>
    where
        K: std::borrow::Borrow<Q>,
        Q: std::hash::Hash + Eq + ?Sized,
    {
        self.by_key.get(key).or(self.default.as_ref())
    }

    fn record_answer(&mut self, key: K, secret: Secret) {
        self.default = Some(secret.clone());
        self.by_key.insert(key, secret);
    }
}

impl Passwords {
    /// Creates a store with the default passwords for login and for `sudo` (F51).
    pub fn new(login: Option<Secret>, sudo: Option<Secret>) -> Self {
        let mut passwords = Self::default();
        passwords.login.default = login;
        passwords.sudo.default = sudo;
        passwords
    }

    /// Returns the login password of a host, or else the default (F49).
    pub fn login(&self, address: &Address) -> Option<&Secret> {
        self.login.get(address.to_string().as_str())
    }

    /// Returns the `sudo` password of a host.
    ///
    /// The order is: the password of the host, the default, the login password of the host (F51).
    pub fn sudo(&self, address: &Address) -> Option<&Secret> {
        let own = self.sudo.get(address.to_string().as_str());
        own.or_else(|| self.login(address))
    }

    /// Returns the passphrase of a key, or else the default (F53).
    pub fn passphrase(&self, file: &Path) -> Option<&Secret> {
        self.passphrases.get(file)
    }

    /// Records an answer, for its host or key and as the new default (F50).
    ///
    /// Answers to prompts of commands are not recorded.
    pub fn record_answer(&mut self, question: &Question, answer: Secret) {
        match question {
            Question::Login(address) => self.login.record_answer(address.clone(), answer),
            Question::Become(address) => self.sudo.record_answer(address.clone(), answer),
            Question::Passphrase(file) => self.passphrases.record_answer(file.clone(), answer),
            Question::Prompt(_) => {}
        }
    }

    /// Returns the destination with the known passwords filled in, also for its jump hosts.
    ///
    /// Passwords that it already has are kept.
    #[must_use]
    pub fn apply(&self, destination: &Destination) -> Destination {
        let mut known = destination.clone();
        let identities = &mut known.identities;
        if identities.password.is_none() {
            identities.password = self.login(&known.address).cloned();
        }
        if identities.passphrase.is_none() {
            let mut own = identities.files.iter();
            let own = own.find_map(|file| self.passphrases.by_key.get(file));
            let found = own.or(self.passphrases.default.as_ref());
            // Fabric uses one value for both. Trying the password on a key file does not disclose
            // it.
            identities.passphrase = found.or(identities.password.as_ref()).cloned();
        }
        if let Route::Jumps(hops) = &known.route {
            let hops = hops.iter().map(|hop| Arc::new(self.apply(hop)));
            known.route = Route::Jumps(hops.collect());
        }
        known
    }
}

/// A counter of the attempts to get the same answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttemptCounter(u8);

impl AttemptCounter {
    /// The number of times that the same question is asked.
    pub const MAX: u8 = 3;

    /// Counts an attempt and returns whether it may be made.
    pub fn count_attempt(&mut self) -> bool {
        let may = self.0 < Self::MAX;
        self.0 += u8::from(may);
        may
    }

    /// Whether the question was not asked yet.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether the question may not be asked again.
    pub fn is_exhausted(self) -> bool {
        self.0 == Self::MAX
    }
}

#[cfg(test)]
mod tests_of_passwords {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text, "me", 22).unwrap()
    }

    fn revealed(secret: Option<&Secret>) -> &str {
        secret.map_or("", Secret::reveal)
    }

    #[test]
    fn an_answer_is_kept_for_its_host_and_for_all_others() {
        let mut passwords = Passwords::new(Some(Secret::new("all")), None);
        let (a, b) = (address("a"), address("b"));
        let own = &mut passwords.login.by_key;
        own.insert(a.to_string(), Secret::new("of a"));
        assert_eq!(revealed(passwords.login(&a)), "of a");
        assert_eq!(revealed(passwords.login(&b)), "all");
        let question = Question::Login(b.to_string());
        passwords.record_answer(&question, Secret::new("of b"));
        assert_eq!(revealed(passwords.login(&address("c"))), "of b");
        assert_eq!(revealed(passwords.login(&a)), "of a");
    }

    #[test]
    fn who_acts_as_another_user_gives_the_login_password_at_last() {
        let mut passwords = Passwords::new(Some(Secret::new("login")), None);
        let (a, b) = (address("a"), address("b"));
        assert_eq!(revealed(passwords.sudo(&a)), "login");
        passwords.record_answer(&Question::Become(a.to_string()), Secret::new("sudo"));
        assert_eq!(revealed(passwords.sudo(&b)), "sudo");
        assert_eq!(revealed(passwords.login(&a)), "login");
    }

    #[test]
    fn a_destination_and_the_hosts_on_its_way_get_what_is_known() {
        let mut passwords = Passwords::default();
        passwords.record_answer(&Question::Passphrase("/k".into()), Secret::new("phrase"));
        let own = &mut passwords.login.by_key;
        own.insert(address("jump").to_string(), Secret::new("of jump"));
        let jump = Destination::new("jump", address("jump"));
        let mut end = Destination::new("end", address("end"));
        end.route = Route::Jumps(vec![Arc::new(jump)]);
        let known = passwords.apply(&end);
        assert_eq!(revealed(known.identities.passphrase.as_ref()), "phrase");
        assert_eq!(known.identities.password, None);
        let Route::Jumps(hops) = &known.route else {
            panic!("{known:?}");
        };
        assert_eq!(revealed(hops[0].identities.password.as_ref()), "of jump");
        assert!(!format!("{passwords:?} {known:?}").contains("phrase\""));
    }
}

#[cfg(test)]
mod attempt_counter_tests {
    use super::*;

    #[test]
    fn somebody_is_asked_three_times() {
        let mut tries = AttemptCounter::default();
        assert!(tries.is_zero() && !tries.is_exhausted());
        assert_eq!(
            [(); 5].map(|()| tries.count_attempt()),
            [true, true, true, false, false]
        );
        assert!(tries.is_exhausted() && !tries.is_zero());
    }
}
