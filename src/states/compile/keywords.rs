//! Requisite keywords and the other reserved keywords that may be written beside a function's arguments.

use std::fmt::{Display, Formatter};

use crate::states::Requisite;

/// A requisite keyword in one of its forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequisiteKeyword {
    /// A requisite of the state on others, such as `require`.
    Direct(Requisite),
    /// A requisite that the state adds to its targets, such as `require_in` (S28).
    In(Requisite),
    /// `use`: copies arguments from another state (S29).
    Use,
    /// `use_in`: gives arguments to another state (S29).
    UseIn,
    /// `prerequired`: added by Salt to the targets of a `prereq`.
    Prerequired,
    /// `onfail_stop`: an old option of `onfail` (S26).
    OnfailStop,
}

impl RequisiteKeyword {
    /// Parses a keyword. Returns `None` for any other argument.
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

    /// Whether `extend` concatenates lists under this keyword instead of replacing them (S8).
    pub fn is_mergeable(self) -> bool {
        matches!(self, Self::Direct(_) | Self::Prerequired | Self::OnfailStop)
    }
}

impl Display for RequisiteKeyword {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The keywords for the engine that runs a state. They are not passed to the state's function (S32–S38).
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

/// All keywords that may be written beside the arguments of a function.
pub(super) fn all_keywords() -> impl Iterator<Item = &'static str> {
    let direct = Requisite::ALL.into_iter().map(Requisite::as_str);
    let reversed = [
        Requisite::Require,
        Requisite::Watch,
        Requisite::Prereq,
        Requisite::Onfail,
        Requisite::Onchanges,
        Requisite::Listen,
    ];
    let reversed = reversed.map(|kind| RequisiteKeyword::In(kind).as_str());
    direct.chain(reversed).chain(RUNTIME_KEYWORDS)
}

/// Whether an argument is for the engine rather than for the state's function.
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
