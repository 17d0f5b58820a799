//! The states `file.cached` and `file.not_cached`: copies of files of the state tree and of downloads on the machine.

use super::plan::{FilePlan, file_name, normalize_path, parent, resolve_links, target_fact};
use super::source::{Checksum, FetchFrom, FileSource, SelectedSource, fetch_steps, file_checksum};
use super::source_hash::expected_checksum;
use crate::host::change::{Change, ModeAndOwner};
use crate::states::modules::decision::{
    act, done, failure, old_new, require_facts, single_change, unchanged,
};
use crate::states::modules::file_change;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse, split_env,
};
use crate::value::{Map, Value, hex_digest};

/// The folder that keeps the copies.
const CACHE_DIR: &str = "/var/cache/unfurl";

/// Returns the path of the copy; None for a file of the machine, which needs no copy.
///
/// The path is below the folder of its environment, whatever the address contains.
fn cache_path(call: &StateCall<'_>, source: &FileSource) -> Result<Option<String>, Halt> {
    let own_env = call.text_or("saltenv", call.context.roots.env())?;
    let (folder, env, path) = match source {
        FileSource::Machine(_) => return Ok(None),
        FileSource::Tree(written) => {
            let (path, env) = split_env(written);
            ("files", env.unwrap_or(&own_env), path.to_owned())
        }
        FileSource::Web(address) => {
            let path = address
                .split_once("://")
                .map_or(&**address, |(_, path)| path);
            // Credentials before the name of the host are no part of the path.
            let (host, rest) = path.split_once('/').unwrap_or((path, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            ("extrn_files", &*own_env, format!("{host}/{rest}"))
        }
    };
    if env.is_empty() || env.starts_with('.') || env.contains('/') {
        return refuse(format!("`{env}` is no name of an environment"));
    }
    match &*normalize_path(&format!("/{path}")) {
        "/" => refuse(format!("`{}` names no file", call.name)),
        below => Ok(Some(format!("{CACHE_DIR}/{folder}/{env}{below}"))),
    }
}

/// A file to keep a copy of.
struct CachedFile {
    source: FileSource,
    /// The path of the copy.
    path: String,
    /// The checksum that the state gives.
    sum: Option<Checksum>,
    /// True if the checksum is enforced.
    verifies: bool,
}

impl CachedFile {
    /// Returns the name of the algorithm that tells changes.
    fn algorithm(&self) -> &'static str {
        self.sum.as_ref().map_or("sha256", |sum| sum.algorithm)
    }

    /// Returns the checksum that the copy must have.
    fn enforced_sum(&self) -> Option<&Checksum> {
        self.sum.as_ref().filter(|_| self.verifies)
    }

    /// Returns the outcome once the copy has the digits `new`.
    fn outcome(&self, old: Option<&str>, new: &str) -> StateOutcome {
        let path = &self.path;
        let comment = match self.enforced_sum() {
            Some(sum) => format!("File is already cached to {path} with hash {}", sum.digits),
            None => format!("File is cached to {path}"),
        };
        if old == Some(new) {
            return StateOutcome::unchanged(comment);
        }
        let old = old.map_or(Value::Null, Value::from);
        StateOutcome::changed(single_change("hash", old_new(old, new)), comment)
    }
}

/// Decides `file.cached`: keeps a copy of a file of the state tree or of a download on the machine.
pub(super) fn cached(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let picked = SelectedSource::new(name.to_owned(), call.non_empty_text("source_hash")?);
    let verifies = !call.flag("skip_verify", false);
    let is_web = matches!(picked.source, FileSource::Web(_));
    if is_web && verifies && picked.hash.is_none() && !call.flag("use_etag", false) {
        return failure(format!(
            "Unable to verify upstream hash of source file {name}, please set source_hash or set skip_verify or use_etag to True"
        ));
    }
    let sum = expected_checksum(call, &picked, file_name(name), facts)?;
    let Some(path) = cache_path(call, &picked.source)? else {
        return local_file(
            call,
            &picked.source,
            sum.filter(|_| verifies).as_ref(),
            facts,
        );
    };
    let file = CachedFile {
        source: picked.source,
        path,
        sum,
        verifies,
    };
    require_facts(facts, [target_fact(&file.path)])?;
    let is_there = facts.target(&file.path)?.is_some();
    let old = if is_there {
        Some(file_checksum(&file.path, file.algorithm(), facts)?)
    } else {
        None
    };
    if call.mode == Mode::Test {
        let text = predicted_comment(name, &file, old.as_deref());
        return done(StateOutcome::planned(text));
    }
    update_copy(call, file, old, facts)
}

/// Returns the comment of a dry run. `old` is the checksum of the copy that exists.
fn predicted_comment(name: &str, file: &CachedFile, old: Option<&str>) -> String {
    match (old, &file.sum) {
        (None, _) => format!("File will be cached: {name}"),
        (Some(_), None) => format!("No hash found. File will be cached: {name}"),
        (Some(old), Some(sum)) if *old == sum.digits => format!("File already cached: {name}"),
        _ => format!("Hashes don't match.\nFile will be cached: {name}"),
    }
}

/// Returns the decision about a copy in a real run. `old` is the checksum of the copy that exists.
fn update_copy(
    call: &StateCall<'_>,
    file: CachedFile,
    old: Option<String>,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let folder = file_change::folders(parent(&file.path), ModeAndOwner::default());
    match &file.source {
        FileSource::Tree(written) => tree_copy(call, &file, written, old.as_deref(), folder),
        FileSource::Web(address) => {
            if let Some(sum) = file.enforced_sum()
                && old.as_ref() == Some(&sum.digits)
            {
                return unchanged(file.outcome(old.as_deref(), &sum.digits).comment);
            }
            let fetch = FetchFrom::Web(address, file.enforced_sum());
            let mut steps = vec![folder];
            let is_there = facts.target(&file.path)?.is_some();
            let like = ModeAndOwner::default();
            steps.extend(fetch_steps(&fetch, &file.path, is_there, &like, ""));
            act(StateOutcome::default(), steps, move |complaint, facts| {
                if let Some(why) = complaint {
                    return Ok(StateOutcome::failed(why));
                }
                let new = file_checksum(&file.path, file.algorithm(), facts)?;
                Ok(file.outcome(old.as_deref(), &new))
            })
        }
        FileSource::Machine(_) => unchanged(""),
    }
}

/// Returns the decision about a copy of a file of the state tree. `folder` makes the folder of the copy.
fn tree_copy(
    call: &StateCall<'_>,
    file: &CachedFile,
    written: &str,
    old: Option<&str>,
    folder: Change,
) -> Result<StateDecision, Halt> {
    let roots = &call.context.roots;
    let read = match call.text("saltenv")? {
        Some(env) => roots.within(&env).read(written)?,
        None => roots.read(written)?,
    };
    let Some(bytes) = read else {
        return failure(format!(
            "Failed to cache {}, check minion log for more information",
            call.name
        ));
    };
    let new = hex_digest(file.algorithm(), &bytes).unwrap_or_default();
    if let Some(sum) = file.enforced_sum().filter(|sum| sum.digits != new) {
        return refuse(format!(
            "Specified {} checksum for {} ({}) does not match actual checksum ({new})",
            sum.algorithm, call.name, sum.digits
        ));
    }
    let plan = FilePlan {
        test: StateOutcome::default(),
        apply: file.outcome(old, &new),
        steps: if old == Some(&new) {
            Vec::new()
        } else {
            let write = file_change::write(&file.path, bytes.to_vec(), ModeAndOwner::default());
            vec![folder, write]
        },
    };
    Ok(plan.into_decision(call.mode))
}

/// Decides for a file of the machine: only its presence and its checksum count.
fn local_file(
    call: &StateCall<'_>,
    source: &FileSource,
    sum: Option<&Checksum>,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let FileSource::Machine(path) = source else {
        return unchanged("");
    };
    let path = resolve_links(path, facts)?;
    require_facts(facts, [target_fact(&path)])?;
    if call.mode == Mode::Test {
        let text = format!("File will be cached: {}", call.name);
        return done(StateOutcome::planned(text));
    }
    if facts.target(&path)?.is_none() {
        return failure(format!("File {path} is not present on the minion"));
    }
    let Some(sum) = sum else {
        return unchanged(format!("File {path} is present on the minion"));
    };
    let found = file_checksum(&path, sum.algorithm, facts)?;
    if found == sum.digits {
        return unchanged(format!(
            "File {path} is present on the minion and has hash {found}"
        ));
    }
    failure(format!(
        "File {path} is present on the minion, but the hash ({found}) does not match the specified hash ({})",
        sum.digits
    ))
}

/// Decides `file.not_cached`: removes the copy that `file.cached` keeps.
pub(super) fn not_cached(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let source = FileSource::parse(call.name);
    let Some(path) = cache_path(call, &source)? else {
        let path = match &source {
            FileSource::Machine(path) => resolve_links(path, facts)?,
            _ => call.name.to_owned(),
        };
        return unchanged(format!("File {path} is a local path, no action taken"));
    };
    if facts.target(&path)?.is_none() {
        return unchanged(format!("{} is not cached", call.name));
    }
    let changes: Map = single_change("deleted", true);
    let plan = FilePlan {
        test: StateOutcome::would_change(changes.clone(), format!("{path} is set to be deleted")),
        apply: StateOutcome::changed(changes, format!("{path} was deleted")),
        steps: vec![file_change::remove(&path)],
    };
    Ok(plan.into_decision(call.mode))
}
