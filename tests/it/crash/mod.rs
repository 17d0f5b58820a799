//! What a crash leaves: jobs that are killed, lose their power or their disk at every change of a
//! file and every start of a program, and what the next job makes of it.
//!
//! The loops are short unless `UNFURL_LOOPS=full` is set: they take some calls of a deploy of a few tasks.
//! The full ones take every call of a deploy of 100 tasks, and 2,000 random moments; `UNFURL_LOOPS=every:10` takes every tenth call and all
//! where the record is written. `UNFURL_LOOPS=kill:17` (any fault that `system::fault`
//! knows) tries that one alone, which is how a failure is reproduced.

mod cut;
mod fail;
mod kill;
mod save;
mod world;

/// How much the loops try.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Loops {
    Short,
    Full,
    /// Every so many calls, and all where the record is written.
    Every(usize),
    /// One fault alone.
    One(String),
}

impl Loops {
    fn wanted() -> Self {
        match std::env::var("UNFURL_LOOPS").as_deref() {
            Err(_) | Ok("" | "short") => Self::Short,
            Ok("full") => Self::Full,
            Ok(every) if every.starts_with("every:") => Self::Every(every[6..].parse().unwrap()),
            Ok(fault) => Self::One(fault.to_owned()),
        }
    }

    /// How many tasks a deploy has.
    fn nodes(&self) -> usize {
        if *self == Self::Short { 6 } else { 100 }
    }

    /// The faults to try, of those kinds, in a run that makes these calls. Short loops try some that are
    /// spread evenly, and every third call after the last task has ended, where the record is written.
    fn faults(&self, kinds: &[&str], calls: &[(String, String)]) -> Vec<String> {
        let last_spawn = calls.iter().rposition(|(kind, _)| kind == "spawn");
        let is_folder = |path: &str| path.contains("/active/") || path.contains("/planned/");
        let tail = last_spawn.map_or(0, |place| place + 1);
        let step = match self {
            Self::Every(step) => *step,
            _ => (calls.len() / 12).max(1),
        };
        let records = |place: usize| place >= tail && !is_folder(&calls[place].1);
        let wanted = |place: usize| match self {
            Self::Short => {
                place.is_multiple_of(step) || (place.is_multiple_of(3) && records(place))
            }
            Self::Every(_) => place.is_multiple_of(step) || records(place),
            Self::Full => true,
            Self::One(_) => false,
        };
        let mut faults = Vec::new();
        if let Self::One(fault) = self {
            let kind = |kind: &&str| {
                fault
                    .strip_prefix(*kind)
                    .is_some_and(|r| r.starts_with(':'))
            };
            faults.extend(kinds.iter().any(kind).then(|| fault.clone()));
        }
        let numbers = (0..calls.len()).filter(|place| wanted(*place));
        for (turn, place) in numbers.enumerate() {
            for (index, kind) in kinds.iter().enumerate() {
                // A short loop tries the kinds in turn.
                if *self == Self::Full || turn % kinds.len() == index {
                    faults.push(format!("{kind}:{}", place + 1));
                }
            }
        }
        faults
    }
}

/// Says how a failure is had again.
fn again(test: &str, fault: &str) -> String {
    format!(
        "again with: UNFURL_LOOPS='{fault}' cargo test --features fault-injection --test it crash::{test}"
    )
}
