//! Parses the fault variable and decides which system call it applies to.

use std::path::{Path, PathBuf};

use nix::libc;

/// The fault requested by the variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FaultPlan {
    /// Record all calls in a file.
    Count(PathBuf),
    /// Apply a fault to one call.
    At(FaultMode, CallSelector),
    /// Make this call and all later ones fail with an errno; with a path, only calls in that folder.
    From(i32, CallSelector, Option<PathBuf>),
    /// Run a shell command before each call of a kind whose path has this end.
    Hook {
        kind: String,
        end: String,
        command: String,
    },
    /// Make all calls fail from now on; with a path, only calls in that folder.
    On(i32, Option<PathBuf>),
}

/// The effect of a fault on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultMode {
    DieBefore,
    DieWithin,
    DieAfter,
    /// Undo unsynced bytes, and unsynced changes of names if `names` is set.
    PowerLoss {
        names: bool,
    },
    Fail(i32),
    Short,
}

/// The selection of one call among all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallSelector {
    /// The call with this number, counted from 1.
    Number(u64),
    /// The nth call of a kind whose path has this end.
    Nth {
        kind: String,
        end: String,
        remaining: u64,
    },
}

impl FaultPlan {
    /// Parses the value of the variable; `None` if it is invalid, so that it has no effect.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(':')?;
        let with_errno = || {
            let (errno, place) = rest.split_once(':')?;
            Some((errno_of(errno)?, CallSelector::parse(place)?))
        };
        let mode = match word {
            "count" => return Some(Self::Count(rest.into())),
            "hook" => {
                let (call, command) = rest.split_once(':')?;
                let (kind, end) = call.split_once('=')?;
                return Some(Self::Hook {
                    kind: kind.to_owned(),
                    end: end.to_owned(),
                    command: command.to_owned(),
                });
            }
            "fail" => {
                let (errno, place) = with_errno()?;
                return Some(Self::At(FaultMode::Fail(errno), place));
            }
            "fail-from" => {
                let (errno, rest) = rest.split_once(':')?;
                let (place, folder) = match rest.rsplit_once(" in ") {
                    Some((place, folder)) => (place, Some(folder.into())),
                    None => (rest, None),
                };
                return Some(Self::From(
                    errno_of(errno)?,
                    CallSelector::parse(place)?,
                    folder,
                ));
            }
            "kill" => FaultMode::DieBefore,
            "kill-within" => FaultMode::DieWithin,
            "kill-after" => FaultMode::DieAfter,
            "cut" => FaultMode::PowerLoss { names: true },
            "cut-data" => FaultMode::PowerLoss { names: false },
            "short" => FaultMode::Short,
            _ => return None,
        };
        Some(Self::At(mode, CallSelector::parse(rest)?))
    }

    /// Whether unsynced changes must be recorded, to undo them later.
    pub(super) fn tracks_unsynced(&self) -> bool {
        matches!(self, Self::At(FaultMode::PowerLoss { .. }, _))
    }

    /// Returns the command to run before the next call, given its kind and path.
    pub(super) fn hook_for(&self, kind: &str, path: &Path) -> Option<&str> {
        match self {
            Self::Hook {
                kind: wanted,
                end,
                command,
            } if wanted == kind && replaced_path(path).ends_with(end.as_str()) => Some(command),
            _ => None,
        }
    }

    /// Returns the fault for the next call, given its number, kind and path.
    pub(super) fn fault_for(&mut self, number: u64, kind: &str, path: &Path) -> Option<FaultMode> {
        match self {
            Self::Count(_) | Self::Hook { .. } => None,
            Self::At(mode, place) => place.matches(number, kind, path).then_some(*mode),
            Self::From(errno, place, folder) => {
                if !place.matches(number, kind, path) {
                    return None;
                }
                *self = Self::On(*errno, folder.take());
                self.fault_for(number, kind, path)
            }
            Self::On(errno, folder) => {
                let is_there = folder.as_ref().is_none_or(|f| path.starts_with(f));
                is_there.then_some(FaultMode::Fail(*errno))
            }
        }
    }
}

impl CallSelector {
    fn parse(text: &str) -> Option<Self> {
        let Some((kind, rest)) = text.split_once('=') else {
            return text.parse().ok().map(Self::Number);
        };
        let (end, nth) = match rest.rsplit_once('#') {
            Some((end, nth)) => (end, nth.parse().ok()?),
            None => (rest, 1),
        };
        Some(Self::Nth {
            kind: kind.to_owned(),
            end: end.to_owned(),
            remaining: nth,
        })
    }

    fn matches(&mut self, number: u64, kind: &str, path: &Path) -> bool {
        match self {
            Self::Number(wanted) => *wanted == number,
            Self::Nth {
                kind: wanted,
                end,
                remaining,
            } => {
                let is_it = wanted == kind && replaced_path(path).ends_with(end.as_str());
                if !is_it || *remaining == 0 {
                    return false;
                }
                *remaining -= 1;
                *remaining == 0
            }
        }
    }
}

/// Returns a path as text. A temporary file counts as the file that it will replace.
fn replaced_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    let end = path.rfind(".tmp.").unwrap_or(path.len());
    path[..end].to_owned()
}

fn errno_of(name: &str) -> Option<i32> {
    Some(match name {
        "EIO" => libc::EIO,
        "ENOSPC" => libc::ENOSPC,
        "EROFS" => libc::EROFS,
        "EMFILE" => libc::EMFILE,
        "EACCES" => libc::EACCES,
        "EINTR" => libc::EINTR,
        "EINVAL" => libc::EINVAL,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of the affected calls among ten that write a file and its sibling in turn.
    fn met(text: &str) -> Vec<u64> {
        let mut mode = FaultPlan::parse(text).unwrap();
        let names = ["/e/ensemble.yaml.tmp.01", "/e/jobs.tsv"];
        let path = |number: u64| Path::new(names[usize::from(number.is_multiple_of(2))]);
        (1..=10)
            .filter(|number| mode.fault_for(*number, "write", path(*number)).is_some())
            .collect()
    }

    #[test]
    fn a_call_is_met_by_its_number_or_by_what_it_does() {
        assert_eq!(met("kill:7"), [7]);
        assert_eq!(met("cut:write=ensemble.yaml"), [1]);
        assert_eq!(met("short:write=jobs.tsv#3"), [6]);
        assert!(met("kill:rename=jobs.tsv").is_empty());
        assert_eq!(met("fail:EIO:3"), [3]);
        assert_eq!(met("fail-from:ENOSPC:write=jobs.tsv#4"), [8, 9, 10]);
        assert_eq!(met("fail-from:EROFS:8 in /e/jobs.tsv"), [8, 10]);
    }

    #[test]
    fn what_has_no_meaning_has_no_effect() {
        for text in ["", "kill", "kill:x", "fail:3", "fail:EBADF:1", "jump:1"] {
            assert_eq!(FaultPlan::parse(text), None, "{text}");
        }
    }
}
