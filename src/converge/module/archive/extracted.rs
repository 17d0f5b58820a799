//! The state `archive.extracted`, and the sources of archives.

use sha2::{Digest as _, Sha256};

use super::place::{Format, Listing, Place};
use crate::converge::module::command::{act_on_outputs, done, failure, one, run, texts, unchanged};
use crate::converge::module::pkg::download;
use crate::converge::module::step;
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Verdict, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::{Domain, Entry};
use crate::text::quoted;
use crate::value::{Map, Value, hex};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "archive",
    functions: &[Function::new("extracted", extracted)
        .requires("source")
        .options(
            "source_hash source_hash_name source_hash_update skip_verify \
                 skip_files_list_verify password options list_options force overwrite clean \
                 clean_parent user group if_missing trim_output use_cmd_unzip extract_perms \
                 enforce_toplevel enforce_ownership_on archive_format keep keep_source",
        )
        .irreversible("what was unpacked may have been there before; remove it with file.absent")],
    watch: None,
    aggregate: None,
};

/// The exit code of a script that finds a bomb.
const BOMB: i32 = 94;

/// Unpacks an archive into a folder.
pub(super) fn extracted(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let folder = call.name.trim_end_matches('/').to_owned();
    if !folder.starts_with('/') {
        return failure(format!("{} is not an absolute path", call.name));
    }
    if facts.target(&folder)?.is_some_and(Entry::is_file) {
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
    let format = match format(call)? {
        Ok(format) => format,
        Err(why) => return failure(why),
    };
    let source = match source(call)? {
        Ok(source) => source,
        Err(why) => return failure(why),
    };
    let place = Place {
        archive: source.path.clone(),
        folder,
        format,
        options: call.text("options")?,
        user: call.text("user")?,
        group: call.text("group")?,
        extracts_perms: call.flag("extract_perms", true),
    };
    let listing = place.listing(facts)?;
    if source.is_local && listing.is_none() {
        // A state before this one may bring it.
        if call.mode == Mode::Test {
            let (shown, folder) = (&source.shown, &place.folder);
            let text = format!("Archive {shown} would be extracted to {folder}/");
            return done(Outcome::planned(text));
        }
        let text = format!("Source file '{}' does not exist", source.shown);
        return failure(text);
    }
    decide(call, place, source, listing.as_ref())
}

fn format(call: &Call<'_>) -> Result<Result<Format, String>, Halt> {
    const TEXT: &str = "tar, zip";
    let source = call.required("source")?;
    Ok(match call.text("archive_format")?.as_deref() {
        None => Format::guess(&source).ok_or_else(|| format!(
            "Could not guess archive_format from the value of the 'source' argument. Please set this archive_format to one of the following: {TEXT}"
        )),
        Some("tar") => Ok(Format::Tar),
        Some("zip") => Ok(Format::Zip),
        Some(other) => Err(format!(
            "Invalid archive_format '{other}'. Either set it to a supported value ({TEXT}) or remove this argument and the archive format will be guessed based on file extension."
        )),
    })
}

fn decide(
    call: &Call<'_>,
    place: Place,
    source: Source,
    listing: Option<&Listing>,
) -> Result<Verdict, Halt> {
    let bombs = call.flag("enforce_toplevel", true);
    if let Some(listing) = listing {
        if bombs && (listing.tops.len() > 1 || !listing.top_files.is_empty()) {
            return failure(bomb(&place));
        }
        let cleans = call.flag("clean", false) || call.flag("clean_parent", false);
        if !listing.wrong.is_empty() && !cleans && !call.flag("force", false) {
            let paths: Vec<String> = listing.wrong.iter().map(|it| format!("- {it}")).collect();
            return failure(format!(
                "The below paths (relative to {}/) exist, but are the incorrect type (file instead of directory, symlink instead of file, etc.). To proceed with extraction, set 'force' to True. Note that this will remove these paths before extracting.\n\n{}",
                place.folder,
                paths.join("\n")
            ));
        }
        let is_whole = listing.missing.is_empty() && listing.wrong.is_empty();
        if is_whole && !call.flag("overwrite", false) {
            return settled(&place, listing);
        }
    }
    let plan = Plan {
        is_fetched: listing.is_none(),
        had_folder: listing.is_some_and(|it| it.has_folder),
        has_missing: listing.is_some_and(|it| !it.missing.is_empty()),
        trim: trim(call),
        shown: source.shown.clone(),
    };
    let (steps, removed) = steps(call, &place, source, listing)?;
    let mut comment = format!(
        "Archive {} would be extracted to {}/",
        plan.shown, place.folder
    );
    if call.flag("clean", false) {
        comment.push_str(", after cleaning destination path(s)");
    }
    if plan.has_missing {
        comment.push_str(", due to absence of one or more files/dirs");
    }
    let predicted = Outcome::planned(comment);
    act_on_outputs(predicted, steps, move |ended, facts| {
        if let Some(why) = &ended.complaint {
            return Ok(Outcome::failed(match ended.code() {
                Some(BOMB) => bomb(&place),
                Some(OTHER_SUM) => format!("{} does not match the desired source_hash", plan.shown),
                _ => why.clone(),
            }));
        }
        let listing = place.listing(facts)?.unwrap_or_default();
        Ok(judge(&place, &plan, &removed, &listing))
    })
}

/// What is to be said of unpacking.
struct Plan {
    is_fetched: bool,
    had_folder: bool,
    has_missing: bool,
    trim: Option<usize>,
    shown: String,
}

fn trim(call: &Call<'_>) -> Option<usize> {
    match call.arg("trim_output")? {
        Value::Bool(true) => Some(100),
        Value::Bool(false) => None,
        other => usize::try_from(other.as_int()?).ok(),
    }
}

/// All is there; at most its owner changes.
fn settled(place: &Place, listing: &Listing) -> Result<Verdict, Halt> {
    let comment = "All files in archive are already present";
    let Some(chown) = place.chown(&listing.tops).filter(|_| listing.is_foreign) else {
        return unchanged(comment);
    };
    let changes = one("updated ownership", true);
    let predicted = Outcome::would(
        changes.clone(),
        format!("{comment}. Ownership would be updated on one or more files/directories."),
    );
    let steps = vec![run(chown, [Domain::Path(place.folder.clone())])];
    act_on_outputs(predicted, steps, move |ended, _| {
        Ok(match &ended.complaint {
            None => Outcome::changed(changes.clone(), comment),
            Some(why) => Outcome::failed(why.clone()),
        })
    })
}

fn steps(
    call: &Call<'_>,
    place: &Place,
    source: Source,
    listing: Option<&Listing>,
) -> Result<(Vec<Change>, Vec<String>), Halt> {
    let mut steps = Vec::new();
    if listing.is_none() {
        steps.extend(source.fetch);
    }
    let touched = || [Domain::Path(place.folder.clone())];
    if let Some(text) = check(call, &place.archive)? {
        steps.push(run(text, touched()));
    }
    let mut removed = Vec::new();
    if call.flag("clean_parent", false) {
        removed.push(place.folder.clone());
    } else if let Some(listing) = listing {
        let names = if call.flag("clean", false) {
            &listing.tops
        } else {
            &listing.wrong
        };
        let path = |name: &String| format!("{}/{}", place.folder, name.trim_end_matches('/'));
        removed.extend(names.iter().map(path));
    }
    for path in &removed {
        steps.push(step::remove(path));
    }
    let bombs = call.flag("enforce_toplevel", true) && listing.is_none();
    let mut text = place.unpack(bombs.then_some(BOMB));
    match listing {
        Some(listing) => {
            if let Some(chown) = place.chown(&listing.tops) {
                text = format!("{text} && {chown}");
            }
        }
        None => {
            if let Some(chown) = place.chown_listed() {
                text = format!("{text} && {{ {chown}; }}");
            }
        }
    }
    steps.push(run(text, touched()));
    Ok((steps, removed))
}

fn judge(place: &Place, plan: &Plan, removed: &[String], listing: &Listing) -> Outcome {
    let mut changes = Map::new();
    if !removed.is_empty() && !plan.is_fetched {
        changes.extend(one("removed", texts(removed.iter().map(String::as_str))));
    }
    if listing.entries.is_empty() {
        return Outcome::failed(format!("No files were extracted from {}", plan.shown));
    }
    if place.user.is_some() || place.group.is_some() {
        changes.extend(one("updated ownership", true));
    }
    if !plan.had_folder {
        let folder = format!("{}/", place.folder);
        changes.extend(one("directories_created", texts([folder.as_str()])));
    }
    let files = listing.entries.iter().map(|it| it.trim_end_matches('/'));
    let most = plan.trim.unwrap_or(usize::MAX);
    changes.extend(one("extracted_files", texts(files.take(most))));
    let mut comment = format!("{} extracted to {}/", plan.shown, place.folder);
    if plan.has_missing {
        comment.push_str(", due to absence of one or more files/dirs");
    }
    if let Some(trim) = plan.trim {
        comment = format!("{comment}. Output was trimmed to {trim} number of lines");
    }
    if !listing.missing.is_empty() {
        let missing = listing.missing.join(", ");
        return Outcome::failed_with(
            changes,
            format!("{comment}, but these are missing: {missing}"),
        );
    }
    Outcome::changed(changes, comment)
}

fn bomb(place: &Place) -> String {
    let (folder, format) = (&place.folder, place.format.word());
    format!(
        "Archive does not have a single top-level directory. To allow this archive to be extracted, set 'enforce_toplevel' to False. To avoid a '{format}-bomb' it may also be advisable to set a top-level directory by adding it to the 'name' value (for example, setting 'name' to {folder}/some_dir instead of {folder}/)."
    )
}

/// Where archives from elsewhere are put, so that they are compared the next time.
const FOLDER: &str = "/var/cache/unfurl/archives";

/// The exit code of a script that finds another archive than was meant.
pub(super) const OTHER_SUM: i32 = 95;

/// Where an archive comes from.
pub(super) struct Source {
    pub(super) shown: String,
    /// What brings it to the machine; nothing if it is there.
    pub(super) fetch: Vec<Change>,
    pub(super) path: String,
    /// Whether it is the machine's own.
    pub(super) is_local: bool,
}

/// Says where the archive of a state comes from, or why it is refused.
pub(super) fn source(call: &Call<'_>) -> Result<Result<Source, String>, Halt> {
    let shown = call.required("source")?;
    let local = shown.strip_prefix("file://").unwrap_or(&shown);
    if local.starts_with('/') {
        return Ok(Ok(Source {
            path: local.to_owned(),
            shown: local.to_owned(),
            fetch: Vec::new(),
            is_local: true,
        }));
    }
    let end = shown.rsplit('/').next().unwrap_or_default().to_owned();
    let mut fetch = vec![step::folders(FOLDER, Like::default())];
    let path;
    if let Some(name) = shown.strip_prefix("salt://") {
        let Some(bytes) = call.world.roots.read(name)? else {
            return Ok(Err(format!("Invalid source \"{shown}\"")));
        };
        path = format!("{FOLDER}/{}-{end}", &hex(&Sha256::digest(&bytes))[..16]);
        fetch.push(step::write(&path, bytes.to_vec(), Like::default()));
    } else {
        let sum = call.text("source_hash")?.unwrap_or_default();
        if sum.is_empty() && !call.flag("skip_verify", false) {
            return Ok(Err(format!(
                "Unable to verify upstream hash of source file {shown}, please set source_hash or set skip_verify to True"
            )));
        }
        let key = hex(&Sha256::digest(format!("{shown}\n{sum}")));
        path = format!("{FOLDER}/{}-{end}", &key[..16]);
        fetch.push(run(download(&shown, &path), [Domain::Path(path.clone())]));
    }
    Ok(Ok(Source {
        shown,
        fetch,
        path,
        is_local: false,
    }))
}

/// A command that fails if an archive is not the one that is meant.
pub(super) fn check(call: &Call<'_>, path: &str) -> Result<Option<String>, Halt> {
    let Some(text) = call
        .text("source_hash")?
        .filter(|_| !call.flag("skip_verify", false))
    else {
        return Ok(None);
    };
    let text = text.trim();
    let (kind, digits) = text.split_once(['=', ':']).unwrap_or(("", text));
    let is_hex = !digits.is_empty() && digits.bytes().all(|sign| sign.is_ascii_hexdigit());
    let program = match (is_hex, digits.len()) {
        (true, 32) => "md5sum",
        (true, 40) => "sha1sum",
        (true, 56) => "sha224sum",
        (true, 64) => "sha256sum",
        (true, 96) => "sha384sum",
        (true, 128) => "sha512sum",
        _ => {
            return refuse(format!(
                "Source hash {text} is no checksum: write {}=…, with hex digits",
                if kind.is_empty() { "sha256" } else { kind }
            ));
        }
    };
    let (path, digits) = (quoted(path), digits.to_lowercase());
    Ok(Some(format!(
        "[ \"$({program} {path} | cut -d' ' -f1)\" = {digits} ] || {{ rm -f {path}.new; exit {OTHER_SUM}; }}"
    )))
}
