//! Passwords that machines ask for, each asked of a person once.

use std::collections::HashMap;

use super::request::StatesView;
use crate::host::{Passwords, Question};

/// How often somebody is asked the same.
const TRIES: u8 = 3;

/// What is known of passwords.
#[derive(Debug, Default)]
pub(super) struct Asking {
    pub(super) passwords: Passwords,
    /// How often each question was asked.
    asked: HashMap<Question, u8>,
    answers: usize,
    /// Nobody answers any more.
    is_over: bool,
}

impl Asking {
    /// How many answers there were.
    pub(super) fn answers(&self) -> usize {
        self.answers
    }

    /// Whether there is an answer that was not tried yet: one that came after the action began
    /// (there were `since` answers then), or one that somebody gives now.
    pub(super) fn answered(
        &mut self,
        question: &Question,
        since: usize,
        view: &mut dyn StatesView,
    ) -> bool {
        if since < self.answers {
            return true;
        }
        let tries = self.asked.entry(question.clone()).or_default();
        if self.is_over || *tries >= TRIES {
            return false;
        }
        *tries += 1;
        let Some(answer) = view.ask(question) else {
            self.is_over = true;
            return false;
        };
        self.passwords.answered(question, answer);
        self.answers += 1;
        true
    }
}
