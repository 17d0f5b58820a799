//! Runs the commands of the documentation: README.md, docs/*.md and the README of each example.
//!
//! Each block of code that is a list of commands is run, or says in the comment above it why not:
//!
//! - `<!-- run: empty -->` starts in an empty folder, `<!-- run: in hello -->` in a copy of that example.
//! - `<!-- run -->` continues where the last block of the page ended.
//! - `<!-- run: … hosts web1+web2 -->` runs with an SSH server on this machine behind each of these names.
//! - `<!-- run: … exit 1 -->` expects that exit code of the last command. Other commands must succeed.
//! - `<!-- file: NAME -->` writes the block to that file for the next blocks.
//! - `<!-- left out: REASON -->` does not run the block.
//!
//! A block in which lines begin with `$ ` shows its output, too, which must be the real one. Ids, times and commits
//! may differ, and a line `...` stands for any lines. Without such lines, all lines are one script.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use regex::Regex;

use crate::hosts::sshd::{Sshd, free_port, user};
use crate::support::{binary, copy};

/// The line that ends the output of a command.
const MARK: &str = "=-=-= ended with";
/// The languages of blocks that contain no commands.
const NO_COMMANDS: [&str; 7] = ["yaml", "json", "python", "toml", "text", "jinja", "ini"];
/// The home folder that the pages show.
const HOME: &str = "/home/ada";

/// A block of code of a page.
#[derive(Debug)]
struct Block {
    line: usize,
    language: String,
    /// The comment directly above it.
    directive: Option<String>,
    text: String,
}

/// Returns the blocks of a page in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut directive = None;
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let comment = line.trim().strip_prefix("<!--");
        if let Some(comment) = comment.and_then(|rest| rest.strip_suffix("-->")) {
            directive = Some(comment.trim().to_owned());
            continue;
        }
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let indent = line.len() - line.trim_start().len();
            let mut text = String::new();
            for (_, line) in lines.by_ref() {
                if line.trim_start().starts_with("```") {
                    break;
                }
                text.push_str(line.get(indent..).unwrap_or_default());
                text.push('\n');
            }
            blocks.push(Block {
                line: number + 1,
                language: language.trim().to_owned(),
                directive: directive.take(),
                text,
            });
        } else if !line.trim().is_empty() {
            directive = None;
        }
    }
    blocks
}

/// The commands of a block with the output that the page shows; `None` where it shows none.
fn commands(text: &str) -> Vec<(String, Option<String>)> {
    if !text.lines().any(|line| line.starts_with("$ ")) {
        return vec![(text.to_owned(), None)];
    }
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            all.push((format!("{command}\n"), Some(String::new())));
        } else if let Some((command, output)) = all.last_mut() {
            let is_continued = command.ends_with("\\\n") && output.as_ref().unwrap().is_empty();
            let part = if is_continued {
                command
            } else {
                output.as_mut().unwrap()
            };
            part.push_str(line);
            part.push('\n');
        }
    }
    all
}

/// The folders in which the blocks of a page run.
struct Place {
    root: tempfile::TempDir,
    /// The folder of the current block.
    folder: Option<PathBuf>,
    sshd: Option<Sshd>,
    /// Variables that give the servers of the example `webapp` free ports instead of those in its text.
    ports: Vec<(&'static str, String)>,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["bin", "tmp", &HOME[1..]] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        symlink(binary(), root.path().join("bin/unfurl")).unwrap();
        Self {
            root,
            folder: None,
            sshd: None,
            ports: Vec::new(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    /// Starts in an empty folder with an empty home folder, or with a copy of an example.
    fn start(&mut self, example: Option<&str>) {
        let home = self.path(HOME);
        fs::remove_dir_all(&home).unwrap();
        fs::create_dir(&home).unwrap();
        self.folder = Some(home.clone());
        if let Some(example) = example {
            let source = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("ensembles")
                .join(example);
            assert!(source.is_dir(), "there is no example `{example}`");
            copy(&source, &home.join(example));
            self.folder = Some(home.join(example));
            self.ports = match example {
                "webapp" => ["UNFURL_INPUT_APP_PORT", "UNFURL_INPUT_SITE_PORT"]
                    .map(|variable| (variable, free_port().to_string()))
                    .into(),
                _ => Vec::new(),
            };
        }
    }

    /// Makes names of hosts stand for a server on this machine.
    fn add_hosts(&mut self, names: &str) {
        let ssh = self.path(HOME).join(".ssh");
        let sshd = self.sshd.get_or_insert_with(Sshd::start);
        let config = format!(
            "Host {}\n HostName 127.0.0.1\n Port {}\n User {}\n IdentityFile {}\n UserKnownHostsFile {}\n",
            names.replace('+', " "),
            sshd.port,
            user(),
            sshd.path("id").display(),
            sshd.path("known_hosts").display(),
        );
        fs::create_dir_all(&ssh).unwrap();
        fs::write(ssh.join("config"), config).unwrap();
    }

    /// Runs commands, and returns their outputs with their exit codes.
    fn run(&mut self, commands: &[(String, Option<String>)]) -> Vec<(String, i32)> {
        let folder = self.folder.clone().unwrap();
        let end = self.path("folder");
        let mut script = String::from("exec 2>&1\n");
        for (command, output) in commands {
            let setting = if output.is_none() { "set -e\n" } else { "" };
            write!(script, "{setting}{command}\necho \"{MARK} $?\"\n").unwrap();
        }
        writeln!(script, "pwd > '{}'", end.display()).unwrap();
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("/bin/sh")
            .args(["-c", &script])
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path(HOME))
            .env("TMPDIR", self.path("tmp"))
            .env("UNFURL_SEARCH_ROOT", self.root.path())
            .env("GIT_CEILING_DIRECTORIES", self.root.path())
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "init.defaultBranch")
            .env("GIT_CONFIG_VALUE_0", "main")
            // Nothing that a page runs may reach the network.
            .env("GIT_ALLOW_PROTOCOL", "file")
            .env("http_proxy", "http://127.0.0.1:9")
            .env("https_proxy", "http://127.0.0.1:9")
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .envs(self.ports.clone())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let text = text.replace(self.root.path().to_str().unwrap(), "");
        if let Ok(end) = fs::read_to_string(end) {
            self.folder = Some(end.trim_end().into());
        }
        let code = output.status.code().unwrap_or(-1);
        outputs(&text, code, commands.len())
    }
}

/// Splits the output of a script into those of its commands. A script that ended early has no mark at the end.
fn outputs(text: &str, code: i32, count: usize) -> Vec<(String, i32)> {
    let mut all = Vec::new();
    let mut output = String::new();
    for line in text.split_inclusive('\n') {
        match line.split_once(MARK) {
            Some((before, code)) => {
                output.push_str(before);
                let code = code.trim().parse().unwrap();
                all.push((std::mem::take(&mut output), code));
            }
            None => output.push_str(line),
        }
    }
    if all.len() < count {
        all.push((output, code));
    }
    all
}

/// The parts of an output that differ from run to run, each with its placeholder.
static PLACEHOLDERS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        (r"\bA[0-9A-Za-z]{7}[0-9A-Za-z]{4}\b", "ID"),
        (
            r"\b\d{4}-\d\d-\d\d[ T-]\d\d[:-]\d\d[:-]\d\d([-.]\d+)?( ?UTC|Z)?\b",
            "TIME",
        ),
        (r"\b(\d+m)?\d+(\.\d+)? ?(ms|s)\b", "SECONDS"),
        (r"\b\d+(\.\d+)? [KMGT]iB\b", "SIZE"),
        (r"\b[0-9a-f]{40}\b", "COMMIT"),
        (
            r"\b(\[[a-z]+ (\(root-commit\) )?)[0-9a-f]{7,12}\]",
            "${1}COMMIT]",
        ),
        (r"git version [0-9.]+", "git version N"),
        (r"(?m)[ \t]+$", ""),
    ];
    table
        .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
        .to_vec()
});

fn normalized(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, name) in PLACEHOLDERS.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    text.trim_end().to_owned()
}

/// Whether lines are those that a page shows, where a line `...` stands for any lines.
fn matches(shown: &[&str], real: &[&str]) -> bool {
    match shown {
        [] => real.is_empty(),
        [dots, rest @ ..] if dots.trim() == "..." => {
            (0..=real.len()).any(|skipped| matches(rest, &real[skipped..]))
        }
        [line, rest @ ..] => real.first() == Some(line) && matches(rest, &real[1..]),
    }
}

/// The folder in which a block starts.
#[derive(Debug, Default)]
enum Start<'d> {
    /// Where the last block of the page ended.
    #[default]
    Last,
    Empty,
    Example(&'d str),
}

/// The words of a directive.
#[derive(Debug, Default)]
struct Directive<'d> {
    start: Start<'d>,
    hosts: Option<&'d str>,
    /// The exit code of the last command.
    code: i32,
}

fn read_directive(words: &str) -> Result<Directive<'_>, String> {
    let mut read = Directive::default();
    let mut words = words.split([' ', ',']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let mut next = || {
            words
                .next()
                .ok_or_else(|| format!("`{word}` needs a word after it"))
        };
        match word {
            "empty" => read.start = Start::Empty,
            "in" => read.start = Start::Example(next()?),
            "hosts" => read.hosts = Some(next()?),
            "exit" => {
                read.code = next()?
                    .parse()
                    .map_err(|_| "`exit` needs a number".to_owned())?;
            }
            other => return Err(format!("`{other}` is unknown in a `run` comment")),
        }
    }
    Ok(read)
}

/// Runs a block and returns its problem, if it has one.
fn check_block(block: &Block, place: &mut Place) -> Result<(), String> {
    let directive = block.directive.as_deref().unwrap_or_default();
    if let Some(reason) = directive.strip_prefix("left out:") {
        let is_reason = reason.trim().len() > 8;
        return is_reason
            .then_some(())
            .ok_or_else(|| "the reason is missing".to_owned());
    }
    if let Some(name) = directive.strip_prefix("file:") {
        let folder = place
            .folder
            .as_ref()
            .ok_or("no block before it starts a folder")?;
        let file = folder.join(name.trim());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, &block.text).unwrap();
        return Ok(());
    }
    let Some(words) = directive.strip_prefix("run") else {
        if NO_COMMANDS.contains(&&*block.language) {
            return Ok(());
        }
        return Err(
            "it is neither run nor left out: put `<!-- run: empty -->` above it".to_owned(),
        );
    };
    let read = read_directive(words.trim_start_matches(':'))?;
    match read.start {
        Start::Empty => place.start(None),
        Start::Example(name) => place.start(Some(name)),
        Start::Last if place.folder.is_none() => {
            return Err("it continues no other block".to_owned());
        }
        Start::Last => {}
    }
    if let Some(names) = read.hosts {
        place.add_hosts(names);
    }
    let commands = commands(&block.text);
    let results = place.run(&commands);
    let last = commands.len() - 1;
    for (number, (command, shown)) in commands.iter().enumerate() {
        let Some((real, ended)) = results.get(number) else {
            return Err(format!("`{}` did not run", command.trim()));
        };
        let expected = if number == last { read.code } else { 0 };
        if *ended != expected {
            return Err(format!("exit code {ended}:\n$ {command}{real}"));
        }
        if let Some(shown) = shown {
            let (want, have) = (normalized(shown), normalized(real));
            if !matches(&lines(&want), &lines(&have)) {
                return Err(format!(
                    "the output differs; the real one is\n$ {command}{real}"
                ));
            }
        }
    }
    Ok(())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Returns the problems of a page.
fn check_page(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let name = path
        .strip_prefix(env!("CARGO_MANIFEST_DIR"))
        .unwrap_or(path);
    let mut place = Place::new();
    let mut problems = Vec::new();
    for block in blocks(&text) {
        if let Err(problem) = check_block(&block, &mut place) {
            problems.push(format!("{}:{}: {problem}", name.display(), block.line));
        }
    }
    problems
}

/// The pages for users.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = |folder: &str| fs::read_dir(root.join(folder)).unwrap();
    let docs = list("docs").map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let examples = list("ensembles").map(|entry| entry.unwrap().path().join("README.md"));
    let examples = examples.filter(|path| path.is_file());
    let mut pages: Vec<_> = docs
        .chain(examples)
        .chain([root.join("README.md")])
        .collect();
    pages.sort();
    pages
}

/// To run one page: `UNFURL_PAGE=docs/start.md`.
#[test]
fn every_command_of_the_documentation_does_what_the_page_says() {
    requires!("git");
    requires!("python3");
    requires!("sshd");
    let chosen = std::env::var("UNFURL_PAGE").unwrap_or_default();
    let pages: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.ends_with(&chosen) || chosen.is_empty())
        .collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut problems = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            problems.extend(check_page(page));
        }
        problems
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

#[test]
fn a_block_without_a_comment_is_a_problem() {
    let page = "```\nls\n```\n\n<!-- left out: -->\n```\nls\n```\n\n<!-- run: somewhere -->\n```\nls\n```\n\n<!-- run -->\n```\nls\n```\n\n```yaml\na: 1\n```\n";
    let mut place = Place::new();
    let problems: Vec<_> = blocks(page)
        .iter()
        .filter_map(|block| {
            Some(format!(
                "{}: {}",
                block.line,
                check_block(block, &mut place).err()?
            ))
        })
        .collect();
    insta::assert_snapshot!(problems.join("\n"), @"
    1: it is neither run nor left out: put `<!-- run: empty -->` above it
    6: the reason is missing
    11: `somewhere` is unknown in a `run` comment
    16: it continues no other block
    ");
}

#[test]
fn wrong_commands_and_wrong_output_are_problems() {
    let page = "<!-- run: empty -->\n```\n$ echo a; echo b\na\n...\n$ cd /tmp && pwd\n/tmp\n```\n\n<!-- run: exit 3 -->\n```\n$ exit 3\n```\n\n<!-- run: empty -->\n```\necho A6BM7nWW0002\nfalse\necho not\n```\n\n<!-- run -->\n```\n$ echo A6BM7nWW0002 at 2026-01-02 03:04:05\nA6BM00000001 at 2020-01-02 03:04:05\n$ echo yes\nno\n```\n";
    let mut place = Place::new();
    let problems: Vec<_> = blocks(page)
        .iter()
        .filter_map(|block| {
            Some(format!(
                "{}: {}",
                block.line,
                check_block(block, &mut place).err()?
            ))
        })
        .collect();
    insta::assert_snapshot!(problems.join("\n"), @"
    16: exit code 1:
    $ echo A6BM7nWW0002
    false
    echo not
    A6BM7nWW0002

    23: the output differs; the real one is
    $ echo yes
    yes
    ");
}
