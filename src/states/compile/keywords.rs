//! The words that people write beside a function's arguments.

use std::fmt::{Display, Formatter};

use crate::states::Requisite;

/// A word of a requisite in some form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequisiteKeyword {
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

impl RequisiteKeyword {
    /// Reads a word; none for an argument.
    pub fn parse(text: &str) -> Option<Self> {
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
                Self::Direct(known.into_iter().find(|kind| kind.as_str() == text)?)
            }
        })
    }

    /// The word as people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct(kind) => kind.as_str(),
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
    pub fn is_mergeable(self) -> bool {
        matches!(self, Self::Direct(_) | Self::Prerequired | Self::OnfailStop)
    }
}

impl Display for RequisiteKeyword {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Words for whoever runs a state, which its function is not given (S32–S38).
const RUNTIME_KEYWORDS: [&str; 23] = [
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
    RUNTIME_KEYWORDS.contains(&text)
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
            assert_eq!(
                RequisiteKeyword::parse(text).map(RequisiteKeyword::as_str),
                Some(text)
            );
        }
        assert_eq!(RequisiteKeyword::parse("require_any_in"), None);
        assert_eq!(RequisiteKeyword::parse("name"), None);
    }
}
