//! The fact cache: the facts known about a host, invalidated by changes, with the predictions of dry runs.
//!
//! State functions read facts through [`FactCache`] and return [`Halt::Needs`] for unknown ones; the caller
//! of the engine reads them from the host. The cache itself contacts no host.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::file_roots::FileRootsError;
use crate::host::change::{Change, FileWrite, ModeAndOwner};
use crate::host::fact::{Domain, Fact, FactReading, FileKind, FileStat, Probe, ProbeOutput};
use crate::value::FoldMap;

/// The reason why a function returns no value yet, or none at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// These facts are needed. The function is called again once they are known.
    Needs(Vec<Fact>),
    /// The function cannot handle its input. The state fails with this comment.
    Failed(String),
}

/// Fails the state with a comment, also in a dry run.
pub(crate) fn refuse<T>(comment: impl Into<String>) -> Result<T, Halt> {
    Err(Halt::Failed(comment.into()))
}

impl From<FileRootsError> for Halt {
    fn from(error: FileRootsError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The cache of facts about a host. A fact stays until a change invalidates it.
///
/// In a dry run nothing changes, so the effects of changes are predicted instead ([`FactCache::predict`]).
/// Facts whose new value cannot be predicted become doubtful.
#[derive(Debug, Default)]
pub struct FactCache {
    cached: FoldMap<Fact, CachedFact>,
    /// The facts about each path, for invalidation.
    by_path: BTreeMap<String, Vec<Fact>>,
    /// The probes that read other domains than a single path.
    probes: Vec<Fact>,
    /// The doubtful domains other than paths: a predicted change would affect them.
    doubtful: Vec<Domain>,
    /// The paths whose state is doubtful.
    doubtful_paths: BTreeSet<String>,
    /// The folders whose creation has begun. What was absent below them stays absent.
    new_folders: BTreeSet<String>,
    /// The paths that predicted changes would modify, with a known result or not.
    changed_paths: BTreeSet<String>,
    /// The number of predictions so far.
    predictions: u64,
    /// The number of the prediction that made every older fact doubtful, or 0.
    doubt_all_since: u64,
    /// Whether a doubtful fact was used since the last call of [`FactCache::take_used_doubtful`].
    used_doubtful: Cell<bool>,
}

/// A cached reading of a fact.
#[derive(Debug)]
struct CachedFact {
    reading: FactReading,
    /// The number of the prediction that produced the reading; 0 for a fact read from the host.
    prediction: u64,
}

impl FactCache {
    /// Returns the reading of a fact, or [`Halt::Needs`] if it is not cached.
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

    pub fn has(&self, fact: &Fact) -> bool {
        self.cached.contains_key(fact)
    }

    /// The file metadata at a path, or `None` if nothing exists there. Does not follow a symbolic link.
    pub fn path(&self, path: &str) -> Result<Option<&FileStat>, Halt> {
        self.entry(&Fact::Path(path.to_owned()))
    }

    /// The file metadata at a path after following symbolic links, or `None` if nothing exists there.
    pub fn target(&self, path: &str) -> Result<Option<&FileStat>, Halt> {
        self.entry(&Fact::Target(path.to_owned()))
    }

    fn entry(&self, fact: &Fact) -> Result<Option<&FileStat>, Halt> {
        Ok(match self.get(fact)? {
            FactReading::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// The SHA-256 digest of a file in hex, or `None` if the file does not exist.
    pub fn digest(&self, path: &str) -> Result<Option<&str>, Halt> {
        Ok(match self.get(&Fact::Digest(path.to_owned()))? {
            FactReading::Digest(digest) => Some(digest),
            _ => None,
        })
    }

    /// The content of a file, or `None` if the file does not exist.
    pub fn content(&self, path: &str) -> Result<Option<&[u8]>, Halt> {
        Ok(match self.get(&Fact::Content(path.to_owned()))? {
            FactReading::Content(bytes) => Some(bytes),
            _ => None,
        })
    }

    /// The entries of a directory at any depth, or `None` if the directory does not exist.
    pub fn tree(&self, path: &str) -> Result<Option<&[(String, FileStat)]>, Halt> {
        Ok(match self.get(&Fact::Tree(path.to_owned()))? {
            FactReading::Tree(entries) => Some(entries),
            _ => None,
        })
    }

    /// The output of a probe command.
    pub fn probe(&self, probe: Probe) -> Result<&ProbeOutput, Halt> {
        match self.get(&Fact::Probe(Box::new(probe)))? {
            FactReading::Probe(probed) => Ok(probed),
            other => refuse(format!(
                "internal error: a command probe returned {other:?} instead of command output"
            )),
        }
    }

    /// Stores the readings of several facts. A fact without a reading is stored as failed.
    pub fn learn_all(&mut self, facts: Vec<Fact>, readings: Vec<FactReading>) {
        let missing = || FactReading::Failed("the host returned no value for this fact".to_owned());
        let mut readings = readings.into_iter();
        for fact in facts {
            self.learn(fact, readings.next().unwrap_or_else(missing));
        }
    }

    /// Stores the reading of a fact.
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

    /// Drops the facts that a change has made stale.
    pub fn invalidate(&mut self, change: &Change) {
        for domain in touched_domains(change) {
            self.forget(&domain);
        }
    }

    /// Drops the facts about a domain of the host.
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
            Domain::Folder(path) => {
                self.forget_folder(path);
                self.forget_probes(|reads| *reads == Domain::All);
            }
            other => self.forget_probes(|reads| reads == other || *reads == Domain::All),
        }
    }

    fn forget_probes(&mut self, stale: impl Fn(&Domain) -> bool) {
        let Self { probes, cached, .. } = self;
        probes.retain(|fact| {
            let is_stale = matches!(fact, Fact::Probe(probe) if stale(&probe.reads));
            if is_stale {
                cached.remove(fact);
            }
            !is_stale
        });
    }

    /// Drops the facts about a folder that is created: its own, and directory listings that contain it.
    ///
    /// A change is announced before it begins and after it has ended. If the folder was absent at the beginning, what was
    /// absent below it still is. Otherwise everything below it is dropped, because new attributes of the folder may
    /// make it readable.
    fn forget_folder(&mut self, path: &str) {
        let path = trim_slash(path);
        let began = self.new_folders.remove(path);
        let is_absent = self.is_absent(path);
        if is_absent {
            self.new_folders.insert(path.to_owned());
        }
        let is_new = is_absent || (began && !has_entry(self, path));
        if !is_new {
            self.forget_path(path);
            return;
        }
        for fact in self.by_path.remove(path).unwrap_or_default() {
            self.cached.remove(&fact);
        }
        let cached = &mut self.cached;
        for (_, facts) in self.by_path.range_mut(path_range(path)) {
            facts.retain(|fact| {
                let is_kept = cached
                    .get(fact)
                    .is_some_and(|it| it.reading == FactReading::Absent);
                if !is_kept {
                    cached.remove(fact);
                }
                is_kept
            });
        }
        self.forget_above(path);
    }

    /// Drops the facts about a path and every path below it, and directory listings that contain it.
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
        self.forget_above(path);
    }

    /// Drops the facts about parent directories that a change of a path makes stale.
    fn forget_above(&mut self, path: &str) {
        for above in ancestors(path) {
            let Some(facts) = self.by_path.get_mut(above) else {
                continue;
            };
            let cached = &mut self.cached;
            facts.retain(|fact| {
                // Listings and probes of a parent directory depend on its content. A parent directory that
                // was absent may have been created by the change.
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

    /// Records the predicted effects of a change in a dry run.
    pub fn predict(&mut self, change: &Change) {
        self.predictions += 1;
        let predicted_entry = self.predict_entry(change);
        for domain in touched_domains(change) {
            match domain {
                Domain::Fixed => {}
                Domain::All => self.doubt_all_since = self.predictions,
                Domain::Path(path) | Domain::Folder(path) => {
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

    /// Predicts the file metadata after a change, if possible. Attributes that the change does not set keep
    /// their known values.
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
                // A probe that reads anything may read the predicted changes too.
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

    /// Whether a path or one of its parent directories is doubtful.
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

    /// Returns whether a doubtful fact was used since the last call, and resets the flag.
    pub fn take_used_doubtful(&self) -> bool {
        self.used_doubtful.take()
    }
}

/// Returns true if an entry is known to exist at a path.
fn has_entry(facts: &FactCache, path: &str) -> bool {
    let entry = facts.cached.get(&Fact::Path(path.to_owned()));
    entry.is_some_and(|cached| matches!(cached.reading, FactReading::Entry(_)))
}

/// Removes trailing slashes, except from the root directory.
fn trim_slash(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed,
    }
}

/// The range of paths below a path in sorted order, as its start and its end. The end uses `0`, the character
/// that follows `/`.
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

/// The parent directories of a path, from the innermost outwards.
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

/// The domains of the host that a change affects.
pub(crate) fn touched_domains(change: &Change) -> Vec<Domain> {
    let path = |path: &String| Domain::Path(path.clone());
    match change {
        Change::Folder { path, .. } => vec![Domain::Folder(path.clone())],
        Change::Write(FileWrite { path: at, .. })
        | Change::Link { path: at, .. }
        | Change::Remove { path: at }
        | Change::Set { path: at, .. }
        | Change::Touch { path: at, .. }
        | Change::Copy { to: at, .. } => vec![path(at)],
        Change::Move { from, to } => vec![path(from), path(to)],
        Change::Run(run) => run.touches.clone(),
    }
}

/// The predicted state of a path after a change.
struct PredictedEntry {
    path: String,
    /// The predicted metadata. `None` means that the path no longer exists.
    entry: Option<FileStat>,
    /// The predicted content of a file.
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
            present_mode: None,
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
    fn what_was_absent_below_a_new_folder_stays_absent() {
        let folder = |path: &str| Domain::Folder(path.into());
        let mut facts = learned();
        facts.learn(Fact::Path("/new".into()), FactReading::Absent);
        facts.learn(Fact::Path("/new/a".into()), FactReading::Absent);
        // Before the change and after it.
        facts.forget(&folder("/new"));
        facts.forget(&folder("/new"));
        assert!(!has(&facts, "/new") && has(&facts, "/new/a"));
        // Another change may make the folder readable.
        facts.learn(Fact::Path("/new".into()), entry(FileKind::Folder));
        facts.forget(&folder("/new"));
        assert!(!has(&facts, "/new/a"));
        facts.forget(&folder("/srv"));
        assert!(!has(&facts, "/srv/a") && !has(&facts, "/srv/a/b"));
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
