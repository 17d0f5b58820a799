//! Plans the changes that give a file a content, owners and a mode.
//!
//! [`plan_file`] is the entry; `file.managed`, `file.recurse` and `file.serialize` describe the file as
//! a [`DesiredFile`]. It compares checksums first and reads the content only to show a difference.

use crate::states::modules::decision::{require_facts, single_change};
use crate::states::modules::file_change;
use sha2::{Digest as _, Sha256};

use super::plan::{
    FilePlan, PathOwners, dry_run_comment, file_name, is_folder, missing_folder_steps, mode_text,
    parent, path_fact, put_text, resolve_links, searchable_mode, target_fact,
};
use super::signature::SignatureCheck;
use super::source::Checksum;
use super::source::{self, FetchFrom};
use super::text_diff::{DiffVisibility, MAX_DIFF_BYTES, content_diff};
use crate::host::change::{Change, CommandRun, ModeAndOwner};
use crate::host::fact::{Domain, Fact, FileKind, FileStat};
use crate::states::{FactCache, Halt, Mode, StateOutcome, refuse};
use crate::text::force_quote_word;
use crate::value::{Map, hex};

/// The desired content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileBody {
    /// Any content; a new file is empty.
    Any,
    /// The content that the state gives explicitly.
    Explicit(Vec<u8>),
    /// The content of a source, perhaps rendered.
    FromSource(Vec<u8>),
    /// The content of another file on the machine.
    CopyOf(String),
    /// The content of a URL, and the checksum to verify, if any.
    Download(String, Option<Checksum>),
}

/// Whether the old content of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackupPolicy {
    None,
    /// A copy is kept in the backup folder of the machine.
    Cached,
}

/// The treatment of a symbolic link at the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkPolicy {
    /// The target of the link is written.
    Follow,
    /// The link is replaced by a file.
    Replace,
}

/// The treatment of missing parent folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParentPolicy {
    /// Missing folders are an error, except in a dry run.
    Required,
    /// Missing folders are created with this mode, or else with one derived from the file's mode.
    Create(Option<u32>),
}

/// The form in which results show the content of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileDiff {
    /// As a message that the file is new.
    Message,
    /// As a difference from an empty file.
    FullDiff,
}

/// A file as a state desires it.
#[derive(Debug, Clone)]
pub(super) struct DesiredFile {
    pub(super) path: String,
    pub(super) body: FileBody,
    pub(super) owners: PathOwners,
    /// The permission bits; None leaves them as they are.
    pub(super) mode: Option<u32>,
    pub(super) parents: ParentPolicy,
    /// Whether the content of an existing file is replaced.
    pub(super) replace: bool,
    pub(super) visibility: DiffVisibility,
    pub(super) new_file_diff: NewFileDiff,
    pub(super) links: LinkPolicy,
    pub(super) backup: BackupPolicy,
    /// Whether the file is written without reading what exists (P18).
    pub(super) assume_present: bool,
    /// The signature that the content must have. Only content of a source has one.
    pub(super) signature: Option<SignatureCheck>,
}

/// Plans the changes that bring a file to the desired state.
pub(super) fn plan_file(
    desired: &DesiredFile,
    mode: Mode,
    facts: &FactCache,
) -> Result<FilePlan, Halt> {
    let path = &desired.path;
    if desired.assume_present {
        return plan_assumed(desired);
    }
    let mut needed = vec![
        path_fact(path),
        target_fact(path),
        target_fact(parent(path)),
    ];
    if desired.replace && desired.body != FileBody::Any {
        needed.push(Fact::Digest(path.clone()));
    }
    require_facts(facts, needed)?;
    let entry_at_path = facts.path(path)?;
    let is_link = entry_at_path.is_some_and(|entry| matches!(entry.kind, FileKind::Link(_)));
    let led = facts.target(path)?;
    if led.is_some_and(FileStat::is_folder) {
        return refuse(format!("Specified target {path} is a directory"));
    }
    let follows = desired.links == LinkPolicy::Follow;
    let real = if is_link && follows {
        resolve_links(path, facts)?
    } else {
        path.clone()
    };
    let Some(entry) = (if follows || led.is_none() {
        led
    } else {
        entry_at_path
    }) else {
        return plan_new(desired, &real, mode, facts);
    };
    if !desired.replace {
        return Ok(plan_metadata(desired, entry));
    }
    plan_existing(desired, &real, entry, facts)
}

fn planned_change_outcome(path: &str, changes: Map) -> StateOutcome {
    StateOutcome::would_change(changes, dry_run_comment(path))
}

/// Plans for a file whose content stays: only its owners and mode are set.
fn plan_metadata(desired: &DesiredFile, entry: &FileStat) -> FilePlan {
    let path = &desired.path;
    let (changes, like) = desired.owners.differences(entry, desired.mode);
    if changes.is_empty() {
        return FilePlan {
            test: StateOutcome::unchanged(format!("File {path} not updated")),
            apply: StateOutcome::unchanged(format!(
                "File {path} exists with proper permissions. No changes made."
            )),
            steps: Vec::new(),
        };
    }
    let comment = match desired.mode.filter(|mode| *mode != entry.mode) {
        Some(mode) => format!(
            "File {path} will be updated with permissions {} from its current state of {}",
            mode_text(mode),
            mode_text(entry.mode)
        ),
        None => format!("File {path} not updated"),
    };
    FilePlan {
        test: StateOutcome::would_change(changes.clone(), comment),
        apply: StateOutcome::changed(changes, ""),
        steps: vec![file_change::set_attributes(
            path,
            like,
            desired.links == LinkPolicy::Follow,
        )],
    }
}

fn plan_existing(
    desired: &DesiredFile,
    real: &str,
    entry: &FileStat,
    facts: &FactCache,
) -> Result<FilePlan, Halt> {
    let path = &desired.path;
    let mut changes = Map::new();
    let mut steps = Vec::new();
    let is_link = matches!(entry.kind, FileKind::Link(_));
    if content_differs(&desired.body, path, facts)? {
        put_text(&mut changes, "diff", diff_text(desired, facts)?);
        if desired.backup == BackupPolicy::Cached {
            steps.push(backup_change(real));
        }
        steps.extend(write_steps(desired, real, facts)?);
    } else if is_link {
        put_text(
            &mut changes,
            "diff",
            "Replace symbolic link with regular file",
        );
        steps.extend(write_steps(desired, real, facts)?);
    }
    // The mode of a link that is replaced does not matter.
    let (set, like) = desired
        .owners
        .differences(entry, desired.mode.filter(|_| !is_link));
    if steps.is_empty() && !set.is_empty() {
        steps.push(file_change::set_attributes(
            path,
            like,
            desired.links == LinkPolicy::Follow,
        ));
    }
    changes.extend(set);
    if changes.is_empty() {
        let test = StateOutcome::unchanged(format!("The file {path} is in the correct state"));
        let apply = StateOutcome::unchanged(format!("File {path} is in the correct state"));
        return Ok(FilePlan { test, apply, steps });
    }
    let test = planned_change_outcome(path, changes.clone());
    let apply = StateOutcome::changed(changes, format!("File {path} updated"));
    Ok(FilePlan { test, apply, steps })
}

/// Returns the changes that create the missing parent folders of a new file.
fn parent_steps(
    desired: &DesiredFile,
    real: &str,
    mode: Mode,
    facts: &FactCache,
) -> Result<Vec<Change>, Halt> {
    let folder = parent(real);
    if is_folder(folder, facts)? {
        return Ok(Vec::new());
    }
    match desired.parents {
        ParentPolicy::Create(own) => {
            let bits = own.or(desired.mode.map(searchable_mode));
            missing_folder_steps(folder, &desired.owners.with_mode(bits), facts)
        }
        ParentPolicy::Required if mode == Mode::Apply => refuse("Parent directory not present"),
        ParentPolicy::Required => Ok(Vec::new()),
    }
}

fn plan_new(
    desired: &DesiredFile,
    real: &str,
    mode: Mode,
    facts: &FactCache,
) -> Result<FilePlan, Halt> {
    let path = &desired.path;
    let mut steps = parent_steps(desired, real, mode, facts)?;
    steps.extend(write_steps(desired, real, facts)?);
    let (mut changes, comment, default_mode) = match &desired.body {
        FileBody::Any => (
            single_change("new", format!("file {path} created")),
            "Empty file".to_owned(),
            0o644,
        ),
        FileBody::Explicit(_) => (
            single_change("diff", new_file_diff_text(desired)),
            format!("File {path} updated"),
            0o644,
        ),
        _ => (
            single_change("diff", new_file_diff_text(desired)),
            format!("File {path} updated"),
            0o600,
        ),
    };
    // Salt creates the file with mode 0600 first if a mode is desired, and reports the difference from
    // that.
    let creation_mode = if desired.mode.is_some() {
        0o600
    } else {
        default_mode
    };
    let entry = FileStat {
        kind: FileKind::File,
        mode: creation_mode,
        user: "root".to_owned(),
        group: "root".to_owned(),
        size: 0,
        modified: 0,
    };
    changes.extend(
        desired
            .owners
            .differences(&entry, Some(desired.mode.unwrap_or(0o644)))
            .0,
    );
    let is_shown = desired.new_file_diff == NewFileDiff::FullDiff && desired.body != FileBody::Any;
    let predicted = if is_shown {
        single_change("diff", new_file_diff_text(desired))
    } else {
        single_change("newfile", path.clone())
    };
    let test = planned_change_outcome(path, predicted);
    let apply = StateOutcome::changed(changes, comment);
    Ok(FilePlan { test, apply, steps })
}

/// Returns the difference that results show for a new file.
fn new_file_diff_text(desired: &DesiredFile) -> String {
    match &desired.body {
        FileBody::Explicit(bytes) | FileBody::FromSource(bytes)
            if desired.new_file_diff == NewFileDiff::FullDiff =>
        {
            content_diff(b"", bytes, desired.visibility)
        }
        _ => "New file".to_owned(),
    }
}

/// Whether the content of a file differs from the desired one.
fn content_differs(body: &FileBody, path: &str, facts: &FactCache) -> Result<bool, Halt> {
    let desired = match body {
        FileBody::Any => return Ok(false),
        FileBody::Explicit(bytes) | FileBody::FromSource(bytes) => hex(&Sha256::digest(bytes)),
        FileBody::CopyOf(source) => {
            require_facts(facts, [Fact::Digest(source.clone())])?;
            facts.digest(source)?.unwrap_or_default().to_owned()
        }
        FileBody::Download(address, sum) => {
            return source::differs_from_download(address, sum.as_ref(), path, facts);
        }
    };
    Ok(facts.digest(path)? != Some(&*desired))
}

/// Returns the difference between a file's content and the desired one, as results show it.
fn diff_text(desired: &DesiredFile, facts: &FactCache) -> Result<String, Halt> {
    if desired.visibility != DiffVisibility::Visible {
        // Any two different contents give the placeholder of a hidden difference.
        return Ok(content_diff(b"", b"-", desired.visibility));
    }
    let is_large = |path: &str| {
        facts
            .target(path)
            .map(|entry| entry.is_some_and(|entry| entry.size > MAX_DIFF_BYTES))
    };
    if is_large(&desired.path)? {
        return Ok("Replace large file".to_owned());
    }
    let source = match &desired.body {
        FileBody::Explicit(bytes) | FileBody::FromSource(bytes) => bytes.clone(),
        FileBody::CopyOf(source) if is_large(source)? => return Ok("Replace large file".to_owned()),
        FileBody::CopyOf(source) => {
            let contents = [source, &desired.path].map(|path| Fact::Content(path.clone()));
            require_facts(facts, contents)?;
            facts.content(source)?.unwrap_or_default().to_vec()
        }
        FileBody::Download(address, _) => return Ok(format!("Replace with download of {address}")),
        FileBody::Any => return Ok(String::new()),
    };
    let before = facts.content(&desired.path)?.unwrap_or_default();
    Ok(content_diff(before, &source, desired.visibility))
}

/// Returns the changes that write the content. A large copy and a download do not pass through this
/// program.
fn write_steps(desired: &DesiredFile, real: &str, facts: &FactCache) -> Result<Vec<Change>, Halt> {
    let is_there = facts.target(&desired.path)?.is_some();
    let like = desired.owners.with_mode(desired.mode);
    let signature = desired.signature.as_ref();
    let verification = signature.map_or_else(String::new, |check| check.commands("\"$t\""));
    let bytes = match &desired.body {
        FileBody::Any => Vec::new(),
        FileBody::Explicit(bytes) | FileBody::FromSource(bytes) => bytes.clone(),
        FileBody::CopyOf(source) => {
            if facts
                .target(source)?
                .is_some_and(|entry| entry.size > MAX_DIFF_BYTES)
            {
                return Ok(source::fetch_steps(
                    &FetchFrom::Copy(source),
                    real,
                    is_there,
                    &like,
                    &verification,
                ));
            }
            facts.content(source)?.unwrap_or_default().to_vec()
        }
        FileBody::Download(address, sum) => {
            let fetch = FetchFrom::Web(address, sum.as_ref());
            return Ok(source::fetch_steps(
                &fetch,
                real,
                is_there,
                &like,
                &verification,
            ));
        }
    };
    let is_secret = desired.visibility == DiffVisibility::Secret;
    let mut steps = Vec::new();
    if signature.is_some() {
        steps.push(verification_change(&verification, &bytes, real));
    }
    steps.push(file_change::write_hidden(real, bytes, like, is_secret));
    Ok(steps)
}

/// Returns the change that fails unless the content has the signature.
pub(super) fn verification_change(commands: &str, bytes: &[u8], path: &str) -> Change {
    let text =
        format!("t=$(mktemp) || exit 1; trap 'rm -f -- \"$t\"' EXIT; cat >\"$t\"\n{commands}");
    Change::Run(CommandRun {
        stdin: Some(bytes.to_vec()),
        shown: Some(format!("gpg --verify {path}")),
        ..CommandRun::new(text).touching([])
    })
}

/// Returns the change that copies a file to the backup folder, with the time in its name.
pub(super) fn backup_change(path: &str) -> Change {
    let folder = force_quote_word(parent(path));
    let text = format!(
        "set -e; b=/var/cache; [ -w \"$b\" ] || b=${{XDG_CACHE_HOME:-$HOME/.cache}}; \
         d=$b/unfurl/file_backup{folder}; umask 077; mkdir -p \"$d\"; \
         cp -p -- {} \"$d\"/{}_\"$(date '+%a_%b_%d_%H:%M:%S_%Y')\"",
        force_quote_word(path),
        force_quote_word(file_name(path)),
    );
    Change::Run(CommandRun::new(text).touching([Domain::Path("/var/cache/unfurl".to_owned())]))
}

/// Plans for a file that is written without reading what exists.
fn plan_assumed(desired: &DesiredFile) -> Result<FilePlan, Halt> {
    let path = &desired.path;
    let bytes = match &desired.body {
        FileBody::Any => Vec::new(),
        FileBody::Explicit(bytes) | FileBody::FromSource(bytes) => bytes.clone(),
        FileBody::CopyOf(_) | FileBody::Download(..) => {
            return refuse("`assume_present` needs `contents` or a salt:// source");
        }
    };
    let like = desired.owners.with_mode(desired.mode);
    let mut steps = Vec::new();
    if let ParentPolicy::Create(own) = desired.parents {
        steps.push(file_change::folders(
            parent(path),
            ModeAndOwner {
                mode: own,
                ..ModeAndOwner::default()
            },
        ));
    }
    steps.push(file_change::write_hidden(
        path,
        bytes,
        like,
        desired.visibility == DiffVisibility::Secret,
    ));
    let test = planned_change_outcome(path, single_change("written", path.clone()));
    let apply = StateOutcome::changed(
        single_change("written", path.clone()),
        format!("File {path} updated"),
    );
    Ok(FilePlan { test, apply, steps })
}
