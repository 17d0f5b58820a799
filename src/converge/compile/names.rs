//! The words that people write beside a function's arguments.

use std::fmt::{Display, Formatter};

use crate::converge::Requisite;

/// A word of a requisite in some form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// What a state asks of others.
    Direct(Requisite),
    /// What others are to ask of it (S28).
    In(Requisite),
    /// Copies arguments of others (S29).
    Use,
    /// Gives arguments to others (S29).
    UseIn,
    /// What Salt itself adds to the targets of a `prereq`.
    Prerequired,
    /// An old keyword of `onfail` (S26).
    OnfailStop,
}

impl Word {
    /// Reads a word; none for an argument.
    pub fn of(text: &str) -> Option<Self> {
        Some(match text {
            "use" => Self::Use,
            "use_in" => Self::UseIn,
            "prerequired" => Self::Prerequired,
            "onfail_stop" => Self::OnfailStop,
            "require_in" => Self::In(Requisite::Require),
            "watch_in" => Self::In(Requisite::Watch),
            "prereq_in" => Self::In(Requisite::Prereq),
            "onfail_in" => Self::In(Requisite::Onfail),
            "onchanges_in" => Self::In(Requisite::Onchanges),
            "listen_in" => Self::In(Requisite::Listen),
            _ => {
                let known = Requisite::ALL.into_iter();
                Self::Direct(known.into_iter().find(|kind| kind.word() == text)?)
            }
        })
    }

    /// The word as people write it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Direct(kind) => kind.word(),
            Self::In(Requisite::Watch) => "watch_in",
            Self::In(Requisite::Prereq) => "prereq_in",
            Self::In(Requisite::Onfail) => "onfail_in",
            Self::In(Requisite::Onchanges) => "onchanges_in",
            Self::In(Requisite::Listen) => "listen_in",
            Self::In(_) => "require_in",
            Self::Use => "use",
            Self::UseIn => "use_in",
            Self::Prerequired => "prerequired",
            Self::OnfailStop => "onfail_stop",
        }
    }

    /// Whether lists of it are put together where a state is extended (S8).
    pub fn is_joined(self) -> bool {
        matches!(self, Self::Direct(_) | Self::Prerequired | Self::OnfailStop)
    }
}

impl Display for Word {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// Words for whoever runs a state, which its function is not given (S32–S38).
const KEYWORDS: [&str; 23] = [
    "aggregate",
    "check_cmd",
    "cmd_opts_exclude",
    "creates",
    "failhard",
    "fire_event",
    "no_log",
    "onfail_stop",
    "onlyif",
    "parallel",
    "prerequired",
    "provider",
    "reload_grains",
    "reload_modules",
    "reload_pillar",
    "retry",
    "runas",
    "runas_password",
    "saltenv",
    "umask",
    "unless",
    "use",
    "use_in",
];

/// Whether a word is for whoever runs a state.
pub(super) fn is_keyword(text: &str) -> bool {
    KEYWORDS.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for text in [
            "require",
            "onfail_all",
            "listen_in",
            "prereq_in",
            "use",
            "use_in",
        ] {
            assert_eq!(Word::of(text).map(Word::text), Some(text));
        }
        assert_eq!(Word::of("require_any_in"), None);
        assert_eq!(Word::of("name"), None);
    }
}
