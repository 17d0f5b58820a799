//! What is known of a machine, and what of it is stale or in doubt.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::file_roots::FileRootsError;
use crate::host::change::{Change, FileWrite, ModeAndOwner};
use crate::host::fact::{Domain, Fact, FactReading, FileKind, FileStat, Probe, ProbeOutput};
use crate::value::FoldMap;

/// Why a function cannot say yet, or at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// It needs these facts; it is called again when they are known.
    Needs(Vec<Fact>),
    /// It was given what it cannot take. The state fails with this comment.
    Failed(String),
}

/// The state fails with this comment, in a dry run too.
pub(crate) fn refuse<T>(comment: impl Into<String>) -> Result<T, Halt> {
    Err(Halt::Failed(comment.into()))
}

impl From<FileRootsError> for Halt {
    fn from(error: FileRootsError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What is known of a machine: facts that were read, until a change makes them stale.
///
/// A dry run changes nothing, so it says what changes would do ([`Facts::predict`]); what cannot
/// be foreseen is in doubt.
#[derive(Debug, Default)]
pub struct FactCache {
    cached: FoldMap<Fact, CachedFact>,
    /// Facts by the path they are about.
    by_path: BTreeMap<String, Vec<Fact>>,
    /// Probes that read other parts of the machine.
    probes: Vec<Fact>,
    /// The parts of which nothing certain is known, since something would change them; paths
    /// are apart.
    doubtful: Vec<Domain>,
    /// The paths of which nothing certain is known.
    doubtful_paths: BTreeSet<String>,
    /// The paths at which something would change, foreseen or not.
    changed_paths: BTreeSet<String>,
    /// How many predictions there were.
    predictions: u64,
    /// How many there were when all came into doubt.
    doubt_all_since: u64,
    /// Whether a doubtful fact was used.
    used_doubtful: Cell<bool>,
}

#[derive(Debug)]
struct CachedFact {
    reading: FactReading,
    /// The number of the prediction that made it; 0 for what was read.
    prediction: u64,
}

impl FactCache {
    /// A fact, if it is known.
    pub fn get(&self, fact: &Fact) -> Result<&FactReading, Halt> {
        let Some(cached) = self.cached.get(fact) else {
            return Err(Halt::Needs(vec![fact.clone()]));
        };
        if self.is_doubtful(fact, cached) {
            self.used_doubtful.set(true);
        }
        match &cached.reading {
            FactReading::Failed(why) => refuse(why.clone()),
            reading => Ok(reading),
        }
    }

    /// Whether a fact is known.
    pub fn has(&self, fact: &Fact) -> bool {
        self.cached.contains_key(fact)
    }

    /// What stands at a path, if anything; a link is not followed.
    pub fn path(&self, path: &str) -> Result<Option<&FileStat>, Halt> {
        self.entry(&Fact::Path(path.to_owned()))
    }

    /// What a path leads to, if anything.
    pub fn target(&self, path: &str) -> Result<Option<&FileStat>, Halt> {
        self.entry(&Fact::Target(path.to_owned()))
    }

    fn entry(&self, fact: &Fact) -> Result<Option<&FileStat>, Halt> {
        Ok(match self.get(fact)? {
            FactReading::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// The SHA-256 of a file in hex; none if there is no file.
    pub fn digest(&self, path: &str) -> Result<Option<&str>, Halt> {
        Ok(match self.get(&Fact::Digest(path.to_owned()))? {
            FactReading::Digest(digest) => Some(digest),
            _ => None,
        })
    }

    /// The bytes of a file; none if there is no file.
    pub fn content(&self, path: &str) -> Result<Option<&[u8]>, Halt> {
        Ok(match self.get(&Fact::Content(path.to_owned()))? {
            FactReading::Content(bytes) => Some(bytes),
            _ => None,
        })
    }

    /// What is in a folder at any depth; none if there is no folder.
    pub fn tree(&self, path: &str) -> Result<Option<&[(String, FileStat)]>, Halt> {
        Ok(match self.get(&Fact::Tree(path.to_owned()))? {
            FactReading::Tree(entries) => Some(entries),
            _ => None,
        })
    }

    /// What a probe gives.
    pub fn probe(&self, probe: Probe) -> Result<&ProbeOutput, Halt> {
        match self.get(&Fact::Probe(Box::new(probe)))? {
            FactReading::Probe(probed) => Ok(probed),
            other => refuse(format!("a probe was answered with {other:?}")),
        }
    }

    /// Takes what was read of many; what has no reading is as if it could not be read.
    pub fn learn_all(&mut self, facts: Vec<Fact>, readings: Vec<FactReading>) {
        let missing = || FactReading::Failed("it could not be read".to_owned());
        let mut readings = readings.into_iter();
        for fact in facts {
            self.learn(fact, readings.next().unwrap_or_else(missing));
        }
    }

    /// Takes what was read.
    pub fn learn(&mut self, fact: Fact, reading: FactReading) {
        self.insert(fact, reading, 0);
    }

    fn insert(&mut self, fact: Fact, reading: FactReading, predicted: u64) {
        let cached = CachedFact {
            reading,
            prediction: predicted,
        };
        if self.cached.insert(fact.clone(), cached).is_some() {
            return;
        }
        match path_of(&fact) {
            Some(path) => self.by_path.entry(path.to_owned()).or_default().push(fact),
            None => self.probes.push(fact),
        }
    }

    /// Forgets what a change has made stale.
    pub fn invalidate(&mut self, change: &Change) {
        for domain in touched_domains(change) {
            self.forget(&domain);
        }
    }

    /// Forgets what is known of a part of the machine.
    pub fn forget(&mut self, domain: &Domain) {
        match domain {
            Domain::Fixed => {}
            Domain::All => {
                let fixed = |fact: &Fact| matches!(fact, Fact::Probe(probe) if probe.reads == Domain::Fixed);
                self.cached.retain(|fact, _| fixed(fact));
                self.probes.retain(fixed);
                self.by_path.clear();
            }
            Domain::Path(path) => {
                self.forget_path(path);
                self.forget_probes(|reads| *reads == Domain::All);
            }
            other => self.forget_probes(|reads| reads == other || *reads == Domain::All),
        }
    }

    fn forget_probes(&mut self, stale: impl Fn(&Domain) -> bool) {
        let Self {
            probes,
            cached,
            ..
        } = self;
        probes.retain(|fact| {
            let is_stale = matches!(fact, Fact::Probe(probe) if stale(&probe.reads));
            if is_stale {
                cached.remove(fact);
            }
            !is_stale
        });
    }

    /// A path, all below it, and what lists it.
    fn forget_path(&mut self, path: &str) {
        let path = trim_slash(path);
        let mut removed: Vec<Fact> = self.by_path.remove(path).unwrap_or_default();
        let (below, end) = range_below(path);
        let keys: Vec<String> = self
            .by_path
            .range(below..end)
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            removed.extend(self.by_path.remove(&key).unwrap_or_default());
        }
        for fact in removed {
            self.cached.remove(&fact);
        }
        for above in ancestors(path) {
            let Some(facts) = self.by_path.get_mut(above) else {
                continue;
            };
            let cached = &mut self.cached;
            facts.retain(|fact| {
                // What lists a folder, or a probe of it, depends on what is below; and what was
                // not there may have been made on the way.
                let was_absent = cached
                    .get(fact)
                    .is_some_and(|cached| cached.reading == FactReading::Absent);
                let is_stale = was_absent || matches!(fact, Fact::Tree(_) | Fact::Probe(_));
                if is_stale {
                    cached.remove(fact);
                }
                !is_stale
            });
        }
    }

    /// Takes a change for done, in a dry run.
    pub fn predict(&mut self, change: &Change) {
        self.predictions += 1;
        let predicted_entry = self.predict_entry(change);
        for domain in touched_domains(change) {
            match domain {
                Domain::Fixed => {}
                Domain::All => self.doubt_all_since = self.predictions,
                Domain::Path(path) => {
                    let path = trim_slash(&path).to_owned();
                    if predicted_entry.is_none() {
                        self.doubtful_paths.insert(path.clone());
                    }
                    self.changed_paths.insert(path);
                }
                other if !self.doubtful.contains(&other) => self.doubtful.push(other),
                _ => {}
            }
        }
        let Some(PredictedEntry { path, entry, bytes }) = predicted_entry else {
            return;
        };
        let makes_parents = matches!(change, Change::Folder { parents: true, .. });
        let absent: Vec<String> = ancestors(&path)
            .filter(|above| makes_parents && self.is_absent(above))
            .map(str::to_owned)
            .collect();
        let like = entry.clone();
        self.forget_path(&path);
        self.doubtful_paths.remove(&path);
        let content = bytes.map_or(FactReading::Absent, FactReading::Content);
        let digest = match &content {
            FactReading::Content(bytes) => FactReading::Digest(sha256(bytes)),
            _ => FactReading::Absent,
        };
        let reading = entry.map_or(FactReading::Absent, FactReading::Entry);
        self.insert_predicted(Fact::Path(path.clone()), reading.clone());
        self.insert_predicted(Fact::Target(path.clone()), reading);
        self.insert_predicted(Fact::Digest(path.clone()), digest);
        self.insert_predicted(Fact::Content(path), content);
        for above in absent {
            let reading = like.clone().map_or(FactReading::Absent, FactReading::Entry);
            self.insert_predicted(Fact::Path(above.clone()), reading.clone());
            self.insert_predicted(Fact::Target(above), reading);
        }
    }

    fn insert_predicted(&mut self, fact: Fact, reading: FactReading) {
        self.insert(fact, reading, self.predictions);
    }

    fn is_absent(&self, path: &str) -> bool {
        [Fact::Path(path.to_owned()), Fact::Target(path.to_owned())]
            .iter()
            .filter_map(|fact| self.cached.get(fact))
            .any(|cached| cached.reading == FactReading::Absent)
    }

    /// What stands at a path after a change, where that can be told. What is not said stays as it
    /// is known to be.
    fn predict_entry(&self, change: &Change) -> Option<PredictedEntry> {
        let entry = |path: &String, kind, like: &ModeAndOwner, mode, size| {
            let cached = self.cached.get(&Fact::Path(path.clone()));
            let now = cached.and_then(|cached| match &cached.reading {
                FactReading::Entry(entry) if entry.kind == kind => Some(entry),
                _ => None,
            });
            let name = |desired: &Option<String>, now: Option<&String>| {
                desired.clone().or_else(|| now.cloned()).unwrap_or_default()
            };
            Some(FileStat {
                mode: like.mode.or(now.map(|it| it.mode)).unwrap_or(mode),
                user: name(&like.user, now.map(|it| &it.user)),
                group: name(&like.group, now.map(|it| &it.group)),
                kind,
                size,
                modified: 0,
            })
        };
        let (path, entry, bytes) = match change {
            Change::Write(write) => {
                let size = write.bytes.len() as u64;
                let entry = entry(&write.path, FileKind::File, &write.like, 0o644, size);
                (&write.path, entry, Some(write.bytes.clone()))
            }
            Change::Folder { path, like, .. } => {
                (path, entry(path, FileKind::Folder, like, 0o755, 0), None)
            }
            Change::Remove { path } => (path, None, None),
            Change::Link { .. }
            | Change::Set { .. }
            | Change::Move { .. }
            | Change::Copy { .. }
            | Change::Touch { .. }
            | Change::Run(_) => return None,
        };
        let path = trim_slash(path).to_owned();
        Some(PredictedEntry { path, entry, bytes })
    }

    fn is_doubtful(&self, fact: &Fact, cached: &CachedFact) -> bool {
        if self.predictions == 0 {
            return false;
        }
        let is_old = cached.prediction < self.doubt_all_since;
        match (fact, path_of(fact)) {
            (Fact::Probe(probe), None) => match &probe.reads {
                Domain::Fixed => false,
                // It may look at anything, so at what would be changed too.
                Domain::All => true,
                part => is_old || self.doubtful.contains(part),
            },
            (_, None) => is_old,
            (Fact::Tree(_) | Fact::Probe(_), Some(path)) => {
                is_old || self.is_in_doubt(path) || self.has_changed_below(path)
            }
            (_, Some(path)) => is_old || (cached.prediction == 0 && self.is_in_doubt(path)),
        }
    }

    /// Whether a path or a folder above it is in doubt.
    fn is_in_doubt(&self, path: &str) -> bool {
        let path = trim_slash(path);
        !self.doubtful_paths.is_empty()
            && (self.doubtful_paths.contains(path)
                || ancestors(path).any(|above| self.doubtful_paths.contains(above)))
    }

    fn has_changed_below(&self, path: &str) -> bool {
        let path = trim_slash(path);
        self.changed_paths.contains(path)
            || self.changed_paths.range(path_range(path)).next().is_some()
    }

    /// Whether a fact was used that is in doubt, since this was last asked.
    pub fn take_used_doubtful(&self) -> bool {
        self.used_doubtful.take()
    }
}

/// A path without a slash at its end.
fn trim_slash(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed,
    }
}

/// The first and the first beyond of all paths below one: a nought comes after a slash.
fn range_below(path: &str) -> (String, String) {
    let folder = path.trim_end_matches('/');
    (format!("{folder}/"), format!("{folder}0"))
}

fn path_range(path: &str) -> std::ops::Range<String> {
    let (from, to) = range_below(path);
    from..to
}

fn path_of(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::Path(path)
        | Fact::Target(path)
        | Fact::Digest(path)
        | Fact::Content(path)
        | Fact::Tree(path) => Some(trim_slash(path)),
        Fact::Probe(probe) => match &probe.reads {
            Domain::Path(path) => Some(trim_slash(path)),
            _ => None,
        },
    }
}

/// The folders above a path, the next one first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path.trim_end_matches('/');
    std::iter::from_fn(move || {
        let slash = rest.rfind('/')?;
        rest = &rest[..slash];
        Some(if rest.is_empty() { "/" } else { rest })
    })
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    crate::value::hex(&sha2::Sha256::digest(bytes))
}

/// The parts of the machine that a change touches.
pub(crate) fn touched_domains(change: &Change) -> Vec<Domain> {
    let path = |path: &String| Domain::Path(path.clone());
    match change {
        Change::Write(FileWrite { path: at, .. })
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

/// What stands at a path after a change.
struct PredictedEntry {
    path: String,
    /// Nothing, if none.
    entry: Option<FileStat>,
    /// What the file contains, if it is one.
    bytes: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::change::CommandRun;
    use crate::host::fact::CommandSetting;

    fn entry(kind: FileKind) -> FactReading {
        FactReading::Entry(FileStat {
            kind,
            mode: 0o600,
            user: "web".into(),
            group: "web".into(),
            size: 1,
            modified: 0,
        })
    }

    fn probe(reads: Domain) -> Fact {
        Fact::Probe(Box::new(Probe {
            text: format!("look {reads:?}"),
            setting: CommandSetting::default(),
            reads,
        }))
    }

    fn learned() -> FactCache {
        let mut facts = FactCache::default();
        let path = |path: &str| Fact::Path(path.into());
        facts.learn(path("/srv"), entry(FileKind::Folder));
        facts.learn(path("/srv/a"), entry(FileKind::File));
        facts.learn(path("/srv/a b"), entry(FileKind::File));
        facts.learn(path("/srv/a/b"), FactReading::Absent);
        facts.learn(Fact::Tree("/srv/".into()), FactReading::Tree(Vec::new()));
        for domain in [Domain::Fixed, Domain::Packages, Domain::All] {
            facts.learn(probe(domain), FactReading::Probe(ProbeOutput::default()));
        }
        facts
    }

    fn write(path: &str) -> Change {
        Change::Write(FileWrite {
            path: path.into(),
            bytes: b"new".to_vec(),
            like: ModeAndOwner::default(),
            secret: false,
        })
    }

    fn has(facts: &FactCache, path: &str) -> bool {
        facts.has(&Fact::Path(path.into()))
    }

    #[test]
    fn a_fact_that_is_not_known_is_asked_for() {
        let facts = FactCache::default();
        let needed = Halt::Needs(vec![Fact::Path("/x".into())]);
        assert_eq!(facts.path("/x"), Err(needed));
    }

    #[test]
    fn what_could_not_be_read_is_a_failure() {
        let mut facts = FactCache::default();
        facts.learn(Fact::Digest("/x".into()), FactReading::Failed("no".into()));
        assert_eq!(facts.digest("/x"), Err(Halt::Failed("no".into())));
    }

    #[test]
    fn a_change_makes_a_path_and_what_lists_it_stale_and_nothing_else() {
        let mut facts = learned();
        facts.invalidate(&write("/srv/a/"));
        assert!(!has(&facts, "/srv/a") && !has(&facts, "/srv/a/b"));
        assert!(has(&facts, "/srv") && has(&facts, "/srv/a b"));
        assert!(!facts.has(&Fact::Tree("/srv/".into())));
        assert!(facts.has(&probe(Domain::Packages)) && facts.has(&probe(Domain::Fixed)));
        assert!(!facts.has(&probe(Domain::All)));
    }

    #[test]
    fn what_was_missing_above_a_change_is_read_again() {
        let mut facts = FactCache::default();
        facts.learn(Fact::Path("/a".into()), FactReading::Absent);
        facts.invalidate(&write("/a/b/c"));
        assert!(!has(&facts, "/a"));
    }

    #[test]
    fn a_command_makes_all_but_what_never_changes_stale() {
        let mut facts = learned();
        facts.invalidate(&Change::Run(CommandRun::new("x")));
        assert!(facts.has(&probe(Domain::Fixed)));
        assert!(!has(&facts, "/srv") && !facts.has(&probe(Domain::Packages)));
        facts.learn(Fact::Path("/srv".into()), FactReading::Absent);
        assert!(has(&facts, "/srv"));
    }

    #[test]
    fn a_written_file_is_foreseen_and_keeps_its_owner() {
        let mut facts = learned();
        facts.predict(&write("/srv/a"));
        assert_eq!(facts.content("/srv/a").unwrap(), Some(&b"new"[..]));
        let entry = facts.path("/srv/a").unwrap().unwrap();
        assert_eq!(
            (entry.mode, entry.user.as_str(), entry.size),
            (0o600, "web", 3)
        );
        assert!(facts.path("/srv").unwrap().is_some());
        assert!(!facts.take_used_doubtful());
        facts.get(&probe(Domain::Packages)).unwrap();
        assert!(!facts.take_used_doubtful());
        facts.get(&probe(Domain::All)).unwrap();
        assert!(facts.take_used_doubtful());
        facts.learn(Fact::Tree("/srv".into()), FactReading::Tree(Vec::new()));
        facts.tree("/srv").unwrap();
        assert!(facts.take_used_doubtful() && !facts.take_used_doubtful());
    }

    #[test]
    fn folders_that_would_be_made_on_the_way_are_foreseen() {
        let mut facts = FactCache::default();
        facts.learn(Fact::Path("/a".into()), FactReading::Absent);
        facts.predict(&Change::Folder {
            path: "/a/b".into(),
            parents: true,
            like: ModeAndOwner::default(),
        });
        assert!(facts.path("/a").unwrap().is_some_and(FileStat::is_folder));
        assert!(facts.path("/a/b").unwrap().is_some_and(FileStat::is_folder));
        assert!(!facts.take_used_doubtful());
    }

    #[test]
    fn what_a_command_would_do_is_in_doubt_until_something_is_foreseen_again() {
        let mut facts = learned();
        facts.predict(&Change::Run(CommandRun::new("x")));
        facts.path("/srv/a").unwrap();
        assert!(facts.take_used_doubtful());
        facts.get(&probe(Domain::Fixed)).unwrap();
        assert!(!facts.take_used_doubtful());
        facts.predict(&Change::Remove {
            path: "/srv/a".into(),
        });
        assert_eq!(facts.path("/srv/a"), Ok(None));
        assert!(!facts.take_used_doubtful());
    }

    #[test]
    fn what_is_below_a_moved_folder_is_in_doubt() {
        let mut facts = learned();
        facts.predict(&Change::Move {
            from: "/srv".into(),
            to: "/new".into(),
        });
        facts.path("/srv/a").unwrap();
        assert!(facts.take_used_doubtful());
    }
}
