//! The state `file.managed`: a file with a content, owners and a mode.
//!
//! Reads the arguments, resolves the source, and leaves the comparison to [`plan_file`].

use super::append::accumulators;
use super::content_check::ContentCheck;
use super::contents::{self, ExplicitContents};
use super::desired_file::{
    BackupPolicy, DesiredFile, FileBody, LinkPolicy, NewFileDiff, ParentPolicy, plan_file,
};
use super::file_flags::add_flags;
use super::plan::{FilePlan, PathOwners, expand_home, parent, path_fact, target_fact};
use super::signature::SignatureCheck;
use super::source::contains_secrets;
use super::source::{
    FileSource, SelectedSource, render_source, select_source, source_mode, template_context,
};
use super::source_hash::expected_checksum;
use super::text_diff::DiffVisibility;
use crate::host::fact::{Fact, FileStat};
use crate::states::modules::decision::require_facts;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::system::fs::SECRET_MODE;
use crate::value::Map;

/// Decides `file.managed`: creates or updates a file.
pub(super) fn managed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut desired = match decide_file(call, facts)? {
        FileDecision::Done(outcome) => return Ok(StateDecision::Done(*outcome)),
        FileDecision::Desired(desired) => desired,
    };
    let check = ContentCheck::from_call(call, &mut desired)?;
    let mut work = plan_file(&desired, call.mode, facts)?;
    add_warnings(call, &mut work);
    let decision = match check {
        Some(check) => check.before_write(call, work, &desired)?,
        None => work.into_decision(call.mode),
    };
    add_flags(call, &desired.path, decision, facts)
}

/// The result of reading the arguments: a final outcome, or the file to plan.
enum FileDecision {
    Done(Box<StateOutcome>),
    Desired(Box<DesiredFile>),
}

fn add_warnings(call: &StateCall<'_>, work: &mut FilePlan) {
    if call.args.contains_key("file_mode") {
        let warning = "The 'file_mode' argument will be ignored.  Please use 'mode' instead to \
                       set file permissions.";
        work.test.warnings.push(warning.to_owned());
        work.apply.warnings.push(warning.to_owned());
    }
}

/// Reads the arguments, and returns the desired file or an early outcome.
fn decide_file(call: &StateCall<'_>, facts: &FactCache) -> Result<FileDecision, Halt> {
    if call.name.is_empty() {
        return refuse("Destination file name is required");
    }
    let path = expand_home(call.name, facts)?;
    let keeps_mode = call
        .text("mode")?
        .is_some_and(|mode| mode.eq_ignore_ascii_case("keep"));
    check_contents(call, keeps_mode)?;
    let text = contents::explicit_contents(call, facts)?;
    let there = target_entry(call, &path, facts)?;
    let is_file = there.is_some_and(|entry| !entry.is_folder());
    if !call.flag("create", true) && !is_file {
        let comment = format!("File {path} is not present and is not set for creation");
        return Ok(FileDecision::Done(Box::new(StateOutcome::unchanged(
            comment,
        ))));
    }
    let owners = PathOwners::from_call(call, facts)?;
    owners.check_accounts(call.mode)?;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    let context = template_context(call)?;
    if there.is_some_and(FileStat::is_folder) {
        return refuse(format!("Specified target {path} is a directory"));
    }
    let has_source = call.flag("source", false);
    let replace = call.flag("replace", true) && (text.is_some() || has_source);
    let secret = call.is_sensitive("contents");
    let decide = |body, secret, replace, mode: Option<u32>| {
        let spec = ContentSpec {
            body,
            secret,
            replace,
            mode: mode.or(mode_of_secret(secret, there)),
        };
        build_desired_file(call, &path, &owners, spec)
    };
    if !replace && is_file {
        let mode = desired_mode(call, keeps_mode)?;
        return decide(FileBody::Any, secret, false, mode);
    }
    if let Some(ExplicitContents { bytes, secret }) = text {
        let mode = desired_mode(call, false)?;
        return decide(FileBody::Explicit(bytes), secret, true, mode);
    }
    let Some(picked) = select_source(call, facts)? else {
        return decide(FileBody::Any, false, replace, desired_mode(call, false)?);
    };
    let mode = if keeps_mode {
        source_mode(call, &picked.source, facts)?
    } else {
        call.mode("mode")?
    };
    let (body, secret) = source_body(call, &picked, &path, &context, facts)?;
    decide(body, secret, true, mode)
}

/// Returns the target of the path, and requests all facts that are needed later in the same round trip.
///
/// With `assume_present` nothing is read (P18).
fn target_entry<'a>(
    call: &StateCall<'_>,
    path: &str,
    facts: &'a FactCache,
) -> Result<Option<&'a FileStat>, Halt> {
    if call.flag("assume_present", false) {
        return Ok(None);
    }
    let mut needed = vec![
        path_fact(path),
        target_fact(path),
        target_fact(parent(path)),
    ];
    let has_content = contents::count_content_arguments(call) > 0 || call.arg("source").is_some();
    if has_content && call.flag("replace", true) {
        needed.push(Fact::Digest(path.to_owned()));
    }
    require_facts(facts, needed)?;
    facts.target(path)
}

/// Returns the mode of a new file with a secret. None for other files.
pub(super) fn mode_of_secret(secret: bool, there: Option<&FileStat>) -> Option<u32> {
    (secret && there.is_none()).then_some(SECRET_MODE)
}

fn desired_mode(call: &StateCall<'_>, keeps: bool) -> Result<Option<u32>, Halt> {
    if keeps { Ok(None) } else { call.mode("mode") }
}

/// The desired content and mode, resolved from the arguments.
struct ContentSpec {
    body: FileBody,
    secret: bool,
    replace: bool,
    mode: Option<u32>,
}

fn build_desired_file(
    call: &StateCall<'_>,
    path: &str,
    owners: &PathOwners,
    spec: ContentSpec,
) -> Result<FileDecision, Halt> {
    let parents = if call.flag("makedirs", false) {
        ParentPolicy::Create(call.mode("dir_mode")?)
    } else {
        ParentPolicy::Required
    };
    let lead = "Failed checking new file's signature: ";
    let signature = SignatureCheck::from_call(call, "signature", lead)?;
    let assume_present = call.flag("assume_present", false);
    if assume_present && signature.is_some() {
        return refuse("`assume_present` verifies no `signature`");
    }
    let is_from_source = !matches!(spec.body, FileBody::Explicit(_) | FileBody::Any);
    Ok(FileDecision::Desired(Box::new(DesiredFile {
        path: path.to_owned(),
        body: spec.body,
        owners: owners.clone(),
        mode: spec.mode,
        parents,
        replace: spec.replace,
        visibility: DiffVisibility::from_flags(call.flag("show_changes", true), spec.secret),
        new_file_diff: if call.flag("new_file_diff", false) {
            NewFileDiff::FullDiff
        } else {
            NewFileDiff::Message
        },
        links: if call.flag("follow_symlinks", true) {
            LinkPolicy::Follow
        } else {
            LinkPolicy::Replace
        },
        backup: backup_policy(call)?,
        assume_present,
        signature: signature.filter(|_| is_from_source),
    })))
}

/// Reads the argument `backup`. Unknown values mean no backup, as in Salt.
pub(super) fn backup_policy(call: &StateCall<'_>) -> Result<BackupPolicy, Halt> {
    Ok(match call.text("backup")?.as_deref() {
        Some("minion" | "both" | "True") => BackupPolicy::Cached,
        _ => BackupPolicy::None,
    })
}

fn check_contents(call: &StateCall<'_>, keeps_mode: bool) -> Result<(), Halt> {
    let count = contents::count_content_arguments(call);
    let has_source = call.flag("source", false);
    if has_source && count > 0 {
        return refuse(
            "'source' cannot be used in combination with 'contents', 'contents_pillar', or \
             'contents_grains'",
        );
    }
    if keeps_mode && count > 0 {
        return refuse(
            "Mode preservation cannot be used in combination with 'contents', \
             'contents_pillar', or 'contents_grains'",
        );
    }
    if count > 1 {
        return refuse(
            "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted",
        );
    }
    Ok(())
}

/// Adds the texts of `file.accumulated` states to the variables of a template.
fn with_accumulators(call: &StateCall<'_>, path: &str, context: &Map) -> Map {
    let mut context = context.clone();
    if let Some(texts) = accumulators(call, path) {
        context.insert("accumulator".into(), texts);
    }
    context
}

/// Returns the message about a source that is missing in the state tree.
fn missing_source_message(call: &StateCall<'_>, picked: &SelectedSource) -> String {
    let (written, env) = (&picked.written, call.context.roots.env());
    format!("Source file {written} not found in saltenv '{env}'")
}

/// Returns the content of a source, and whether it is secret.
fn source_body(
    call: &StateCall<'_>,
    picked: &SelectedSource,
    path: &str,
    context: &Map,
    facts: &FactCache,
) -> Result<(FileBody, bool), Halt> {
    let fail = |why: String| refuse_source(call, why);
    let template = call.non_empty_text("template")?;
    let (bytes, name) = match &picked.source {
        FileSource::Tree(name) => {
            let Some(bytes) = call.context.roots.read(name)? else {
                return fail(missing_source_message(call, picked));
            };
            (bytes.to_vec(), name)
        }
        FileSource::Machine(source) => {
            if facts.target(source)?.is_none() {
                return fail(format!("Local file source {source} does not exist"));
            }
            if template.is_none() {
                require_facts(facts, [source, path].map(|it| Fact::Digest(it.to_owned())))?;
                return Ok((FileBody::CopyOf(source.clone()), false));
            }
            (facts.content(source)?.unwrap_or_default().to_vec(), source)
        }
        FileSource::Web(address) => {
            let sum = expected_checksum(call, picked, path, facts).map_err(in_managed_file)?;
            if sum.is_none() && !call.flag("skip_verify", false) {
                return fail(format!(
                    "Unable to verify upstream hash of source file {address}, please set \
                     source_hash or set skip_verify to True"
                ));
            }
            if template.is_some() {
                return fail(
                    "a template cannot be a download: put it into the state tree (salt://…)"
                        .to_owned(),
                );
            }
            return Ok((FileBody::Download(address.clone(), sum), false));
        }
    };
    match template.as_deref() {
        None => Ok((FileBody::FromSource(bytes), false)),
        Some("jinja") => {
            let context = with_accumulators(call, path, context);
            let text = render_source(call, &bytes, name, &context, facts)?;
            let secret = contains_secrets(call, &text);
            Ok((FileBody::FromSource(text.into_bytes()), secret))
        }
        Some(other) => fail(format!(
            "Specified template format {other} is not supported"
        )),
    }
}

/// Adds what failed to the comment about a checksum.
fn in_managed_file(halt: Halt) -> Halt {
    match halt {
        Halt::Failed(why) => Halt::Failed(format!("Unable to manage file: {why}")),
        needs @ Halt::Needs(_) => needs,
    }
}

/// Fails the state because of its source.
fn refuse_source<T>(call: &StateCall<'_>, why: String) -> Result<T, Halt> {
    // As in Salt, the comment of a dry run has no prefix.
    refuse(match call.mode {
        Mode::Test => why,
        Mode::Apply => format!("Unable to manage file: {why}"),
    })
}
