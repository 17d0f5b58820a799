//! The states `pkgrepo.managed` and `pkgrepo.absent`: apt repositories with their keys and files.
//!
//! Edits the files in `/etc/apt` and refreshes the package lists. Other package managers are not
//! supported.

use std::path::Path;

use super::desired::DesiredRepo;
use super::entry::{RepoEntry, SourcesFile};
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::Domain;
use crate::states::modules::decision::{
    act_or_fail, failure, old_new, run_change, run_probe, single_change, stdout_text, text_list,
    unchanged,
};
use crate::states::modules::file_change;
use crate::states::modules::pkg::download_command;
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;
use crate::value::Map;

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "pkgrepo",
    functions: &[
        StateFunction::new("managed", managed)
            .about("Adds a package repository with its key.")
            .accepts_more()
            .options(OPTIONS)
            .without_effect("keyid keyserver")
            .unsupported("ppa copr")
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes a package repository.")
            .accepts_more()
            .options(OPTIONS)
            .reversed_by("managed"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "humanname file key_url key_text keyid keyserver comps dist uri uris types \
    architectures clean_file refresh refresh_db consolidate comments aptkey signedby disabled \
    enabled allow_insecure_key baseurl gpgautoimport gpgcheck gpgkey mirrorlist url";

/// Decides `pkgrepo.managed`: configures a repository and installs its signing key.
pub(super) fn managed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    if call.args.contains_key("repo") {
        return failure(
            "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended.",
        );
    }
    let name = call.name;
    let desired = DesiredRepo::from_call(call)?;
    let files = sources_files(facts)?;
    let key = key_steps(call, &desired, facts)?;
    let found = find_entry(&files, &desired);
    let old = found.map(|(file, index, entry)| (entry, files[file].part(index)));
    let is_clean = !call.flag("clean_file", false)
        || desired.file.as_ref().is_none_or(|path| {
            let file = files.iter().find(|file| file.path == *path);
            file.is_none_or(|file| file.count() <= 1)
        });
    let is_same = old
        .as_ref()
        .is_some_and(|(entry, _)| *entry == desired.entry);
    if is_same && is_clean && key.is_empty() {
        let comment = format!("Package repo '{name}' already configured");
        return unchanged(comment);
    }
    let mut steps = key;
    if !is_same || !is_clean {
        steps.push(write_step(call, &desired, &files));
    }
    if call.flag("refresh", true) && call.flag("refresh_db", true) {
        let lists = Domain::Path("/var/lib/apt".to_owned());
        let text = "apt-get -q -o DPkg::Lock::Timeout=120 update";
        steps.push(run_change(text, [Domain::Packages, lists]));
    }
    let old = old.as_ref().map(|(entry, text)| (entry, *text));
    let changes = entry_changes(name, &desired, old);
    let predicted = StateOutcome::would_change(
        changes.clone(),
        format!(
            "Package repo '{name}' would be configured. This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to the differences in the configured repositories."
        ),
    );
    let name = name.to_owned();
    let outcome = StateOutcome::changed(changes, format!("Configured package repo '{name}'"));
    let complaint = format!("Failed to configure repo '{name}': ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Returns the changes of an entry, given the old one with its text.
fn entry_changes(name: &str, desired: &DesiredRepo, old: Option<(&RepoEntry, &str)>) -> Map {
    let Some((old, old_text)) = old else {
        return single_change("repo", name);
    };
    let new = &desired.entry;
    let list = |words: &[String]| text_list(words.iter().map(String::as_str));
    let architectures = |entry: &RepoEntry| {
        let names = entry.option("arch").split(',');
        text_list(names.filter(|name| !name.is_empty()))
    };
    let both = [
        ("comps", list(&old.components.0), list(&new.components.0)),
        ("disabled", old.is_disabled.into(), new.is_disabled.into()),
        ("architectures", architectures(old), architectures(new)),
        (
            "signedby",
            old.option("signed-by").into(),
            new.option("signed-by").into(),
        ),
        ("line", old_text.into(), desired.line.trim().into()),
    ];
    let mut changes = Map::new();
    for (key, old, new) in both {
        if old != new {
            changes.extend(single_change(key, old_new(old, new)));
        }
    }
    if changes.is_empty() {
        changes = single_change("repo", name);
    }
    changes
}

/// Returns the change that writes the entry: into the named file, else where it exists, else
/// `sources.list`.
fn write_step(call: &StateCall<'_>, desired: &DesiredRepo, files: &[SourcesFile]) -> Change {
    let found = find_entry(files, desired);
    let path = match (&found, &desired.file) {
        (_, Some(path)) => path.clone(),
        (Some((file, ..)), None) => files[*file].path.clone(),
        (None, None) => "/etc/apt/sources.list".to_owned(),
    };
    let file = files.iter().find(|file| file.path == path);
    let mut file = file.cloned().unwrap_or_else(|| SourcesFile::new(&path, ""));
    let index = found
        .filter(|(at, ..)| files[*at].path == path)
        .map(|(_, index, _)| index);
    if call.flag("clean_file", false) {
        file.clear();
    }
    let text = if file.has_paragraphs() {
        desired.entry.to_paragraph()
    } else {
        desired.line.clone()
    };
    file.put_text(index, text);
    write_file(&path, file.text())
}

/// Decides `pkgrepo.absent`: removes a repository from all files.
pub(super) fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let desired = DesiredRepo::from_call(call)?;
    let files = sources_files(facts)?;
    let mut steps = Vec::new();
    for file in &files {
        let mut remaining = file.clone();
        let indexes: Vec<usize> = file
            .entries()
            .filter(|(_, entry)| !entry.is_disabled && entry.is_same_repo(&desired.entry))
            .map(|(index, _)| index)
            .collect();
        for index in indexes.iter().rev() {
            remaining.remove(*index);
        }
        if indexes.is_empty() {
            continue;
        }
        let is_own = file.path.starts_with("/etc/apt/sources.list.d/");
        steps.push(if remaining.text().trim().is_empty() && is_own {
            file_change::remove(&file.path)
        } else {
            write_file(&file.path, remaining.text())
        });
    }
    if steps.is_empty() {
        return unchanged(format!("Package repo {name} is absent"));
    }
    let lists = Domain::Path("/var/lib/apt".to_owned());
    steps.push(run_change("true", [Domain::Packages, lists]));
    let predicted = StateOutcome::planned(format!(
        "Package repo '{name}' will be removed. This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to the differences in the configured repositories."
    ));
    let name = name.to_owned();
    let outcome = StateOutcome::changed(
        single_change("repo", name.as_str()),
        format!("Removed repo {name}"),
    );
    let complaint = format!("Failed to remove repo {name}: ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Returns the path of the signing key on the machine.
pub(super) fn key_path(desired: &DesiredRepo, url: Option<&str>) -> String {
    if let Some(path) = desired.signed_by() {
        return path.to_owned();
    }
    let end = url.and_then(|url| url.rsplit('/').next());
    let end = end.filter(|end| !end.is_empty()).unwrap_or("unfurl.asc");
    let dot = if end.contains('.') { "" } else { ".asc" };
    format!("/etc/apt/trusted.gpg.d/{end}{dot}")
}

/// Returns the content of the signing key; None if the machine downloads it.
fn key_bytes(
    call: &StateCall<'_>,
    url: Option<&str>,
    text: Option<String>,
) -> Result<Option<Vec<u8>>, Halt> {
    if let Some(text) = text {
        return Ok(Some(text.into_bytes()));
    }
    let Some(name) = url.and_then(|url| url.strip_prefix("salt://")) else {
        return Ok(None);
    };
    let read = call.context.roots.read(name)?;
    let missing = || Halt::Failed(format!("Source file salt://{name} not found"));
    Ok(Some(read.ok_or_else(missing)?.to_vec()))
}

/// Returns the command that converts an armored key to the binary format that the name `.gpg` demands.
fn dearmor_command(path: &str) -> String {
    format!(
        "if head -c 64 {new} | grep -q 'BEGIN PGP'; then gpg --batch --yes --dearmor -o {path} {new} && rm -f {new}; else mv -f {new} {path}; fi && chmod 644 {path}",
        new = quote_word(&format!("{path}.new")),
        path = quote_word(path)
    )
}

/// Returns the changes that install the signing key; empty if it is up to date.
pub(super) fn key_steps(
    call: &StateCall<'_>,
    desired: &DesiredRepo,
    facts: &FactCache,
) -> Result<Vec<Change>, Halt> {
    let (url, text) = (call.text("key_url")?, call.text("key_text")?);
    if url.is_some() && text.is_some() {
        return refuse("You may not use both \"key_url\" and \"key_text\" argument.");
    }
    if url.is_none() && text.is_none() {
        return Ok(Vec::new());
    }
    let path = key_path(desired, url.as_deref());
    let bytes = key_bytes(call, url.as_deref(), text)?;
    let folder = file_change::folders(
        path.rsplit_once('/').map_or("/", |(folder, _)| folder),
        ModeAndOwner::default(),
    );
    let dearmor = dearmor_command(&path);
    let is_binary_name = Path::new(&path).extension().is_some_and(|end| end == "gpg");
    let there = || [Domain::Path(path.clone())];
    Ok(match bytes {
        Some(bytes) if !is_binary_name || !bytes.starts_with(b"-----BEGIN") => {
            if facts.content(&path)? == Some(bytes.as_slice()) {
                return Ok(Vec::new());
            }
            let text = file_change::write(
                &path,
                bytes,
                ModeAndOwner {
                    mode: Some(0o644),
                    ..ModeAndOwner::default()
                },
            );
            vec![folder, text]
        }
        _ if facts.target(&path)?.is_some() => Vec::new(),
        Some(bytes) => {
            let new = format!("{path}.new");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            vec![folder, write_file(&new, text), run_change(dearmor, there())]
        }
        None => {
            let url = url.as_deref().unwrap_or_default();
            let text = if is_binary_name {
                let new = format!("{path}.new");
                format!("{} && {dearmor}", download_command(url, &new))
            } else {
                format!(
                    "{} && chmod 644 {}",
                    download_command(url, &path),
                    quote_word(&path)
                )
            };
            vec![folder, run_change(text, there())]
        }
    })
}

/// The folder of apt's configuration, including the sources files.
pub(super) const APT_DIR: &str = "/etc/apt";

/// Reads all sources files of the machine in one probe.
pub(super) fn sources_files(facts: &FactCache) -> Result<Vec<SourcesFile>, Halt> {
    let text = "for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do \
                [ -f \"$f\" ] && printf '\\001%s\\n' \"$f\" && cat \"$f\"; done; exit 0";
    let probed = run_probe(facts, text, Domain::Path(APT_DIR.to_owned()))?;
    let text = stdout_text(probed);
    let file = |part: &str| {
        let (path, text) = part.split_once('\n').unwrap_or((part, ""));
        SourcesFile::new(path, text)
    };
    Ok(text.split('\u{1}').skip(1).map(file).collect())
}

/// Finds the entry of the desired repository, preferably in the named file and not disabled.
///
/// Returns the index of the file, the index of the part, and the entry.
pub(super) fn find_entry(
    files: &[SourcesFile],
    desired: &DesiredRepo,
) -> Option<(usize, usize, RepoEntry)> {
    let all = files
        .iter()
        .enumerate()
        .flat_map(|(file, it)| it.entries().map(move |(index, entry)| (file, index, entry)));
    let mut found: Vec<(usize, usize, RepoEntry)> = all
        .filter(|(.., entry)| entry.is_same_repo(&desired.entry))
        .collect();
    let is_named = |file: usize| {
        desired
            .file
            .as_ref()
            .is_some_and(|path| files[file].path == *path)
    };
    found.sort_by_key(|(file, _, entry)| (!is_named(*file), entry.is_disabled));
    found.into_iter().next()
}

/// Returns the change that writes a file with default attributes.
pub(super) fn write_file(path: &str, text: String) -> Change {
    file_change::write(path, text, ModeAndOwner::default())
}
