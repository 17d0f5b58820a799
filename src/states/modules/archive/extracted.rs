//! The state `archive.extracted`: fetches, verifies and unpacks an archive.
//!
//! [`extracted`] decides what to do from the archive's listing; [`Extraction`] builds the commands.
//! Sources from the state tree or the network are first stored in a cache folder of the machine.

use sha2::{Digest as _, Sha256};

use super::unpack::{ArchiveFormat, ArchiveListing, Extraction};
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Domain, FileStat};
use crate::states::modules::decision::{
    act_on_outputs, done, failure, run_change, run_probe, single_change, text_list, unchanged,
};
use crate::states::modules::file::{Checksum, SelectedSource, SignatureCheck, expected_checksum};
use crate::states::modules::file_change;
use crate::states::modules::pkg::download_command;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
};
use crate::text::quote_word;
use crate::value::{Map, Value, hex};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "archive",
    functions: &[StateFunction::new("extracted", extracted)
        .about("Unpacks an archive into a folder.")
        .accepts_more()
        .requires("source")
        .options(
            "source_hash source_hash_name source_hash_update skip_verify \
                 skip_files_list_verify password options list_options force overwrite clean \
                 clean_parent user group if_missing trim_output use_cmd_unzip extract_perms \
                 enforce_toplevel enforce_ownership_on archive_format keep keep_source use_etag \
                 signature source_hash_sig signed_by_any signed_by_all keyring gnupghome \
                 sig_backend",
        )
        .without_effect(
            "password list_options enforce_ownership_on source_hash_update skip_files_list_verify",
        )
        .irreversible(
            "some of the unpacked files may have existed before; remove them with file.absent",
        )],
    watch: None,
    aggregate: None,
};

/// The exit code of the unpack command if the archive does not have a single top-level folder.
const EXIT_ARCHIVE_BOMB: i32 = 94;

/// Decides `archive.extracted`: unpacks an archive unless all its entries exist.
pub(super) fn extracted(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let folder = call.name.trim_end_matches('/').to_owned();
    if !folder.starts_with('/') {
        return failure(format!("{} is not an absolute path", call.name));
    }
    if facts.target(&folder)?.is_some_and(FileStat::is_file) {
        return failure(format!("{folder} exists and is not a directory"));
    }
    if let Some(path) = call.text("if_missing")? {
        if !path.starts_with('/') {
            let text = "Value for 'if_missing' is not an absolute path";
            return failure(text);
        }
        if facts.target(&path)?.is_some() {
            return unchanged(format!("Path {path} exists"));
        }
    }
    if call.flag("clean", false) && call.flag("clean_parent", false) {
        let text = "Only one of 'clean' and 'clean_parent' can be set to True";
        return failure(text);
    }
    let format = match archive_format(call)? {
        Ok(format) => format,
        Err(why) => return failure(why),
    };
    let sum = archive_checksum(call, facts)?;
    let source = match resolve_source(call, sum.as_ref())? {
        Ok(source) => source,
        Err(why) => return failure(why),
    };
    let extraction = Extraction {
        archive: source.path.clone(),
        folder,
        format,
        options: call.text("options")?,
        user: call.text("user")?,
        group: call.text("group")?,
        extracts_perms: call.flag("extract_perms", true),
    };
    let listing = extraction.probe_listing(facts)?;
    if source.is_local && listing.is_none() {
        // An earlier state of the same run may create the archive.
        if call.mode == Mode::Test {
            let (shown, folder) = (&source.shown, &extraction.folder);
            let text = format!("Archive {shown} would be extracted to {folder}/");
            return done(StateOutcome::planned(text));
        }
        let text = format!("Source file '{}' does not exist", source.shown);
        return failure(text);
    }
    if source.is_local
        && let Some(why) = unverified_reason(call, &source, sum.as_ref(), facts)?
    {
        return failure(why);
    }
    decide_extraction(call, extraction, &source, sum.as_ref(), listing.as_ref())
}

fn archive_format(call: &StateCall<'_>) -> Result<Result<ArchiveFormat, String>, Halt> {
    const SUPPORTED_FORMATS: &str = "tar, zip";
    let source = call.required("source")?;
    Ok(match call.text("archive_format")?.as_deref() {
        None => ArchiveFormat::guess(&source).ok_or_else(|| format!(
            "Could not guess archive_format from the value of the 'source' argument. Please set this archive_format to one of the following: {SUPPORTED_FORMATS}"
        )),
        Some("tar") => Ok(ArchiveFormat::Tar),
        Some("zip") => Ok(ArchiveFormat::Zip),
        Some(other) => Err(format!(
            "Invalid archive_format '{other}'. Either set it to a supported value ({SUPPORTED_FORMATS}) or remove this argument and the archive format will be guessed based on file extension."
        )),
    })
}

fn decide_extraction(
    call: &StateCall<'_>,
    extraction: Extraction,
    source: &ArchiveSource,
    sum: Option<&Checksum>,
    listing: Option<&ArchiveListing>,
) -> Result<StateDecision, Halt> {
    let requires_single_folder = call.flag("enforce_toplevel", true);
    if let Some(listing) = listing {
        if requires_single_folder
            && (listing.top_level_names.len() > 1 || !listing.top_level_files.is_empty())
        {
            return failure(archive_bomb_message(&extraction));
        }
        let cleans = call.flag("clean", false) || call.flag("clean_parent", false);
        if !listing.wrong_type.is_empty() && !cleans && !call.flag("force", false) {
            return failure(wrong_type_message(&extraction, listing));
        }
        let is_whole = listing.missing.is_empty() && listing.wrong_type.is_empty();
        if is_whole && !call.flag("overwrite", false) {
            return decide_ownership(&extraction, listing);
        }
    }
    let plan = ExtractionPlan {
        is_fetched: listing.is_none(),
        had_folder: listing.is_some_and(|it| it.has_folder),
        has_missing: listing.is_some_and(|it| !it.missing.is_empty()),
        trim: output_limit(call),
        shown: source.shown.clone(),
        source_hash: sum.map(|sum| sum.digits.clone()).unwrap_or_default(),
    };
    let (steps, removed) = extraction_steps(call, &extraction, source, sum, listing)?;
    let mut comment = format!(
        "Archive {} would be extracted to {}/",
        plan.shown, extraction.folder
    );
    if call.flag("clean", false) {
        comment.push_str(", after cleaning destination path(s)");
    }
    if plan.has_missing {
        comment.push_str(", due to absence of one or more files/dirs");
    }
    let predicted = StateOutcome::planned(comment);
    act_on_outputs(predicted, steps, move |ended, facts| {
        if let Some(why) = &ended.error {
            return Ok(StateOutcome::failed(match ended.code() {
                Some(EXIT_ARCHIVE_BOMB) => archive_bomb_message(&extraction),
                Some(EXIT_CHECKSUM_MISMATCH) => mismatch_message(&plan.shown, &plan.source_hash),
                _ => why.clone(),
            }));
        }
        let listing = extraction.probe_listing(facts)?.unwrap_or_default();
        Ok(evaluate_result(&extraction, &plan, &removed, &listing))
    })
}

/// Returns the message about entries that exist with the wrong type.
fn wrong_type_message(extraction: &Extraction, listing: &ArchiveListing) -> String {
    let paths: Vec<String> = listing
        .wrong_type
        .iter()
        .map(|it| format!("- {it}"))
        .collect();
    format!(
        "The below paths (relative to {}/) exist, but are the incorrect type (file instead of directory, symlink instead of file, etc.). To proceed with extraction, set 'force' to True. Note that this will remove these paths before extracting.\n\n{}",
        extraction.folder,
        paths.join("\n")
    )
}

/// The facts about an extraction that its comments and changes are made of.
struct ExtractionPlan {
    is_fetched: bool,
    had_folder: bool,
    has_missing: bool,
    trim: Option<usize>,
    shown: String,
    /// The argument `source_hash` without the name of the algorithm.
    source_hash: String,
}

/// Returns why an archive that is on the machine already does not have its checksum or its signature.
fn unverified_reason(
    call: &StateCall<'_>,
    source: &ArchiveSource,
    sum: Option<&Checksum>,
    facts: &FactCache,
) -> Result<Option<String>, Halt> {
    let reads = Domain::Path(source.path.clone());
    if let Some(sum) = sum
        && run_probe(facts, checksum_test(sum, &source.path), reads)?.code != 0
    {
        return Ok(Some(mismatch_message(&source.shown, &sum.digits)));
    }
    let Some(check) = signature_check(call)? else {
        return Ok(None);
    };
    let text = check.commands(&quote_word(&source.path));
    let probed = run_probe(facts, text, Domain::All)?;
    let why = String::from_utf8_lossy(&probed.stderr).trim().to_owned();
    Ok((probed.code != 0).then_some(why))
}

/// Returns the check of the signature that the state asks for.
fn signature_check(call: &StateCall<'_>) -> Result<Option<SignatureCheck>, Halt> {
    let lead = "Failed verifying the source file's signature: ";
    SignatureCheck::from_call(call, "signature", lead)
}

/// Returns the checksum that the archive must have; None if nothing is to be verified.
fn archive_checksum(call: &StateCall<'_>, facts: &FactCache) -> Result<Option<Checksum>, Halt> {
    if call.flag("skip_verify", false) {
        return Ok(None);
    }
    let hash = call.non_empty_text("source_hash")?;
    let picked = SelectedSource::new(call.required("source")?, hash);
    expected_checksum(call, &picked, &picked.written, facts)
}

fn output_limit(call: &StateCall<'_>) -> Option<usize> {
    match call.arg("trim_output")? {
        Value::Bool(true) => Some(100),
        Value::Bool(false) => None,
        other => usize::try_from(other.as_int()?).ok(),
    }
}

/// Decides the case in which all entries of the archive exist: at most their owner changes.
fn decide_ownership(
    extraction: &Extraction,
    listing: &ArchiveListing,
) -> Result<StateDecision, Halt> {
    let comment = "All files in archive are already present";
    let Some(chown) = extraction
        .chown_command(&listing.top_level_names)
        .filter(|_| listing.has_foreign_owner)
    else {
        return unchanged(comment);
    };
    let changes = single_change("updated ownership", true);
    let predicted = StateOutcome::would_change(
        changes.clone(),
        format!("{comment}. Ownership would be updated on one or more files/directories."),
    );
    let steps = vec![run_change(chown, [Domain::Path(extraction.folder.clone())])];
    act_on_outputs(predicted, steps, move |ended, _| {
        Ok(match &ended.error {
            None => StateOutcome::changed(changes.clone(), comment),
            Some(why) => StateOutcome::failed(why.clone()),
        })
    })
}

fn extraction_steps(
    call: &StateCall<'_>,
    extraction: &Extraction,
    source: &ArchiveSource,
    sum: Option<&Checksum>,
    listing: Option<&ArchiveListing>,
) -> Result<(Vec<Change>, Vec<String>), Halt> {
    let mut steps = Vec::new();
    if listing.is_none() {
        steps.extend(source.fetch_steps.iter().cloned());
    }
    let touched = || [Domain::Path(extraction.folder.clone())];
    if let Some(text) = verification_command(call, sum, source)? {
        steps.push(run_change(text, touched()));
    }
    let mut removed = Vec::new();
    if call.flag("clean_parent", false) {
        removed.push(extraction.folder.clone());
    } else if let Some(listing) = listing {
        let names = if call.flag("clean", false) {
            &listing.top_level_names
        } else {
            &listing.wrong_type
        };
        let path = |name: &String| format!("{}/{}", extraction.folder, name.trim_end_matches('/'));
        removed.extend(names.iter().map(path));
    }
    for path in &removed {
        steps.push(file_change::remove(path));
    }
    let checks_single_folder = call.flag("enforce_toplevel", true) && listing.is_none();
    let mut text = extraction.unpack_command(checks_single_folder.then_some(EXIT_ARCHIVE_BOMB));
    match listing {
        Some(listing) => {
            if let Some(chown) = extraction.chown_command(&listing.top_level_names) {
                text = format!("{text} && {chown}");
            }
        }
        None => {
            if let Some(chown) = extraction.chown_listed_command() {
                text = format!("{text} && {{ {chown}; }}");
            }
        }
    }
    steps.push(run_change(text, touched()));
    Ok((steps, removed))
}

fn evaluate_result(
    extraction: &Extraction,
    plan: &ExtractionPlan,
    removed: &[String],
    listing: &ArchiveListing,
) -> StateOutcome {
    let mut changes = Map::new();
    if !removed.is_empty() && !plan.is_fetched {
        changes.extend(single_change(
            "removed",
            text_list(removed.iter().map(String::as_str)),
        ));
    }
    if listing.entries.is_empty() {
        return StateOutcome::failed(format!("No files were extracted from {}", plan.shown));
    }
    if extraction.user.is_some() || extraction.group.is_some() {
        changes.extend(single_change("updated ownership", true));
    }
    if !plan.had_folder {
        let folder = format!("{}/", extraction.folder);
        changes.extend(single_change(
            "directories_created",
            text_list([folder.as_str()]),
        ));
    }
    // As in Salt, folders have a slash at the end only in archives of zip.
    let named = |entry: &'_ String| match extraction.format {
        ArchiveFormat::Zip => entry.clone(),
        ArchiveFormat::Tar => entry.trim_end_matches('/').to_owned(),
    };
    let files: Vec<String> = listing.entries.iter().map(named).collect();
    let limit = plan.trim.unwrap_or(usize::MAX);
    changes.extend(single_change(
        "extracted_files",
        text_list(files.iter().take(limit).map(String::as_str)),
    ));
    let mut comment = format!("{} extracted to {}/", plan.shown, extraction.folder);
    if plan.has_missing {
        comment.push_str(", due to absence of one or more files/dirs");
    }
    if let Some(trim) = plan.trim {
        comment = format!("{comment}. Output was trimmed to {trim} number of lines");
    }
    if !listing.missing.is_empty() {
        let missing = listing.missing.join(", ");
        return StateOutcome::failed_with(
            changes,
            format!("{comment}, but these are missing: {missing}"),
        );
    }
    StateOutcome::changed(changes, comment)
}

fn mismatch_message(shown: &str, hash: &str) -> String {
    format!("{shown} does not match the desired source_hash {hash}")
}

fn archive_bomb_message(extraction: &Extraction) -> String {
    let (folder, format) = (&extraction.folder, extraction.format.name());
    format!(
        "Archive does not have a single top-level directory. To allow this archive to be extracted, set 'enforce_toplevel' to False. To avoid a '{format}-bomb' it may also be advisable to set a top-level directory by adding it to the 'name' value (for example, setting 'name' to {folder}/some_dir instead of {folder}/)."
    )
}

/// The folder that keeps fetched archives, so that a later run can list and compare them.
const CACHE_DIR: &str = "/var/cache/unfurl/archives";

/// The exit code of the verify command if the archive's checksum is not the expected one.
const EXIT_CHECKSUM_MISMATCH: i32 = 95;

/// The source of an archive: its path on the machine and the changes that fetch it.
struct ArchiveSource {
    shown: String,
    /// The changes that bring the archive to the machine; empty if it is already a local file.
    fetch_steps: Vec<Change>,
    path: String,
    /// Whether the source is a path on the machine.
    is_local: bool,
}

/// Resolves the source of the state's archive. The inner error is the comment of the failed state.
fn resolve_source(
    call: &StateCall<'_>,
    sum: Option<&Checksum>,
) -> Result<Result<ArchiveSource, String>, Halt> {
    let shown = call.required("source")?;
    let local = shown.strip_prefix("file://").unwrap_or(&shown);
    if local.starts_with('/') {
        return Ok(Ok(ArchiveSource {
            path: local.to_owned(),
            shown: local.to_owned(),
            fetch_steps: Vec::new(),
            is_local: true,
        }));
    }
    let end = shown.rsplit('/').next().unwrap_or_default().to_owned();
    let mut fetch = vec![file_change::folders(CACHE_DIR, ModeAndOwner::default())];
    let path;
    if let Some(name) = shown.strip_prefix("salt://") {
        let Some(bytes) = call.context.roots.read(name)? else {
            return Ok(Err(format!("Invalid source \"{shown}\"")));
        };
        path = format!("{CACHE_DIR}/{}-{end}", &hex(&Sha256::digest(&bytes))[..16]);
        fetch.push(file_change::write(
            &path,
            bytes.to_vec(),
            ModeAndOwner::default(),
        ));
    } else {
        if sum.is_none() && !call.flag("skip_verify", false) {
            return Ok(Err(format!(
                "Unable to verify upstream hash of source file {shown}, please set source_hash or set skip_verify to True"
            )));
        }
        let digits = sum.map_or("", |sum| &*sum.digits);
        let key = hex(&Sha256::digest(format!("{shown}\n{digits}")));
        path = format!("{CACHE_DIR}/{}-{end}", &key[..16]);
        fetch.push(run_change(
            download_command(&shown, &path),
            [Domain::Path(path.clone())],
        ));
    }
    Ok(Ok(ArchiveSource {
        shown,
        fetch_steps: fetch,
        path,
        is_local: false,
    }))
}

/// Returns the command that fails unless an archive has its checksum and its signature; None if nothing is to be
/// verified. A fetched archive that fails is removed, so that the next run fetches it again.
fn verification_command(
    call: &StateCall<'_>,
    sum: Option<&Checksum>,
    source: &ArchiveSource,
) -> Result<Option<String>, Halt> {
    let mut text = String::new();
    if let Some(sum) = sum {
        let test = checksum_test(sum, &source.path);
        text.push_str(&format!("{test} || exit {EXIT_CHECKSUM_MISMATCH}\n"));
    }
    // The signature of a local archive has been verified before.
    if !source.is_local
        && let Some(check) = signature_check(call)?
    {
        text.push_str(&check.commands(&quote_word(&source.path)));
    }
    if text.is_empty() {
        return Ok(None);
    }
    if !source.is_local {
        let path = quote_word(&source.path);
        text = format!("a={path}; trap '[ $? = 0 ] || rm -f -- \"$a\"' EXIT\n{text}");
    }
    Ok(Some(text))
}

/// Returns the test of a shell whether an archive has a checksum.
fn checksum_test(sum: &Checksum, path: &str) -> String {
    let Checksum { algorithm, digits } = sum;
    format!(
        "[ \"$({algorithm}sum {} | cut -d' ' -f1)\" = {digits} ]",
        quote_word(path)
    )
}
