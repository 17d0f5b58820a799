//! The files of apt's lists: how they are read, searched and written.

use super::desired::Desired;
use super::entry::{Entry, File};
use crate::converge::module::command::{answer, asked};
use crate::converge::module::step;
use crate::converge::{Facts, Halt};
use crate::host::change::{Change, Like};
use crate::host::fact::Domain;

/// Where apt keeps its lists.
pub(super) const APT: &str = "/etc/apt";

/// The files of apt's lists.
pub(super) fn files(facts: &Facts) -> Result<Vec<File>, Halt> {
    let text = "for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do \
                [ -f \"$f\" ] && printf '\\001%s\\n' \"$f\" && cat \"$f\"; done; exit 0";
    let probed = asked(facts, text, Domain::Path(APT.to_owned()))?;
    let text = answer(probed);
    let file = |part: &str| {
        let (path, text) = part.split_once('\n').unwrap_or((part, ""));
        File::new(path, text)
    };
    Ok(text.split('\u{1}').skip(1).map(file).collect())
}

/// The entry of the same place: in the file that is named, or in any.
pub(super) fn find(files: &[File], desired: &Desired) -> Option<(usize, usize, Entry)> {
    let all = files
        .iter()
        .enumerate()
        .flat_map(|(file, it)| it.entries().map(move |(place, entry)| (file, place, entry)));
    let mut found: Vec<(usize, usize, Entry)> = all
        .filter(|(.., entry)| entry.is_place_of(&desired.entry))
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

/// Writes a file of which nothing is secret.
pub(super) fn write(path: &str, text: String) -> Change {
    step::write(path, text, Like::default())
}
