//! What runs after all states, since something that it listens to has changed (S30).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::engine::Ran;
use super::result::StateResult;
use super::setup::Stamp;
use crate::converge::{ChunkIndex, Outcome, Requisite, SetIndex, Target};
use crate::hash::{FoldMap, FoldSet};
use crate::value::Value;

/// Those that listened and are to react.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    pub(super) chunks: VecDeque<ChunkIndex>,
    /// The one that was begun last.
    pub(super) last: Option<ChunkIndex>,
    /// What was listened to and is not there, and the comment.
    pub(super) lost: Vec<((String, String), String)>,
}

impl Engine {
    /// Finds those that are to react, in the order of running.
    pub(super) fn find_listeners(&self) -> Listeners {
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
                    Target::Set(set) => {
                        reacts |= *changed.entry(set).or_insert_with(|| self.has_changed(set));
                    }
                    Target::Missing => {
                        let first = link.written.as_map().and_then(|map| map.first());
                        if let Some((state, id)) = first {
                            let comment = format!("Referenced state {state}: {id} does not exist");
                            found
                                .lost
                                .push(((state.to_string(), id.to_string()), comment));
                        }
                    }
                }
            }
            if reacts {
                found.chunks.push_back(*at);
            }
        }
        found.lost.dedup_by(|a, b| a.0 == b.0);
        found
    }

    fn has_changed(&self, set: SetIndex) -> bool {
        self.graph
            .items(set)
            .iter()
            .any(|chunk| match self.ran[*chunk as usize] {
                Ran::Done(place) => self.results[place as usize].is_changed(),
                Ran::No | Ran::Pending => false,
            })
    }

    /// What of that which a state watches has changed, the first few.
    pub(super) fn changed_watched(&self, doing: &super::doing::Doing) -> Value {
        let mut names = Vec::new();
        for need in self.graph.needs(doing.chunk) {
            if need.kind != super::graph::Kind::Watch {
                continue;
            }
            for chunk in need
                .set
                .map_or(&[][..], |set| self.graph.items(set))
                .iter()
                .take(64)
            {
                let changed = match self.ran[*chunk as usize] {
                    Ran::Done(place) => self.results[place as usize].is_changed(),
                    Ran::No | Ran::Pending => false,
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

/// The entry of a `listen` that leads nowhere.
pub(super) fn lost(
    link: &(String, String),
    comment: String,
    number: u32,
    now: Stamp,
) -> StateResult {
    let (state, id) = link;
    StateResult {
        chunk: None,
        state: Arc::from("Listen_Error"),
        id: format!("listen_{id}").into(),
        name: format!("listen_{state}").into(),
        fun: Arc::from("Listen_Error"),
        sls: None,
        number,
        start: now,
        duration: Duration::ZERO,
        skipped: false,
        parallel: false,
        doubtful: false,
        outcome: Outcome::failed(comment),
    }
}

/// Whether a text fits a pattern with `*`, `?` and `[…]`.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match one(&pattern[at..], text[place]) {
            Some(0) => {
                star = Some((at, place));
                at += 1;
            }
            Some(length) => {
                at += length;
                place += 1;
            }
            None => match &mut star {
                Some((from, taken)) => {
                    *taken += 1;
                    at = *from + 1;
                    place = *taken;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|it| *it == '*')
}

/// How much of a pattern fits one character: nothing for a star, none if it does not fit.
fn one(pattern: &[char], it: char) -> Option<usize> {
    match pattern.first()? {
        '*' => Some(0),
        '?' => Some(1),
        '[' => {
            let negated = pattern.get(1) == Some(&'!');
            let first = if negated { 2 } else { 1 };
            let Some(end) = pattern.iter().skip(first + 1).position(|it| *it == ']') else {
                return (it == '[').then_some(1);
            };
            let end = first + 1 + end;
            let mut inside = false;
            let mut at = first;
            while at < end {
                if pattern.get(at + 1) == Some(&'-') && at + 2 < end {
                    inside |= (pattern[at]..=pattern[at + 2]).contains(&it);
                    at += 3;
                } else {
                    inside |= pattern[at] == it;
                    at += 1;
                }
            }
            (inside != negated).then_some(end + 1)
        }
        plain => (*plain == it).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_pattern_fits_as_in_a_shell() {
        assert!(glob("test.*", "test.nop"));
        assert!(glob("*", ""));
        assert!(glob("*.r?n", "cmd.run"));
        assert!(glob("[a-c]md.[!x]un", "cmd.run"));
        assert!(!glob("[!c]md", "cmd"));
        assert!(!glob("test.", "test.nop"));
        assert!(glob("*a*b", "xaxxb"));
        assert!(glob("[", "["));
    }
}
