//! Passwords and passphrases in two tiers: for one host, and for all hosts (F49 to F53).
//!
//! The caller asks the user and tries the answers. A host that accepts one makes it known to all others. Passwords stay
//! in memory only.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Destination, Exit, HostParts, Question, Route, Secret};

/// The variables of this process that give the login password, the `sudo` password and the passphrase of keys.
///
/// Commands of this machine do not inherit them.
pub const PASSWORD_VARIABLES: [&str; 3] = [
    "UNFURL_SSH_PASSWORD",
    "UNFURL_SUDO_PASSWORD",
    "UNFURL_SSH_PASSPHRASE",
];

/// The passwords known so far. They are never written anywhere.
///
/// A typed answer becomes known once a host has accepted it; until then, it is among the [`TrialAnswers`] of its action.
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
    fn accept(&mut self, key: K, secret: Secret) {
        self.default = Some(secret.clone());
        self.by_key.insert(key, secret);
    }
}

impl Tiers<String> {
    /// Returns the password of a host.
    ///
    /// The order is: an accepted answer for the host, its entry in a file of tasks, its own setting, the newest answer or
    /// option for all hosts, and the default of the file of tasks (F49).
    fn of_host<'a>(
        &'a self,
        destination: &Destination,
        own: Option<&'a Secret>,
        (stated_by_host, stated): (&'a HashMap<String, Secret>, Option<&'a Secret>),
    ) -> Option<&'a Secret> {
        let accepted = self.by_key.get(&destination.address.to_string());
        accepted
            .or_else(|| StatedPasswords::of_host(stated_by_host, destination))
            .or(own)
            .or(self.default.as_ref())
            .or(stated)
    }
}

/// The passwords that a file of tasks states, for all hosts and for single ones (F49, F51).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedPasswords {
    pub login: Option<Secret>,
    pub sudo: Option<Secret>,
    /// Login passwords by host, as host strings name it.
    pub login_by_host: HashMap<String, Secret>,
    /// `sudo` passwords by host, as host strings name it.
    pub sudo_by_host: HashMap<String, Secret>,
}

impl StatedPasswords {
    /// Finds the entry of a host: by its whole address, by the host string, or by the host alone.
    fn of_host<'a>(
        by_host: &'a HashMap<String, Secret>,
        destination: &Destination,
    ) -> Option<&'a Secret> {
        if by_host.is_empty() {
            return None;
        }
        let address = &destination.address;
        let alias = HostParts::parse(&destination.name).host;
        let keys = [
            Some(address.to_string()),
            Some(destination.name.clone()),
            Some(format!("{}@{}", address.user, address.host)),
            alias,
            Some(address.host.clone()),
        ];
        keys.into_iter().flatten().find_map(|key| by_host.get(&key))
    }
}

/// The answers of a user that an action tries, and that no host has accepted yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialAnswers {
    answers: Vec<(Question, Secret)>,
    /// The number of passwords and passphrases that the login has refused.
    refusals: u32,
}

/// The verdict of a host on an answer, as the end of an action shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerVerdict {
    Accepted,
    Refused,
    /// The action ended before the answer was needed, or in another way that says nothing about it.
    Open,
}

impl AnswerVerdict {
    fn of(question: &Question, exit: &Exit) -> Self {
        match exit {
            Exit::NeedsAnswer {
                question: other,
                refused,
            } if other == question => {
                if *refused {
                    Self::Refused
                } else {
                    Self::Open
                }
            }
            // The login comes before `sudo`, and a locked key before the password.
            Exit::NeedsAnswer { question: next, .. } => match (question, next) {
                (
                    Question::Login(_) | Question::Passphrase(_),
                    Question::Become(_) | Question::Prompt(_),
                )
                | (Question::Passphrase(_), Question::Login(_)) => Self::Accepted,
                _ => Self::Open,
            },
            Exit::Code(_) | Exit::Signal(_) | Exit::NotFound(_) => Self::Accepted,
            Exit::TimedOut | Exit::Cancelled | Exit::Unreachable(_) | Exit::Failed(_) => Self::Open,
        }
    }
}

impl TrialAnswers {
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Returns true if an answer to a question of the same kind is being tried.
    pub fn tries_kind_of(&self, question: &Question) -> bool {
        let kind = std::mem::discriminant(question);
        self.answers
            .iter()
            .any(|(tried, _)| std::mem::discriminant(tried) == kind)
    }

    /// Adds an answer, which replaces an earlier one to the same question.
    ///
    /// Answers to prompts of commands are not kept.
    pub fn add(&mut self, question: &Question, answer: Secret) {
        self.remove(question);
        if !matches!(question, Question::Prompt(_) | Question::Settled(_)) {
            self.answers.push((question.clone(), answer));
        }
    }

    /// Counts the answer that the login has refused, if it did.
    pub fn count_refusal(&mut self, question: &Question, is_refused: bool) {
        self.refusals += u32::from(is_refused && question.is_limited_by_login());
    }

    fn remove(&mut self, question: &Question) {
        self.answers.retain(|(tried, _)| tried != question);
    }

    fn find(&self, is_asked: impl Fn(&Question) -> bool) -> Option<&Secret> {
        let mut found = self
            .answers
            .iter()
            .filter(|(question, _)| is_asked(question));
        found.next_back().map(|(_, answer)| answer)
    }

    /// Returns the answer for `sudo`.
    pub fn sudo(&self) -> Option<&Secret> {
        self.find(|question| matches!(question, Question::Become(_)))
    }

    /// Takes the end of the action: accepted answers become known, and refused ones are forgotten.
    ///
    /// Returns true if an answer was accepted.
    pub fn settle(&mut self, exit: &Exit, passwords: &mut Passwords) -> bool {
        let mut has_accepted = false;
        if let Exit::NeedsAnswer { question, refused } = exit {
            self.count_refusal(question, *refused);
        }
        for (question, answer) in std::mem::take(&mut self.answers) {
            match AnswerVerdict::of(&question, exit) {
                AnswerVerdict::Accepted => {
                    passwords.accept(&question, answer);
                    has_accepted = true;
                    self.refusals = 0;
                }
                AnswerVerdict::Refused => {}
                AnswerVerdict::Open => self.answers.push((question, answer)),
            }
        }
        has_accepted
    }
}

impl Passwords {
    /// Creates a store with the default passwords for login and for `sudo`, and the default passphrase of keys (F51).
    pub fn new(login: Option<Secret>, sudo: Option<Secret>, passphrase: Option<Secret>) -> Self {
        let mut passwords = Self::default();
        passwords.login.default = login;
        passwords.sudo.default = sudo;
        passwords.passphrases.default = passphrase;
        passwords
    }

    /// Records an answer that its host has accepted, for this host or key and as the new default (F50).
    pub fn accept(&mut self, question: &Question, answer: Secret) {
        match question {
            Question::Login(address) => self.login.accept(address.clone(), answer),
            Question::Become(address) => self.sudo.accept(address.clone(), answer),
            Question::Passphrase(file) => self.passphrases.accept(file.clone(), answer),
            Question::Prompt(_) | Question::Settled(_) => {}
        }
    }

    /// Returns the `sudo` password for this machine and its containers: the default, or the login password (F51).
    pub fn local_sudo<'a>(&'a self, stated: &'a StatedPasswords) -> Option<&'a Secret> {
        let sudo = self.sudo.default.as_ref().or(stated.sudo.as_ref());
        sudo.or(self.login.default.as_ref())
    }

    /// Returns the login password of a host.
    fn login<'a>(
        &'a self,
        destination: &'a Destination,
        stated: &'a StatedPasswords,
    ) -> Option<&'a Secret> {
        let own = destination.identities.password.as_ref();
        let stated = (&stated.login_by_host, stated.login.as_ref());
        self.login.of_host(destination, own, stated)
    }

    /// Returns the `sudo` password of a host, in the same order; at last, the login password is tried (F51).
    fn sudo<'a>(
        &'a self,
        destination: &'a Destination,
        stated: &'a StatedPasswords,
    ) -> Option<&'a Secret> {
        let own = destination.sudo_password.as_ref();
        let stated = (&stated.sudo_by_host, stated.sudo.as_ref());
        self.sudo.of_host(destination, own, stated)
    }

    /// Returns the destination with the known passwords filled in, also for its jump hosts.
    ///
    /// Answers that are being tried come first.
    #[must_use]
    pub fn apply(
        &self,
        destination: &Destination,
        stated: &StatedPasswords,
        trials: &TrialAnswers,
    ) -> Destination {
        let mut known = destination.clone();
        let address = known.address.to_string();
        let tried = trials.find(|asked| matches!(asked, Question::Login(of) if *of == address));
        let password = tried.or_else(|| self.login(destination, stated)).cloned();
        let sudo = trials.sudo().or_else(|| self.sudo(destination, stated));
        known.sudo_password = sudo.or(password.as_ref()).cloned();
        let identities = &mut known.identities;
        let files = &identities.files;
        let tried =
            trials.find(|asked| matches!(asked, Question::Passphrase(of) if files.contains(of)));
        let own = || {
            files
                .iter()
                .find_map(|file| self.passphrases.by_key.get(file))
        };
        let passphrase = tried
            .or_else(own)
            .or(identities.passphrase.as_ref())
            .or(self.passphrases.default.as_ref());
        // Fabric uses one value for both. Trying the password on a key file does not disclose it.
        let passphrase = passphrase.or(password.as_ref()).cloned();
        identities.passphrase = passphrase;
        identities.password = password;
        identities.refusals = trials.refusals;
        if let Route::Jumps(hops) = &known.route {
            let hops = hops
                .iter()
                .map(|hop| Arc::new(self.apply(hop, stated, trials)));
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
    use crate::host::Address;

    fn host(text: &str) -> Destination {
        Destination::new(text, Address::parse(text, "me", 22).unwrap())
    }

    fn login(text: &str) -> Question {
        Question::Login(host(text).address.to_string())
    }

    fn sudo(text: &str) -> Question {
        Question::Become(host(text).address.to_string())
    }

    /// The passwords of a host for login and `sudo`.
    fn of(passwords: &Passwords, stated: &StatedPasswords, host: &Destination) -> String {
        let known = passwords.apply(host, stated, &TrialAnswers::default());
        let text = |secret: Option<Secret>| secret.map_or("-".into(), |it| it.reveal().to_owned());
        format!(
            "{} {}",
            text(known.identities.password),
            text(known.sudo_password)
        )
    }

    fn ends(question: Question, refused: bool) -> Exit {
        Exit::NeedsAnswer { question, refused }
    }

    #[test]
    fn an_accepted_answer_is_kept_for_its_host_and_for_all_others() {
        let mut passwords = Passwords::new(Some(Secret::new("all")), None, None);
        let none = StatedPasswords::default();
        passwords.accept(&sudo("b"), Secret::new("of b"));
        assert_eq!(of(&passwords, &none, &host("a")), "all of b");
        passwords.accept(&login("b"), Secret::new("new"));
        passwords.accept(&login("c"), Secret::new("newer"));
        assert_eq!(of(&passwords, &none, &host("a")), "newer of b");
        assert_eq!(of(&passwords, &none, &host("b")), "new of b");
    }

    #[test]
    fn an_answer_is_known_only_after_a_host_accepted_it() {
        let mut passwords = Passwords::default();
        let mut trials = TrialAnswers::default();
        let none = StatedPasswords::default();
        trials.add(&sudo("a"), Secret::new("wrong"));
        let known = passwords.apply(&host("a"), &none, &trials);
        assert_eq!(known.sudo_password, Some(Secret::new("wrong")));
        assert!(!trials.settle(&ends(sudo("a"), true), &mut passwords));
        assert!(trials.is_empty());
        assert_eq!(of(&passwords, &none, &host("a")), "- -");
        trials.add(&login("a"), Secret::new("right"));
        assert!(!trials.settle(&Exit::Unreachable("gone".into()), &mut passwords));
        assert_eq!(of(&passwords, &none, &host("a")), "- -");
        assert!(trials.settle(&ends(sudo("a"), false), &mut passwords));
        assert_eq!(of(&passwords, &none, &host("b")), "right right");
        trials.add(&sudo("a"), Secret::new("sudo"));
        assert!(trials.settle(&Exit::Code(3), &mut passwords));
        assert_eq!(of(&passwords, &none, &host("b")), "right sudo");
    }

    #[test]
    fn a_stated_password_of_a_host_comes_before_those_for_all() {
        let passwords = Passwords::new(Some(Secret::new("option")), None, None);
        let by_host = |key: &str| [(key.to_owned(), Secret::new("own"))].into_iter().collect();
        let mut stated = StatedPasswords {
            sudo: Some(Secret::new("sudo")),
            login: Some(Secret::new("file")),
            ..StatedPasswords::default()
        };
        assert_eq!(of(&passwords, &stated, &host("a")), "option sudo");
        for key in ["a", "me@a", "me@a:22"] {
            stated.login_by_host = by_host(key);
            assert_eq!(of(&passwords, &stated, &host("a")), "own sudo", "{key}");
        }
        stated.login_by_host = by_host("b");
        let mut file = host("a");
        file.identities.password = Some(Secret::new("inventory"));
        assert_eq!(of(&passwords, &stated, &file), "inventory sudo");
        assert_eq!(of(&Passwords::default(), &stated, &host("a")), "file sudo");
    }

    #[test]
    fn a_destination_and_the_hosts_on_its_way_get_what_is_known() {
        let mut passwords = Passwords::default();
        passwords.accept(&Question::Passphrase("/k".into()), Secret::new("phrase"));
        let mut end = host("end");
        let mut trials = TrialAnswers::default();
        trials.add(&login("jump"), Secret::new("of jump"));
        end.route = Route::Jumps(vec![Arc::new(host("jump"))]);
        let known = passwords.apply(&end, &StatedPasswords::default(), &trials);
        assert_eq!(known.identities.passphrase, Some(Secret::new("phrase")));
        assert_eq!(known.identities.password, None);
        let Route::Jumps(hops) = &known.route else {
            panic!("{known:?}");
        };
        assert_eq!(hops[0].identities.password, Some(Secret::new("of jump")));
        assert!(!format!("{passwords:?} {known:?} {trials:?}").contains("phrase\""));
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
