//! Changes of several consecutive states handed out as one list, each assuming that those before
//! it succeed; what was assumed wrongly is taken back and decided again.

use super::doing::{Acting, Decided, Doing, Owner, Purpose, Stage};
use super::engine::{Advance, Engine, Next};
use super::result::Ran;
use super::window::{Assumed, Mark, Window};
use crate::converge::{Facts, Finish, Mode, Outcome, Verdict};
use crate::host::RunOutput;
use crate::host::change::Change;

/// Words after which a state needs its real result, or runs by itself.
const ALONE: [&str; 3] = ["retry", "check_cmd", "parallel"];

/// The changes of a state that is assumed to succeed.
pub(super) struct Made {
    acting: Acting,
    steps: Vec<Change>,
    warnings: Vec<String>,
}

/// What became of a state that might be assumed to succeed.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is made"
)]
pub(super) enum Taken {
    /// It is assumed to have succeeded, or has a result that no change decides.
    Over(Outcome, Option<Box<Made>>),
    /// What was assumed must become certain first; then it is decided again.
    First,
    /// It runs by itself.
    Alone,
}

impl Engine {
    /// Tries to take a state without waiting for those before it.
    pub(super) fn taken_ahead(&mut self, doing: &mut Doing, facts: &mut Facts) -> Taken {
        let alone = if self.ahead.is_open() {
            Taken::First
        } else {
            Taken::Alone
        };
        let chunk = &self.low.chunks[doing.chunk as usize];
        let is_plain = self.setup.mode == Mode::Apply
            && matches!(doing.purpose, Purpose::Run { watched: false })
            && matches!(doing.stage, Stage::Decide)
            && self.stack.len() == 1
            && self.running_beside == 0
            && self.put_off.is_empty()
            && self.aggregates.is_empty()
            && !ALONE.iter().any(|word| chunk.keywords.contains_key(*word));
        if !is_plain || self.setup.ahead == 0 {
            return alone;
        }
        let Ok(Decided::Said(verdict, warnings)) = self.decide_now(doing, true, facts) else {
            return alone;
        };
        match verdict {
            Verdict::Done(outcome) if outcome.result == Some(true) && outcome.more.is_empty() => {
                if !self.ahead.is_open() {
                    return Taken::Alone;
                }
                doing.warnings = warnings;
                Taken::Over(self.settled(doing, outcome), None)
            }
            Verdict::Act(deed) if !deed.steps.is_empty() => {
                let Finish::Then(outcome) = &deed.finish else {
                    return alone;
                };
                if outcome.result != Some(true) || !outcome.more.is_empty() {
                    return alone;
                }
                doing.warnings.clone_from(&warnings);
                let outcome = self.settled(doing, outcome.clone());
                let made = Made {
                    acting: Acting::of(&deed.steps, deed.finish),
                    steps: deed.steps,
                    warnings,
                };
                Taken::Over(outcome, Some(Box::new(made)))
            }
            Verdict::Done(_) | Verdict::Act(_) => alone,
        }
    }

    /// Goes one step on with a state in the order of things, if it can be taken ahead. Gives what
    /// is next, or the state back if it runs by itself.
    pub(super) fn step_ahead(
        &mut self,
        mut doing: Box<Doing>,
        facts: &mut Facts,
    ) -> Result<Option<Next>, Box<Doing>> {
        match self.taken_ahead(&mut doing, facts) {
            Taken::Alone => Err(doing),
            Taken::First => {
                self.doing = Some(doing);
                Ok(self.flushed().or(Some(Next::Wait)))
            }
            Taken::Over(outcome, changes) => {
                if !self.ahead.is_open() {
                    self.ahead.certain = self.results.len();
                }
                if let Some(made) = changes {
                    let Made {
                        acting,
                        steps,
                        warnings,
                    } = *made;
                    for domain in &acting.touched {
                        facts.forget(domain);
                    }
                    let mut kept = Box::new(Doing::new(doing.chunk, doing.purpose, doing.begun));
                    kept.warnings = warnings;
                    let assumed = Assumed {
                        chunk: doing.chunk,
                        doing: kept,
                        acting,
                        from: self.ahead.changes.len(),
                        mark: self.mark(),
                    };
                    self.ahead.assumed.push(assumed);
                    self.ahead.changes.extend(steps);
                }
                // It has no `watch` that fired, so that it is over in any case.
                drop(self.complete(doing, outcome));
                self.leave();
                let is_full = self.ahead.assumed.len() >= self.setup.ahead;
                Ok(if is_full { self.flushed() } else { None })
            }
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            results: self.results.len(),
            at: self.at,
            number: self.number,
            progress: self.progress,
        }
    }

    /// Whether what is next must wait until what is assumed is certain. Then it is handed out.
    pub(super) fn flushed(&mut self) -> Option<Next> {
        if self.ahead.assumed.is_empty() {
            return None;
        }
        if self.ahead.is_out {
            return Some(Next::Wait);
        }
        self.ahead.is_out = true;
        let chunk = self.ahead.assumed[0].chunk;
        Some(Next::Change {
            deed: self.deed_of(Owner::Window),
            changes: std::mem::take(&mut self.ahead.changes),
            chunk,
        })
    }

    /// Whether nothing may be begun, since what was assumed is being made.
    pub(super) fn is_waiting_for_window(&self) -> bool {
        self.ahead.is_out
    }

    /// Takes what came of the changes of a window. The first state whose changes did not all
    /// succeed is judged by what they gave; all after it is taken back.
    pub(super) fn window_changed(&mut self, mut outputs: Vec<RunOutput>, facts: &mut Facts) {
        let window = std::mem::take(&mut self.ahead);
        let mut start = self.now;
        let mut wrong = None;
        for (place, assumed) in window.assumed.iter().enumerate() {
            for domain in &assumed.acting.touched {
                facts.forget(domain);
            }
            let steps = assumed.acting.good.len();
            let end = (assumed.from + steps).min(outputs.len());
            let own = outputs.get(assumed.from.min(end)..end).unwrap_or_default();
            if wrong.is_none() && assumed.acting.failure(own).is_some() {
                wrong = Some(place);
            }
            let took = own.iter().map(|output| output.elapsed).sum();
            if wrong.is_none() {
                if let Some(result) = self.results.get_mut(assumed.mark.results) {
                    if place == 0 {
                        start = result.start;
                    }
                    result.start = start;
                    result.duration = took;
                }
                start = start.after(took);
            }
        }
        let Some(wrong) = wrong else {
            return;
        };
        for (_, set, standing) in window.kept.into_iter().filter(|it| it.0 > wrong).rev() {
            self.standings[set as usize] = standing;
        }
        let Some(assumed) = window.assumed.into_iter().nth(wrong) else {
            return;
        };
        self.take_back(assumed.mark);
        let mut own = outputs.split_off(assumed.from.min(outputs.len()));
        own.truncate(assumed.acting.good.len());
        let mut doing = assumed.doing;
        doing.stage = Stage::Judge(assumed.acting, own);
        self.push(assumed.chunk);
        self.begin_again(assumed.chunk);
        self.doing = Some(doing);
    }

    /// Takes back all that came after a mark.
    fn take_back(&mut self, mark: Mark) {
        for result in self.results.drain(mark.results..) {
            if let Some(chunk) = result.chunk {
                self.ran[chunk as usize] = Ran::No;
            }
        }
        self.at = mark.at;
        self.number = mark.number;
        self.progress = mark.progress + 1;
        self.clear_stack();
        self.doing = None;
        self.ahead = Window::default();
    }

    /// Goes on with a state by itself.
    pub(super) fn step_alone(&mut self, mut doing: Box<Doing>, facts: &mut Facts) -> Option<Next> {
        if matches!(doing.stage, Stage::Decide) && doing.args.is_none() {
            doing.args = self.aggregated(&doing);
        }
        match self.advance_doing(&mut doing, Owner::Main, facts) {
            Advance::Next(next) => {
                self.doing = Some(doing);
                Some(next)
            }
            Advance::Waits => {
                self.doing = Some(doing);
                Some(Next::Wait)
            }
            Advance::Parallel => {
                self.put_beside(doing);
                None
            }
            Advance::Over(outcome) => {
                if let Some(goes_on) = self.complete(doing, outcome) {
                    self.doing = Some(goes_on);
                } else {
                    self.leave();
                }
                None
            }
        }
    }
}
