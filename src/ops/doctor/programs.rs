//! Checks the implementations of the ensemble's operations: configurators, programs and files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::check::{Check, DoctorReport};
use super::shell_programs::programs_of;
use super::subject::{LoadedEnsemble, Subject, install_command, names, quoted};
use crate::configurator;
use crate::diagnostic::Span;
use crate::system::fs;
use crate::tosca::{Dependency, NodeTemplate, Operation};
use crate::value::{Map, Value};

/// The maximum number of programs, and of configurators, that are listed.
const MAX_LISTED: usize = 50;
/// The configurators whose command runs on this machine.
const LOCAL_SHELL: &str = "unfurl.configurators.shell.ShellConfigurator";

/// The operations that need the same program or file, and the place of the first one.
type Users = BTreeMap<String, (BTreeSet<String>, Span)>;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Some(loaded) = subject.ensemble() else {
        return;
    };
    let mut needed = Users::new();
    let mut refused = Users::new();
    for (label, operation) in operations(loaded) {
        match configurator::choose(operation) {
            Ok((configurator, inputs)) => {
                if configurator.class_name() == LOCAL_SHELL {
                    let base = base_of(loaded, &inputs);
                    for program in programs(&inputs, base.as_deref()) {
                        add(&mut needed, program, &label, operation.span);
                    }
                }
                for program in dependencies(operation) {
                    add(&mut needed, program, &label, operation.span);
                }
            }
            Err(error) => {
                add(&mut refused, error.to_string(), &label, operation.span);
            }
        }
    }
    for (reason, (users, span)) in refused.into_iter().take(MAX_LISTED) {
        let message = format!("{reason}; needed by {}", names(&users));
        let mut check = Check::error("configurator", "configurator", message)
            .help("write another implementation, such as a shell command")
            .fix(subject.command("plan"));
        check.place = loaded.session.sources.position(span);
        report.push(check);
    }
    check_programs(subject, loaded, needed, report);
}

fn add(to: &mut Users, what: String, user: &str, span: Span) {
    let (users, _) = to.entry(what).or_insert_with(|| (BTreeSet::new(), span));
    users.insert(user.to_owned());
}

/// Returns the implemented operations of all templates and their relationships, with a label.
fn operations(loaded: &LoadedEnsemble) -> Vec<(String, &Operation)> {
    let topology = &loaded.session.service.topology;
    let mut found = Vec::new();
    for node in topology.nodes.values() {
        add_operations(node, &mut found);
    }
    found
}

fn add_operations<'n>(node: &'n NodeTemplate, found: &mut Vec<(String, &'n Operation)>) {
    let relationships = node.requirements.iter();
    let relationships = relationships.map(|requirement| &requirement.relationship.operations);
    for operations in std::iter::once(&node.operations).chain(relationships) {
        for operation in operations.iter().filter(|it| it.implementation.is_some()) {
            let label = format!("{}: {}", node.name, operation.reference);
            found.push((label, operation));
        }
    }
}

/// Returns the folder in which a command runs; `None` if an expression names it.
fn base_of(loaded: &LoadedEnsemble, inputs: &Map) -> Option<PathBuf> {
    let base = loaded.session.manifest.base_dir();
    match inputs.get("cwd") {
        None => Some(base.to_owned()),
        Some(cwd) => {
            let text = cwd.as_str().filter(|text| is_static(text))?;
            Some(base.join(text))
        }
    }
}

fn is_static(text: &str) -> bool {
    !text.contains("{{") && !text.contains("{%") && !text.contains("${")
}

/// Returns the programs of a command on this machine. Paths are complete.
fn programs(inputs: &Map, base: Option<&Path>) -> Vec<String> {
    let Some(command) = inputs.get("command") else {
        return Vec::new();
    };
    let found = match (command.as_str(), command.as_list()) {
        (Some(line), _) => programs_of(line),
        (None, Some(words)) => {
            let first = words.first().and_then(Value::as_str);
            let first = first.filter(|word| is_static(word) && !word.is_empty());
            first.map(str::to_owned).into_iter().collect()
        }
        (None, None) => Vec::new(),
    };
    let complete = found.into_iter().filter_map(|program| {
        if !program.contains('/') || program.starts_with('/') {
            return Some(program);
        }
        Some(
            fs::absolute(Path::new(&program), base?)
                .display()
                .to_string(),
        )
    });
    complete.collect()
}

/// Returns the programs that an implementation lists as dependencies.
fn dependencies(operation: &Operation) -> Vec<String> {
    let implementation = operation.implementation.iter();
    let dependencies = implementation.flat_map(|it| &it.dependencies);
    let files = dependencies.filter_map(|dependency| match dependency {
        Dependency::Inline(artifact) => artifact.file.as_str(),
        Dependency::Named(_) => None,
    });
    // An absolute path is a program of this machine; other names are artifacts to install.
    files
        .filter(|file| file.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

fn check_programs(
    subject: &Subject<'_>,
    loaded: &LoadedEnsemble,
    needed: Users,
    report: &mut DoctorReport,
) {
    let variables = loaded.session.variables(&loaded.topology, &loaded.system);
    let variables =
        variables.map_or_else(|_| subject.env.all().clone(), |found| found.values.to_map());
    let path = variables
        .get("PATH")
        .map_or(fs::DEFAULT_PATH, String::as_str);
    let mut present = Vec::new();
    let mut missing = 0;
    for (program, (users, span)) in needed {
        let Some(mut check) = problem_of(&program, path, &users) else {
            present.push(program);
            continue;
        };
        missing += 1;
        if missing <= MAX_LISTED {
            check.place = loaded.session.sources.position(span);
            report.push(check);
        }
    }
    if missing > MAX_LISTED {
        let message = format!("more programs are missing: {}", missing - MAX_LISTED);
        let check = Check::warning("programs", "programs", message);
        report.push(check.help("install those that are listed, and run the check again"));
    }
    if !present.is_empty() {
        let listed = present.iter().take(MAX_LISTED).map(String::as_str);
        let mut listed: Vec<&str> = listed.collect();
        listed.extend((present.len() > MAX_LISTED).then_some("…"));
        let message = format!("found: {}", listed.join(", "));
        report.push(Check::ok("programs", "programs", message));
    }
}

/// Returns the problem of a program that operations need; `None` if it can be started.
fn problem_of(program: &str, path: &str, users: &BTreeSet<String>) -> Option<Check> {
    let users = names(users);
    let missing = |message: String| {
        Check::warning(
            "programs",
            "programs",
            format!("{message}; needed by {users}"),
        )
    };
    if program.contains('/') {
        let file = Path::new(program);
        let word = quoted(file);
        if fs::is_program(file) {
            return None;
        }
        return Some(if fs::is_file(file) {
            missing(format!("`{program}` is not executable")).fix(format!("chmod +x {word}"))
        } else {
            missing(format!("`{program}` does not exist"))
                .help("write the file, unless an operation before it does")
        });
    }
    if fs::find_program(program, path.split(':')).is_some() {
        return None;
    }
    let message = format!("`{program}` is in no folder of `PATH`");
    let help = "install the program, unless an operation before it does";
    Some(missing(message).help(help).fix(install_command(program)))
}
