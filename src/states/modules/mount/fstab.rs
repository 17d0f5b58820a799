//! The file `/etc/fstab`: its entries, and how Salt changes them.

use crate::host::change::{Change, ModeAndOwner};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, StateCall, refuse};
use crate::value::Value;

/// The fields of an entry, in order.
const FIELDS: [&str; 6] = ["device", "name", "fstype", "opts", "dump", "pass_num"];

/// An entry of the file: device, mount point, kind, options, dump and pass.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::states) struct FstabEntry {
    pub(in crate::states) device: String,
    pub(in crate::states) mount_point: String,
    pub(in crate::states) kind: String,
    pub(in crate::states) options: String,
    pub(in crate::states) dump: String,
    pub(in crate::states) pass: String,
}

/// The file on the machine.
pub(super) struct FstabFile {
    path: String,
    /// The text; None if the file does not exist.
    text: Option<String>,
}

/// The effect of an entry on the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FstabEffect {
    Present,
    New,
    Changed,
}

impl FstabEntry {
    /// Parses a line; None for a comment or another line.
    pub(in crate::states) fn parse(line: &str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let mut words = line.split_whitespace();
        let mut next = || words.next().map(str::to_owned);
        let (device, mount_point, kind, options) = (next()?, next()?, next()?, next()?);
        let number = |word: Option<String>| word.unwrap_or_else(|| "0".to_owned());
        let (dump, pass) = (number(next()), number(next()));
        words.next().is_none().then_some(Self {
            device,
            mount_point,
            kind,
            options,
            dump,
            pass,
        })
    }

    fn field(&self, name: &str) -> &str {
        match name {
            "device" => &self.device,
            "name" => &self.mount_point,
            "fstype" => &self.kind,
            "opts" => &self.options,
            "dump" => &self.dump,
            _ => &self.pass,
        }
    }

    /// Returns true if a field of another entry is the same. The order of options does not count.
    fn has_same(&self, other: &Self, field: &str) -> bool {
        let (own, other) = (self.field(field), other.field(field));
        let sorted = |text: &str| {
            let mut options: Vec<String> = text.split(',').map(str::to_owned).collect();
            options.sort();
            options
        };
        own == other || (field == "opts" && sorted(own) == sorted(other))
    }

    fn line(&self) -> String {
        let Self {
            device,
            mount_point,
            kind,
            options,
            dump,
            pass,
        } = self;
        format!("{device}\t\t{mount_point}\t{kind}\t{options}\t{dump} {pass}\n")
    }

    /// Returns the entry if each field is one word, as the file needs.
    pub(super) fn checked(self) -> Result<Self, Halt> {
        let escape = |text: &str| text.replace("\\ ", "\\040").replace(' ', "\\040");
        let entry = Self {
            device: escape(&self.device),
            mount_point: escape(&self.mount_point),
            options: escape(&self.options),
            ..self
        };
        let bad = FIELDS.into_iter().find(|field| {
            let text = entry.field(field);
            text.is_empty() || text.contains(char::is_whitespace)
        });
        match bad {
            Some(field) => refuse(format!(
                "`{}` cannot be the field `{field}` of an entry in the fstab",
                entry.field(field)
            )),
            None => Ok(entry),
        }
    }
}

/// Returns the fields by which the existing entry is found: those of the argument `match_on`.
pub(super) fn match_fields(call: &StateCall<'_>, kind: &str) -> Result<Vec<String>, Halt> {
    const SPECIAL: [&str; 13] = [
        "none",
        "tmpfs",
        "sysfs",
        "proc",
        "fusectl",
        "debugfs",
        "securityfs",
        "devtmpfs",
        "cgroup",
        "nfs",
        "nfs4",
        "glusterfs",
        "btrfs",
    ];
    let written = call.texts("match_on")?;
    let is_list = matches!(call.arg("match_on"), Some(Value::List(_)));
    if !is_list && written.first().is_none_or(|it| it == "auto") {
        let field = if SPECIAL.contains(&kind) {
            "name"
        } else {
            "device"
        };
        return Ok(vec![field.to_owned()]);
    }
    let unknown = written.iter().find(|it| !FIELDS.contains(&it.as_str()));
    match unknown {
        Some(field) => refuse(format!(
            "Unrecognized keys in match_on: \"{field}\"; an entry has {}",
            FIELDS.join(", ")
        )),
        None => Ok(written),
    }
}

impl FstabFile {
    /// Reads the file that the argument `config` names.
    pub(super) fn read(call: &StateCall<'_>, facts: &FactCache) -> Result<Self, Halt> {
        let path = call.text_or("config", "/etc/fstab")?;
        if !path.starts_with('/') {
            return refuse(format!("`config: {path}` is not an absolute path"));
        }
        let text = facts.content(&path)?;
        Ok(Self {
            text: text.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            path,
        })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Fails if the file does not exist.
    pub(super) fn require(&self) -> Result<(), Halt> {
        match self.text {
            Some(_) => Ok(()),
            None => refuse(format!("Bad config file \"{}\"", self.path)),
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = FstabEntry> {
        let lines = self.text.as_deref().unwrap_or_default().lines();
        lines.filter_map(FstabEntry::parse)
    }

    /// Returns the entry of a mount point.
    pub(super) fn at(&self, mount_point: &str) -> Option<FstabEntry> {
        self.entries().find(|it| it.mount_point == mount_point)
    }

    /// Sets an entry. With `keeps`, an existing one stays as it is.
    ///
    /// Returns the effect and the change that writes the file.
    pub(super) fn set(
        &self,
        entry: &FstabEntry,
        fields: &[String],
        keeps: bool,
    ) -> (FstabEffect, Option<Change>) {
        let mut effect = FstabEffect::New;
        let mut after = String::new();
        for line in self
            .text
            .as_deref()
            .unwrap_or_default()
            .split_inclusive('\n')
        {
            let found = FstabEntry::parse(line)
                .filter(|own| fields.iter().all(|field| own.has_same(entry, field)));
            let Some(own) = found else {
                after.push_str(line);
                continue;
            };
            let is_same = FIELDS.iter().all(|field| own.has_same(entry, field));
            if is_same || keeps {
                // As in Salt, the last entry that is found decides about the effect.
                effect = FstabEffect::Present;
                after.push_str(line);
            } else {
                effect = FstabEffect::Changed;
                after.push_str(&entry.line());
            }
        }
        if effect == FstabEffect::New {
            if !after.is_empty() && !after.ends_with('\n') {
                after.push('\n');
            }
            after.push_str(&entry.line());
        }
        let is_written = effect != FstabEffect::Present;
        (effect, is_written.then(|| self.write(after)))
    }

    /// Returns the change that removes the entries of a mount point, or only those of a device.
    pub(super) fn remove(&self, mount_point: &str, device: Option<&str>) -> Option<Change> {
        let text = self.text.as_deref().unwrap_or_default();
        let is_kept = |line: &&str| {
            !FstabEntry::parse(line).is_some_and(|it| {
                it.mount_point == mount_point && device.is_none_or(|device| it.device == device)
            })
        };
        let after: String = text.split_inclusive('\n').filter(is_kept).collect();
        (after != text).then(|| self.write(after))
    }

    fn write(&self, text: String) -> Change {
        file_change::write(&self.path, text, ModeAndOwner::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> FstabFile {
        FstabFile {
            path: "/etc/fstab".to_owned(),
            text: Some(text.to_owned()),
        }
    }

    fn entry(text: &str) -> FstabEntry {
        FstabEntry::parse(text).unwrap()
    }

    fn set(text: &str, line: &str, field: &str) -> (FstabEffect, Option<String>) {
        let (effect, change) = file(text).set(&entry(line), &[field.to_owned()], false);
        let text = change.map(|change| match change {
            Change::Write(write) => String::from_utf8(write.bytes).unwrap(),
            other => panic!("{other:?}"),
        });
        (effect, text)
    }

    #[test]
    fn an_entry_is_added_changed_or_there() {
        let own = "# a\n/dev/a /srv/a ext4 rw,noatime 0 0\nbad line";
        let same = "/dev/a /srv/a ext4 noatime,rw";
        assert_eq!(set(own, same, "device"), (FstabEffect::Present, None));
        let changed = "# a\n/dev/a\t\t/srv/a\txfs\tro\t0 2\nbad line";
        assert_eq!(
            set(own, "/dev/a /srv/a xfs ro 0 2", "device"),
            (FstabEffect::Changed, Some(changed.to_owned()))
        );
        let (effect, text) = set(own, "t /srv/t tmpfs rw", "name");
        assert_eq!(effect, FstabEffect::New);
        assert!(
            text.unwrap()
                .ends_with("bad line\nt\t\t/srv/t\ttmpfs\trw\t0 0\n")
        );
    }

    #[test]
    fn an_entry_with_white_space_is_escaped_or_refused() {
        let entry = entry("/dev/a /srv/a ext4 rw");
        let spaced = FstabEntry {
            mount_point: "/srv/a b".to_owned(),
            ..entry.clone()
        };
        assert_eq!(spaced.checked().unwrap().mount_point, "/srv/a\\040b");
        let broken = FstabEntry {
            options: "rw\n/dev/b".to_owned(),
            ..entry
        };
        assert!(broken.checked().is_err());
    }
}
