//! The choice of the ensembles that a run looks at.

use std::time::Duration;

use jiff::Timestamp;

/// An ensemble that a run may look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidate {
    /// The time of the last answer; None if the ensemble was never looked at.
    pub checked: Option<Timestamp>,
    /// The time of the last job.
    pub deployed: Option<Timestamp>,
}

/// The choice among candidates, as their places in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The ensembles to look at, longest unchecked first.
    pub chosen: Vec<usize>,
    /// The ensembles that were deployed within the period.
    pub fresh: Vec<usize>,
    /// The ensembles beyond the limit. A later run takes them first.
    pub later: Vec<usize>,
}

/// Chooses up to `at_most` ensembles, longest unchecked first. Leaves out ensembles deployed within a period.
pub fn select(
    candidates: &[Candidate],
    now: Timestamp,
    at_most: Option<usize>,
    unless_deployed_within: Option<Duration>,
) -> Selection {
    let is_fresh = |place: &usize| {
        let age = candidates[*place]
            .deployed
            .map(|deployed| now.duration_since(deployed));
        // A job in the future of a clock that went back is fresh, too.
        unless_deployed_within
            .zip(age)
            .is_some_and(|(period, age)| age.is_negative() || age.unsigned_abs() < period)
    };
    let (fresh, mut chosen): (Vec<usize>, Vec<usize>) = (0..candidates.len()).partition(is_fresh);
    chosen.sort_by_key(|place| (candidates[*place].checked, *place));
    let limit = at_most.unwrap_or(chosen.len()).min(chosen.len());
    let later = chosen.split_off(limit);
    Selection {
        chosen,
        fresh,
        later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Option<Timestamp> {
        Timestamp::from_second(second).ok()
    }

    #[test]
    fn the_longest_unchecked_ensembles_come_first() {
        let of = |checked, deployed| Candidate { checked, deployed };
        let candidates = [
            of(time(300), None),
            of(None, time(100)),
            of(time(200), time(990)),
            of(time(100), time(2000)),
            of(time(250), time(500)),
        ];
        let now = time(1000).unwrap();
        let chosen = select(&candidates, now, Some(2), Some(Duration::from_mins(1)));
        assert_eq!(chosen.chosen, [1, 4]);
        assert_eq!(chosen.fresh, [2, 3]);
        assert_eq!(chosen.later, [0]);
        assert_eq!(select(&candidates, now, None, None).chosen, [1, 3, 2, 4, 0]);
    }

    #[test]
    fn rounds_reach_every_ensemble() {
        let mut candidates = [Candidate::default(); 7];
        for round in 0..4 {
            let now = time(round).unwrap();
            for place in select(&candidates, now, Some(2), None).chosen {
                candidates[place].checked = Some(now);
            }
        }
        assert!(
            candidates
                .iter()
                .all(|candidate| candidate.checked.is_some())
        );
    }
}
