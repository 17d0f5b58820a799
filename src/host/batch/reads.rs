//! Facts as a script, and readings of what it prints.

use std::fmt::Write as _;

use super::driver;
use super::frames::{Frames, LATE, heading, is_late};
use super::words::{decoded, path};
use crate::host::fact::{
    Entry, EntryKind, Fact, MOST_COMPLAINED, MOST_CONTENT, MOST_PRINTED, Probe, Probed, Reading,
    not_read,
};

/// How many paths one program is given.
const PATHS: usize = 64;
/// How many bytes of paths one program is given: less than a command line may have.
const PATH_BYTES: usize = 32 << 10;

/// The script that reads facts.
pub(super) fn script(facts: &[Fact]) -> String {
    let mut script = driver::BASE.to_owned();
    let probes = || facts.iter().filter_map(probe_of);
    if probes().any(|probe| probe.setting.user.is_some()) {
        script.push_str(driver::USER);
    }
    script.push_str(driver::READS);
    let mut groups = Groups::default();
    for (at, fact) in facts.iter().enumerate() {
        match fact {
            Fact::Path(it) => groups.push('P', at, it),
            Fact::Target(it) => groups.push('L', at, it),
            Fact::Digest(it) if it.contains(['\\', '\n', '\r']) => {
                groups.end();
                writeln!(groups.text, "J {at} {}", path(it)).ok();
            }
            Fact::Digest(it) => groups.push('H', at, it),
            Fact::Content(it) => {
                groups.end();
                writeln!(groups.text, "C {at} {} {MOST_CONTENT}", path(it)).ok();
            }
            Fact::Tree(it) => {
                groups.end();
                writeln!(groups.text, "T {at} {}", path(it)).ok();
            }
            Fact::Probe(probe) => {
                groups.end();
                groups.text.push_str(&probing(at, probe));
            }
        }
    }
    groups.end();
    script.push_str(&groups.text);
    script.push_str("p z\n#.");
    script
}

fn probe_of(fact: &Fact) -> Option<&Probe> {
    match fact {
        Fact::Probe(probe) => Some(probe),
        _ => None,
    }
}

fn probing(at: usize, probe: &Probe) -> String {
    let body = super::inner::running(&probe.setting, &probe.text, None);
    format!("t\n{body}r r{at} $? {MOST_PRINTED} 0 {MOST_COMPLAINED} 0\n")
}

/// Facts of one kind that follow each other go to one call of a function.
#[derive(Default)]
struct Groups {
    text: String,
    letter: Option<char>,
    next: usize,
    count: usize,
    bytes: usize,
}

impl Groups {
    fn push(&mut self, letter: char, at: usize, it: &str) {
        let goes_on = self.letter == Some(letter)
            && self.next == at
            && self.count < PATHS
            && self.bytes < PATH_BYTES;
        if !goes_on {
            self.end();
            write!(self.text, "{letter} {at}").ok();
            self.letter = Some(letter);
        }
        self.text.push(' ');
        self.text.push_str(&path(it));
        self.next = at + 1;
        self.count += 1;
        self.bytes += it.len();
    }

    fn end(&mut self) {
        if self.letter.take().is_some() {
            self.text.push('\n');
        }
        (self.count, self.bytes) = (0, 0);
    }
}

/// What was read, as far as the output goes in the order of the facts.
pub(super) fn parse(facts: &[Fact], output: &[u8]) -> Vec<Reading> {
    let mut found = Found {
        facts,
        readings: vec![None; facts.len()],
        links: vec![None; facts.len()],
        is_hex: false,
    };
    let mut frames = Frames::new(output);
    let whole = loop {
        match found.take(&mut frames) {
            Some(true) => {}
            Some(false) => break true,
            None => break false,
        }
    };
    let known = found.readings.into_iter();
    if whole {
        // What vanished while it was looked at is not there.
        known.map(|it| it.unwrap_or(Reading::Absent)).collect()
    } else {
        known.map_while(|it| it).collect()
    }
}

struct Found<'a> {
    facts: &'a [Fact],
    readings: Vec<Option<Reading>>,
    links: Vec<Option<String>>,
    is_hex: bool,
}

impl Found<'_> {
    /// Takes the next frame: whether there may be more, or none if it did not come whole.
    fn take(&mut self, frames: &mut Frames<'_>) -> Option<bool> {
        let word = frames.text()?;
        let (letter, numbers) = heading(&word)?;
        let at = numbers.first().copied().filter(|at| *at < self.facts.len());
        match (letter, at) {
            ('z', _) => return Some(false),
            ('b' | 'o', _) => self.is_hex = letter == 'o',
            ('a', Some(at)) => self.readings[at] = Some(Reading::Absent),
            ('u', Some(at)) => self.readings[at] = Some(self.refused(at)),
            ('k', Some(at)) => self.links[at] = Some(link(frames.word()?)),
            ('s', Some(_)) => self.entries(&numbers, &frames.text()?),
            ('h', Some(_)) => self.digests(&numbers, &frames.text()?),
            ('c', Some(at)) => {
                let content = decoded(frames.word()?, self.is_hex).map(Reading::Content);
                self.readings[at] = Some(content.unwrap_or_else(|| self.refused(at)));
            }
            ('t', Some(at)) => self.readings[at] = Some(tree(frames)?),
            ('r', Some(at)) => {
                let mut probed = probed(frames)?;
                let limit = probe_of(&self.facts[at]).and_then(|it| it.setting.time_limit);
                if limit.is_some() && is_late(probed.code) {
                    probed.code = LATE;
                }
                self.readings[at] = Some(Reading::Probe(probed));
            }
            _ => return None,
        }
        Some(true)
    }

    fn refused(&self, at: usize) -> Reading {
        let path = match &self.facts[at] {
            Fact::Digest(path) | Fact::Content(path) => path,
            _ => "",
        };
        Reading::Failed(not_read(path, "Permission denied"))
    }

    fn entries(&mut self, numbers: &[usize], lines: &str) {
        for (at, line) in each_line(numbers, lines) {
            let link = self.links.get_mut(at).and_then(Option::take);
            if let (Some(place), Some(entry)) = (self.readings.get_mut(at), entry(line, link)) {
                *place = Some(Reading::Entry(entry));
            }
        }
    }

    fn digests(&mut self, numbers: &[usize], lines: &str) {
        for (at, line) in each_line(numbers, lines) {
            let digest = line.get(..64).unwrap_or_default().to_ascii_lowercase();
            if let Some(place) = self.readings.get_mut(at) {
                *place = Some(Reading::Digest(digest));
            }
        }
    }
}

/// Each line with its number; none if they are not as many, for then each follows by itself.
fn each_line<'l>(numbers: &[usize], lines: &'l str) -> impl Iterator<Item = (usize, &'l str)> {
    let fits = lines.lines().count() == numbers.len();
    numbers
        .iter()
        .copied()
        .zip(lines.lines())
        .filter(move |_| fits)
}

/// What a link says, as it is printed with the end of a line.
fn link(word: &[u8]) -> String {
    let says = word.strip_suffix(b"\n").unwrap_or(word);
    String::from_utf8_lossy(says).into_owned()
}

/// What stands at a path: its mode in hexadecimal digits, the numbers of its owners, its size, its
/// time, and the names of its owners.
fn entry(line: &str, link: Option<String>) -> Option<Entry> {
    let mut words = line.splitn(6, ' ');
    let mode = u32::from_str_radix(words.next()?, 16).ok()?;
    let (uid, gid) = (words.next()?, words.next()?);
    let size = words.next()?.parse().ok()?;
    let modified = words.next()?.parse().ok()?;
    let (user, group) = words.next()?.split_once(':')?;
    let named = |name: &str, id: &str| match name {
        "UNKNOWN" | "" => id.to_owned(),
        name => name.to_owned(),
    };
    let kind = match mode & 0o170_000 {
        0o100_000 => EntryKind::File,
        0o040_000 => EntryKind::Folder,
        0o120_000 => EntryKind::Link(link.unwrap_or_default()),
        _ => EntryKind::Other,
    };
    Some(Entry {
        kind,
        mode: mode & 0o7777,
        user: named(user, uid),
        group: named(group, gid),
        size,
        modified,
    })
}

/// All that is in a folder: groups of entries, their paths, and what the links among them say.
fn tree(frames: &mut Frames<'_>) -> Option<Reading> {
    let mut all = Vec::new();
    loop {
        let word = frames.text()?;
        if word == "." {
            all.sort_by(|one: &(String, Entry), other| one.0.cmp(&other.0));
            return Some(Reading::Tree(all));
        }
        let (_, numbers) = heading(&word)?;
        let lines = frames.text()?;
        let lines: Vec<&str> = lines.lines().collect();
        if numbers.first() != Some(&lines.len()) {
            continue;
        }
        let mut paths = Vec::with_capacity(lines.len());
        for _ in &lines {
            let path = frames.text()?;
            paths.push(path.strip_prefix("./").unwrap_or(&path).to_owned());
        }
        for (path, line) in paths.into_iter().zip(lines) {
            let mut entry = entry(line, None)?;
            if let EntryKind::Link(says) = &mut entry.kind {
                *says = link(frames.word()?);
            }
            all.push((path, entry));
        }
    }
}

fn probed(frames: &mut Frames<'_>) -> Option<Probed> {
    let code = frames.number()?;
    let stdout: usize = frames.number()?;
    let stderr: usize = frames.number()?;
    Some(Probed {
        code,
        stdout: frames.piece(stdout.min(MOST_PRINTED))?.to_vec(),
        stderr: frames.piece(stderr.min(MOST_COMPLAINED))?.to_vec(),
    })
}
