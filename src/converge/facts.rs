//! What is known of a machine, and what of it is stale or in doubt.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::Halt;
use crate::hash::FoldMap;
use crate::host::change::{Change, Write};
use crate::host::fact::{Domain, Entry, EntryKind, Fact, Probe, Probed, Reading};

/// What is known of a machine: facts that were read, until a change makes them stale.
///
/// A dry run changes nothing, so it says what changes would do ([`Facts::predict`]); what cannot
/// be foreseen is in doubt.
#[derive(Debug, Default)]
pub struct Facts {
    known: FoldMap<Fact, Known>,
    /// Facts by the path they are about.
    at: BTreeMap<String, Vec<Fact>>,
    /// Probes that read other parts of the machine.
    probes: Vec<Fact>,
    /// The parts of which nothing certain is known, since something would change them.
    doubtful: Vec<Domain>,
    /// How many predictions there were.
    predictions: u64,
    /// How many there were when all came into doubt.
    all_in_doubt: u64,
    /// Whether a doubtful fact was used.
    doubted: Cell<bool>,
}

#[derive(Debug)]
struct Known {
    reading: Reading,
    /// The number of the prediction that made it; 0 for what was read.
    predicted: u64,
}

impl Facts {
    /// A fact, if it is known.
    pub fn get(&self, fact: &Fact) -> Result<&Reading, Halt> {
        let Some(known) = self.known.get(fact) else {
            return Err(Halt::Needs(vec![fact.clone()]));
        };
        if self.is_doubtful(fact, known) {
            self.doubted.set(true);
        }
        match &known.reading {
            Reading::Failed(why) => Err(Halt::Failed(why.clone())),
            reading => Ok(reading),
        }
    }

    /// Whether a fact is known.
    pub fn has(&self, fact: &Fact) -> bool {
        self.known.contains_key(fact)
    }

    /// What stands at a path, if anything; a link is not followed.
    pub fn path(&self, path: &str) -> Result<Option<&Entry>, Halt> {
        self.entry(&Fact::Path(path.to_owned()))
    }

    /// What a path leads to, if anything.
    pub fn target(&self, path: &str) -> Result<Option<&Entry>, Halt> {
        self.entry(&Fact::Target(path.to_owned()))
    }

    fn entry(&self, fact: &Fact) -> Result<Option<&Entry>, Halt> {
        Ok(match self.get(fact)? {
            Reading::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// The SHA-256 of a file in hex; none if there is no file.
    pub fn digest(&self, path: &str) -> Result<Option<&str>, Halt> {
        Ok(match self.get(&Fact::Digest(path.to_owned()))? {
            Reading::Digest(digest) => Some(digest),
            _ => None,
        })
    }

    /// The bytes of a file; none if there is no file.
    pub fn content(&self, path: &str) -> Result<Option<&[u8]>, Halt> {
        Ok(match self.get(&Fact::Content(path.to_owned()))? {
            Reading::Content(bytes) => Some(bytes),
            _ => None,
        })
    }

    /// What is in a folder at any depth; none if there is no folder.
    pub fn tree(&self, path: &str) -> Result<Option<&[(String, Entry)]>, Halt> {
        Ok(match self.get(&Fact::Tree(path.to_owned()))? {
            Reading::Tree(entries) => Some(entries),
            _ => None,
        })
    }

    /// What a probe gives.
    pub fn probe(&self, probe: Probe) -> Result<&Probed, Halt> {
        match self.get(&Fact::Probe(Box::new(probe)))? {
            Reading::Probe(probed) => Ok(probed),
            other => Err(Halt::Failed(format!("a probe was answered with {other:?}"))),
        }
    }

    /// Takes what was read.
    pub fn learn(&mut self, fact: Fact, reading: Reading) {
        self.put(fact, reading, 0);
    }

    fn put(&mut self, fact: Fact, reading: Reading, predicted: u64) {
        let known = Known { reading, predicted };
        if self.known.insert(fact.clone(), known).is_some() {
            return;
        }
        match path_of(&fact) {
            Some(path) => self.at.entry(path.to_owned()).or_default().push(fact),
            None => self.probes.push(fact),
        }
    }

    /// Forgets what a change has made stale.
    pub fn stale(&mut self, change: &Change) {
        for domain in domains(change) {
            self.forget(&domain);
        }
    }

    /// Forgets what is known of a part of the machine.
    pub fn forget(&mut self, domain: &Domain) {
        match domain {
            Domain::Fixed => {}
            Domain::All => {
                let fixed = |fact: &Fact| matches!(fact, Fact::Probe(probe) if probe.reads == Domain::Fixed);
                self.known.retain(|fact, _| fixed(fact));
                self.probes.retain(fixed);
                self.at.clear();
            }
            Domain::Path(path) => {
                self.forget_path(path);
                self.forget_probes(|reads| *reads == Domain::All);
            }
            other => self.forget_probes(|reads| reads == other || *reads == Domain::All),
        }
    }

    fn forget_probes(&mut self, stale: impl Fn(&Domain) -> bool) {
        let Self { probes, known, .. } = self;
        probes.retain(|fact| {
            let goes = matches!(fact, Fact::Probe(probe) if stale(&probe.reads));
            if goes {
                known.remove(fact);
            }
            !goes
        });
    }

    /// A path, all below it, and what lists it.
    fn forget_path(&mut self, path: &str) {
        let mut gone: Vec<Fact> = self.at.remove(path).unwrap_or_default();
        let below = format!("{}/", path.trim_end_matches('/'));
        // A slash comes before the next character, a nought.
        let end = format!("{}0", path.trim_end_matches('/'));
        let keys: Vec<String> = self
            .at
            .range(below..end)
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            gone.extend(self.at.remove(&key).unwrap_or_default());
        }
        for fact in gone {
            self.known.remove(&fact);
        }
        for above in ancestors(path) {
            let Some(facts) = self.at.get_mut(above) else {
                continue;
            };
            let known = &mut self.known;
            facts.retain(|fact| {
                // Only what lists a folder, or a probe of it, depends on what is below.
                let goes = matches!(fact, Fact::Tree(_) | Fact::Probe(_));
                if goes {
                    known.remove(fact);
                }
                !goes
            });
        }
    }

    /// Takes a change for done, in a dry run.
    pub fn predict(&mut self, change: &Change) {
        self.predictions += 1;
        for domain in domains(change) {
            match domain {
                Domain::Fixed => {}
                Domain::All => self.all_in_doubt = self.predictions,
                other if !self.doubtful.contains(&other) => {
                    if foreseen(change).is_none() {
                        self.doubtful.push(other);
                    }
                }
                _ => {}
            }
        }
        let Some((path, entry, bytes)) = foreseen(change) else {
            return;
        };
        let number = self.predictions;
        self.forget_path(path);
        self.doubtful
            .retain(|domain| *domain != Domain::Path(path.to_owned()));
        let reading = entry.map_or(Reading::Absent, Reading::Entry);
        self.put(Fact::Path(path.to_owned()), reading.clone(), number);
        self.put(Fact::Target(path.to_owned()), reading, number);
        let digest = bytes.map_or(Reading::Absent, |bytes| Reading::Digest(sha256(bytes)));
        self.put(Fact::Digest(path.to_owned()), digest, number);
        let content = bytes.map_or(Reading::Absent, |bytes| Reading::Content(bytes.to_vec()));
        self.put(Fact::Content(path.to_owned()), content, number);
    }

    fn is_doubtful(&self, fact: &Fact, known: &Known) -> bool {
        let reads = match fact {
            Fact::Probe(probe) => &probe.reads,
            other => match path_of(other) {
                Some(path) => &Domain::Path(path.to_owned()),
                None => &Domain::All,
            },
        };
        if *reads == Domain::Fixed {
            return false;
        }
        known.predicted < self.all_in_doubt
            || (known.predicted == 0 && self.doubtful.iter().any(|part| overlap(part, reads)))
    }

    /// Whether a fact was used that is in doubt, since this was last asked.
    pub fn take_doubted(&self) -> bool {
        self.doubted.take()
    }
}

fn overlap(part: &Domain, reads: &Domain) -> bool {
    match (part, reads) {
        (_, Domain::All) | (Domain::All, _) => true,
        (Domain::Path(part), Domain::Path(reads)) => {
            is_at_or_below(reads, part) || is_at_or_below(part, reads)
        }
        (part, reads) => part == reads,
    }
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn path_of(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::Path(path)
        | Fact::Target(path)
        | Fact::Digest(path)
        | Fact::Content(path)
        | Fact::Tree(path) => Some(path),
        Fact::Probe(probe) => match &probe.reads {
            Domain::Path(path) => Some(path),
            _ => None,
        },
    }
}

/// The folders above a path, the next one first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path.trim_end_matches('/');
    std::iter::from_fn(move || {
        let cut = rest.rfind('/')?;
        rest = &rest[..cut];
        Some(if rest.is_empty() { "/" } else { rest })
    })
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    crate::value::hex(&sha2::Sha256::digest(bytes))
}

/// The parts of the machine that a change touches.
pub(crate) fn domains(change: &Change) -> Vec<Domain> {
    let path = |path: &String| Domain::Path(path.clone());
    match change {
        Change::Write(Write { path: at, .. })
        | Change::Folder { path: at, .. }
        | Change::Link { path: at, .. }
        | Change::Remove { path: at }
        | Change::Set { path: at, .. }
        | Change::Touch { path: at, .. }
        | Change::Copy { to: at, .. } => vec![path(at)],
        Change::Move { from, to } => vec![path(from), path(to)],
        Change::Run(run) => run.touches.clone(),
    }
}

type Foreseen<'a> = (&'a str, Option<Entry>, Option<&'a [u8]>);

/// What stands at a path after a change, where that can be told.
fn foreseen(change: &Change) -> Option<Foreseen<'_>> {
    let entry = |kind, like: &crate::host::change::Like, mode, size| Entry {
        kind,
        mode: like.mode.unwrap_or(mode),
        user: like.user.clone().unwrap_or_default(),
        group: like.group.clone().unwrap_or_default(),
        size,
        modified: 0,
    };
    Some(match change {
        Change::Write(write) => {
            let size = write.bytes.len() as u64;
            let entry = entry(EntryKind::File, &write.like, 0o644, size);
            (&write.path, Some(entry), Some(&write.bytes))
        }
        Change::Folder { path, like, .. } => {
            (path, Some(entry(EntryKind::Folder, like, 0o755, 0)), None)
        }
        Change::Remove { path } => (path, None, None),
        Change::Link { .. }
        | Change::Set { .. }
        | Change::Move { .. }
        | Change::Copy { .. }
        | Change::Touch { .. }
        | Change::Run(_) => return None,
    })
}
