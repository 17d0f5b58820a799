//! The order in which states run, with the requisites taken into account, for people who ask for it.
//!
//! With Classic ordering, the engine calls requirements at run time. [`run_order`] makes the same walk without
//! running anything, as if each state succeeded.

use super::dag_order::is_passed_over;
use super::watching::effective_kind;
use crate::states::{ChunkIndex, LinkTarget, LowData, Requisite, RunOrdering, SetIndex};

/// Returns the chunks in the order in which they run.
pub(super) fn run_order(low: &LowData) -> Vec<ChunkIndex> {
    if low.ordering == RunOrdering::Dag {
        return low.order.clone();
    }
    let mut walk = Walk::new(low);
    for chunk in &low.order {
        walk.run(*chunk);
    }
    walk.order
}

/// Something that happens before a chunk runs.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// The chunks of this set run.
    Run(SetIndex),
    /// The chunks of this set are tested, for which their requirements run.
    Test(SetIndex),
    /// The chunks with a `prereq` on this set run.
    Holders(SetIndex),
}

/// A chunk whose needs are met one after the other.
struct Frame {
    chunk: ChunkIndex,
    is_test: bool,
    needs: Vec<Need>,
    need: usize,
    member: usize,
}

/// A walk through the requirements of chunks. Each chunk is entered at most twice: to test and to run it.
struct Walk<'a> {
    low: &'a LowData,
    /// For each set, the chunks with a `prereq` on it.
    holders: Vec<Vec<ChunkIndex>>,
    /// For each chunk, the sets with holders that contain it.
    prerequired: Vec<Vec<SetIndex>>,
    /// For each set, the number of members at its start that have run.
    cursors: Vec<usize>,
    is_entered: Vec<bool>,
    is_tested: Vec<bool>,
    is_done: Vec<bool>,
    order: Vec<ChunkIndex>,
}

impl<'a> Walk<'a> {
    fn new(low: &'a LowData) -> Self {
        let chunks = low.chunks.len();
        let mut holders = vec![Vec::new(); low.sets.len()];
        for (at, chunk) in (0..).zip(&low.chunks) {
            for link in &chunk.links {
                if let (Requisite::Prereq, LinkTarget::Set(set)) = (link.kind, link.target) {
                    holders[set as usize].push(at);
                }
            }
        }
        let mut prerequired = vec![Vec::new(); chunks];
        for (set, of) in (0..).zip(&holders) {
            let members = low.sets[set as usize].iter().filter(|_| !of.is_empty());
            for member in members {
                prerequired[*member as usize].push(set);
            }
        }
        Self {
            low,
            holders,
            prerequired,
            cursors: vec![0; low.sets.len()],
            is_entered: vec![false; chunks],
            is_tested: vec![false; chunks],
            is_done: vec![false; chunks],
            order: Vec::with_capacity(chunks),
        }
    }

    fn run(&mut self, chunk: ChunkIndex) {
        if self.is_entered[chunk as usize] {
            return;
        }
        let mut stack = vec![self.frame(chunk, false)];
        while let Some(frame) = stack.last_mut() {
            match self.next(frame) {
                Some((chunk, is_test)) => {
                    let frame = self.frame(chunk, is_test);
                    stack.push(frame);
                }
                None => {
                    if !frame.is_test {
                        self.is_done[frame.chunk as usize] = true;
                        self.order.push(frame.chunk);
                    }
                    stack.pop();
                }
            }
        }
    }

    /// Enters a chunk.
    fn frame(&mut self, chunk: ChunkIndex, is_test: bool) -> Frame {
        let at = chunk as usize;
        let entered = if is_test {
            &mut self.is_tested
        } else {
            &mut self.is_entered
        };
        entered[at] = true;
        let links = &self.low.chunks[at].links;
        let mut needs: Vec<((Requisite, bool), Need)> = Vec::new();
        for link in links {
            let LinkTarget::Set(set) = link.target else {
                continue;
            };
            let kind = effective_kind(&self.low.chunks[at], link.kind);
            let need = match kind {
                kind if is_passed_over(kind, RunOrdering::Classic) => continue,
                Requisite::Prereq => Need::Test(set),
                _ => Need::Run(set),
            };
            needs.push(((kind, kind != link.kind), need));
        }
        needs.sort_by_key(|(place, _)| *place);
        let mut needs: Vec<Need> = needs.into_iter().map(|(_, need)| need).collect();
        if !is_test {
            needs.extend(self.prerequired[at].iter().copied().map(Need::Holders));
        }
        Frame {
            chunk,
            is_test,
            needs,
            need: 0,
            member: 0,
        }
    }

    /// Returns the next chunk to enter before the chunk of a frame, and whether it is tested only.
    fn next(&mut self, frame: &mut Frame) -> Option<(ChunkIndex, bool)> {
        let low = self.low;
        while let Some(need) = frame.needs.get(frame.need).copied() {
            let (members, is_test): (&[ChunkIndex], bool) = match need {
                Need::Run(set) => {
                    frame.member = frame.member.max(self.advance(set));
                    (&low.sets[set as usize], false)
                }
                Need::Test(set) => (&low.sets[set as usize], true),
                Need::Holders(set) => (&self.holders[set as usize], false),
            };
            while let Some(member) = members.get(frame.member).copied() {
                frame.member += 1;
                let at = member as usize;
                let is_settled = self.is_entered[at] || (is_test && self.is_tested[at]);
                if !is_settled {
                    return Some((member, is_test));
                }
            }
            frame.need += 1;
            frame.member = 0;
        }
        None
    }

    /// Skips the members of a set that have run, so that a set which many chunks require is read once.
    fn advance(&mut self, set: SetIndex) -> usize {
        let (cursor, members) = (
            &mut self.cursors[set as usize],
            &self.low.sets[set as usize],
        );
        while members
            .get(*cursor)
            .is_some_and(|at| self.is_done[*at as usize])
        {
            *cursor += 1;
        }
        *cursor
    }
}
