//! Lookups that read files: `file`, `unvault`, `template`, `fileglob`, `first_found`, `csvfile`, `ini` and
//! `password`.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::expr::effect::Effect;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::Scene;
use crate::value::{List, Value};

use super::lookup_lists::items_of;
use crate::expr::lookup_options::{LookupOptions, lookup_error};
use crate::text::Glob;

type Result<T> = std::result::Result<T, Error>;

/// The default length of a password that the lookup `password` generates.
const DEFAULT_PASSWORD_LENGTH: usize = 20;

/// Runs a lookup on files. None if the name is not one of these lookups.
pub(super) fn run(
    evaluator: &Evaluator,
    name: &str,
    terms: &[Value],
    options: &LookupOptions,
    scene: &Scene,
) -> Option<Result<List>> {
    let files = FileLookup {
        evaluator,
        name,
        options,
        scene,
        has_secret: Cell::new(false),
    };
    let texts = || terms.iter().map(|term| term.reveal().to_string());
    let each = |read: &dyn Fn(&str) -> Result<List>| {
        let lists: Result<Vec<List>> = texts().map(|text| read(&text)).collect();
        Some(lists.map(|lists| lists.concat()))
    };
    let found = match name {
        "file" => each(&|path| files.file(path)),
        "unvault" => each(&|path| Ok(vec![files.read(path)?.into()])),
        "template" => each(&|path| files.template(path)),
        "fileglob" => each(&|pattern| files.glob(pattern)),
        "csvfile" => each(&|term| files.csv(term)),
        "ini" => each(&|term| files.ini(term)),
        "password" => each(&|term| files.password(term)),
        "first_found" => Some(files.first_found(terms)),
        _ => None,
    };
    // A result that comes from an encrypted file is secret.
    let mark = |list: List| {
        let items = list.into_iter();
        let is_secret = files.has_secret.get();
        items.map(|item| item.sensitive_if(is_secret)).collect()
    };
    found.map(|found| found.map(mark))
}

struct FileLookup<'a> {
    evaluator: &'a Evaluator,
    name: &'a str,
    options: &'a LookupOptions,
    scene: &'a Scene,
    /// True if one of the files read is encrypted.
    has_secret: Cell<bool>,
}

impl FileLookup<'_> {
    fn fail(&self, problem: impl Into<String>) -> Error {
        lookup_error(self.name, problem.into())
    }

    /// Resolves a path relative to the directory of the text that contains the lookup.
    fn path(&self, path: &str) -> Result<PathBuf> {
        if Path::new(path).is_absolute() {
            return Ok(path.into());
        }
        let base_dir = &self.scene.context.base_dir;
        if base_dir.is_absolute() {
            return Ok(base_dir.join(path));
        }
        let owner = self.evaluator.directory_owner(self.scene);
        let base = self.evaluator.system().directory(&owner, "ensemble");
        Ok(base
            .map_err(|problem| self.fail(problem.to_string()))?
            .join(base_dir)
            .join(path))
    }

    fn read(&self, path: &str) -> Result<String> {
        let path = self.path(path)?;
        self.evaluator.record_file_read(&path);
        match self.evaluator.read_file(&path) {
            Ok(content) => {
                self.has_secret
                    .set(self.has_secret.get() || content.is_secret);
                Ok(String::from_utf8_lossy(&content.bytes).into_owned())
            }
            Err(problem) => Err(self.fail(format!("cannot read `{}`: {problem}", path.display()))),
        }
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let refused =
            |problem| self.fail(format!("cannot inspect `{}`: {problem}", path.display()));
        self.evaluator.path_exists(path).map_err(refused)
    }

    fn file(&self, path: &str) -> Result<List> {
        let text = self.read(path)?;
        let mut text = text.as_str();
        if self.options.flag("lstrip", false) {
            text = text.trim_start();
        }
        if self.options.flag("rstrip", true) {
            text = text.trim_end();
        }
        Ok(vec![text.into()])
    }

    /// Renders a template file to text, including the line break at the end of the file.
    fn template(&self, path: &str) -> Result<List> {
        let text = self.read(path)?;
        let mut scene = self.scene.clone();
        if let Some(vars) = self
            .options
            .0
            .get("template_vars")
            .and_then(Value::marked_entries)
        {
            for (name, value) in vars {
                scene.context.vars.set(name, value);
            }
        }
        let value = self.evaluator.template(&text, &scene)?;
        let end = if text.ends_with('\n') { "\n" } else { "" };
        let marks = value.marks();
        let shown = match value.revealed() {
            Value::Null => end.to_owned(),
            value => format!("{value}{end}"),
        };
        Ok(vec![Value::from(shown).marked(marks)])
    }

    fn glob(&self, pattern: &str) -> Result<List> {
        let path = self.path(pattern)?;
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(List::new());
        };
        self.evaluator.record_file_read(directory);
        let glob = Glob::new(&name.to_string_lossy());
        let system = self.evaluator.system();
        let outside =
            |problem| self.fail(format!("cannot list `{}`: {problem}", directory.display()));
        system.check_read(directory).map_err(outside)?;
        let entries = system.list(directory).unwrap_or_default().into_iter();
        let matching = entries.filter(|entry| {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            glob.matches(&name) && !system.is_dir(entry)
        });
        Ok(matching
            .map(|entry| entry.to_string_lossy().into_owned().into())
            .collect())
    }

    /// Returns the first file that exists, searched in each of the directories if some are given.
    fn first_found(&self, terms: &[Value]) -> Result<List> {
        let mut skips = self.options.flag("skip", false);
        let list = |value: Option<&Value>| -> Vec<String> {
            let items = value.map(items_of).unwrap_or_default().into_iter();
            items
                .flat_map(|item| {
                    let text = item.reveal().to_string();
                    text.split([',', ';', '\n'])
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                })
                .filter(|text| !text.is_empty())
                .collect()
        };
        let mut candidates = Vec::new();
        let mut add = |files: Vec<String>, folders: Vec<String>| {
            if folders.is_empty() {
                candidates.extend(files);
                return;
            }
            for folder in folders {
                candidates.extend(files.iter().map(|file| format!("{folder}/{file}")));
            }
        };
        for term in terms.iter().flat_map(items_of) {
            if term.as_map().is_some() {
                skips |= term.get("skip").is_some_and(Value::is_truthy);
                add(list(term.get("files")), list(term.get("paths")));
            } else {
                add(list(Some(&term)), list(self.options.0.get("paths")));
            }
        }
        add(
            list(self.options.0.get("files")),
            list(self.options.0.get("paths")),
        );
        for candidate in candidates {
            let path = self.path(&candidate)?;
            self.evaluator.record_file_read(&path);
            if self.exists(&path)? {
                return Ok(vec![path.to_string_lossy().into_owned().into()]);
            }
        }
        if skips {
            return Ok(List::new());
        }
        Err(self.fail("none of the files exists"))
    }

    /// Splits a term such as `key a=b c=d`. An option within the term overrides one next to it.
    fn term(&self, term: &str) -> (String, impl Fn(&str) -> Option<String>) {
        let mut named = std::collections::HashMap::new();
        let mut key = Vec::new();
        for word in term.split_whitespace() {
            match word.split_once('=') {
                Some((name, value)) => drop(named.insert(name.to_owned(), value.to_owned())),
                None => key.push(word),
            }
        }
        let options = self.options;
        let get = move |name: &str| named.get(name).cloned().or_else(|| options.text(name));
        (key.join(" "), get)
    }

    fn csv(&self, term: &str) -> Result<List> {
        let (key, option) = self.term(term);
        let file = option("file").unwrap_or_else(|| "ansible.csv".to_owned());
        let delimiter = match option("delimiter").as_deref() {
            None | Some("TAB" | "\\t" | "\t") => '\t',
            Some(other) => other.chars().next().unwrap_or('\t'),
        };
        let column = |name: &str, usual: usize| match option(name) {
            None => Ok(usual),
            Some(text) => text.parse().map_err(|_| {
                self.fail(format!(
                    "the option `{name}` must be a number, not `{text}`"
                ))
            }),
        };
        let (target, by) = (column("col", 1)?, column("keycol", 0)?);
        for row in rows(&self.read(&file)?, delimiter) {
            if row.get(by).is_some_and(|cell| *cell == key) {
                let cell = row.get(target).cloned();
                let problem = || self.fail(format!("the row of `{key}` has no column {target}"));
                return Ok(vec![cell.ok_or_else(problem)?.into()]);
            }
        }
        Ok(option("default").map(Value::from).into_iter().collect())
    }

    fn ini(&self, term: &str) -> Result<List> {
        let (key, option) = self.term(term);
        let file = option("file").unwrap_or_else(|| "ansible.ini".to_owned());
        let properties = option("type").as_deref() == Some("properties");
        let section = if properties {
            None
        } else {
            Some(option("section").unwrap_or_else(|| "global".to_owned()))
        };
        let exact = option("case_sensitive").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let entries = entries(&self.read(&file)?, section.as_deref(), exact);
        let target = if exact {
            key.clone()
        } else {
            key.to_lowercase()
        };
        if option("re").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            let regex = super::regexes::regex(&format!("^(?:{key})"), !exact, false);
            let regex = regex.map_err(|error| self.fail(error.to_string()))?;
            let mut found = Vec::new();
            for (name, value) in entries {
                let matched = regex.is_match(&name);
                if matched.map_err(|error| self.fail(error.to_string()))? {
                    found.push(value.into());
                }
            }
            return Ok(found);
        }
        let found = entries.into_iter().rev().find(|(name, _)| *name == target);
        let value = found.map(|(_, value)| value).or_else(|| option("default"));
        Ok(vec![value.unwrap_or_default().into()])
    }

    /// Returns the password in a file. If the file does not exist and the user allows writing, creates it
    /// with a new password.
    fn password(&self, term: &str) -> Result<List> {
        let (path, option) = self.term(term);
        let full = self.path(&path)?;
        let keeps = path != "/dev/null";
        self.evaluator.record_file_read(&full);
        if keeps && self.exists(&full)? {
            let text = self.read(&path)?;
            let password = text.lines().next().unwrap_or_default();
            let password = password.split(" salt=").next().unwrap_or_default();
            return Ok(vec![Value::from(password).sensitive()]);
        }
        self.evaluator
            .check_permission("password", "writes a file")?;
        if option("encrypt").is_some() {
            return Err(
                self.fail("the option `encrypt` is not supported: templates cannot hash passwords")
            );
        }
        let length = option("length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(DEFAULT_PASSWORD_LENGTH);
        if length > 10_000 {
            return Err(self.fail("the password would be longer than 10000 characters"));
        }
        let letters = password_characters(option("chars").as_deref());
        if letters.is_empty() {
            return Err(self.fail("`chars` contains no characters"));
        }
        let mut bytes = vec![0; length * 4];
        let filled = self.evaluator.system().random(&mut bytes);
        filled.map_err(|problem| self.fail(problem.to_string()))?;
        let letter = |bytes: &[u8]| {
            let number = bytes
                .iter()
                .fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
            letters[number % letters.len()]
        };
        let password: String = bytes.chunks_exact(4).map(letter).collect();
        if keeps {
            let line = format!("{password}\n");
            let written = self.evaluator.perform(&Effect::WriteFile {
                path: full,
                contents: line.into_bytes(),
                sensitive: true,
            });
            written.map_err(|problem| self.fail(problem.to_string()))?;
        }
        Ok(vec![Value::from(password).sensitive()])
    }
}

/// Returns the characters for generated passwords. The option lists names of character sets or the
/// characters themselves.
fn password_characters(chosen: Option<&str>) -> Vec<char> {
    let mut letters: Vec<char> = Vec::new();
    for name in chosen.unwrap_or("ascii_letters,digits,.,:,-,_").split(',') {
        match name {
            "ascii_letters" => letters.extend(('a'..='z').chain('A'..='Z')),
            "ascii_lowercase" => letters.extend('a'..='z'),
            "ascii_uppercase" => letters.extend('A'..='Z'),
            "digits" => letters.extend('0'..='9'),
            "hexdigits" => letters.extend(('0'..='9').chain('a'..='f').chain('A'..='F')),
            "punctuation" => letters.extend(('!'..='~').filter(char::is_ascii_punctuation)),
            "" => letters.push(','),
            other => letters.extend(other.chars().filter(|c| !matches!(c, '"' | '\''))),
        }
    }
    letters
}

/// Splits a text into rows of separated values, which may be quoted.
fn rows(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let (mut row, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            separator if separator == delimiter && !quoted => row.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

/// Returns the entries of a section, or of the whole text if no section is given.
fn entries(text: &str, section: Option<&str>, exact: bool) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut inside = section.is_none();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            inside = section.is_none_or(|section| section == name);
            continue;
        }
        if !inside {
            continue;
        }
        // An indented line continues the previous value.
        if line.starts_with([' ', '\t'])
            && !trimmed.is_empty()
            && let Some((_, value)) = entries.last_mut()
        {
            *value += "\n";
            *value += trimmed;
            continue;
        }
        if let Some(at) = trimmed.find(['=', ':']) {
            let name = trimmed[..at].trim();
            let name = if exact {
                name.to_owned()
            } else {
                name.to_lowercase()
            };
            entries.push((name, trimmed[at + 1..].trim().to_owned()));
        }
    }
    entries
}
