//! Packages are installed from files: on the machine, in the state tree, or on the web.

use super::desired::{apt, apt_change, install_error, options};
use super::machine::Packages;
use crate::converge::module::command::{act, answer, asked, old_new, run, unchanged};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Outcome, Verdict, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::Domain;
use crate::text::quoted;
use crate::value::{Map, Value};

/// Where files of packages are put.
const FOLDER: &str = "/var/cache/unfurl/packages";

/// A package and the file it comes from.
struct Source {
    name: String,
    from: String,
}

fn sources(call: &Call<'_>) -> Result<Vec<Source>, Halt> {
    let wrong = || Halt::Failed("Invalidly formatted 'sources' parameter. See minion log.".into());
    let items = call
        .arg("sources")
        .and_then(Value::as_list)
        .ok_or_else(wrong)?;
    let mut sources = Vec::new();
    for item in items {
        let map = item.reveal().as_map().ok_or_else(wrong)?;
        for (name, from) in map {
            let from = from.reveal().as_str().ok_or_else(wrong)?.to_owned();
            let is_bad = name.contains('/') || name.starts_with(['.', '-']);
            if is_bad {
                return refuse(format!("`{name}` is no name of a package"));
            }
            let name = name.to_string();
            sources.push(Source { name, from });
        }
    }
    Ok(sources)
}

/// Brings packages to be installed from files.
pub(super) fn installed(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let before = Packages::of(facts)?;
    let mut targets = Vec::new();
    let mut steps = Vec::new();
    let mut files = Vec::new();
    for source in sources(call)? {
        if is_there(&source, &before, facts)? {
            continue;
        }
        files.push(fetch(call, &source, &mut steps)?);
        targets.push(source.name);
    }
    if targets.is_empty() {
        return unchanged("All specified packages are already installed");
    }
    let options = options(call, false)?;
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    options.push("--allow-downgrades");
    let files = files.iter().map(String::as_str);
    steps.push(apt_change(apt("install", &options, files)));
    let new = |name: &String| (name.as_str().into(), old_new("", "installed"));
    let changes: Map = targets.iter().map(new).collect();
    let names = targets.join(", ");
    let comment = format!("The following packages would be installed/updated: {names}");
    let predicted = Outcome::would(changes, comment);
    act(predicted, steps, move |complaint, facts| {
        let after = Packages::of(facts)?;
        let changes = before.changes_to(&after);
        if let Some(complaint) = complaint {
            return Ok(Outcome::failed_with(changes, install_error(complaint)));
        }
        let is_missing = |name: &&String| after.version(name).is_none();
        let failed: Vec<&str> = targets
            .iter()
            .filter(is_missing)
            .map(String::as_str)
            .collect();
        if !failed.is_empty() {
            let failed = failed.join(", ");
            return Ok(Outcome::failed_with(
                changes,
                format!("The following packages failed to install/update: {failed}"),
            ));
        }
        let names = targets.join(", ");
        Ok(Outcome::changed(
            changes,
            format!("The following packages were installed/updated: {names}"),
        ))
    })
}

/// Whether it is installed; of a file on the machine, whether that very version is.
fn is_there(source: &Source, before: &Packages, facts: &Facts) -> Result<bool, Halt> {
    let Some(installed) = before.version(&source.name) else {
        return Ok(false);
    };
    let Some(path) = local(&source.from) else {
        return Ok(true);
    };
    let text = format!("dpkg-deb -f {} Version", quoted(path));
    let probed = asked(facts, text, Domain::Path(path.to_owned()))?;
    Ok(probed.code == 0 && answer(probed).trim() == installed)
}

fn local(from: &str) -> Option<&str> {
    let path = from.strip_prefix("file://").unwrap_or(from);
    path.starts_with('/').then_some(path)
}

/// Brings the file to the machine, and says where it is then.
fn fetch(call: &Call<'_>, source: &Source, steps: &mut Vec<Change>) -> Result<String, Halt> {
    if let Some(path) = local(&source.from) {
        return Ok(path.to_owned());
    }
    let path = format!("{FOLDER}/{}.deb", source.name);
    steps.push(step::folders(FOLDER, Like::default()));
    if let Some(name) = source.from.strip_prefix("salt://") {
        let Some(bytes) = call.world.roots.read(name)? else {
            let text = format!("Source file {} not found", source.from);
            return refuse(text);
        };
        steps.push(step::write(&path, bytes.to_vec(), Like::default()));
    } else {
        steps.push(run(
            download(&source.from, &path),
            [Domain::Path(path.clone())],
        ));
    }
    Ok(path)
}

/// A command that fetches a file of the web: beside first, so that half a file is none.
pub(in crate::converge::module) fn download(url: &str, path: &str) -> String {
    let (url, new, path) = (quoted(url), quoted(&format!("{path}.new")), quoted(path));
    format!(
        "{{ if command -v curl >/dev/null; then curl -fsSL -o {new} -- {url}; else wget -q -O {new} -- {url}; fi; }} && mv -f {new} {path}"
    )
}
