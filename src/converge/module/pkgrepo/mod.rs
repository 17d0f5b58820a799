//! The `pkgrepo` module: where packages come from (P18).

mod entry;

use std::path::Path;

use super::command::{act, answer, asked, done, old_new, one, quoted, run};
use super::pkg::download;
use crate::converge::{Call, Facts, Function, Halt, Module, Outcome, Reverse, Verdict};
use crate::host::change::{Change, Like, Write};
use crate::host::fact::Domain;
use crate::value::{Map, Value};
use entry::{Entry, File};

/// The module.
pub(super) static MODULE: Module = Module {
    name: "pkgrepo",
    functions: &[
        Function {
            name: "managed",
            run: managed,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("managed"),
        },
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &[&str] = &[
    "humanname",
    "file",
    "key_url",
    "key_text",
    "keyid",
    "keyserver",
    "comps",
    "dist",
    "uri",
    "uris",
    "types",
    "architectures",
    "clean_file",
    "refresh",
    "refresh_db",
    "consolidate",
    "comments",
    "aptkey",
    "signedby",
    "disabled",
    "enabled",
    "allow_insecure_key",
];

const APT: &str = "/etc/apt";

/// The files of apt's lists.
fn files(facts: &Facts) -> Result<Vec<File>, Halt> {
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

/// The entry that a state describes, and its line.
struct Wish {
    entry: Entry,
    line: String,
    file: Option<String>,
}

impl Wish {
    fn of(call: &Call<'_>) -> Result<Self, Halt> {
        let name = call.name.trim();
        if name.contains('\n') {
            return Err(Halt::Failed("a package repository is one line".into()));
        }
        let Some(mut entry) = Entry::line(name) else {
            return Err(Halt::Failed(format!(
                "Failed to examine repo '{name}': write `deb [options] uri suite components`"
            )));
        };
        let comps = call.texts("comps")?;
        if !comps.is_empty() {
            let words = comps.iter().flat_map(|text| text.split([',', ' ']));
            let words = words.filter(|word| !word.is_empty());
            entry.components = words.map(str::to_owned).collect();
        }
        if let Some(dist) = call.text("dist")? {
            entry.suites = [dist].into();
        }
        if let Some(path) = call.text("signedby")? {
            entry.options.insert(("signed-by".to_owned(), path));
        }
        let enabled = call.arg("enabled").map(Value::is_truthy);
        if let Some(disabled) = call.arg("disabled").map(Value::is_truthy) {
            if enabled.is_some() {
                return Err(Halt::Failed(
                    "Only one of enabled/disabled is allowed".into(),
                ));
            }
            entry.is_disabled = disabled;
        } else {
            entry.is_disabled = enabled == Some(false);
        }
        let file = call.text("file")?;
        if let Some(file) = file.as_ref().filter(|file| !file.starts_with('/')) {
            return Err(Halt::Failed(format!(
                "`file: {file}` is not an absolute path"
            )));
        }
        let line = line(name, &entry);
        Ok(Self { entry, line, file })
    }

    fn signed_by(&self) -> Option<&str> {
        let mut options = self.entry.options.iter();
        let (_, path) = options.find(|(key, _)| key == "signed-by")?;
        path.starts_with('/').then_some(path.as_str())
    }
}

/// The entry as one line: as it was written, as far as nothing else was said.
fn line(name: &str, entry: &Entry) -> String {
    let bare = name.trim_start_matches(['#', ' ']);
    let is_as_written = Entry::line(bare).is_some_and(|mut written| {
        written.is_disabled = entry.is_disabled;
        written == *entry
    });
    let text = if is_as_written {
        bare.to_owned()
    } else {
        let options: Vec<String> = entry
            .options
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let options = if options.is_empty() {
            String::new()
        } else {
            format!("[{}]", options.join(" "))
        };
        let words = entry.kinds.iter().chain([&options]).chain(&entry.uris);
        let words = words.chain(&entry.suites).chain(&entry.components);
        let words: Vec<&str> = words
            .map(String::as_str)
            .filter(|word| !word.is_empty())
            .collect();
        words.join(" ")
    };
    if entry.is_disabled {
        format!("# {text}\n")
    } else {
        format!("{text}\n")
    }
}

fn managed(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    if call.args.contains_key("repo") {
        return done(Outcome::failed(
            "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended.",
        ));
    }
    let name = call.name;
    let wish = Wish::of(call)?;
    let files = files(facts)?;
    let key = key_steps(call, &wish, facts)?;
    let found = find(&files, &wish);
    let old = found.map(|(file, _, entry)| (files[file].path.clone(), entry));
    let is_clean = !call.flag("clean_file", false)
        || wish.file.as_ref().is_none_or(|path| {
            let file = files.iter().find(|file| file.path == *path);
            file.is_none_or(|file| file.count() <= 1)
        });
    let is_same = old.as_ref().is_some_and(|(_, entry)| *entry == wish.entry);
    if is_same && is_clean && key.is_empty() {
        let comment = format!("Package repo '{name}' already configured");
        return done(Outcome::same(comment));
    }
    let mut steps = key;
    if !is_same || !is_clean {
        steps.push(write_step(call, &wish, &files));
    }
    if call.flag("refresh", true) && call.flag("refresh_db", true) {
        let lists = Domain::Path("/var/lib/apt".to_owned());
        let text = "apt-get -q -o DPkg::Lock::Timeout=120 update";
        steps.push(run(text, [Domain::Packages, lists]));
    }
    let changes = changes(name, &wish.entry, old.as_ref().map(|(_, entry)| entry));
    let predicted = Outcome::would(
        changes.clone(),
        format!(
            "Package repo '{name}' would be configured. This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to the differences in the configured repositories."
        ),
    );
    let name = name.to_owned();
    act(predicted, steps, move |complaint, _| {
        Ok(match complaint {
            None => Outcome::changed(changes.clone(), format!("Configured package repo '{name}'")),
            Some(why) => Outcome::failed(format!("Failed to configure repo '{name}': {why}")),
        })
    })
}

/// The entry of the same place: in the file that is named, or in any.
fn find(files: &[File], wish: &Wish) -> Option<(usize, usize, Entry)> {
    let all = files
        .iter()
        .enumerate()
        .flat_map(|(file, it)| it.entries().map(move |(place, entry)| (file, place, entry)));
    let mut found: Vec<(usize, usize, Entry)> = all
        .filter(|(.., entry)| entry.is_place_of(&wish.entry))
        .collect();
    let is_named = |file: usize| {
        wish.file
            .as_ref()
            .is_some_and(|path| files[file].path == *path)
    };
    found.sort_by_key(|(file, _, entry)| (!is_named(*file), entry.is_disabled));
    found.into_iter().next()
}

fn changes(name: &str, new: &Entry, old: Option<&Entry>) -> Map {
    let Some(old) = old else {
        return one("repo", name);
    };
    let join = |words: &std::collections::BTreeSet<String>| {
        Value::list(words.iter().map(|word| Value::from(word.as_str())))
    };
    let mut changes = Map::new();
    if old.components != new.components {
        changes.extend(one(
            "comps",
            old_new(join(&old.components), join(&new.components)),
        ));
    }
    if old.is_disabled != new.is_disabled {
        changes.extend(one("disabled", old_new(old.is_disabled, new.is_disabled)));
    }
    if old.options != new.options {
        let options = |entry: &Entry| {
            let words: Vec<String> = entry
                .options
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            words.join(" ")
        };
        changes.extend(one("options", old_new(options(old), options(new))));
    }
    if changes.is_empty() {
        changes = one("repo", name);
    }
    changes
}

/// Writes the entry where it is, or into the file that is named.
fn write_step(call: &Call<'_>, wish: &Wish, files: &[File]) -> Change {
    let found = find(files, wish);
    let path = match (&found, &wish.file) {
        (_, Some(path)) => path.clone(),
        (Some((file, ..)), None) => files[*file].path.clone(),
        (None, None) => "/etc/apt/sources.list".to_owned(),
    };
    let file = files.iter().find(|file| file.path == path);
    let mut file = file.cloned().unwrap_or_else(|| File::new(&path, ""));
    let place = found
        .filter(|(at, ..)| files[*at].path == path)
        .map(|(_, place, _)| place);
    if call.flag("clean_file", false) {
        file.clear();
    }
    let text = if file.has_paragraphs() {
        wish.entry.as_paragraph()
    } else {
        wish.line.clone()
    };
    file.put(place, text);
    write(&path, file.text())
}

fn write(path: &str, text: String) -> Change {
    Change::Write(Write {
        path: path.to_owned(),
        bytes: text.into_bytes(),
        like: Like::default(),
        secret: false,
    })
}

/// Where the key that signs packages is.
fn key_path(wish: &Wish, url: Option<&str>) -> String {
    if let Some(path) = wish.signed_by() {
        return path.to_owned();
    }
    let end = url.and_then(|url| url.rsplit('/').next());
    let end = end.filter(|end| !end.is_empty()).unwrap_or("unfurl.asc");
    let dot = if end.contains('.') { "" } else { ".asc" };
    format!("/etc/apt/trusted.gpg.d/{end}{dot}")
}

/// The key itself; none if the machine has to fetch it.
fn key_bytes(
    call: &Call<'_>,
    url: Option<&str>,
    text: Option<String>,
) -> Result<Option<Vec<u8>>, Halt> {
    if let Some(text) = text {
        return Ok(Some(text.into_bytes()));
    }
    let Some(name) = url.and_then(|url| url.strip_prefix("salt://")) else {
        return Ok(None);
    };
    let read = call.world.roots.read(name);
    let read = read.map_err(|error| Halt::Failed(error.to_string()))?;
    let missing = || Halt::Failed(format!("Source file salt://{name} not found"));
    Ok(Some(read.ok_or_else(missing)?.to_vec()))
}

/// What brings the key that signs the packages, if it is not there.
fn key_steps(call: &Call<'_>, wish: &Wish, facts: &Facts) -> Result<Vec<Change>, Halt> {
    let (url, text) = (call.text("key_url")?, call.text("key_text")?);
    if url.is_some() && text.is_some() {
        return Err(Halt::Failed(
            "You may not use both \"key_url\" and \"key_text\" argument.".into(),
        ));
    }
    if url.is_none() && text.is_none() {
        return Ok(Vec::new());
    }
    let path = key_path(wish, url.as_deref());
    let bytes = key_bytes(call, url.as_deref(), text)?;
    let folder = Change::Folder {
        path: path
            .rsplit_once('/')
            .map_or("/", |(folder, _)| folder)
            .to_owned(),
        parents: true,
        like: Like::default(),
    };
    // A key in letters has to be made one of bytes, if its name says so.
    let dearmor = format!(
        "if head -c 64 {new} | grep -q 'BEGIN PGP'; then gpg --batch --yes --dearmor -o {path} {new} && rm -f {new}; else mv -f {new} {path}; fi && chmod 644 {path}",
        new = quoted(&format!("{path}.new")),
        path = quoted(&path)
    );
    let is_binary_name = Path::new(&path).extension().is_some_and(|end| end == "gpg");
    let there = || [Domain::Path(path.clone())];
    Ok(match bytes {
        Some(bytes) if !is_binary_name || !bytes.starts_with(b"-----BEGIN") => {
            if facts.content(&path)? == Some(bytes.as_slice()) {
                return Ok(Vec::new());
            }
            let text = Change::Write(Write {
                path: path.clone(),
                bytes,
                like: Like {
                    mode: Some(0o644),
                    ..Like::default()
                },
                secret: false,
            });
            vec![folder, text]
        }
        _ if facts.target(&path)?.is_some() => Vec::new(),
        Some(bytes) => {
            let new = format!("{path}.new");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            vec![folder, write(&new, text), run(dearmor, there())]
        }
        None => {
            let url = url.as_deref().unwrap_or_default();
            let text = if is_binary_name {
                let new = format!("{path}.new");
                format!("{} && {dearmor}", download(url, &new))
            } else {
                format!("{} && chmod 644 {}", download(url, &path), quoted(&path))
            };
            vec![folder, run(text, there())]
        }
    })
}

fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let name = call.name;
    let wish = Wish::of(call)?;
    let files = files(facts)?;
    let mut steps = Vec::new();
    for file in &files {
        let mut left = file.clone();
        let places: Vec<usize> = file
            .entries()
            .filter(|(_, entry)| !entry.is_disabled && entry.is_place_of(&wish.entry))
            .map(|(place, _)| place)
            .collect();
        for place in places.iter().rev() {
            left.remove(*place);
        }
        if places.is_empty() {
            continue;
        }
        let is_own = file.path.starts_with("/etc/apt/sources.list.d/");
        steps.push(if left.text().trim().is_empty() && is_own {
            Change::Remove {
                path: file.path.clone(),
            }
        } else {
            write(&file.path, left.text())
        });
    }
    if steps.is_empty() {
        return done(Outcome::same(format!("Package repo {name} is absent")));
    }
    let lists = Domain::Path("/var/lib/apt".to_owned());
    steps.push(run("true", [Domain::Packages, lists]));
    let predicted = Outcome::would(
        Map::new(),
        format!(
            "Package repo '{name}' will be removed. This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to the differences in the configured repositories."
        ),
    );
    let name = name.to_owned();
    act(predicted, steps, move |complaint, _| {
        Ok(match complaint {
            None => Outcome::changed(one("repo", name.as_str()), format!("Removed repo {name}")),
            Some(why) => Outcome::failed(format!("Failed to remove repo {name}: {why}")),
        })
    })
}
