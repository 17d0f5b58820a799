//! Requisite processing: calls the chunks that a chunk requires before the chunk itself (S17, S21–S27).
//!
//! Uses an explicit stack of frames, so that a long chain of requisites cannot overflow the call stack.
//! Entry: [`Engine::step_frame`].

use std::fmt::Write as _;

use super::call_stack::CallFrame;
use super::engine::{Engine, NextAction};
use super::graph::{RequisiteNeed, SetId};
use super::options::Timestamp;
use super::requisite_status::{RequisiteStatus, SetTally, StatusFlags};
use super::result::{ChunkStatus, StateResult, TestResult};
use super::running::{CallPurpose, RunningState};
use crate::states::{ChunkIndex, Requisite, RunOrdering, StateOutcome};
use crate::value::Value;

/// The limit of checks of one chunk. A higher count means a cycle of requisites.
const MAX_REVISITS: u8 = 20;

/// The limit of frames of one chunk. The target of a `prereq` may be called once more while it waits, to be
/// tested; a higher count means a cycle.
const MAX_ON_STACK: u8 = 2;

/// The progress of a set: every member has a result, one is running, or one has not run.
enum SetProgress {
    All,
    Pending,
    Unmet,
}

impl Engine {
    /// Advances the top frame by one step. Returns an action if no further step is possible before it.
    pub(super) fn step_frame(&mut self) -> Option<NextAction> {
        let frame = self.stack.last()?;
        if frame.is_walking {
            self.walk_next();
            return None;
        }
        let chunk = frame.chunk;
        if matches!(self.statuses[chunk as usize], ChunkStatus::Done(_)) {
            self.end_frame();
            return None;
        }
        if !self.graph.is_prerequired(chunk) {
            self.mark_active(chunk);
        }
        let testing = self.needs_test[chunk as usize];
        let status = self.status(chunk, testing);
        let is_plain = matches!(
            status,
            RequisiteStatus::Met | RequisiteStatus::Onfail | RequisiteStatus::Onchanges
        );
        if self.batch.is_open() && (testing || !is_plain) {
            return self.flush_batch();
        }
        match status {
            RequisiteStatus::Pending => return self.defer(chunk),
            RequisiteStatus::Missing => self.fail_missing(chunk, testing),
            RequisiteStatus::Unmet => self.begin_walk(chunk, testing),
            RequisiteStatus::Fail => self.fail_unmet(chunk, testing),
            RequisiteStatus::Pre => self.skip_chunk(chunk, testing, "No changes detected", true),
            RequisiteStatus::Onfail => {
                let comment = "State was not run because onfail req did not change";
                self.skip_chunk(chunk, testing, comment, false);
            }
            RequisiteStatus::Onchanges => {
                let comment = "State was not run because none of the onchanges reqs changed";
                self.skip_chunk(chunk, testing, comment, false);
            }
            RequisiteStatus::Met | RequisiteStatus::Change if testing => {
                self.start_run(chunk, CallPurpose::test_of(chunk));
            }
            RequisiteStatus::Change => self.start_run(chunk, CallPurpose::Run { watched: true }),
            RequisiteStatus::Met => self.start_run(chunk, CallPurpose::Run { watched: false }),
        }
        None
    }

    fn mark_active(&mut self, chunk: ChunkIndex) {
        let active = &mut self.active_generation[chunk as usize];
        if *active != self.generation {
            *active = self.generation;
            self.progress += 1;
        }
    }

    /// Starts the function of a chunk. Its frame ends with the function.
    fn start_run(&mut self, chunk: ChunkIndex, purpose: CallPurpose) {
        self.running = Some(Box::new(RunningState::new(chunk, purpose, self.now)));
    }

    /// Lets other states run before a parallel state that waits for another. Only in DAG ordering (S37).
    fn defer(&mut self, chunk: ChunkIndex) -> Option<NextAction> {
        let chunks = &self.low.chunks;
        let parallel = chunks[chunk as usize].keywords.get("parallel");
        let yields = self.low.ordering == RunOrdering::Dag && self.stack.len() == 1;
        if yields && parallel.is_some_and(Value::is_truthy) {
            self.deferred.push(chunk);
            self.pop_frame();
            return None;
        }
        Some(NextAction::Wait)
    }

    /// Computes the current requisite status of a chunk.
    pub(super) fn status(&mut self, chunk: ChunkIndex, testing: bool) -> RequisiteStatus {
        let mut verdicts = StatusFlags::default();
        let (mut pending, mut unmet) = (false, false);
        let needs = self.graph.needs(chunk);
        if needs.is_empty() {
            return RequisiteStatus::Met;
        }
        if needs.iter().any(|need| need.set.is_none()) {
            return RequisiteStatus::Missing;
        }
        let range = 0..needs.len();
        let mut last: Option<(Requisite, super::requisite_status::OutcomeFlags)> = None;
        for place in range {
            let RequisiteNeed { kind, set, .. } = self.graph.needs(chunk)[place];
            let Some(set) = set.filter(|_| !(testing && kind == Requisite::Prerequired)) else {
                continue;
            };
            match self.update_tally(kind, set) {
                SetProgress::All => {}
                SetProgress::Pending => pending = true,
                SetProgress::Unmet => unmet = true,
            }
            let marks = self.tally(kind, set).flags;
            last = match last {
                Some((before, all)) if before == kind => Some((kind, all.union(marks))),
                Some((before, all)) => {
                    verdicts.add(before, all);
                    Some((kind, marks))
                }
                None => Some((kind, marks)),
            };
        }
        if let Some((kind, marks)) = last {
            verdicts.add(kind, marks);
        }
        let waits_first = self.low.ordering == RunOrdering::Classic;
        if pending && (waits_first || !unmet) {
            RequisiteStatus::Pending
        } else if unmet {
            RequisiteStatus::Unmet
        } else {
            verdicts.status()
        }
    }

    fn tally(&self, kind: Requisite, set: SetId) -> &SetTally {
        if kind == Requisite::Prereq {
            &self.tested_tallies[&set].1
        } else {
            &self.tallies[set as usize]
        }
    }

    /// Counts the results of a set that were recorded since the last call.
    fn update_tally(&mut self, kind: Requisite, set: SetId) -> SetProgress {
        let items = self.graph.items(set);
        if kind == Requisite::Prereq {
            let epoch = self.epoch;
            let entry = self.tested_tallies.entry(set).or_default();
            if entry.0 != epoch {
                *entry = (epoch, SetTally::default());
            }
            let tally = &mut entry.1;
            while let Some(chunk) = items.get(tally.cursor as usize) {
                let Some(tested) = self.tested.get(chunk) else {
                    return SetProgress::Unmet;
                };
                tally.count(*chunk, &tested.0.outcome, false);
            }
            return SetProgress::All;
        }
        let tally = &mut self.tallies[set as usize];
        if (tally.cursor as usize) < items.len() {
            self.batch.save_tally(set, tally);
        }
        while let Some(chunk) = items.get(tally.cursor as usize) {
            match self.statuses[*chunk as usize] {
                ChunkStatus::NotRun => return SetProgress::Unmet,
                ChunkStatus::Running => return SetProgress::Pending,
                ChunkStatus::Done(place) => {
                    let result = &self.results[place as usize];
                    tally.count(*chunk, &result.outcome, result.skipped);
                }
            }
        }
        SetProgress::All
    }

    /// Starts calling the requirements of a chunk. Targets of a `prereq` are marked to be tested.
    fn begin_walk(&mut self, chunk: ChunkIndex, testing: bool) {
        for place in 0..self.graph.needs(chunk).len() {
            let RequisiteNeed { kind, set, .. } = self.graph.needs(chunk)[place];
            let (Some(set), Requisite::Prereq | Requisite::Prerequired) = (set, kind) else {
                continue;
            };
            if kind == Requisite::Prerequired && testing {
                continue;
            }
            let from = self.tallies[set as usize].cursor as usize;
            for target in &self.graph.items(set)[from..] {
                let at = *target as usize;
                if kind == Requisite::Prerequired {
                    self.called_as_prerequired[at] = true;
                } else if self.is_to_be_tested(*target) {
                    self.needs_test[at] = true;
                }
            }
        }
        let since = self.progress;
        if let Some(frame) = self.stack.last_mut() {
            frame.is_walking = true;
            frame.need_index = 0;
            frame.target_index = 0;
            frame.progress_seen = since;
        }
    }

    /// DAG ordering tests each chunk once; Classic tests it every time, until it has run.
    fn is_to_be_tested(&self, chunk: ChunkIndex) -> bool {
        matches!(self.statuses[chunk as usize], ChunkStatus::NotRun)
            && (self.low.ordering == RunOrdering::Classic || !self.tested.contains_key(&chunk))
    }

    /// Calls the next requirement of the top chunk. After the last one, checks the chunk again.
    fn walk_next(&mut self) {
        let Some(frame) = self.stack.last() else {
            return;
        };
        let chunk = frame.chunk;
        if frame
            .last_called
            .is_some_and(|called| self.is_failhard(called))
        {
            self.failhard_hit = true;
            self.end_frame();
            return;
        }
        let Some(target) = self.next_target() else {
            self.revisit();
            return;
        };
        if self.active_generation[target as usize] == self.generation {
            self.handle_active_target(chunk, target);
        } else if self.stack_counts[target as usize] >= MAX_ON_STACK {
            self.fail_recursive(chunk);
        } else {
            self.push_frame(target);
        }
    }

    fn next_target(&mut self) -> Option<ChunkIndex> {
        let frame = self.stack.last_mut()?;
        let testing = self.needs_test[frame.chunk as usize];
        let classic = self.low.ordering == RunOrdering::Classic;
        while let Some(need) = self.graph.needs(frame.chunk).get(frame.need_index as usize) {
            let passed_over = match need.kind {
                Requisite::Prerequired => testing,
                // Salt up to 3007 does not call the targets of `onfail_all`.
                Requisite::OnfailAll => classic,
                _ => false,
            };
            let items = need.set.filter(|_| !passed_over).map(|set| {
                frame.target_index = frame.target_index.max(self.tallies[set as usize].cursor);
                self.graph.items(set)
            });
            while let Some(target) = items.and_then(|it| it.get(frame.target_index as usize)) {
                frame.target_index += 1;
                let tested =
                    need.kind == Requisite::Prereq && !classic && self.tested.contains_key(target);
                if matches!(self.statuses[*target as usize], ChunkStatus::NotRun) && !tested {
                    frame.last_called = Some(*target);
                    return Some(*target);
                }
            }
            frame.need_index += 1;
            frame.target_index = 0;
        }
        None
    }

    /// Handles a requirement that itself waits for this chunk: legitimate for `prereq`, otherwise a cycle.
    fn handle_active_target(&mut self, chunk: ChunkIndex, target: ChunkIndex) {
        if !self.called_as_prerequired[target as usize] {
            self.fail_recursive(chunk);
        } else if self.tested.contains_key(&chunk) {
            self.end_frame();
        } else {
            self.needs_test[chunk as usize] = true;
            let purpose = CallPurpose::Test {
                of: target,
                watched: false,
            };
            self.start_run(chunk, purpose);
        }
    }

    fn fail_recursive(&mut self, chunk: ChunkIndex) {
        let outcome = StateOutcome::failed("Recursive requisite found");
        let result = self.new_result(chunk, outcome);
        self.record_result(chunk, result);
        self.end_frame();
    }

    /// Checks a chunk again after its requirements were called.
    fn revisit(&mut self) {
        let Some(frame) = self.stack.last_mut() else {
            return;
        };
        let chunk = frame.chunk;
        if self.needs_test[chunk as usize] {
            self.revisit_test(chunk);
            return;
        }
        frame.revisits += 1;
        frame.is_walking = false;
        // Without progress since the last check, the result would be the same forever.
        if frame.revisits >= MAX_REVISITS || frame.progress_seen == self.progress {
            self.fail_recursive(chunk);
        }
    }

    fn revisit_test(&mut self, chunk: ChunkIndex) {
        match self.status(chunk, true) {
            RequisiteStatus::Pending => {
                // The frame is checked again when the parallel target has ended.
                if let Some(frame) = self.stack.last_mut() {
                    frame.is_walking = false;
                }
            }
            RequisiteStatus::Pre => {
                let mut result =
                    self.new_result(chunk, StateOutcome::unchanged("No changes detected"));
                result.skipped = true;
                self.record_test_result(chunk, result);
                self.needs_test[chunk as usize] = false;
                self.end_frame();
            }
            status => {
                let purpose = CallPurpose::Test {
                    of: chunk,
                    watched: status == RequisiteStatus::Change,
                };
                self.start_run(chunk, purpose);
            }
        }
    }

    /// Fails a chunk whose requisites match no state (S20).
    fn fail_missing(&mut self, chunk: ChunkIndex, testing: bool) {
        let mut comment = String::from("The following requisites were not found:\n");
        let mut last = None;
        let links = &self.low.chunks[chunk as usize].links;
        for need in self.graph.needs(chunk).iter().filter(|it| it.set.is_none()) {
            if last.replace(need.kind) != Some(need.kind) {
                let _ = writeln!(comment, "{:19}{}:", "", need.kind.as_str());
            }
            let (key, value) = match links[need.link as usize].written.reveal() {
                Value::Map(map) => match map.first() {
                    Some((key, value)) => (key.to_string(), value.to_string()),
                    None => continue,
                },
                other => ("id".to_owned(), other.to_string()),
            };
            let _ = writeln!(comment, "{:23}{key}: {value}", "");
        }
        let result = self.new_result(chunk, StateOutcome::failed(comment));
        if testing {
            self.record_test_result(chunk, result);
            self.needs_test[chunk as usize] = false;
        } else {
            self.record_result(chunk, result);
        }
        self.end_frame();
    }

    /// Fails a chunk with a failed requisite (S22, S24).
    fn fail_unmet(&mut self, chunk: ChunkIndex, testing: bool) {
        if let Some(TestResult(tested)) = self.tested.get_mut(&chunk) {
            // The tested changes are not made after all, so they are removed from the result.
            tested.outcome.changes.clear();
            let mut result = tested.clone();
            result.number = self.next_number();
            self.epoch += 1;
            self.record_result(chunk, result);
            self.end_frame();
            return;
        }
        let comment = format!("One or more requisite failed: {}", self.failed_names(chunk));
        let dag = self.low.ordering == RunOrdering::Dag;
        let mut result = self.new_result(chunk, StateOutcome::failed(comment));
        result.skipped = dag;
        if testing || !dag {
            self.record_test_result(chunk, result.clone());
        }
        self.record_result(chunk, result);
        self.end_frame();
    }

    fn failed_names(&self, chunk: ChunkIndex) -> String {
        let mut failed: Vec<ChunkIndex> = Vec::new();
        let mut more = 0;
        for need in self.graph.needs(chunk) {
            let Some(set) = need.set else {
                continue;
            };
            let tally = if need.kind == Requisite::Prereq {
                match self.tested_tallies.get(&set) {
                    Some((_, tally)) => tally,
                    None => continue,
                }
            } else {
                &self.tallies[set as usize]
            };
            more += tally.more_failed;
            for one in &tally.failed {
                if !failed.contains(one) {
                    failed.push(*one);
                }
            }
        }
        let name = |at: &ChunkIndex| {
            let chunk = &self.low.chunks[*at as usize];
            format!("{}.{}", chunk.sls, chunk.id)
        };
        let mut names: Vec<String> = failed.iter().map(name).collect();
        names.dedup();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        names.join(", ")
    }

    /// Records that a chunk is skipped, which is not a failure (S24–S26).
    fn skip_chunk(&mut self, chunk: ChunkIndex, testing: bool, comment: &str, pre: bool) {
        let dag = self.low.ordering == RunOrdering::Dag;
        let mut result = self.new_result(chunk, StateOutcome::unchanged(comment));
        result.skipped = dag || !pre;
        if (pre && !dag) || (dag && testing) {
            self.record_test_result(chunk, result.clone());
        }
        self.record_result(chunk, result);
        self.end_frame();
    }

    /// Makes a result with the next number, the current start time and no duration.
    pub(super) fn new_result(&mut self, chunk: ChunkIndex, outcome: StateOutcome) -> StateResult {
        let number = self.next_number();
        let mut result = StateResult::of(chunk, &self.low.chunks[chunk as usize], number, outcome);
        result.start = Timestamp(self.now.0);
        result
    }

    /// Records the result of a test (S24).
    pub(super) fn record_test_result(&mut self, chunk: ChunkIndex, result: StateResult) {
        let summary = |result: &StateResult| (result.outcome.result, result.is_changed());
        let new = summary(&result);
        // A repeated test with the same result does not count as progress, so a cycle of tests is detected.
        let old = self.tested.insert(chunk, TestResult(result));
        if let Some(TestResult(old)) = &old {
            self.epoch += 1;
            self.progress += u64::from(summary(old) != new);
        } else {
            self.progress += 1;
        }
    }

    /// Pushes a frame for a chunk.
    pub(super) fn push_frame(&mut self, chunk: ChunkIndex) {
        self.stack_counts[chunk as usize] += 1;
        self.stack.push(CallFrame::of(chunk));
    }

    fn pop_frame(&mut self) -> Option<CallFrame> {
        let frame = self.stack.pop()?;
        self.stack_counts[frame.chunk as usize] -= 1;
        Some(frame)
    }

    pub(super) fn clear_stack(&mut self) {
        while self.pop_frame().is_some() {}
    }

    /// Removes the top frame. Remembers a `failhard` failure among its requirements.
    pub(super) fn end_frame(&mut self) {
        let Some(frame) = self.pop_frame() else {
            return;
        };
        let was_revisited = frame.revisits > 0;
        if was_revisited
            && frame
                .last_called
                .is_some_and(|called| self.is_failhard(called))
        {
            self.failhard_hit = true;
        }
    }
}
