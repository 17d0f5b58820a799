//! The memo of an evaluation: [`Memo`] stores evaluated attributes with the reads that they depend on and
//! checks whether a stored value is still valid. One memo serves the evaluators of a job.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::{Equivalent, IndexMap, IndexSet};

use crate::value::{Handle, Value};

use super::effect::Effect;
use super::error::Error;
use super::reads::{Read, Reads};
use super::requested_writes::RequestedWrites;
use super::scope::Scope;

/// The attributes evaluated during a job and the reads that each of them depends on.
#[derive(Debug, Default)]
pub struct Memo(Mutex<MemoState>, AtomicBool, AtomicBool);

#[derive(Debug, Default)]
struct MemoState {
    entries: IndexMap<AttributeSlot, MemoEntry>,
    names: HashSet<Arc<str>>,
    /// The requested changes of files that were not performed yet, by path.
    requested: HashMap<PathBuf, Arc<Effect>>,
    /// The names of temporary files, by a digest of what the expression says about the file.
    temporary_names: HashMap<[u8; 32], Arc<str>>,
}

/// The key of a memo entry: an attribute of an entity, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttributeSlot {
    pub(super) of: Handle,
    pub(super) name: Arc<str>,
    /// The joined keys that lead to the part. None for the whole attribute.
    pub(super) path: Option<Arc<str>>,
}

/// A memoized value with the reads and entries that it depends on.
#[derive(Debug, Clone)]
pub(super) struct MemoEntry {
    /// The value, or the error of an evaluation that must not be repeated.
    pub(super) value: Result<Value, Box<Error>>,
    /// The direct reads of the evaluation. The reads of other attributes are in their own entries, but the
    /// requested writes of all are here.
    pub(super) reads: Reads,
    /// The memo entries that the evaluation used.
    pub(super) slots: IndexSet<AttributeSlot>,
    /// The generation at which the value was computed.
    pub(super) computed: u64,
    /// The generation at which the value was valid last.
    pub(super) generation: u64,
}

impl AttributeSlot {
    /// Returns the slot of the part at a key.
    pub(super) fn part(&self, key: &str) -> Self {
        let path = match &self.path {
            Some(path) => format!("{path}\u{1f}{key}"),
            None => key.to_owned(),
        };
        Self {
            path: Some(path.into()),
            ..self.clone()
        }
    }
}

/// A borrowed form of [`AttributeSlot`], so that a lookup allocates nothing. Both types hash alike.
#[derive(Debug, Clone, Copy)]
struct SlotRef<'a>(Handle, &'a str, Option<&'a str>);

impl Hash for SlotRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
        self.1.hash(state);
        self.2.hash(state);
    }
}

impl Hash for AttributeSlot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        SlotRef(self.of, &self.name, self.path.as_deref()).hash(state);
    }
}

impl Equivalent<AttributeSlot> for SlotRef<'_> {
    fn equivalent(&self, slot: &AttributeSlot) -> bool {
        self.0 == slot.of && self.1 == &*slot.name && self.2 == slot.path.as_deref()
    }
}

impl Memo {
    /// Returns the attributes that the reads depend on directly or through other attributes, at most `cap`.
    ///
    /// Entities come in the order of first access, and so do the attributes of each entity. `compute`
    /// evaluates attributes without a stored value; an attribute that it cannot evaluate either has the
    /// value null.
    pub(super) fn closure_with(
        &self,
        reads: &Reads,
        cap: usize,
        compute: &mut dyn FnMut(Handle, &str) -> Option<Value>,
    ) -> Vec<(Handle, Arc<str>, Value)> {
        let mut found: IndexMap<Handle, IndexMap<Arc<str>, Value>> = IndexMap::new();
        let mut count = 0;
        let mut open: Vec<(Read, Value)> = reversed(reads);
        while let Some((read, value)) = open.pop() {
            let (of, name) = match read {
                Read::Entity(of) => {
                    found.entry(of).or_default();
                    continue;
                }
                Read::Attribute { of, name } => (of, name),
                _ => continue,
            };
            let of_entity = found.entry(of).or_default();
            if count >= cap || of_entity.contains_key(&name) {
                continue;
            }
            count += 1;
            of_entity.insert(Arc::clone(&name), Value::Null);
            let value = if value.is_null() {
                let known = self.stored_value(of, &name).or_else(|| compute(of, &name));
                known.unwrap_or(value)
            } else {
                value
            };
            for part in self.reads_by_part(of, &name).iter().rev() {
                open.extend(reversed(part));
            }
            let of_entity = found.entry(of).or_default();
            of_entity.insert(name, value);
        }
        let attributes = |(of, attributes): (Handle, IndexMap<Arc<str>, Value>)| {
            (attributes.into_iter()).map(move |(name, value)| (of, name, value))
        };
        found.into_iter().flat_map(attributes).collect()
    }

    /// Returns the attributes that were read but do not exist, directly or through other attributes.
    pub fn absent(&self, reads: &Reads, cap: usize) -> Vec<(Handle, Arc<str>)> {
        let mut found = IndexSet::new();
        let mut seen = HashSet::new();
        let mut open: Vec<(Read, Value)> = reversed(reads);
        while let Some((read, _)) = open.pop() {
            match read {
                Read::Absent { of, name } => drop(found.insert((of, name))),
                Read::Attribute { of, name }
                    if seen.len() < cap && seen.insert((of, Arc::clone(&name))) =>
                {
                    for part in self.reads_by_part(of, &name).iter().rev() {
                        open.extend(reversed(part));
                    }
                }
                _ => {}
            }
        }
        found.into_iter().collect()
    }

    /// Notes that an evaluation has read a property that Unfurl does not see.
    pub(super) fn note_unseen_read(&self) {
        self.2.store(true, Ordering::Relaxed);
    }

    /// Returns the attributes that were read directly or through other attributes and that Unfurl sees. None if it
    /// sees all of them.
    pub(super) fn seen_by_upstream(
        &self,
        reads: &Reads,
        cap: usize,
    ) -> Option<HashSet<(Handle, Arc<str>)>> {
        if !self.2.load(Ordering::Relaxed) {
            return None;
        }
        let (mut seen, mut visited) = (HashSet::new(), HashSet::new());
        let mut open = vec![reads.clone()];
        while let Some(reads) = open.pop() {
            for (read, _) in &reads {
                let Read::Attribute { of, name } = read else {
                    continue;
                };
                let attribute = (*of, Arc::clone(name));
                if reads.is_seen(read) {
                    seen.insert(attribute.clone());
                }
                if visited.len() < cap && visited.insert(attribute) {
                    open.extend(self.reads_by_part(*of, name));
                }
            }
        }
        Some(seen)
    }

    /// Notes that an evaluation has read a value of `locals`.
    pub(super) fn note_local_read(&self) {
        self.1.store(true, Ordering::Relaxed);
    }

    /// Returns true if any evaluation has read a value of `locals`.
    pub fn has_local_reads(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }

    /// Whether any direct or indirect read satisfies `is`.
    ///
    /// Also returns true after more than `cap` attributes, because the search then stops before it has seen
    /// every read.
    pub fn any_read(&self, reads: &Reads, cap: usize, is: &mut dyn FnMut(&Read) -> bool) -> bool {
        let mut seen = HashSet::new();
        let mut open: Vec<(Read, Value)> = reversed(reads);
        while let Some((read, _)) = open.pop() {
            if is(&read) || seen.len() > cap {
                return true;
            }
            if let Read::Attribute { of, name } = read
                && seen.insert((of, Arc::clone(&name)))
            {
                for part in &self.reads_by_part(of, &name) {
                    open.extend(reversed(part));
                }
            }
        }
        false
    }

    /// Returns the reads of an attribute and of each used part of it, one collection per evaluation.
    fn reads_by_part(&self, of: Handle, name: &Arc<str>) -> Vec<Reads> {
        let state = self.state();
        let whole = SlotRef(of, name, None);
        let Some(entry) = state.entries.get(&whole) else {
            return Vec::new();
        };
        let own = |slot: &&AttributeSlot| slot.of == of && slot.name == *name;
        let mut parts = vec![entry.reads.clone()];
        let mut open: Vec<&AttributeSlot> = entry.slots.iter().filter(own).collect();
        let mut seen = HashSet::new();
        while let Some(slot) = open.pop() {
            if let Some(entry) = state.entries.get(slot)
                && seen.insert(slot)
            {
                parts.push(entry.reads.clone());
                open.extend(entry.slots.iter().filter(own));
            }
        }
        parts
    }

    fn stored_value(&self, of: Handle, name: &str) -> Option<Value> {
        let state = self.state();
        let entry = state.entries.get(&SlotRef(of, name, None))?;
        entry.value.clone().ok()
    }

    /// Returns a shared copy of a name.
    pub(super) fn intern_name(&self, name: &str) -> Arc<str> {
        let mut state = self.state();
        if let Some(known) = state.names.get(name) {
            return Arc::clone(known);
        }
        let known: Arc<str> = name.into();
        state.names.insert(Arc::clone(&known));
        known
    }

    /// Returns the value of a slot with the writes that it needs, or its error, if it is stored and still
    /// valid.
    pub(super) fn get(
        &self,
        slot: &AttributeSlot,
        scope: &dyn Scope,
    ) -> Option<Result<(Value, RequestedWrites), Error>> {
        let now = scope.generation();
        let found = |entry: &MemoEntry| match &entry.value {
            Ok(value) => Ok((value.clone(), entry.reads.writes().clone())),
            Err(error) => Err(Error::clone(error)),
        };
        {
            let state = self.state();
            let entry = state.entries.get(slot)?;
            if entry.generation == now {
                return Some(found(entry));
            }
        }
        self.verify(slot, scope, now);
        let state = self.state();
        let entry = state.entries.get(slot)?;
        (entry.generation == now).then(|| found(entry))
    }

    /// Keeps a requested change of a file, so that later evaluations see the file as it will be.
    pub(super) fn add_requested(&self, effect: &Arc<Effect>) {
        if let Some(path) = effect.written_path() {
            let path = path.to_owned();
            self.state().requested.insert(path, Arc::clone(effect));
        }
    }

    /// Forgets a requested change of a file, because it was performed.
    pub(super) fn remove_requested(&self, effect: &Effect) {
        if let Some(path) = effect.written_path() {
            self.state().requested.remove(path);
        }
    }

    /// Returns the change of a file that was requested and not performed yet.
    pub(super) fn requested(&self, path: &Path) -> Option<Arc<Effect>> {
        self.state().requested.get(path).cloned()
    }

    /// Returns the name of a temporary file. The same key has the same name.
    pub(super) fn temporary_name(
        &self,
        key: [u8; 32],
        name: &dyn Fn() -> Result<String, Error>,
    ) -> Result<Arc<str>, Error> {
        if let Some(known) = self.state().temporary_names.get(&key) {
            return Ok(Arc::clone(known));
        }
        let made: Arc<str> = name()?.into();
        let names = &mut self.state().temporary_names;
        Ok(Arc::clone(names.entry(key).or_insert(made)))
    }

    /// Stores the result of an evaluation.
    pub(super) fn put(&self, slot: AttributeSlot, entry: MemoEntry) {
        self.state().entries.insert(slot, entry);
    }

    /// Checks whether an entry and the entries that it uses are still valid.
    ///
    /// Valid entries get the current generation; the others are removed.
    fn verify(&self, slot: &AttributeSlot, scope: &dyn Scope, now: u64) {
        let mut path = vec![VerifyFrame::new(slot.clone())];
        let mut on_path: HashSet<AttributeSlot> = HashSet::from([slot.clone()]);
        let mut broken = false;
        while let Some(frame) = path.last_mut() {
            if broken {
                self.state().entries.swap_remove(&frame.slot);
                path.pop();
                continue;
            }
            match self.advance(frame, scope, now) {
                VerifyStep::Valid => {
                    if let Some(entry) = self.state().entries.get_mut(&frame.slot) {
                        entry.generation = now;
                    }
                    path.pop();
                }
                VerifyStep::Stale => broken = true,
                VerifyStep::Descend(next) => {
                    // An entry that is already being verified counts as valid unless another read proves it
                    // stale.
                    if on_path.insert(next.clone()) {
                        path.push(VerifyFrame::new(next));
                    }
                }
            }
        }
    }

    fn advance(&self, frame: &mut VerifyFrame, scope: &dyn Scope, now: u64) -> VerifyStep {
        let state = self.state();
        let Some(entry) = state.entries.get(&frame.slot) else {
            return VerifyStep::Stale;
        };
        if entry.generation == now {
            return VerifyStep::Valid;
        }
        // The reads may not show why an evaluation failed, so it is repeated after any change. One that took
        // too long is repeated only if its reads have changed.
        if entry.value.as_ref().is_err_and(|error| !error.is_timeout()) {
            return VerifyStep::Stale;
        }
        if frame.next == 0 && !frame.checked {
            frame.checked = true;
            let since = entry.generation;
            let (of, name) = (frame.slot.of, Arc::clone(&frame.slot.name));
            let reads = entry.reads.clone();
            drop(state);
            // The lock is released before the topology is queried, which may be slow.
            let same = scope.version(of, &name) <= since
                && reads
                    .iter()
                    .all(|(read, value)| is_unchanged(read, value, since, scope));
            if !same {
                return VerifyStep::Stale;
            }
            return self.advance(frame, scope, now);
        }
        let Some(next) = entry.slots.get_index(frame.next) else {
            return VerifyStep::Valid;
        };
        // A used value that was computed again since may differ from the one that was used.
        let used = state.entries.get(next);
        if used.is_some_and(|used| used.computed > entry.generation) {
            return VerifyStep::Stale;
        }
        frame.next += 1;
        VerifyStep::Descend(next.clone())
    }

    fn state(&self) -> MutexGuard<'_, MemoState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reversed(reads: &Reads) -> Vec<(Read, Value)> {
    let mut reads: Vec<_> = reads.iter().map(|(r, v)| (r.clone(), v.clone())).collect();
    reads.reverse();
    reads
}

struct VerifyFrame {
    slot: AttributeSlot,
    checked: bool,
    next: usize,
}

impl VerifyFrame {
    fn new(slot: AttributeSlot) -> Self {
        Self {
            slot,
            checked: false,
            next: 0,
        }
    }
}

enum VerifyStep {
    Valid,
    Stale,
    Descend(AttributeSlot),
}

/// Whether a read at generation `since` would return the same value now.
fn is_unchanged(read: &Read, value: &Value, since: u64, scope: &dyn Scope) -> bool {
    match read {
        Read::Attribute { of, name } | Read::Absent { of, name } => {
            scope.version(*of, name) <= since
        }
        Read::Special { of, key } => {
            scope.special(*of, key).as_ref().unwrap_or(&Value::Null) == value
        }
        Read::Instance { from, name } => scope.find(*from, name) == value.as_entity(),
        Read::Instances(from) => {
            let count = scope.instances(*from).len();
            value.as_int().and_then(|known| usize::try_from(known).ok()) == Some(count)
        }
        Read::Entity(_) | Read::Input(_) | Read::Env(_) | Read::Local(_) | Read::Path(_) => true,
        Read::File(_) | Read::Volatile => false,
    }
}
