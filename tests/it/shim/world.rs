//! The fixture of the loops: a clone with an ensemble and with work of the user, its remote, and a log of effects
//! that a crash of the program cannot change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::library::{Disturbance, Variables, disturbed, preloaded};
use super::power::{Tree, tree_of};
use super::trace::{self, Record};
use crate::repos::try_git;
use crate::support::{Run, TestEnv};

const HEAD: &str = r#"apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Item:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            configure:
              implementation: Shell
              inputs: {command: "echo {{ '.name' | eval }} configure >> ../../log"}
            delete:
              implementation: Shell
              inputs: {command: "echo {{ '.name' | eval }} delete >> ../../log"}
    topology_template:
      node_templates:
"#;

/// The files of the user: staged, changed, new and not added. The ensemble is in a folder beside them.
const USER_FILES: [&str; 4] = ["one", "two", "staged-new", "untracked"];

/// What `git status` reports of the user's work.
pub(super) const USER_STATUS: &str = "M  one\nA  staged-new\n M two\n?? untracked";

/// The nodes of the ensemble. The last two form a chain with `n1`.
pub(super) const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

/// A result of a check: the error is the reason that the state is bad.
pub(super) type Checked = Result<(), String>;

/// A clone `a` with an ensemble in `a/ens` and with work of the user, and its remote `origin.git`.
#[derive(Debug)]
pub(super) struct World {
    pub(super) env: TestEnv,
}

/// The work of the user: the files, and what is staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserWork {
    files: Vec<Option<Vec<u8>>>,
    staged: Vec<Option<(String, u32)>>,
}

impl World {
    /// A world before the first job.
    pub(super) fn new() -> Self {
        let world = Self {
            env: TestEnv::new(),
        };
        world.set_boot("first");
        let mut text = HEAD.to_owned();
        for node in NODES {
            let before = match node {
                "n2" => ", requirements: [{dependency: n1}]",
                "n3" => ", requirements: [{dependency: n2}]",
                _ => "",
            };
            writeln!(text, "        {node}: {{type: Item{before}}}").unwrap();
        }
        let env = &world.env;
        // Without the samples of hooks, a copy is faster.
        env.git(&[
            "init",
            "-q",
            "--template=",
            "--bare",
            "-b",
            "main",
            "origin.git",
        ]);
        env.git(&["init", "-q", "--template=", "-b", "main", "a"]);
        env.write("a/ens/ensemble.yaml", &text);
        for file in ["one", "two"] {
            env.write(&format!("a/{file}"), "first\n");
        }
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "ensemble"]);
        world.git(&["remote", "add", "origin", "../origin.git"]);
        world.git(&["push", "-q", "-u", "origin", "main"]);
        world
    }

    /// Adds work of the user to the clone: a staged change, a staged file, a change and a new file.
    pub(super) fn with_user_work(self) -> Self {
        let env = &self.env;
        env.write("a/one", "first\nstaged\n");
        env.write("a/staged-new", "staged\n");
        self.git(&["add", "one", "staged-new"]);
        env.write("a/two", "first\nchanged\n");
        env.write("a/untracked", "untracked\n");
        self
    }

    pub(super) fn copied(&self) -> Self {
        Self {
            env: self.env.copied(),
        }
    }

    pub(super) fn clone_folder(&self) -> PathBuf {
        self.env.work().join("a")
    }

    /// The files of the clone.
    pub(super) fn tree(&self) -> Tree {
        tree_of(&self.clone_folder())
    }

    pub(super) fn git(&self, words: &[&str]) -> String {
        self.env.git(&[&["-C", "a"], words].concat())
    }

    /// Runs git, which may fail. The error is its output.
    pub(super) fn try_git(&self, words: &[&str]) -> Result<String, String> {
        let (code, said) = try_git(&self.clone_folder(), words);
        if code == 0 {
            return Ok(said.trim_end().to_owned());
        }
        Err(format!(
            "`git {}` exits with {code}: {}",
            words.join(" "),
            said.trim()
        ))
    }

    /// Sets the boot id that the program reads. Another id simulates a reboot.
    pub(super) fn set_boot(&self, id: &str) {
        self.env.write("boot-id", &format!("{id}\n"));
        self.env
            .write("machine-id", "0123456789abcdef0123456789abcdef\n");
    }

    fn variables(&self) -> Variables {
        let work = self.env.work();
        preloaded(&work.join("boot-id"), &work.join("machine-id"))
    }

    /// Calls the program in `a/ens` without a disturbance.
    pub(super) fn unfurl(&self, words: &[&str]) -> Run {
        self.env.unfurl_in("a/ens", &self.variables(), words)
    }

    /// Calls the program with further variables, in a clone.
    pub(super) fn unfurl_with(&self, clone: &str, more: &[(&str, &str)], words: &[&str]) -> Run {
        let more = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let variables: Variables = self.variables().into_iter().chain(more).collect();
        self.env
            .unfurl_in(&format!("{clone}/ens"), &variables, words)
    }

    /// Calls the program with a disturbance. Returns the calls that it made in the clone.
    pub(super) fn disturbed(&self, what: Disturbance, words: &[&str]) -> (Run, Vec<Record>) {
        let folder = self.env.work();
        let mut variables = self.variables();
        variables.extend(disturbed(what, &self.clone_folder(), &folder));
        let run = self.env.unfurl_in("a/ens", &variables, words);
        (run, trace::read(&folder))
    }

    /// How many times each task has had its effect.
    pub(super) fn effects(&self) -> BTreeMap<String, usize> {
        let log = std::fs::read_to_string(self.env.work().join("log")).unwrap_or_default();
        let mut effects = BTreeMap::new();
        for line in log.lines() {
            *effects.entry(line.to_owned()).or_default() += 1;
        }
        effects
    }

    /// The clone, read in this process, which is faster than the git program.
    pub(super) fn repository(&self) -> Result<git2::Repository, String> {
        git2::Repository::open(self.clone_folder()).map_err(|error| error.to_string())
    }

    pub(super) fn user_work(&self) -> Result<UserWork, String> {
        let read = |file: &str| std::fs::read(self.clone_folder().join(file)).ok();
        let index = self.repository()?.index();
        let index = index.map_err(|error| format!("the index cannot be read: {error}"))?;
        let staged = |file: &str| {
            let entry = index.get_path(Path::new(file), 0);
            entry.map(|entry| (entry.id.to_string(), entry.mode))
        };
        Ok(UserWork {
            files: USER_FILES.map(read).to_vec(),
            staged: USER_FILES.map(staged).to_vec(),
        })
    }
}
