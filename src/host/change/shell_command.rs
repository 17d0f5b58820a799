//! Changes as the commands that a person would type, without secrets.
//!
//! They are for display only; `batch` has the scripts that run.

use std::fmt::Write as _;

use super::change::{Change, CommandRun, FileWrite, ModeAndOwner};
use crate::text::quote_word;
use crate::value::REDACTED;

impl Change {
    /// Returns the command that a person would type for the change, as a dry run shows it (P2,
    /// S44).
    ///
    /// Secrets are redacted.
    pub fn command(&self) -> String {
        match self {
            Self::Write(write) => install(write),
            Self::Folder {
                path,
                parents,
                like,
            } => {
                let option = if *parents { " -p" } else { "" };
                let mode = like
                    .mode
                    .map_or(String::new(), |mode| format!(" -m {mode:04o}"));
                let make = format!("mkdir{option}{mode} {}", quote_word(path));
                join_commands(make, chown(path, like, false))
            }
            Self::Link {
                path,
                target,
                hard,
                like,
            } => {
                let option = if *hard { "-f" } else { "-sfn" };
                let link = format!("ln {option} {} {}", quote_word(target), quote_word(path));
                join_commands(link, chown(path, like, !hard))
            }
            Self::Remove { path } => format!("rm -rf {}", quote_word(path)),
            Self::Set { path, like, follow } => set(path, like, *follow),
            Self::Move { from, to } => format!("mv -f {} {}", quote_word(from), quote_word(to)),
            Self::Copy { from, to, preserve } => {
                let option = if *preserve { "-a" } else { "-r" };
                format!("cp {option} {} {}", quote_word(from), quote_word(to))
            }
            Self::Touch {
                path,
                read,
                written,
            } => touch(path, *read, *written),
            Self::Run(run) => shown_as_user(run),
        }
    }
}

/// Joins two commands with `&&`, if there is a second one.
fn join_commands(first: String, second: Option<String>) -> String {
    match second {
        Some(second) => format!("{first} && {second}"),
        None => first,
    }
}

fn install(write: &FileWrite) -> String {
    let mut text = "install".to_owned();
    if let Some(mode) = write.like.mode {
        write!(text, " -m {mode:04o}").ok();
    }
    for (option, name) in [("-o", &write.like.user), ("-g", &write.like.group)] {
        if let Some(name) = name.as_deref().filter(|name| !name.is_empty()) {
            write!(text, " {option} {}", quote_word(name)).ok();
        }
    }
    let comment = if write.secret {
        REDACTED.to_owned()
    } else {
        format!("({} bytes)", write.bytes.len())
    };
    format!("{text} /dev/stdin {} # {comment}", quote_word(&write.path))
}

fn chown(path: &str, like: &ModeAndOwner, of_link: bool) -> Option<String> {
    let user = like.user.as_deref().unwrap_or_default();
    let group = like.group.as_deref().unwrap_or_default();
    let owner = match (user, group) {
        ("", "") => return None,
        (user, "") => user.to_owned(),
        (user, group) => format!("{user}:{group}"),
    };
    let option = if of_link { " -h" } else { "" };
    Some(format!(
        "chown{option} {} {}",
        quote_word(&owner),
        quote_word(path)
    ))
}

fn set(path: &str, like: &ModeAndOwner, follow: bool) -> String {
    let mode = like
        .mode
        .map(|mode| format!("chmod {mode:04o} {}", quote_word(path)));
    match (chown(path, like, !follow), mode) {
        (Some(owner), mode) => join_commands(owner, mode),
        (None, Some(mode)) => mode,
        (None, None) => ":".to_owned(),
    }
}

fn touch(path: &str, read: Option<i64>, written: Option<i64>) -> String {
    let path = quote_word(path);
    match (read, written) {
        (None, None) => format!("touch {path}"),
        (read, written) => {
            let one = |option: &str, time: Option<i64>| match time {
                Some(time) => format!("touch {option} -d @{time} {path}"),
                None => format!("touch {option} {path}"),
            };
            format!("{} && {}", one("-a", read), one("-m", written))
        }
    }
}

/// Shows a command with its user, folder, umask and variables.
fn shown_as_user(run: &CommandRun) -> String {
    let text = run.shown.as_ref().unwrap_or(&run.text);
    let mut all = String::new();
    if let Some(folder) = &run.setting.cwd {
        write!(all, "cd {} && ", quote_word(folder)).ok();
    }
    if let Some(umask) = run.setting.umask {
        write!(all, "umask {umask:04o} && ").ok();
    }
    let hidden = run.shown.is_some();
    for (name, value) in &run.setting.env {
        let value = if hidden {
            REDACTED.to_owned()
        } else {
            quote_word(value)
        };
        write!(all, "{name}={value} ").ok();
    }
    match &run.setting.user {
        Some(user) => format!(
            "su {} -c {}",
            quote_word(user),
            quote_word(&format!("{all}{text}"))
        ),
        None => format!("{all}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn changes_are_shown_as_people_would_type_them() {
        let like = ModeAndOwner {
            mode: Some(0o644),
            user: Some("root".to_owned()),
            group: Some("adm".to_owned()),
        };
        let path = "/etc/it's".to_owned();
        let mut run = CommandRun::new("login hunter2");
        run.shown = Some("login <<REDACTED>>".to_owned());
        run.setting.user = Some("bob".to_owned());
        run.setting.env = vec![("TOKEN".to_owned(), "hunter2".to_owned())];
        let changes = [
            Change::Write(FileWrite {
                path: path.clone(),
                bytes: b"hunter2".to_vec(),
                like: like.clone(),
                secret: true,
                present_mode: None,
            }),
            Change::Folder {
                path: "/srv/a".to_owned(),
                parents: true,
                like: like.clone(),
            },
            Change::Link {
                path: path.clone(),
                target: "x".to_owned(),
                hard: false,
                like: ModeAndOwner::default(),
            },
            Change::Remove { path: path.clone() },
            Change::Set {
                path: path.clone(),
                like,
                follow: false,
            },
            Change::Move {
                from: path.clone(),
                to: "/b".to_owned(),
            },
            Change::Copy {
                from: path.clone(),
                to: "/b".to_owned(),
                preserve: true,
            },
            Change::Touch {
                path,
                read: None,
                written: Some(5),
            },
            Change::Run(run),
        ];
        let shown: Vec<String> = changes.iter().map(Change::command).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        install -m 0644 -o root -g adm /dev/stdin '/etc/it'\''s' # <<REDACTED>>
        mkdir -p -m 0644 /srv/a && chown root:adm /srv/a
        ln -sfn x '/etc/it'\''s'
        rm -rf '/etc/it'\''s'
        chown -h root:adm '/etc/it'\''s' && chmod 0644 '/etc/it'\''s'
        mv -f '/etc/it'\''s' /b
        cp -a '/etc/it'\''s' /b
        touch -a '/etc/it'\''s' && touch -m -d @5 '/etc/it'\''s'
        su bob -c 'TOKEN=<<REDACTED>> login <<REDACTED>>'
        "#);
    }
}
