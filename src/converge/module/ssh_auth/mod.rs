//! The `ssh_auth` module: keys that let people in as a user.

mod keys;

use super::accounts::{User, check_name, user};
use super::command::{act, all_known, done, one};
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Reverse, Verdict};
use crate::host::change::{Change, Like, Write};
use crate::host::fact::Fact;
use crate::value::Map;
use keys::{Key, Standing, full_kind, split_options, standing, with, without};

/// The module.
pub(super) static MODULE: Module = Module {
    name: "ssh_auth",
    functions: &[
        Function {
            name: "present",
            run: present,
            required: &["user"],
            optional: OPTIONS,
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &["user"],
            optional: OPTIONS,
            reverse: Reverse::By("present"),
        },
        Function {
            name: "manage",
            run: manage,
            required: &["ssh_keys", "user"],
            optional: OPTIONS,
            reverse: Reverse::Never("the keys that were there before are not known any more"),
        },
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &[&str] = &[
    "enc",
    "comment",
    "source",
    "options",
    "config",
    "fingerprint_hash_type",
];

const INVALID: &str = "Invalid public ssh key, most likely has spaces or invalid syntax";

/// Where a user's keys are.
struct Place {
    user: User,
    path: String,
    /// What is in the file; none if there is none.
    text: Option<String>,
}

impl Place {
    /// Finds it; none if there is no such user.
    fn of(call: &Call<'_>, facts: &Facts) -> Result<Option<Self>, Halt> {
        let name = call.required("user")?;
        check_name(&name)?;
        let Some(user) = user(facts, &name)? else {
            return Ok(None);
        };
        let config = call.text("config")?;
        let config = config.as_deref().unwrap_or(".ssh/authorized_keys");
        let home = user.home.trim_end_matches('/');
        let path = config
            .replace("%h", home)
            .replace("%u", &user.name)
            .replace("%%", "%");
        let path = if path.starts_with('/') {
            path
        } else {
            format!("{home}/{path}")
        };
        let text = facts.content(&path)?;
        let text = text.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Some(Self { user, path, text }))
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    fn like(&self, mode: u32) -> Like {
        Like {
            mode: Some(mode),
            user: Some(self.user.uid.to_string()),
            group: Some(self.user.gid.to_string()),
        }
    }

    /// What writes the file, and makes its folder where there is none.
    fn write(&self, text: String, facts: &Facts) -> Result<Vec<Change>, Halt> {
        let folder = self.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let folder = if folder.is_empty() { "/" } else { folder };
        all_known(
            facts,
            [Fact::Target(folder.into()), Fact::Target(self.path.clone())],
        )?;
        let mut steps = Vec::new();
        if facts.target(folder)?.is_none() {
            steps.push(Change::Folder {
                path: folder.to_owned(),
                parents: true,
                like: self.like(0o700),
            });
        }
        let like = if facts.target(&self.path)?.is_some() {
            Like::default()
        } else {
            self.like(0o600)
        };
        steps.push(Change::Write(Write {
            path: self.path.clone(),
            bytes: text.into_bytes(),
            like,
            secret: false,
        }));
        Ok(steps)
    }
}

/// The key that a state names: the whole line, or the key with `enc`, `comment` and `options`.
fn key(call: &Call<'_>, name: &str) -> Result<Option<Key>, Halt> {
    let options = call.texts("options")?;
    if let Some(mut key) = Key::read(name) {
        if key.options.is_empty() {
            key.options = options;
        }
        if key.comment.is_empty() {
            key.comment = call.text("comment")?.unwrap_or_default();
        }
        return Ok(key.is_valid().then_some(key));
    }
    let (text, comment) = name.split_once(char::is_whitespace).unwrap_or((name, ""));
    let kind = call.text("enc")?.unwrap_or_else(|| "ssh-rsa".to_owned());
    let Some(kind) = full_kind(&kind) else {
        return Err(Halt::Failed(format!(
            "Incorrect encryption key type '{kind}'."
        )));
    };
    let comment = comment.trim();
    let key = Key {
        kind,
        text: text.to_owned(),
        comment: if comment.is_empty() {
            call.text("comment")?.unwrap_or_default()
        } else {
            comment.to_owned()
        },
        options: options.iter().flat_map(|it| split_options(it)).collect(),
    };
    let is_one_line =
        !key.comment.contains('\n') && !key.options.iter().any(|it| it.contains('\n'));
    Ok((key.is_valid() && is_one_line).then_some(key))
}

/// The keys of a file of the state tree; or why there are none.
fn source_keys(call: &Call<'_>, source: &str) -> Result<Result<Vec<Key>, String>, Halt> {
    let missing = format!("Failed to add the ssh key. Source file {source} is missing");
    let Some(path) = source.strip_prefix("salt://") else {
        return Ok(Err(missing));
    };
    let read = call.world.roots.read(path);
    let Some(bytes) = read.map_err(|error| Halt::Failed(error.to_string()))? else {
        return Ok(Err(missing));
    };
    let options = call.texts("options")?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut keys: Vec<Key> = lines.filter_map(Key::read).filter(Key::is_valid).collect();
    if keys.is_empty() {
        return Ok(Err(format!(
            "No keys detected in {source}. Is file properly formatted?"
        )));
    }
    for key in keys.iter_mut().filter(|_| !options.is_empty()) {
        key.options.clone_from(&options);
    }
    Ok(Ok(keys))
}

/// The keys that a state is about.
fn wanted(call: &Call<'_>) -> Result<Result<Vec<Key>, String>, Halt> {
    match call.text("source")?.filter(|source| !source.is_empty()) {
        Some(source) => source_keys(call, &source),
        None => Ok(key(call, call.name)?
            .map(|key| vec![key])
            .ok_or_else(|| INVALID.to_owned())),
    }
}

/// What a key is called in results: the key itself, or the state's name if they are from a file.
fn title(call: &Call<'_>, keys: &[Key]) -> Result<String, Halt> {
    let is_file = call
        .text("source")?
        .is_some_and(|source| !source.is_empty());
    Ok(match keys {
        [only] if !is_file => only.text.clone(),
        _ => call.name.to_owned(),
    })
}

fn no_user() -> Outcome {
    Outcome::failed(
        "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?",
    )
}

fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let keys = match wanted(call)? {
        Ok(keys) => keys,
        Err(why) => return done(Outcome::failed(why)),
    };
    let title = title(call, &keys)?;
    let name = call.required("user")?;
    let Some(place) = Place::of(call, facts)? else {
        if call.mode == Mode::Test {
            let comment = format!("Key {title} for user {name} is set to be added");
            return done(Outcome::would(Map::new(), comment));
        }
        return done(no_user());
    };
    let mut text = place.text().to_owned();
    let mut worst = Standing::Same;
    let mut notes = Vec::new();
    for key in &keys {
        let standing = standing(&text, key);
        match (standing, worst) {
            (Standing::Same, _) => continue,
            (Standing::Differs, _) => worst = Standing::Differs,
            (Standing::Missing, Standing::Same) => worst = Standing::Missing,
            (Standing::Missing, _) => {}
        }
        let word = if standing == Standing::Differs {
            "update"
        } else {
            "add"
        };
        notes.push(format!("Set to {word}: {}\n", key.text));
        text = with(&text, key);
    }
    let (would, was, word) = match worst {
        Standing::Same => {
            return done(Outcome::same(format!(
                "The authorized host key {title} is already present for user {name}"
            )));
        }
        Standing::Differs => ("updated", "updated", "Updated"),
        Standing::Missing => ("added", "added", "New"),
    };
    let would = if keys.len() > 1 {
        notes.concat()
    } else {
        format!("Key {title} for user {name} is set to be {would}")
    };
    let was = format!("The authorized host key {title} for user {name} was {was}");
    commit(
        &place,
        text,
        facts,
        (Outcome::would(Map::new(), would), one(&title, word), was),
    )
}

/// Writes the file.
fn commit(
    place: &Place,
    text: String,
    facts: &Facts,
    (predicted, changes, was): (Outcome, Map, String),
) -> Result<Verdict, Halt> {
    let steps = place.write(text, facts)?;
    act(predicted, steps, move |complaint, _| {
        Ok(match complaint {
            None => Outcome::changed(changes.clone(), was.clone()),
            Some(why) => Outcome::failed(format!("Could not write to key file: {why}")),
        })
    })
}

fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let is_file = call
        .text("source")?
        .is_some_and(|source| !source.is_empty());
    let keys = match wanted(call)? {
        Ok(keys) => keys,
        Err(why) if is_file => return done(Outcome::failed(why)),
        // What is no key is not there.
        Err(_) => Vec::new(),
    };
    let title = title(call, &keys)?;
    let name = call.required("user")?;
    let nothing = match call.mode {
        Mode::Test => "Key is already absent",
        Mode::Apply => "Key not present",
    };
    let Some(place) = Place::of(call, facts)? else {
        return done(Outcome::same(nothing));
    };
    let text = keys
        .iter()
        .filter(|key| standing(place.text(), key) != Standing::Missing)
        .fold(place.text().to_owned(), |text, key| {
            without(&text, &key.text)
        });
    if text == place.text() {
        return done(Outcome::same(nothing));
    }
    let would = format!("Key {title} for user {name} is set for removal");
    let predicted = Outcome::would(Map::new(), would);
    let results = (predicted, one(&title, "Removed"), "Key removed".to_owned());
    commit(&place, text, facts, results)
}

/// Brings a user to have these keys and no others.
fn manage(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let names = call.texts("ssh_keys")?;
    let name = call.required("user")?;
    let mut wished = Vec::new();
    for text in &names {
        match key(call, text)? {
            Some(key) => wished.push(key),
            None => return done(Outcome::failed(INVALID)),
        }
    }
    let Some(place) = Place::of(call, facts)? else {
        if call.mode == Mode::Test {
            let comment = format!("Keys for user {name} are set to be added");
            return done(Outcome::would(Map::new(), comment));
        }
        return done(no_user());
    };
    let mut text = place.text().to_owned();
    let mut changes = Map::new();
    let (mut same, mut would) = (Vec::new(), Vec::new());
    let lines = place
        .text()
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    for old in lines.filter_map(Key::read) {
        if wished.iter().all(|key| key.text != old.text) {
            text = without(&text, &old.text);
            would.push(format!("{} Key set for removal", old.text));
            changes.extend(one(&old.text, "Key removed"));
        }
    }
    for key in &wished {
        let (word, verb) = match standing(&text, key) {
            Standing::Same => {
                same.push(format!(
                    "The authorized host key {} is already present for user {name}",
                    key.text
                ));
                continue;
            }
            Standing::Differs => ("Updated", "updated"),
            Standing::Missing => ("New", "added"),
        };
        would.push(format!(
            "Key {} for user {name} is set to be {verb}",
            key.text
        ));
        changes.extend(one(&key.text, word));
        text = with(&text, key);
    }
    if changes.is_empty() {
        return done(Outcome::same(same.join("\n")));
    }
    let predicted = Outcome::would(Map::new(), would.join("\n"));
    commit(&place, text, facts, (predicted, changes, same.join("\n")))
}
