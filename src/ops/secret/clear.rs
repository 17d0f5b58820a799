//! Finds secrets that stand in clear text: where the model says that a value is secret, and by patterns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::encrypt::is_clear;
use super::located::{LocatedValue, values_at};
use super::project::project_root;
use super::report::SecretPlace;
use super::text_file::{TextFile, relative};
use crate::git::Repository;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::open_passwords;
use crate::session::{self, SecretValue, SessionOptions, secret_values};
use crate::system::fs::{self, EntryKind};
use crate::yaml::{Node, NodeKind, Route};

/// The maximum size of a file that is searched for patterns, in bytes.
const MAX_SEARCHED_BYTES: u64 = 4 << 20;
/// The maximum depth of folders.
const MAX_DEPTH: usize = 32;
/// The maximum number of values that a message names.
const MAX_NAMED: usize = 10;
/// The permission to commit secrets in clear text.
pub(in crate::ops) const CLEAR_PERMISSION: &str = "clear-secrets";
/// The functions that name the source of a value instead of the value.
const REFERENCES: [&str; 4] = ["eval", "ref", "secret", "file"];

/// The forms of known secrets, with their names.
static PATTERNS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    let patterns = [
        ("a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
        ("an age identity", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
        ("an access key of AWS", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        (
            "a token of GitHub",
            r"\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{40,})",
        ),
        ("a token of GitLab", r"\bglpat-[0-9A-Za-z_-]{20,}"),
        ("a token of Slack", r"\bxox[abprs]-[0-9A-Za-z-]{10,}"),
        ("a token of HashiCorp Vault", r"\bhvs\.[0-9A-Za-z_-]{24,}"),
        ("a key of Google", r"\bAIza[0-9A-Za-z_-]{35}\b"),
        ("a key of Stripe", r"\b[rs]k_live_[0-9A-Za-z]{16,}"),
    ];
    let compiled = patterns.into_iter();
    compiled
        .filter_map(|(name, pattern)| Some((name, Regex::new(pattern).ok()?)))
        .collect()
});

/// A secret in clear text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearText {
    pub place: SecretPlace,
    /// The reason why the text is taken for a secret.
    pub reason: String,
}

/// The result of a search for secrets in clear text.
#[derive(Debug, Clone, Default)]
pub struct ScanReport {
    pub found: Vec<ClearText>,
    /// Parts that could not be searched.
    pub warnings: Vec<String>,
}

/// Searches a project. Files that git ignores are left out.
pub fn scan(options: &SessionOptions) -> Result<ScanReport, Failure> {
    let root = project_root(options)?;
    let mut report = ScanReport::default();
    let repository = Repository::discover(&root)?;
    let is_ignored = |path: &Path| {
        let ignored = repository.as_ref().map(|found| found.is_ignored(path));
        ignored.is_some_and(|ignored| ignored.unwrap_or(false))
    };
    let loaded = session::find(options).and_then(|found| session::load(found, options));
    match loaded {
        Ok(session) => {
            let found = clear_values(&root, &secret_values(&session)).into_iter();
            let committed = found.filter(|value| !is_ignored(&value.path));
            report.found.extend(committed.map(|value| value.text));
        }
        Err(failure) => {
            let warning = format!(
                "the model cannot be read, so only passwords and known forms are found: {failure}"
            );
            report.warnings.push(warning);
        }
    }
    let mut open = vec![(root.clone(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::list(&folder)? {
            let is_folder = entry.kind == EntryKind::Folder;
            if entry.name == ".git" || (is_folder && depth >= MAX_DEPTH) || is_ignored(&entry.path)
            {
                continue;
            }
            if is_folder {
                open.push((entry.path, depth + 1));
            } else if entry.kind == EntryKind::File {
                search_file(&root, &entry.path, &mut report.found);
            }
        }
    }
    report.found.sort_by(|a, b| a.place.cmp(&b.place));
    report
        .found
        .dedup_by(|a, b| (&a.place.file, a.place.line) == (&b.place.file, b.place.line));
    Ok(report)
}

/// Searches a file for known passwords and patterns.
fn search_file(root: &Path, path: &Path, found: &mut Vec<ClearText>) {
    let Ok(bytes) = fs::read_within(path, MAX_SEARCHED_BYTES) else {
        return;
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return;
    };
    for (number, line) in text.lines().enumerate() {
        for (name, pattern) in PATTERNS.iter() {
            if let Some(hit) = pattern.find(line) {
                found.push(ClearText {
                    place: SecretPlace {
                        file: relative(root, path),
                        line: number + 1,
                        column: line[..hit.start()].chars().count() + 1,
                        name: String::new(),
                    },
                    reason: format!("the text has the form of {name}"),
                });
            }
        }
    }
    let is_yaml = path
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml");
    if let (true, Ok(file)) = (is_yaml, TextFile::parse(path, text.to_owned())) {
        let mut clear = open_passwords(&file.root);
        clear.retain(|(_, node)| is_clear_text(node));
        let start_of = |node: &Node| node.span().start as usize;
        let starts = clear.iter().map(|(_, node)| start_of(node)).collect();
        let located = values_at(&file.root, &starts);
        for (key, node) in clear {
            let route = located.get(&start_of(node)).map(|value| &value.route);
            found.push(ClearText {
                place: file.place_of(root, node, route.unwrap_or(&Route::root())),
                reason: format!("the value of `{key}` is a password in clear text"),
            });
        }
    }
}

/// A secret value of the model that stands in clear text.
struct ClearValue {
    path: PathBuf,
    located: LocatedValue,
    text: ClearText,
}

/// Returns the secret values that stand in clear text. The values are ordered by file.
fn clear_values(root: &Path, values: &[SecretValue]) -> Vec<ClearValue> {
    let mut found = Vec::new();
    for values in values.chunk_by(|a, b| a.path == b.path) {
        let path = &values[0].path;
        let Ok(file) = TextFile::read(path) else {
            continue;
        };
        let starts = values.iter().map(|value| value.start).collect();
        let mut located = values_at(&file.root, &starts);
        for value in values {
            let own = located.remove(&value.start);
            let Some(own) = own.filter(|own| is_clear_text(&own.node)) else {
                continue;
            };
            let text = ClearText {
                place: file.place_of(root, &own.node, &own.route),
                reason: format!("{}, and the value stands in clear text", value.subject),
            };
            found.push(ClearValue {
                path: path.clone(),
                located: own,
                text,
            });
        }
    }
    found
}

/// Refuses secret values in clear text that a commit would add. `is_committed` says which files the commit has.
///
/// Values that the last commit has already are left out, so that existing projects can be committed.
pub(in crate::ops) fn refuse_clear_values(
    values: &[SecretValue],
    repositories: &[&Repository],
    is_committed: &dyn Fn(&Path) -> bool,
) -> Result<(), Failure> {
    let values: Vec<SecretValue> = values
        .iter()
        .filter(|value| is_committed(&value.path))
        .cloned()
        .collect();
    if values.is_empty() {
        return Ok(());
    }
    let mut new = Vec::new();
    let mut committed: BTreeMap<PathBuf, Option<TextFile>> = BTreeMap::new();
    for value in clear_values(Path::new(""), &values) {
        let path = value.path.clone();
        let old = committed.entry(path).or_insert_with_key(|path| {
            let mut owners = repositories.to_vec();
            owners.retain(|repository| path.starts_with(repository.root()));
            let owner = owners.into_iter();
            committed_file(owner.max_by_key(|it| it.root().iter().count())?, path)
        });
        let before = old
            .as_ref()
            .and_then(|old| value.located.route.find(&old.root));
        if before.is_none_or(|before| before.to_value() != value.located.node.to_value()) {
            new.push(value.text);
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let files: BTreeSet<&PathBuf> = new.iter().map(|clear| &clear.place.file).collect();
    let shown = new.iter().take(MAX_NAMED);
    let lines: Vec<String> = shown
        .map(|clear| format!("{}: {}", clear.place, clear.reason))
        .collect();
    let noun = if new.len() == 1 { "secret" } else { "secrets" };
    let message = format!(
        "{} {noun} would be committed in clear text\n{}",
        new.len(),
        lines.join("\n")
    );
    let commands: Vec<String> = files
        .iter()
        .map(|file| format!("`unfurl secret encrypt {}`", file.display()))
        .collect();
    let help = format!(
        "mark the values with `!sensitive` and run {}; `--allow {CLEAR_PERMISSION}` commits them as they are",
        commands.join(", ")
    );
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

/// Returns a file as the last commit has it.
fn committed_file(repository: &Repository, path: &Path) -> Option<TextFile> {
    let head = repository.head().ok()??;
    let text = repository.text_at(&head, &repository.relative(path)?)?;
    TextFile::parse(path, text).ok()
}

/// Returns true if a value stands in clear text: neither encrypted nor a reference to its source.
fn is_clear_text(node: &Node) -> bool {
    match node.tag() {
        Some("!sensitive") | None => {}
        Some(tag) if tag.starts_with("!!") => {}
        Some(_) => return is_clear(node) && node.as_str() != Some(""),
    }
    match node.kind() {
        NodeKind::Null => false,
        NodeKind::Str(text) => !text.is_empty() && !text.contains("{{") && !text.contains("{%"),
        NodeKind::Seq(items) => items.iter().any(is_clear_text),
        NodeKind::Map(map) => {
            let mut keys = map.iter();
            let is_call = keys.next().is_some_and(|(key, _)| {
                map.len() == 1 && (REFERENCES.contains(&&**key) || key.starts_with("get_"))
            });
            match map.get("eval").filter(|_| is_call) {
                Some(call) => call.get("sensitive").is_some_and(is_clear_text),
                None if is_call => false,
                None => map.iter().any(|(_, entry)| is_clear_text(&entry.value)),
            }
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    #[test]
    fn only_values_themselves_are_clear_text() {
        for (text, is_clear) in [
            ("hunter2", true),
            ("17", true),
            ("!sensitive hunter2", true),
            ("{user: a}", true),
            ("[x]", true),
            ("{eval: {sensitive: x}}", true),
            ("!age x", true),
            ("''", false),
            ("", false),
            ("{get_env: PW}", false),
            ("{eval: {secret: db}}", false),
            ("{eval: {get_env: PW}}", false),
            ("\"{{ lookup('env', 'PW') }}\"", false),
            ("!vault '$ANSIBLE_VAULT;1.1;AES256'", false),
        ] {
            let node = parse_text(Schema::Core, text).unwrap();
            assert_eq!(is_clear_text(&node), is_clear, "{text}");
        }
    }
}
