//! The file systems that are mounted on a machine.

use std::collections::HashMap;

use crate::host::fact::Domain;
use crate::states::modules::decision::{run_probe, stdout_text};
use crate::states::{FactCache, Halt};
use crate::text::quote_word;

/// The file that lists the mounts. Commands that mount touch it.
pub(super) const MOUNTS: &str = "/proc/self/mountinfo";

/// A mounted file system.
#[derive(Debug, Clone, Default)]
pub(super) struct ActiveMount {
    /// The device as the kernel shows it, such as `/dev/sda1` or `tmpfs`.
    pub(super) device: String,
    /// Other names of the device: the name that the program `mount` shows, the path without links, UUID and label.
    pub(super) other_names: Vec<String>,
    pub(super) options: Vec<String>,
    /// The options of the file system itself.
    pub(super) super_options: Vec<String>,
}

/// The mounts of a machine by mount point. White space in a mount point is written as `\040`.
pub(super) struct ActiveMounts {
    mounts: HashMap<String, ActiveMount>,
}

/// The script that prints the mounts and the names of their devices, in paragraphs.
const SCRIPT: &str = "cat /proc/self/mountinfo; echo; mount -l; echo; \
    if command -v blkid >/dev/null; then blkid 2>/dev/null; fi; echo; \
    cut -d' ' -f1 /proc/self/mounts | sort -u | while read -r d; do \
    case $d in /*) printf '%s %s\\n' \"$d\" \"$(readlink -f \"$d\")\";; esac; done";

impl ActiveMounts {
    pub(super) fn read(facts: &FactCache) -> Result<Self, Halt> {
        let probed = run_probe(facts, SCRIPT, Domain::Path(MOUNTS.to_owned()))?;
        Ok(Self::parse(&stdout_text(probed)))
    }

    fn parse(text: &str) -> Self {
        let mut parts = text.split("\n\n");
        let mut part = || parts.next().unwrap_or_default();
        let (info, listed, blocks, links) = (part(), part(), part(), part());
        let listed: HashMap<&str, &str> = listed.lines().filter_map(listed_mount).collect();
        let blocks: HashMap<&str, &str> = blocks
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        let links: HashMap<&str, &str> = links
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        let mut mounts = HashMap::new();
        for line in info.lines() {
            let Some((point, mut mount)) = mount_of_line(line) else {
                continue;
            };
            let real = match links.get(&*mount.device) {
                Some(path) => (*path).to_owned(),
                // A name that is no path counts as one below the root, as for Salt.
                None => format!("/{}", mount.device.trim_start_matches('/')),
            };
            mount.other_names.push(real);
            let name = listed.get(point).map(|name| (*name).to_owned());
            let block = blocks.get(&*mount.device);
            let tag = |key| block.and_then(|tags| tag_value(tags, key));
            let uuid = tag("UUID").map(str::to_lowercase);
            let names = [name, uuid, tag("LABEL").map(str::to_owned)];
            for name in names.into_iter().flatten() {
                if !mount.has_name(&name) {
                    mount.other_names.push(name);
                }
            }
            mounts.insert(point.to_owned(), mount);
        }
        Self { mounts }
    }

    /// Returns the mount at a path.
    pub(super) fn at(&self, path: &str) -> Option<&ActiveMount> {
        self.mounts.get(&escaped(path))
    }
}

impl ActiveMount {
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.device == name || self.other_names.iter().any(|it| it == name)
    }

    /// Returns all names of the device.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.other_names.iter().map(String::as_str);
        std::iter::once(&*self.device).chain(others)
    }
}

/// Returns a path as the kernel writes it.
pub(super) fn escaped(path: &str) -> String {
    path.replace(' ', "\\040")
}

/// Parses a line of `/proc/self/mountinfo`.
fn mount_of_line(line: &str) -> Option<(&str, ActiveMount)> {
    let (own, shared) = line.split_once(" - ")?;
    let mut own = own.split(' ').skip(4);
    let (point, options) = (own.next()?, own.next()?);
    let mut shared = shared.split(' ').skip(1);
    let (device, super_options) = (shared.next()?, shared.next().unwrap_or_default());
    let list = |text: &str| text.split(',').map(str::to_owned).collect();
    let mount = ActiveMount {
        device: device.replace("\\040", "\\ "),
        other_names: Vec::new(),
        options: list(options),
        super_options: list(super_options),
    };
    Some((point, mount))
}

/// Parses a line of `mount -l`: `device on path type kind (options)`.
fn listed_mount(line: &str) -> Option<(&str, &str)> {
    let (device, rest) = line.split_once(" on ")?;
    let (path, _) = rest.split_once(" type ")?;
    Some((path, device))
}

/// Returns a value of a line of `blkid`, such as `UUID="x" TYPE="ext4"`.
fn tag_value<'a>(tags: &'a str, key: &str) -> Option<&'a str> {
    tags.split("\" ").find_map(|tag| {
        let value = tag.trim().strip_prefix(key)?.strip_prefix("=\"")?;
        Some(value.trim_end_matches('"'))
    })
}

/// Returns the only device with this path, or with this tag such as `LABEL=data`; None if there is none.
pub(super) fn block_device(name: &str, facts: &FactCache) -> Result<Option<BlockDevice>, Halt> {
    let word = quote_word(name);
    let script = if name.starts_with('/') {
        format!("blkid {word}")
    } else {
        format!("blkid -t {word}")
    };
    let probed = run_probe(facts, script, Domain::All)?;
    let text = stdout_text(probed);
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    Ok(match (lines.next(), lines.next()) {
        (Some((path, tags)), None) => Some(BlockDevice {
            path: path.to_owned(),
            tags: tags.to_owned(),
        }),
        _ => None,
    })
}

/// A block device as `blkid` shows it.
pub(super) struct BlockDevice {
    pub(super) path: String,
    tags: String,
}

impl BlockDevice {
    /// Returns a tag such as `UUID`.
    pub(super) fn tag(&self, key: &str) -> Option<&str> {
        tag_value(&self.tags, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_the_names_of_its_device() {
        let text = "36 25 8:1 / /srv/a\\040b rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=x\n\
                    37 25 0:4 / /srv/t rw - tmpfs own rw\n\n\
                    /dev/root on /srv/a\\040b type ext4 (rw)\n\n\
                    /dev/sda1: LABEL=\"data set\" UUID=\"AB-1\" TYPE=\"ext4\"\n\n\
                    /dev/sda1 /dev/vda1\n";
        let mounts = ActiveMounts::parse(text);
        let mount = mounts.at("/srv/a b").unwrap();
        let names: Vec<&str> = mount.names().collect();
        let expected = ["/dev/sda1", "/dev/vda1", "/dev/root", "ab-1", "data set"];
        assert_eq!(names, expected);
        assert_eq!(mount.options, ["rw", "noatime"]);
        let names: Vec<&str> = mounts.at("/srv/t").unwrap().names().collect();
        assert_eq!(names, ["own", "/own"]);
    }
}
