//! The script that reads facts, and the parser of its output.

use std::fmt::Write as _;

use super::frames::{Frames, TIMEOUT_CODE, heading, is_timeout_code};
use super::prelude;
use super::shell_words::path_word;
use crate::host::fact::{
    Fact, FactReading, FileKind, FileStat, MAX_CONTENT_BYTES, MAX_PROBE_STDERR_BYTES,
    MAX_PROBE_STDOUT_BYTES, Probe, ProbeOutput, read_failure_message,
};

/// The maximum number of paths per call of a shell function.
const MAX_PATHS_PER_CALL: usize = 64;
/// The approximate maximum of path bytes per call, well below the limit of a command line.
const MAX_PATH_BYTES_PER_CALL: usize = 32 << 10;

/// The characters in a path that `sha256sum` prints in another way.
const HARD_TO_PRINT: [char; 3] = ['\\', '\n', '\r'];

/// Returns the script that reads facts, with all functions that it needs.
pub(super) fn script(facts: &[Fact]) -> String {
    let mut probes = facts.iter().filter_map(probe_of);
    let has_users = probes.any(|probe| probe.setting.user.is_some());
    let user = if has_users { prelude::USER } else { "" };
    let (base, start, reads) = (prelude::BASE, prelude::START, prelude::READS);
    format!("{base}{start}{user}{reads}{}", calls(facts))
}

/// Returns the part of the script that differs between actions: the calls of its functions.
pub(super) fn calls(facts: &[Fact]) -> String {
    // Commands may know the name of temporary files, but not the mark.
    let (mark, name) = (ulid::Ulid::generate(), ulid::Ulid::generate());
    let mut groups = CallGroups {
        text: format!("M={name}\nB {mark} {MAX_CONTENT_BYTES}\n"),
        ..CallGroups::default()
    };
    for (at, index) in reading_order(facts).into_iter().enumerate() {
        match &facts[index] {
            Fact::Path(it) => groups.push('P', at, it),
            Fact::Target(it) => groups.push('L', at, it),
            Fact::Digest(it) if it.contains(HARD_TO_PRINT) => {
                groups.end();
                writeln!(groups.text, "J {at} {}", path_word(it)).ok();
            }
            Fact::Digest(it) => groups.push('H', at, it),
            Fact::Content(it) => groups.push('C', at, it),
            Fact::Tree(it) => {
                groups.end();
                writeln!(groups.text, "T {at} {}", path_word(it)).ok();
            }
            Fact::Probe(probe) => {
                groups.end();
                groups.text.push_str(&probe_text(at, probe));
            }
        }
    }
    groups.end();
    groups.text.push_str("p z\n#.");
    groups.text
}

/// Returns the indices of facts in the order in which the script reads them.
///
/// Facts of the same kind come together, because one call of a program answers all of them: a program for each fact
/// takes most of the time of the host. Probes may be any commands, so no fact goes past one.
fn reading_order(facts: &[Fact]) -> Vec<usize> {
    let mut segment = 0;
    let keys = facts.iter().map(|fact| {
        let kind = match fact {
            Fact::Path(_) => 0,
            Fact::Target(_) => 1,
            Fact::Digest(it) if !it.contains(HARD_TO_PRINT) => 2,
            Fact::Content(_) => 3,
            Fact::Digest(_) | Fact::Tree(_) => 4,
            Fact::Probe(_) => {
                segment += 1;
                0
            }
        };
        (segment, !matches!(fact, Fact::Probe(_)), kind)
    });
    let keys: Vec<_> = keys.collect();
    let mut order: Vec<usize> = (0..facts.len()).collect();
    order.sort_by_key(|index| keys[*index]);
    order
}

fn probe_of(fact: &Fact) -> Option<&Probe> {
    match fact {
        Fact::Probe(probe) => Some(probe),
        _ => None,
    }
}

fn probe_text(at: usize, probe: &Probe) -> String {
    let body = super::command_script::command_runner(&probe.setting, &probe.text, None);
    format!("t\n{body}r r{at} $? {MAX_PROBE_STDOUT_BYTES} 0 {MAX_PROBE_STDERR_BYTES} 0\n")
}

/// The calls of shell functions. Consecutive facts of the same kind share one call.
#[derive(Default)]
struct CallGroups {
    text: String,
    letter: Option<char>,
    next: usize,
    count: usize,
    bytes: usize,
}

impl CallGroups {
    fn push(&mut self, letter: char, at: usize, path: &str) {
        let is_continued = self.letter == Some(letter)
            && self.next == at
            && self.count < MAX_PATHS_PER_CALL
            && self.bytes < MAX_PATH_BYTES_PER_CALL;
        if !is_continued {
            self.end();
            write!(self.text, "{letter} {at}").ok();
            self.letter = Some(letter);
        }
        self.text.push(' ');
        self.text.push_str(&path_word(path));
        self.next = at + 1;
        self.count += 1;
        self.bytes += path.len();
    }

    fn end(&mut self) {
        if self.letter.take().is_some() {
            self.text.push('\n');
        }
        (self.count, self.bytes) = (0, 0);
    }
}

/// Parses the readings, in the order of the facts.
///
/// Of an incomplete output, only the readings before the first missing one are returned.
pub(super) fn parse(facts: &[Fact], output: &[u8]) -> Vec<FactReading> {
    let order = reading_order(facts);
    let mut parser = ReadingsParser {
        facts: order.iter().map(|index| &facts[*index]).collect(),
        readings: vec![None; facts.len()],
        links: vec![None; facts.len()],
        content_end: &[],
    };
    let mut frames = Frames::new(output);
    let whole = loop {
        match parser.parse_frame(&mut frames) {
            Some(true) => {}
            Some(false) => break true,
            None => break false,
        }
    };
    let mut readings = vec![None; facts.len()];
    for (index, reading) in order.into_iter().zip(parser.readings) {
        readings[index] = reading;
    }
    let known = readings.into_iter();
    if whole {
        // A path without a reading vanished while the script ran.
        known.map(|it| it.unwrap_or(FactReading::Absent)).collect()
    } else {
        known.map_while(|it| it).collect()
    }
}

struct ReadingsParser<'a, 'o> {
    /// The facts in the order of the script.
    facts: Vec<&'a Fact>,
    readings: Vec<Option<FactReading>>,
    links: Vec<Option<String>>,
    /// The word after the contents of a file.
    content_end: &'o [u8],
}

impl<'o> ReadingsParser<'_, 'o> {
    /// Parses the next frame.
    ///
    /// Returns whether more frames may follow, or none if the frame is incomplete.
    fn parse_frame(&mut self, frames: &mut Frames<'o>) -> Option<bool> {
        let bytes = frames.word()?;
        if let Some((b'b', mark)) = bytes.split_first() {
            self.content_end = mark;
            return Some(true);
        }
        let word = String::from_utf8_lossy(bytes);
        let (letter, numbers) = heading(&word)?;
        let at = numbers.first().copied().filter(|at| *at < self.facts.len());
        match (letter, at) {
            ('z', _) => return Some(false),
            ('a', Some(at)) => self.readings[at] = Some(FactReading::Absent),
            ('u', Some(at)) => self.readings[at] = Some(self.permission_denied(at)),
            ('k', Some(at)) => self.links[at] = Some(parse_link(frames.word()?)),
            ('s', Some(_)) => self.entries(&numbers, &frames.text()?),
            ('h', Some(_)) => self.digests(&numbers, &frames.text()?),
            ('c', Some(at)) => {
                let content = frames.until(self.content_end)?.to_vec();
                self.readings[at] = Some(FactReading::Content(content));
            }
            ('C', Some(_)) => {
                for at in numbers {
                    let content = frames.until(self.content_end)?.to_vec();
                    *self.readings.get_mut(at)? = Some(FactReading::Content(content));
                }
            }
            ('t', Some(at)) => self.readings[at] = Some(parse_tree(frames)?),
            ('r', Some(at)) => {
                let mut probed = parse_probe(frames)?;
                let limit = probe_of(self.facts[at]).and_then(|it| it.setting.time_limit);
                if limit.is_some() && is_timeout_code(probed.code) {
                    probed.code = TIMEOUT_CODE;
                }
                self.readings[at] = Some(FactReading::Probe(probed));
            }
            _ => return None,
        }
        Some(true)
    }

    fn permission_denied(&self, at: usize) -> FactReading {
        let path = match self.facts[at] {
            Fact::Digest(path) | Fact::Content(path) => path,
            _ => "",
        };
        FactReading::Failed(read_failure_message(path, "Permission denied"))
    }

    fn entries(&mut self, numbers: &[usize], lines: &str) {
        for (at, line) in each_line(numbers, lines) {
            let link = self.links.get_mut(at).and_then(Option::take);
            if let (Some(place), Some(entry)) = (self.readings.get_mut(at), parse_stat(line, link))
            {
                *place = Some(FactReading::Entry(entry));
            }
        }
    }

    fn digests(&mut self, numbers: &[usize], lines: &str) {
        for (at, line) in each_line(numbers, lines) {
            let digest = line.get(..64).unwrap_or_default().to_ascii_lowercase();
            if let Some(place) = self.readings.get_mut(at) {
                *place = Some(FactReading::Digest(digest));
            }
        }
    }
}

/// Pairs each line with its index.
///
/// Yields nothing if the counts differ: the script then reports each entry again, one by one.
fn each_line<'l>(numbers: &[usize], lines: &'l str) -> impl Iterator<Item = (usize, &'l str)> {
    let fits = lines.lines().count() == numbers.len();
    numbers
        .iter()
        .copied()
        .zip(lines.lines())
        .filter(move |_| fits)
}

/// Parses the target of a symbolic link, as `readlink` prints it with a line end.
fn parse_link(word: &[u8]) -> String {
    let target = word.strip_suffix(b"\n").unwrap_or(word);
    String::from_utf8_lossy(target).into_owned()
}

/// Parses a line of `stat`: mode in hexadecimal, uid, gid, size, modification time, and
/// `user:group`.
fn parse_stat(line: &str, link: Option<String>) -> Option<FileStat> {
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
        0o100_000 => FileKind::File,
        0o040_000 => FileKind::Folder,
        0o120_000 => FileKind::Link(link.unwrap_or_default()),
        _ => FileKind::Other,
    };
    Some(FileStat {
        kind,
        mode: mode & 0o7777,
        user: named(user, uid),
        group: named(group, gid),
        size,
        modified,
    })
}

/// Parses the listing of a folder: groups of `stat` lines, each followed by the paths and the link
/// targets.
fn parse_tree(frames: &mut Frames<'_>) -> Option<FactReading> {
    let mut all = Vec::new();
    loop {
        let word = frames.text()?;
        if word == "." {
            all.sort_by(|one: &(String, FileStat), other| one.0.cmp(&other.0));
            return Some(FactReading::Tree(all));
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
            let mut entry = parse_stat(line, None)?;
            if let FileKind::Link(target) = &mut entry.kind {
                *target = parse_link(frames.word()?);
            }
            all.push((path, entry));
        }
    }
}

fn parse_probe(frames: &mut Frames<'_>) -> Option<ProbeOutput> {
    let code = frames.number()?;
    let stdout: usize = frames.number()?;
    let stderr: usize = frames.number()?;
    Some(ProbeOutput {
        code,
        stdout: frames.piece(stdout.min(MAX_PROBE_STDOUT_BYTES))?.to_vec(),
        stderr: frames.piece(stderr.min(MAX_PROBE_STDERR_BYTES))?.to_vec(),
    })
}
