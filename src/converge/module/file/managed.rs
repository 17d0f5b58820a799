//! `file.managed`: a file with a content, owners and a mode.

use super::append::accumulators;
use super::contents::{self, Contents};
use super::place::{Backup, Body, Desired, Links, NewShown, Parents, place};
use super::source::{ENVIRONMENT, Picked, Source, context, mode_of, pick, rendered};
use super::source::{repeats_secrets, sum};
use super::text::Shown;
use super::work::{Owners, Work, at, expanded, parent, to};
use crate::converge::module::command::{act_on_outputs, need};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::RunOutput;
use crate::host::change::{Change, Run};
use crate::host::fact::{Entry, Fact};
use crate::value::Map;

/// Decides `file.managed`.
pub(super) fn managed(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let checked = call.filled("check_cmd")?;
    let work = work(call, facts)?;
    let work = match work {
        Ready::Done(outcome) => return Ok(Verdict::Done(*outcome)),
        Ready::Desired(desired) => {
            let mut work = place(&desired, call.mode, facts)?;
            warn(call, &mut work);
            if let Some(command) = checked {
                return with_check(call, work, &desired, &command);
            }
            work
        }
    };
    Ok(work.verdict(call.mode))
}

enum Ready {
    Done(Box<Outcome>),
    Desired(Box<Desired>),
}

fn warn(call: &Call<'_>, work: &mut Work) {
    if call.args.contains_key("file_mode") {
        let warning = "The 'file_mode' argument will be ignored.  Please use 'mode' instead to \
                       set file permissions.";
        work.test.warnings.push(warning.to_owned());
        work.apply.warnings.push(warning.to_owned());
    }
}

/// Reads the arguments.
fn work(call: &Call<'_>, facts: &Facts) -> Result<Ready, Halt> {
    if call.name.is_empty() {
        return refuse("Destination file name is required");
    }
    let path = expanded(call.name, facts)?;
    let keeps_mode = call
        .text("mode")?
        .is_some_and(|mode| mode.eq_ignore_ascii_case("keep"));
    check_contents(call, keeps_mode)?;
    refuse_unknown(call)?;
    let said = contents::of(call, facts)?;
    let there = stands(call, &path, facts)?;
    let is_file = there.is_some_and(|entry| !entry.is_folder());
    if !call.flag("create", true) && !is_file {
        let comment = format!("File {path} is not present and is not set for creation");
        return Ok(Ready::Done(Box::new(Outcome::same(comment))));
    }
    let owners = Owners::of(call, facts)?;
    owners.check(call.mode)?;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    let context = context(call)?;
    if there.is_some_and(Entry::is_folder) {
        return refuse(format!("Specified target {path} is a directory"));
    }
    let has_source = call.flag("source", false);
    let replace = call.flag("replace", true) && (said.is_some() || has_source);
    let secret = call.is_sensitive("contents");
    let kept = |body, secret, replace, mode| {
        let told = Told {
            body,
            secret,
            replace,
            mode,
        };
        desired(call, &path, &owners, told)
    };
    if !replace && is_file {
        return kept(Body::Any, secret, false, desired_mode(call, keeps_mode)?);
    }
    if let Some(Contents { bytes, secret }) = said {
        return kept(Body::Said(bytes), secret, true, desired_mode(call, false)?);
    }
    let Some(picked) = pick(call, facts)? else {
        return kept(Body::Any, false, replace, desired_mode(call, false)?);
    };
    let mode = if keeps_mode {
        mode_of(call, &picked.source, facts)?
    } else {
        call.mode("mode")?
    };
    let (body, secret) = given(call, &picked, &path, &context, facts)?;
    kept(body, secret, true, mode)
}

/// What the path leads to. All that is needed of it later is asked for at once; of a file that is
/// assumed, nothing is (P18).
fn stands<'a>(call: &Call<'_>, path: &str, facts: &'a Facts) -> Result<Option<&'a Entry>, Halt> {
    if call.flag("assume_present", false) {
        return Ok(None);
    }
    let mut wanted = vec![at(path), to(path), to(parent(path))];
    let has_content = contents::count(call) > 0 || call.arg("source").is_some();
    if has_content && call.flag("replace", true) {
        wanted.push(Fact::Digest(path.to_owned()));
    }
    need(facts, wanted)?;
    facts.target(path)
}

fn desired_mode(call: &Call<'_>, keeps: bool) -> Result<Option<u32>, Halt> {
    if keeps { Ok(None) } else { call.mode("mode") }
}

/// What the arguments say of the content.
struct Told {
    body: Body,
    secret: bool,
    replace: bool,
    mode: Option<u32>,
}

fn desired(call: &Call<'_>, path: &str, owners: &Owners, told: Told) -> Result<Ready, Halt> {
    let parents = if call.flag("makedirs", false) {
        Parents::Made(call.mode("dir_mode")?)
    } else {
        Parents::Wanted
    };
    Ok(Ready::Desired(Box::new(Desired {
        path: path.to_owned(),
        body: told.body,
        owners: owners.clone(),
        mode: told.mode,
        parents,
        replace: told.replace,
        shown: Shown::of(call.flag("show_changes", true), told.secret),
        new_shown: if call.flag("new_file_diff", false) {
            NewShown::Difference
        } else {
            NewShown::Word
        },
        links: if call.flag("follow_symlinks", true) {
            Links::Followed
        } else {
            Links::Replaced
        },
        backup: backup(call)?,
        assumed: call.flag("assume_present", false),
    })))
}

/// What `backup` asks for.
pub(super) fn backup(call: &Call<'_>) -> Result<Backup, Halt> {
    Ok(match call.text("backup")?.as_deref() {
        Some("minion" | "both" | "True") => Backup::Kept,
        _ => Backup::None,
    })
}

fn check_contents(call: &Call<'_>, keeps_mode: bool) -> Result<(), Halt> {
    let count = contents::count(call);
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

/// What Salt does and this does not.
fn refuse_unknown(call: &Call<'_>) -> Result<(), Halt> {
    for key in ["attrs", "selinux", "signature", "source_hash_sig"] {
        if call.flag(key, false) {
            return refuse(format!("`{key}` of file.managed is not supported"));
        }
    }
    Ok(())
}

/// The variables of a template, with the texts that other states have left for its file.
fn with_accumulators(call: &Call<'_>, path: &str, context: &Map) -> Map {
    let mut context = context.clone();
    if let Some(texts) = accumulators(call, path) {
        context.insert("accumulator".into(), texts);
    }
    context
}

/// The source of a file that is missing in the state tree, as the complaint about it.
fn not_in_tree(picked: &Picked) -> String {
    let written = &picked.written;
    format!("Source file {written} not found in saltenv '{ENVIRONMENT}'")
}

/// The content of a source, and whether nobody may see it.
fn given(
    call: &Call<'_>,
    picked: &Picked,
    path: &str,
    context: &Map,
    facts: &Facts,
) -> Result<(Body, bool), Halt> {
    // A failure is said alone in a dry run, as Salt does.
    let fail = |why: String| {
        refuse(match call.mode {
            Mode::Test => why,
            Mode::Apply => format!("Unable to manage file: {why}"),
        })
    };
    let template = call.filled("template")?;
    let (bytes, name) = match &picked.source {
        Source::Tree(name) => {
            let Some(bytes) = call.world.roots.read(name)? else {
                return fail(not_in_tree(picked));
            };
            (bytes.to_vec(), name)
        }
        Source::Machine(source) => {
            if facts.target(source)?.is_none() {
                return fail(format!("Local file source {source} does not exist"));
            }
            if template.is_none() {
                need(facts, [source, path].map(|it| Fact::Digest(it.to_owned())))?;
                return Ok((Body::Like(source.clone()), false));
            }
            (facts.content(source)?.unwrap_or_default().to_vec(), source)
        }
        Source::Web(address) => {
            let sum = sum(call, picked, path, facts)?;
            if sum.is_none() && !call.flag("skip_verify", false) {
                return fail(format!(
                    "Unable to verify upstream hash of source file {address}, please set \
                     source_hash or set skip_verify to True"
                ));
            }
            if template.is_some() {
                return fail("a template cannot be downloaded by the machine".to_owned());
            }
            return Ok((Body::Web(address.clone(), sum), false));
        }
    };
    match template.as_deref() {
        None => Ok((Body::Given(bytes), false)),
        Some("jinja") => {
            let context = with_accumulators(call, path, context);
            let text = rendered(call, &bytes, name, &context, facts)?;
            let secret = repeats_secrets(call, &text);
            Ok((Body::Given(text.into_bytes()), secret))
        }
        Some(other) => fail(format!(
            "Specified template format {other} is not supported"
        )),
    }
}

/// Runs a command on the new content before it is written, and writes only if it succeeds.
pub(super) fn with_check(
    call: &Call<'_>,
    mut work: Work,
    desired: &Desired,
    command: &str,
) -> Result<Verdict, Halt> {
    let bytes = match &desired.body {
        Body::Said(bytes) | Body::Given(bytes) => bytes.clone(),
        Body::Any => Vec::new(),
        Body::Like(_) | Body::Web(..) => {
            return refuse("`check_cmd` needs contents, or a source of the state tree");
        }
    };
    if work.steps.is_empty() {
        return Ok(work.verdict(call.mode));
    }
    let folder = call.text_or("tmp_dir", "/tmp")?;
    let ending = call.text("tmp_ext")?.unwrap_or_default();
    let text = format!(
        "umask 077; d=$(mktemp -d {}/unfurl.XXXXXX) || exit 1; f=\"$d\"/file{}; cat >\"$f\"; \
         {command} \"$f\"; r=$?; rm -rf -- \"$d\"; exit $r",
        crate::text::quoted_always(&folder),
        crate::text::quoted_always(&ending),
    );
    work.steps.insert(
        0,
        Change::Run(Run {
            stdin: Some(bytes),
            shown: Some(format!("{command} {}", desired.path)),
            ..Run::new(text).touching([])
        }),
    );
    if call.mode == Mode::Test {
        return Ok(work.verdict(call.mode));
    }
    let Work { test, apply, steps } = work;
    act_on_outputs(test, steps, move |ended, _| {
        Ok(judged(ended.outputs, &apply))
    })
}

fn judged(results: &[RunOutput], apply: &Outcome) -> Outcome {
    let Some(failed) = results.iter().find(|result| !result.exit.is_ok()) else {
        return apply.clone();
    };
    let mut comment = if results.len() == 1 {
        "check_cmd execution failed".to_owned()
    } else {
        "Unable to manage file".to_owned()
    };
    for said in [&failed.stdout, &failed.stderr] {
        let said = said.text();
        if !said.trim_end().is_empty() {
            comment.push('\n');
            comment.push_str(said.trim_end());
        }
    }
    Outcome {
        skip_watch: true,
        ..Outcome::failed(comment)
    }
}
