//! The way from a state to those it requires, which run before it: a stack of its own, so that no
//! chain is too long (S17, S21–S27).

use std::fmt::Write as _;

use super::doing::{Doing, Purpose};
use super::engine::{Engine, Next};
use super::frame::Frame;
use super::graph::{Need, Set};
use super::result::{Ran, StateResult, Tested};
use super::setup::Stamp;
use super::standing::{Standing, Status, Verdicts};
use crate::converge::{ChunkIndex, Ordering, Outcome, Requisite};
use crate::value::Value;

/// So often is a chunk looked at; more means that it waits for itself.
const MOST_LOOKS: u8 = 20;

/// A chunk that a `prereq` leads to may be called once more while it waits, to be tested; more
/// means that it waits for itself.
const MOST_ON_STACK: u8 = 2;

/// How far a set has come.
enum Reached {
    All,
    Pending,
    Unmet,
}

impl Engine {
    /// Goes one step on with the frame on top. Gives what is next if nothing can be done before.
    pub(super) fn step_frame(&mut self) -> Option<Next> {
        let frame = self.stack.last()?;
        if frame.walks {
            self.walk_on();
            return None;
        }
        let chunk = frame.chunk;
        if matches!(self.ran[chunk as usize], Ran::Done(_)) {
            self.leave();
            return None;
        }
        if !self.graph.is_prerequired(chunk) {
            self.activate(chunk);
        }
        let testing = self.tests[chunk as usize];
        let status = self.status(chunk, testing);
        let is_plain = matches!(status, Status::Met | Status::Onfail | Status::Onchanges);
        if self.ahead.is_open() && (testing || !is_plain) {
            return self.flushed();
        }
        match status {
            Status::Pending => return self.put_off(chunk),
            Status::Lost => self.lose(chunk, testing),
            Status::Unmet => self.begin_walk(chunk, testing),
            Status::Fail => self.fail(chunk, testing),
            Status::Pre => self.pass_over(chunk, testing, "No changes detected", true),
            Status::Onfail => {
                let comment = "State was not run because onfail req did not change";
                self.pass_over(chunk, testing, comment, false);
            }
            Status::Onchanges => {
                let comment = "State was not run because none of the onchanges reqs changed";
                self.pass_over(chunk, testing, comment, false);
            }
            Status::Met | Status::Change if testing => self.begin(chunk, Purpose::test_of(chunk)),
            Status::Change => self.begin(chunk, Purpose::Run { watched: true }),
            Status::Met => self.begin(chunk, Purpose::Run { watched: false }),
        }
        None
    }

    fn activate(&mut self, chunk: ChunkIndex) {
        let active = &mut self.active[chunk as usize];
        if *active != self.generation {
            *active = self.generation;
            self.progress += 1;
        }
    }

    /// Starts a function; its frame goes when it has ended.
    fn begin(&mut self, chunk: ChunkIndex, purpose: Purpose) {
        self.doing = Some(Box::new(Doing::new(chunk, purpose, self.now)));
    }

    /// A parallel state that waits for another lets others go first in the newer ordering (S37).
    fn put_off(&mut self, chunk: ChunkIndex) -> Option<Next> {
        let chunks = &self.low.chunks;
        let parallel = chunks[chunk as usize].keywords.get("parallel");
        let yields = self.low.ordering == Ordering::Dag && self.stack.len() == 1;
        if yields && parallel.is_some_and(Value::is_truthy) {
            self.put_off.push(chunk);
            self.pop();
            return None;
        }
        Some(Next::Wait)
    }

    /// What the requisites of a chunk mean for it now.
    pub(super) fn status(&mut self, chunk: ChunkIndex, testing: bool) -> Status {
        let mut verdicts = Verdicts::default();
        let (mut pending, mut unmet) = (false, false);
        let needs = self.graph.needs(chunk);
        if needs.is_empty() {
            return Status::Met;
        }
        if needs.iter().any(|need| need.set.is_none()) {
            return Status::Lost;
        }
        let range = 0..needs.len();
        let mut last: Option<(Requisite, super::standing::Marks)> = None;
        for place in range {
            let Need { kind, set, .. } = self.graph.needs(chunk)[place];
            let Some(set) = set.filter(|_| !(testing && kind == Requisite::Prerequired)) else {
                continue;
            };
            match self.advance(kind, set) {
                Reached::All => {}
                Reached::Pending => pending = true,
                Reached::Unmet => unmet = true,
            }
            let marks = self.standing(kind, set).marks;
            last = match last {
                Some((before, all)) if before == kind => Some((kind, all.and(marks))),
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
        let waits_first = self.low.ordering == Ordering::Classic;
        if pending && (waits_first || !unmet) {
            Status::Pending
        } else if unmet {
            Status::Unmet
        } else {
            verdicts.status()
        }
    }

    fn standing(&self, kind: Requisite, set: Set) -> &Standing {
        if kind == Requisite::Prereq {
            &self.tested_standings[&set].1
        } else {
            &self.standings[set as usize]
        }
    }

    /// Counts the results of a set that have come since it was last looked at.
    fn advance(&mut self, kind: Requisite, set: Set) -> Reached {
        let items = self.graph.items(set);
        if kind == Requisite::Prereq {
            let epoch = self.epoch;
            let entry = self.tested_standings.entry(set).or_default();
            if entry.0 != epoch {
                *entry = (epoch, Standing::default());
            }
            let standing = &mut entry.1;
            while let Some(chunk) = items.get(standing.cursor as usize) {
                let Some(tested) = self.tested.get(chunk) else {
                    return Reached::Unmet;
                };
                standing.count(*chunk, &tested.0.outcome, false);
            }
            return Reached::All;
        }
        let standing = &mut self.standings[set as usize];
        if (standing.cursor as usize) < items.len() {
            self.ahead.keep(set, standing);
        }
        while let Some(chunk) = items.get(standing.cursor as usize) {
            match self.ran[*chunk as usize] {
                Ran::No => return Reached::Unmet,
                Ran::Pending => return Reached::Pending,
                Ran::Done(place) => {
                    let result = &self.results[place as usize];
                    standing.count(*chunk, &result.outcome, result.skipped);
                }
            }
        }
        Reached::All
    }

    /// Begins to call what a chunk requires; a chunk that a `prereq` leads to is tested.
    fn begin_walk(&mut self, chunk: ChunkIndex, testing: bool) {
        for place in 0..self.graph.needs(chunk).len() {
            let Need { kind, set, .. } = self.graph.needs(chunk)[place];
            let (Some(set), Requisite::Prereq | Requisite::Prerequired) = (set, kind) else {
                continue;
            };
            if kind == Requisite::Prerequired && testing {
                continue;
            }
            let from = self.standings[set as usize].cursor as usize;
            for target in &self.graph.items(set)[from..] {
                let at = *target as usize;
                if kind == Requisite::Prerequired {
                    self.goes_before[at] = true;
                } else if self.is_to_be_tested(*target) {
                    self.tests[at] = true;
                }
            }
        }
        let since = self.progress;
        if let Some(frame) = self.stack.last_mut() {
            frame.walks = true;
            frame.need = 0;
            frame.item = 0;
            frame.since = since;
        }
    }

    /// The newer ordering tests each once; the classic one whenever it has not run.
    fn is_to_be_tested(&self, chunk: ChunkIndex) -> bool {
        matches!(self.ran[chunk as usize], Ran::No)
            && (self.low.ordering == Ordering::Classic || !self.tested.contains_key(&chunk))
    }

    /// Calls the next that the chunk on top requires, or looks at the chunk again.
    fn walk_on(&mut self) {
        let Some(frame) = self.stack.last() else {
            return;
        };
        let chunk = frame.chunk;
        if frame.called.is_some_and(|called| self.is_failhard(called)) {
            self.flagged = true;
            self.leave();
            return;
        }
        let Some(target) = self.next_target() else {
            self.look_again();
            return;
        };
        if self.active[target as usize] == self.generation {
            self.meet_again(chunk, target);
        } else if self.on_stack[target as usize] >= MOST_ON_STACK {
            self.recursive(chunk);
        } else {
            self.push(target);
        }
    }

    fn next_target(&mut self) -> Option<ChunkIndex> {
        let frame = self.stack.last_mut()?;
        let testing = self.tests[frame.chunk as usize];
        let classic = self.low.ordering == Ordering::Classic;
        while let Some(need) = self.graph.needs(frame.chunk).get(frame.need as usize) {
            let passed_over = match need.kind {
                Requisite::Prerequired => testing,
                // Salt up to 3007 does not call these.
                Requisite::OnfailAll => classic,
                _ => false,
            };
            let items = need.set.filter(|_| !passed_over).map(|set| {
                frame.item = frame.item.max(self.standings[set as usize].cursor);
                self.graph.items(set)
            });
            while let Some(target) = items.and_then(|it| it.get(frame.item as usize)) {
                frame.item += 1;
                let tested =
                    need.kind == Requisite::Prereq && !classic && self.tested.contains_key(target);
                if matches!(self.ran[*target as usize], Ran::No) && !tested {
                    frame.called = Some(*target);
                    return Some(*target);
                }
            }
            frame.need += 1;
            frame.item = 0;
        }
        None
    }

    /// A chunk requires one that waits for it.
    fn meet_again(&mut self, chunk: ChunkIndex, target: ChunkIndex) {
        if !self.goes_before[target as usize] {
            self.recursive(chunk);
        } else if self.tested.contains_key(&chunk) {
            self.leave();
        } else {
            self.tests[chunk as usize] = true;
            let purpose = Purpose::Test {
                of: target,
                watched: false,
            };
            self.begin(chunk, purpose);
        }
    }

    fn recursive(&mut self, chunk: ChunkIndex) {
        let outcome = Outcome::failed("Recursive requisite found");
        let result = self.numbered(chunk, outcome);
        self.put(chunk, result);
        self.leave();
    }

    /// All that a chunk requires was called.
    fn look_again(&mut self) {
        let Some(frame) = self.stack.last_mut() else {
            return;
        };
        let chunk = frame.chunk;
        if self.tests[chunk as usize] {
            self.look_again_at_test(chunk);
            return;
        }
        frame.depth += 1;
        frame.walks = false;
        // Where nothing has happened, nothing would.
        if frame.depth >= MOST_LOOKS || frame.since == self.progress {
            self.recursive(chunk);
        }
    }

    fn look_again_at_test(&mut self, chunk: ChunkIndex) {
        match self.status(chunk, true) {
            Status::Pending => {
                // It is looked at again when that has ended.
                if let Some(frame) = self.stack.last_mut() {
                    frame.walks = false;
                }
            }
            Status::Pre => {
                let mut result = self.numbered(chunk, Outcome::same("No changes detected"));
                result.skipped = true;
                self.put_tested(chunk, result);
                self.tests[chunk as usize] = false;
                self.leave();
            }
            status => {
                let purpose = Purpose::Test {
                    of: chunk,
                    watched: status == Status::Change,
                };
                self.begin(chunk, purpose);
            }
        }
    }

    /// A chunk whose requisites lead to nothing (S20).
    fn lose(&mut self, chunk: ChunkIndex, testing: bool) {
        let mut comment = String::from("The following requisites were not found:\n");
        let mut last = None;
        let links = &self.low.chunks[chunk as usize].links;
        for need in self.graph.needs(chunk).iter().filter(|it| it.set.is_none()) {
            if last.replace(need.kind) != Some(need.kind) {
                let _ = writeln!(comment, "{:19}{}:", "", need.kind.word());
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
        let result = self.numbered(chunk, Outcome::failed(comment));
        if testing {
            self.put_tested(chunk, result);
            self.tests[chunk as usize] = false;
        } else {
            self.put(chunk, result);
        }
        self.leave();
    }

    /// A chunk of whose requisites one has failed (S22, S24).
    fn fail(&mut self, chunk: ChunkIndex, testing: bool) {
        if let Some(Tested(tested)) = self.tested.get_mut(&chunk) {
            // What it would have changed, it does not change.
            tested.outcome.changes.clear();
            let mut result = tested.clone();
            result.number = self.next_number();
            self.epoch += 1;
            self.put(chunk, result);
            self.leave();
            return;
        }
        let comment = format!("One or more requisite failed: {}", self.failed_names(chunk));
        let dag = self.low.ordering == Ordering::Dag;
        let mut result = self.numbered(chunk, Outcome::failed(comment));
        result.skipped = dag;
        if testing || !dag {
            self.put_tested(chunk, result.clone());
        }
        self.put(chunk, result);
        self.leave();
    }

    fn failed_names(&self, chunk: ChunkIndex) -> String {
        let mut failed: Vec<ChunkIndex> = Vec::new();
        let mut more = 0;
        for need in self.graph.needs(chunk) {
            let Some(set) = need.set else {
                continue;
            };
            let standing = if need.kind == Requisite::Prereq {
                match self.tested_standings.get(&set) {
                    Some((_, standing)) => standing,
                    None => continue,
                }
            } else {
                &self.standings[set as usize]
            };
            more += standing.more_failed;
            for one in &standing.failed {
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

    /// A chunk that is not run, which is no failure (S24–S26).
    fn pass_over(&mut self, chunk: ChunkIndex, testing: bool, comment: &str, pre: bool) {
        let dag = self.low.ordering == Ordering::Dag;
        let mut result = self.numbered(chunk, Outcome::same(comment));
        result.skipped = dag || !pre;
        if (pre && !dag) || (dag && testing) {
            self.put_tested(chunk, result.clone());
        }
        self.put(chunk, result);
        self.leave();
    }

    /// A result without time.
    pub(super) fn numbered(&mut self, chunk: ChunkIndex, outcome: Outcome) -> StateResult {
        let number = self.next_number();
        let mut result = StateResult::of(chunk, &self.low.chunks[chunk as usize], number, outcome);
        result.start = Stamp(self.now.0);
        result
    }

    /// Takes the result of a test (S24).
    pub(super) fn put_tested(&mut self, chunk: ChunkIndex, result: StateResult) {
        let says = |result: &StateResult| (result.outcome.result, result.is_changed());
        let new = says(&result);
        // A test that says the same again is no news.
        let old = self.tested.insert(chunk, Tested(result));
        if let Some(Tested(old)) = &old {
            self.epoch += 1;
            self.progress += u64::from(says(old) != new);
        } else {
            self.progress += 1;
        }
    }

    /// Calls a chunk.
    pub(super) fn push(&mut self, chunk: ChunkIndex) {
        self.on_stack[chunk as usize] += 1;
        self.stack.push(Frame::of(chunk));
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        self.on_stack[frame.chunk as usize] -= 1;
        Some(frame)
    }

    /// Leaves all that was called.
    pub(super) fn clear_stack(&mut self) {
        while self.pop().is_some() {}
    }

    /// Ends the frame on top.
    pub(super) fn leave(&mut self) {
        let Some(frame) = self.pop() else {
            return;
        };
        let looked = frame.depth > 0;
        if looked && frame.called.is_some_and(|called| self.is_failhard(called)) {
            self.flagged = true;
        }
    }
}
