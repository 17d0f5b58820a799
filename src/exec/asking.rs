//! Passwords that machines ask for, each asked of a person once.

use std::collections::HashMap;

use crate::host::{Passwords, Question, Secret, Tries};

/// Keeps the passwords of a run, and how often people were asked for each.
#[derive(Debug, Default)]
pub struct Asking {
    passwords: Passwords,
    /// How often each question was asked.
    asked: HashMap<Question, Tries>,
    answers: usize,
    /// Nobody answers any more.
    is_over: bool,
}

/// The next step of an action that asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// An answer is there that the action did not have.
    Begin,
    /// Somebody is to be asked.
    Ask,
    /// The action has failed.
    Fail,
}

impl Asking {
    /// The passwords that are known.
    pub fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// Returns how many answers there were.
    pub(super) fn answers(&self) -> usize {
        self.answers
    }

    /// Counts a question that is asked of somebody; says whether it may be asked once more.
    pub fn may_ask(&mut self, question: &Question) -> bool {
        !self.is_over && self.asked.entry(question.clone()).or_default().again()
    }

    /// Takes an answer. After a question that nobody answers there are no further ones.
    pub fn answered(&mut self, question: &Question, answer: Option<Secret>) {
        match answer {
            Some(answer) => {
                self.passwords.answered(question, answer);
                self.answers += 1;
            }
            None => self.is_over = true,
        }
    }

    /// Decides about an action that asked something, and that began when there were `since`
    /// answers. An answer that came meanwhile is tried before anybody is asked.
    pub(super) fn step(&mut self, question: &Question, since: usize) -> Step {
        if since < self.answers {
            Step::Begin
        } else if self.may_ask(question) {
            Step::Ask
        } else {
            Step::Fail
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
        let mut asking = Asking::default();
        for _ in 0..Tries::MAX {
            assert_eq!(asking.step(&login(), asking.answers()), Step::Ask);
            asking.answered(&login(), Some(Secret::new("wrong")));
        }
        assert_eq!(asking.step(&login(), asking.answers()), Step::Fail);
        let other = Question::Become("a".to_owned());
        assert_eq!(asking.step(&other, asking.answers()), Step::Ask);
    }

    #[test]
    fn an_answer_that_came_meanwhile_is_tried_first() {
        let mut asking = Asking::default();
        assert_eq!(asking.step(&login(), 0), Step::Ask);
        asking.answered(&login(), Some(Secret::new("it")));
        assert_eq!(asking.answers(), 1);
        assert_eq!(asking.step(&login(), 0), Step::Begin);
        assert_eq!(asking.step(&login(), 1), Step::Ask);
    }

    #[test]
    fn nobody_is_asked_again_once_nobody_answered() {
        let mut asking = Asking::default();
        assert_eq!(asking.step(&login(), 0), Step::Ask);
        asking.answered(&login(), None);
        assert_eq!(asking.step(&login(), 0), Step::Fail);
        assert!(!asking.may_ask(&Question::Become("b".to_owned())));
        assert_eq!(asking.passwords(), &Passwords::default());
    }
}
