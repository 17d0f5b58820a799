//! Passwords that machines ask for, each asked of a person once.

use std::collections::HashMap;

use crate::host::{AttemptCounter, Passwords, Question, Secret};

/// Keeps the passwords of a run, and how often people were asked for each.
#[derive(Debug, Default)]
pub struct PasswordPrompts {
    passwords: Passwords,
    /// How often each question was asked.
    tries: HashMap<Question, AttemptCounter>,
    answer_count: usize,
    /// Nobody answers any more.
    is_closed: bool,
}

/// The next step of an action that asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptDecision {
    /// An answer is there that the action did not have.
    Retry,
    /// Somebody is to be asked.
    Prompt,
    /// The action has failed.
    Fail,
}

impl PasswordPrompts {
    /// The passwords that are known.
    pub fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// Returns how many answers there were.
    pub(super) fn answer_count(&self) -> usize {
        self.answer_count
    }

    /// Counts a question that is asked of somebody; says whether it may be asked once more.
    pub fn may_prompt(&mut self, question: &Question) -> bool {
        !self.is_closed
            && self
                .tries
                .entry(question.clone())
                .or_default()
                .count_attempt()
    }

    /// Takes an answer. After a question that nobody answers there are no further ones.
    pub fn record_answer(&mut self, question: &Question, answer: Option<Secret>) {
        match answer {
            Some(answer) => {
                self.passwords.record_answer(question, answer);
                self.answer_count += 1;
            }
            None => self.is_closed = true,
        }
    }

    /// Decides about an action that asked something, and that began when there were `since`
    /// answers. An answer that came meanwhile is tried before anybody is asked.
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
