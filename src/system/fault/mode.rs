//! What is to go wrong, and when.

use std::path::PathBuf;

use nix::libc;

/// What the variable asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// Calls are written down.
    Count(PathBuf),
    /// One call has this done to it.
    At(Deed, u64),
    /// This call and all later ones fail with a number of the system.
    From(i32, u64),
}

/// What is done to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    DieBefore,
    DieWithin,
    DieAfter,
    /// Unsynced bytes go, and unsynced names too if `names`.
    Cut {
        names: bool,
    },
    /// It fails with a number of the system.
    Fail(i32),
    Short,
}

impl Mode {
    /// Reads the variable's value; what has no meaning has no effect.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        if kind == "count" {
            return Some(Self::Count(rest.into()));
        }
        let (errno, number) = rest.rsplit_once(':').unwrap_or(("", rest));
        let number: u64 = number.parse().ok()?;
        let deed = match kind {
            "kill" => Deed::DieBefore,
            "kill-within" => Deed::DieWithin,
            "kill-after" => Deed::DieAfter,
            "cut" => Deed::Cut { names: true },
            "cut-data" => Deed::Cut { names: false },
            "short" => Deed::Short,
            "fail" => Deed::Fail(errno_of(errno)?),
            "fail-from" => return Some(Self::From(errno_of(errno)?, number)),
            _ => return None,
        };
        Some(Self::At(deed, number))
    }

    /// Whether what is not synced must be known.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::At(Deed::Cut { .. }, _))
    }

    /// What is done to the call of this number.
    pub(super) fn at(&self, call: u64) -> Option<Deed> {
        match self {
            Self::At(deed, number) => (*number == call).then_some(*deed),
            Self::From(errno, number) => (*number <= call).then_some(Deed::Fail(*errno)),
            Self::Count(_) => None,
        }
    }
}

fn errno_of(name: &str) -> Option<i32> {
    Some(match name {
        "EIO" => libc::EIO,
        "ENOSPC" => libc::ENOSPC,
        "EROFS" => libc::EROFS,
        "EMFILE" => libc::EMFILE,
        "EACCES" => libc::EACCES,
        "EINTR" => libc::EINTR,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_go_wrong_is_read_and_what_has_no_meaning_has_no_effect() {
        let parse = Mode::parse;
        assert_eq!(parse("kill:7"), Some(Mode::At(Deed::DieBefore, 7)));
        assert_eq!(
            parse("fail:EIO:3"),
            Some(Mode::At(Deed::Fail(libc::EIO), 3))
        );
        assert_eq!(
            parse("fail-from:ENOSPC:3"),
            Some(Mode::From(libc::ENOSPC, 3))
        );
        assert_eq!(parse("count:/a:b"), Some(Mode::Count("/a:b".into())));
        for text in ["", "kill", "kill:x", "fail:3", "fail:EBADF:1", "jump:1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_call_or_all_from_it_on_fail() {
        let fails = |text: &str, call| Mode::parse(text).unwrap().at(call).is_some();
        assert!(fails("fail:EIO:3", 3) && !fails("fail:EIO:3", 2) && !fails("fail:EIO:3", 4));
        assert!(fails("fail-from:EIO:3", 9) && !fails("fail-from:EIO:3", 2));
    }
}
