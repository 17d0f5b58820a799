//! Passwords that hosts ask for during a run.
//!
//! [`PasswordPrompts`] stores answers, so that each password is asked of the user once and then
//! reused, and limits the number of attempts. The driver and interactive sessions use it.

use std::collections::HashMap;

use crate::host::{AttemptCounter, Passwords, Question, Secret};

/// The known passwords of a run, and how often each was asked for.
#[derive(Debug, Default)]
pub struct PasswordPrompts {
    passwords: Passwords,
    /// The number of attempts for each question.
    tries: HashMap<Question, AttemptCounter>,
    answer_count: usize,
    /// Whether the user left a question unanswered, after which no more are asked.
    is_closed: bool,
}

/// The way to go on with an action that needs an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptDecision {
    /// Start the action again: an answer came after the action had started.
    Retry,
    Prompt,
    /// Let the action fail: the user may not be asked again.
    Fail,
}

impl PasswordPrompts {
    pub fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// Returns the number of answers so far.
    pub(super) fn answer_count(&self) -> usize {
        self.answer_count
    }

    /// Counts an attempt to ask and returns whether the question may be asked.
    pub fn may_prompt(&mut self, question: &Question) -> bool {
        !self.is_closed
            && self
                .tries
                .entry(question.clone())
                .or_default()
                .count_attempt()
    }

    /// Stores an answer.
    ///
    /// After an unanswered question no more questions are asked.
    pub fn record_answer(&mut self, question: &Question, answer: Option<Secret>) {
        match answer {
            Some(answer) => {
                self.passwords.record_answer(question, answer);
                self.answer_count += 1;
            }
            None => self.is_closed = true,
        }
    }

    /// Decides how to go on with an action that needs an answer.
    ///
    /// `since` is the number of answers when the action started. A newer answer is tried before the
    /// user is asked.
    pub(super) fn decide(&mut self, question: &Question, since: usize) -> PromptDecision {
        if since < self.answer_count {
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

    fn login() -> Question {
        Question::Login("a".to_owned())
    }

    #[test]
    fn a_question_is_asked_three_times_and_each_has_tries_of_its_own() {
        let mut asking = PasswordPrompts::default();
        for _ in 0..AttemptCounter::MAX {
            assert_eq!(
                asking.decide(&login(), asking.answer_count()),
                PromptDecision::Prompt
            );
            asking.record_answer(&login(), Some(Secret::new("wrong")));
        }
        assert_eq!(
            asking.decide(&login(), asking.answer_count()),
            PromptDecision::Fail
        );
        let other = Question::Become("a".to_owned());
        assert_eq!(
            asking.decide(&other, asking.answer_count()),
            PromptDecision::Prompt
        );
    }

    #[test]
    fn an_answer_that_came_meanwhile_is_tried_first() {
        let mut asking = PasswordPrompts::default();
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Prompt);
        asking.record_answer(&login(), Some(Secret::new("it")));
        assert_eq!(asking.answer_count(), 1);
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Retry);
        assert_eq!(asking.decide(&login(), 1), PromptDecision::Prompt);
    }

    #[test]
    fn nobody_is_asked_again_once_nobody_answered() {
        let mut asking = PasswordPrompts::default();
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Prompt);
        asking.record_answer(&login(), None);
        assert_eq!(asking.decide(&login(), 0), PromptDecision::Fail);
        assert!(!asking.may_prompt(&Question::Become("b".to_owned())));
        assert_eq!(asking.passwords(), &Passwords::default());
    }
}
