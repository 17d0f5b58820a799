//! The state `file.tidied`: removes the old, large or matching entries of a folder.

use super::file_pattern::FilePattern;
use super::pattern::{Flags, compile};
use super::plan::{absolute_name, file_name, is_folder};
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::states::modules::decision::{act_or_fail, run_probe, single_change, unchanged};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::{force_quote_word, parse_size};
use crate::value::{Map, Value};

/// An entry of the folder, at any depth.
struct Entry {
    kind: EntryKind,
    size: u64,
    /// The day of its time, counted from some fixed day.
    day: i64,
    path: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Folder,
    Link,
    Other,
}

/// The rules by which an entry is removed.
struct TidyRules {
    age: i64,
    size: u64,
    comparison: Comparison,
    matches: Vec<FilePattern>,
    excluded: Vec<FilePattern>,
    uses_full_path: bool,
    removes_folders: bool,
    removes_links: bool,
}

/// The way in which age and size decide.
#[derive(Clone, Copy)]
enum Comparison {
    Either,
    Both,
    Age,
    Size,
}

impl TidyRules {
    fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let only = call.text("age_size_only")?.map(|text| text.to_lowercase());
        let operator = call.text("age_size_logical_operator")?;
        let operator = operator.map(|text| text.to_lowercase());
        let comparison = match (only.as_deref(), operator.as_deref()) {
            (Some("age"), _) => Comparison::Age,
            (Some("size"), _) => Comparison::Size,
            (_, Some("and")) => Comparison::Both,
            _ => Comparison::Either,
        };
        let patterns = |key: &str| -> Result<Vec<FilePattern>, Halt> {
            let texts = call.texts(key)?;
            let compiled = texts
                .iter()
                .map(|text| compile(&format!("\\A(?:{text})"), Flags::NONE));
            compiled.collect()
        };
        let has_matches = call.arg("matches").is_some();
        let matches = if has_matches {
            patterns("matches")?
        } else {
            vec![compile("\\A.*", Flags::NONE)?]
        };
        Ok(Self {
            age: call.int("age")?.unwrap_or(0),
            size: least_size(call)?,
            comparison,
            matches,
            excluded: patterns("exclude")?,
            uses_full_path: call.flag("full_path_match", false),
            removes_folders: call.flag("rmdirs", false),
            removes_links: call.flag("rmlinks", true),
        })
    }

    fn removes(&self, entry: &Entry, today: i64) -> Result<bool, Halt> {
        let is_kept = match entry.kind {
            EntryKind::Folder => !self.removes_folders,
            EntryKind::Link => !self.removes_links,
            EntryKind::Other => false,
        };
        let is_old = (today - entry.day).abs() >= self.age;
        let is_large = entry.size >= self.size;
        let is_chosen = match self.comparison {
            Comparison::Either => is_old || is_large,
            Comparison::Both => is_old && is_large,
            Comparison::Age => is_old,
            Comparison::Size => is_large,
        };
        if is_kept || !is_chosen {
            return Ok(false);
        }
        let name = if self.uses_full_path {
            &entry.path
        } else {
            file_name(&entry.path)
        };
        let fits = |patterns: &[FilePattern]| -> Result<bool, Halt> {
            for pattern in patterns {
                if pattern.is_match(name.as_bytes())? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        Ok(fits(&self.matches)? && !fits(&self.excluded)?)
    }
}

/// Returns the least size of an entry to remove. As in Salt, `1K` are 1024 bytes and `1KB` are 1000.
fn least_size(call: &StateCall<'_>) -> Result<u64, Halt> {
    let Some(written) = call.text("size")? else {
        return Ok(0);
    };
    let lower = written.trim().to_lowercase();
    let metric = lower
        .strip_suffix('b')
        .filter(|rest| rest.ends_with(|sign: char| "kmg".contains(sign)));
    let parsed = match metric {
        Some(rest) => {
            let power = rest.chars().last().and_then(|unit| "kmg".find(unit));
            let number: Option<u64> = rest[..rest.len() - 1].trim().parse().ok();
            let scale =
                power.and_then(|power| [1_000, 1_000_000, 1_000_000_000].get(power).copied());
            number
                .zip(scale)
                .and_then(|(number, scale)| number.checked_mul(scale))
        }
        None => parse_size(&lower),
    };
    match parsed {
        Some(bytes) => Ok(bytes),
        None => refuse(format!(
            "`size: {written}` of file.tidied is not a size: write bytes, or a number such as 10K, 1.5M or 2G"
        )),
    }
}

/// Lists the entries of a folder, those of a folder before the folder itself, and the day of today.
fn list_entries(
    path: &str,
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<(Vec<Entry>, i64), Halt> {
    let time = match call
        .text_or("time_comparison", "atime")?
        .to_lowercase()
        .as_str()
    {
        "ctime" => 'C',
        "mtime" => 'T',
        _ => 'A',
    };
    // A followed link may lead anywhere.
    let (follow, domain) = if call.flag("followlinks", false) {
        ("-L", Domain::All)
    } else {
        ("-P", Domain::Path(path.to_owned()))
    };
    let word = force_quote_word(path);
    // `%Y` of a followed link is its target, so `-xtype l` tells links; their size does not count.
    let script = format!(
        "date +%Y-%m-%d; find {follow} {word} -mindepth 1 -depth \
         \\( -type l -o -xtype l \\) -printf 'l 0 %{time}Y-%{time}m-%{time}d %p\\0' \
         -o -type d -printf 'd 0 %{time}Y-%{time}m-%{time}d %p\\0' \
         -o -printf 'f %s %{time}Y-%{time}m-%{time}d %p\\0'"
    );
    let probed = run_probe(facts, script, domain)?;
    let text = String::from_utf8_lossy(&probed.stdout);
    let Some((today, entries)) = text.split_once('\n') else {
        return refuse(format!(
            "the entries of {path} cannot be listed: {}",
            String::from_utf8_lossy(&probed.stderr).trim()
        ));
    };
    // An entry without its end may be cut off.
    let complete = entries.rfind('\0').map_or("", |end| &entries[..end]);
    let entries = complete.split('\0').filter_map(|entry| {
        let mut words = entry.splitn(4, ' ');
        let kind = match words.next()? {
            "d" => EntryKind::Folder,
            "l" => EntryKind::Link,
            _ => EntryKind::Other,
        };
        Some(Entry {
            kind,
            size: words.next()?.parse().ok()?,
            day: day_number(words.next()?)?,
            path: words.next()?.to_owned(),
        })
    });
    match day_number(today.trim()) {
        Some(today) => Ok((entries.collect(), today)),
        None => refuse(format!("the machine tells no date, but `{today}`")),
    }
}

/// Returns the number of a day such as `2026-01-31`, counted from some fixed day.
fn day_number(text: &str) -> Option<i64> {
    let date: jiff::civil::Date = text.parse().ok()?;
    let days = jiff::civil::Date::constant(1970, 1, 1)
        .until(date)
        .ok()?
        .get_days();
    Some(i64::from(days))
}

/// Decides `file.tidied`.
pub(super) fn tidied(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = absolute_name(call, facts)?;
    let rules = TidyRules::from_call(call)?;
    if !is_folder(&path, facts)? {
        return refuse(format!("{path} does not exist or is not a directory."));
    }
    let (entries, today) = list_entries(&path, call, facts)?;
    let mut removed = Vec::new();
    for entry in entries {
        if rules.removes(&entry, today)? {
            removed.push(entry.path);
        }
    }
    if removed.is_empty() {
        return unchanged(format!("Nothing to remove from directory {path}"));
    }
    let steps: Vec<Change> = removed
        .iter()
        .map(|path| file_change::remove(path))
        .collect();
    let count = removed.len();
    let list = Value::list(removed.into_iter().map(Value::from));
    let changes: Map = single_change("removed", list);
    act_or_fail(
        StateOutcome::would_change(changes.clone(), format!("{path} is set for tidy")),
        steps,
        StateOutcome::changed(
            changes,
            format!("Removed {count} files or directories from directory {path}"),
        ),
        "",
    )
}

#[cfg(test)]
mod tests {
    use super::day_number;

    #[test]
    fn days_are_counted_over_months_and_years() {
        let days = |text| day_number(text).unwrap();
        assert_eq!(days("2024-03-01") - days("2024-02-28"), 2);
        assert_eq!(days("2025-01-01") - days("2024-01-01"), 366);
        assert_eq!(day_number("today"), None);
    }
}
