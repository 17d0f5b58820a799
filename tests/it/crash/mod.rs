//! Crash tests: a job is killed, loses power or gets an error at every change of a file and every start of a
//! program, and the next job has to recover.
//!
//! The loops are short by default: they try some calls of a deploy with a few tasks. `UNFURL_LOOPS` changes
//! that:
//!
//! - `full`: every call of a deploy of 100 tasks, and 2,000 random moments
//! - `every:10`: every tenth call, and all calls while the record is written
//! - `kill:17` (any fault that `system::fault` knows): only this fault, to reproduce a failure

mod cut;
mod fail;
mod kill;
mod save;
mod world;

/// The number of faults that the loops try, from `UNFURL_LOOPS`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Loops {
    Short,
    Full,
    /// Every n-th call, and all calls while the record is written.
    Every(usize),
    /// A single fault, to reproduce a failure.
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

    /// The number of tasks of a deploy.
    fn nodes(&self) -> usize {
        if *self == Self::Short { 6 } else { 100 }
    }

    /// Returns the faults of these kinds to try in a run that makes these calls.
    ///
    /// Short loops try some calls that are spread evenly, and every third call after the last task has ended,
    /// where the record is written.
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
                // A short loop takes turns through the kinds.
                if *self == Self::Full || turn % kinds.len() == index {
                    faults.push(format!("{kind}:{}", place + 1));
                }
            }
        }
        faults
    }
}

/// The message that says how to reproduce a failure.
fn how_to_reproduce(test: &str, fault: &str) -> String {
    format!(
        "again with: UNFURL_LOOPS='{fault}' cargo test --features fault-injection --test it crash::{test}"
    )
}
