//! Passwords that hosts ask for during a run.
//!
//! [`PasswordPrompts`] stores answers that a host has accepted, so that each password is asked of the user once and
//! then reused, and limits the number of attempts. The driver and interactive sessions use it.

use std::collections::HashMap;

use crate::host::{AttemptCounter, Exit, Passwords, Question, TrialAnswers};

/// The known passwords of a run, and how often each was asked for.
#[derive(Debug, Default)]
pub struct PasswordPrompts {
    passwords: Passwords,
    /// The number of attempts for each question.
    tries: HashMap<Question, AttemptCounter>,
    accepted_count: usize,
    /// Whether the user left a question unanswered, after which no more are asked.
    is_closed: bool,
}

/// The way to go on with an action that needs an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptDecision {
    /// Start the action again: a host accepted an answer after the action had started.
    Retry,
    Prompt,
    /// Let the action fail: the user may not be asked again.
    Fail,
}

impl PasswordPrompts {
    /// Creates the prompts of a run that begins with known passwords.
    pub fn new(passwords: Passwords) -> Self {
        Self {
            passwords,
            ..Self::default()
        }
    }

    pub fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// Returns the number of answers that hosts have accepted so far.
    pub(super) fn accepted_count(&self) -> usize {
        self.accepted_count
    }

    /// Counts an attempt to ask and returns whether the question may be asked.
    ///
    /// The login itself limits the questions that belong to it.
    pub fn may_prompt(&mut self, question: &Question) -> bool {
        let mut is_within_limit = || {
            question.is_limited_by_login()
                || self
                    .tries
                    .entry(question.clone())
                    .or_default()
                    .count_attempt()
        };
        !self.is_closed && is_within_limit()
    }

    /// Makes sure that no more questions are asked, after one without an answer.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Takes the end of an action that tried answers.
    pub(super) fn settle(&mut self, trials: &mut TrialAnswers, exit: &Exit) {
        let has_accepted = trials.settle(exit, &mut self.passwords);
        self.accepted_count += usize::from(has_accepted);
    }

    /// Decides how to go on with an action that needs an answer.
    ///
    /// `since` is the number of accepted answers when the action started. A newer one is tried before the user is
    /// asked.
    pub(super) fn decide(&mut self, question: &Question, since: usize) -> PromptDecision {
        if since < self.accepted_count {
            PromptDecision::Retry
        } else if self.may_prompt(question) {
            PromptDecision::Prompt
        } else {
            PromptDecision::Fail
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Secret;

    fn login() -> Question {
        Question::Login("a".to_owned())
    }

    #[test]
    fn a_question_is_asked_three_times_and_each_has_tries_of_its_own() {
        let mut asking = PasswordPrompts::default();
        let sudo = Question::Become("a".to_owned());
        for _ in 0..AttemptCounter::MAX {
            assert_eq!(asking.decide(&sudo, 0), PromptDecision::Prompt);
        }
        assert_eq!(asking.decide(&sudo, 0), PromptDecision::Fail);
        let other = Question::Become("b".to_owned());
        assert_eq!(asking.decide(&other, 0), PromptDecision::Prompt);
    }

    #[test]
    fn an_answer_that_a_host_accepted_meanwhile_is_tried_first() {
        let mut asking = PasswordPrompts::default();
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Prompt);
        let mut trials = TrialAnswers::default();
        trials.add(&login(), Secret::new("it"));
        asking.settle(&mut trials, &Exit::Code(0));
        assert_eq!(asking.accepted_count(), 1);
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Retry);
        assert_eq!(asking.decide(&login(), 1), PromptDecision::Prompt);
    }

    #[test]
    fn nobody_is_asked_again_once_nobody_answered() {
        let mut asking = PasswordPrompts::default();
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Prompt);
        asking.close();
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Fail);
        assert!(!asking.may_prompt(&Question::Become("b".to_owned())));
    }
}
