//! Listeners: after the last state, runs the watch functions of states that `listen` to a changed state
//! (S30).

use std::sync::Arc;
use std::time::Duration;

use super::engine::{Engine, EnginePhase, Listeners, NextAction};
use super::options::Timestamp;
use super::result::{ChunkStatus, StateResult};
use super::running::{CallPurpose, RunningState};
use crate::states::{ChunkIndex, LinkTarget, Requisite, SetIndex, StateOutcome};
use crate::value::{FoldMap, FoldSet, Value};

impl Engine {
    /// Starts the next listener, or ends the run after the last one.
    pub(super) fn next_listener(&mut self) -> Option<NextAction> {
        let mut listeners = match self.listeners.take() {
            Some(listeners) => listeners,
            None => self.find_listeners(),
        };
        let failed = listeners.last.is_some_and(|_| self.is_failed_listener());
        let next = if failed {
            None
        } else {
            listeners.chunks.pop_front()
        };
        if let Some(chunk) = next {
            listeners.last = Some(chunk);
            self.listeners = Some(listeners);
            self.running = Some(Box::new(RunningState::new(
                chunk,
                CallPurpose::Listen,
                self.now,
            )));
            return None;
        }
        for (link, comment) in listeners.missing {
            let number = self.next_number();
            let result = missing_listener_result(&link, comment, number, self.now);
            self.results.push(result);
        }
        self.phase = EnginePhase::Done;
        None
    }

    fn is_failed_listener(&self) -> bool {
        let last = self.results.last();
        last.is_some_and(|last| last.chunk.is_some_and(|chunk| self.ends_run(chunk, last)))
    }

    /// Finds the states that are to react, in run order.
    fn find_listeners(&self) -> Listeners {
        let mut found = Listeners::default();
        let mut changed: FoldMap<SetIndex, bool> = FoldMap::default();
        let mut seen: FoldSet<ChunkIndex> = FoldSet::default();
        for at in &self.low.order {
            if !seen.insert(*at) {
                continue;
            }
            let chunk = &self.low.chunks[*at as usize];
            let mut reacts = false;
            for link in chunk.links.iter().filter(|it| it.kind == Requisite::Listen) {
                match link.target {
                    LinkTarget::Set(set) => {
                        reacts |= *changed.entry(set).or_insert_with(|| self.has_changed(set));
                    }
                    LinkTarget::Missing => {
                        let first = link.written.as_map().and_then(|map| map.first());
                        if let Some((state, id)) = first {
                            let comment = format!("Referenced state {state}: {id} does not exist");
                            found
                                .missing
                                .push(((state.to_string(), id.to_string()), comment));
                        }
                    }
                }
            }
            if reacts {
                found.chunks.push_back(*at);
            }
        }
        found.missing.dedup_by(|a, b| a.0 == b.0);
        found
    }

    fn has_changed(&self, set: SetIndex) -> bool {
        self.graph
            .items(set)
            .iter()
            .any(|chunk| match self.statuses[*chunk as usize] {
                ChunkStatus::Done(place) => self.results[place as usize].is_changed(),
                ChunkStatus::NotRun | ChunkStatus::Running => false,
            })
    }

    /// The watched states that have changed, at most 64 of each set, as `module: ID`.
    pub(super) fn changed_watched(&self, running: &RunningState) -> Value {
        let mut names = Vec::new();
        for need in self.graph.needs(running.chunk) {
            if need.kind != Requisite::Watch {
                continue;
            }
            for chunk in need
                .set
                .map_or(&[][..], |set| self.graph.items(set))
                .iter()
                .take(64)
            {
                let changed = match self.statuses[*chunk as usize] {
                    ChunkStatus::Done(place) => self.results[place as usize].is_changed(),
                    ChunkStatus::NotRun | ChunkStatus::Running => false,
                };
                if changed {
                    let chunk = &self.low.chunks[*chunk as usize];
                    names.push(Value::str(format!("{}: {}", chunk.state, chunk.id)));
                }
            }
        }
        names.into()
    }
}

/// The failed result of a `listen` whose target does not exist.
fn missing_listener_result(
    link: &(String, String),
    comment: String,
    number: u32,
    now: Timestamp,
) -> StateResult {
    let (state, id) = link;
    StateResult {
        chunk: None,
        state: Arc::from("Listen_Error"),
        id: format!("listen_{id}").into(),
        name: format!("listen_{state}").into(),
        slot_name: None,
        fun: Arc::from("Listen_Error"),
        sls: None,
        number,
        start: now,
        duration: Duration::ZERO,
        skipped: false,
        parallel: false,
        doubtful: false,
        outcome: StateOutcome::failed(comment),
    }
}
