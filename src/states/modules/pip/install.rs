//! The state `pip.installed`.

use super::command::{PipOptions, comma_list, install_options, pip_change};
use super::environment::{PipPackages, PipProgram};
use super::requirement::Requirement;
use super::version::PythonVersion;
use crate::host::change::Change;
use crate::states::modules::accounts::find_user;
use crate::states::modules::decision::{StepsResult, act_on_outputs, done, failure, unchanged};
use crate::states::modules::file::read_source;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::quote_words;
use crate::value::{Map, Value};

/// Decides `pip.installed`: installs packages, or those of a file of requirements or of a checkout.
pub(super) fn installed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let written = match call.arg("pkgs") {
        Some(Value::List(_)) => call.texts("pkgs")?,
        Some(value) if value.is_truthy() => {
            return failure("pkgs argument must be formatted as a list");
        }
        _ => vec![call.name.to_owned()],
    };
    let complaint = format!("Error installing '{}'", call.name);
    let user = call.non_empty_text("user")?;
    let wanted = if call.flag("requirements", false) || call.flag("editable", false) {
        None
    } else {
        let parsed = written.iter().map(|text| Requirement::parse(text));
        Some(parsed.collect::<Result<Vec<_>, _>>()?)
    };
    if let Some(user) = user
        && find_user(facts, &user)?.is_none()
    {
        return failure(format!("User {user} does not exist"));
    }
    let program = PipProgram::find(call, &complaint, facts)?;
    match wanted {
        Some(wanted) => install_packages(call, &program, &wanted, facts),
        None => install_files(call, &program, facts),
    }
}

/// Installs the packages of files of requirements and of checkouts.
fn install_files(
    call: &StateCall<'_>,
    program: &PipProgram,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let shown = |key: &str| -> Result<String, Halt> {
        match call.arg(key) {
            Some(Value::List(items)) => Ok(Value::from(items.to_vec()).to_string()),
            _ => call.text_or(key, ""),
        }
    };
    let (files, editable) = (shown("requirements")?, shown("editable")?);
    let mut planned = Vec::new();
    if !files.is_empty() {
        planned.push(format!("Requirements file '{files}' will be processed."));
    }
    if !editable.is_empty() {
        planned.push(format!(
            "Package will be installed in editable mode (i.e. setuptools \"develop mode\") from {editable}."
        ));
    }
    let options = install_options(call, &[])?;
    let step = with_requirements(call, pip_change(program, options), facts)?;
    let planned = StateOutcome::planned(planned.join(" "));
    act_on_outputs(planned, vec![step], move |ended, _| {
        let run = PipRun::of(ended);
        let (mut comments, mut changes) = (Vec::new(), Map::new());
        if !run.is_ok {
            if !files.is_empty() {
                comments.push(format!("Unable to process requirements file \"{files}\""));
            }
            if !editable.is_empty() {
                comments.push(format!("Unable to install from VCS checkout {editable}."));
            }
            comments.push(run.error());
            return Ok(StateOutcome::failed(comments.join(" ")));
        }
        if !files.is_empty() {
            if run.has_installed() {
                changes.insert("requirements".into(), true.into());
                comments.push(format!("Successfully processed requirements file {files}."));
            } else {
                comments.push("Requirements were already installed.".to_owned());
            }
        }
        if !editable.is_empty() {
            comments.push(format!(
                "Package successfully installed from VCS checkout {editable}."
            ));
            changes.insert("editable".into(), true.into());
        }
        Ok(StateOutcome::changed(changes, comments.join(" ")))
    })
}

/// Gives pip the file of requirements of the state tree on its standard input.
fn with_requirements(
    call: &StateCall<'_>,
    step: Change,
    facts: &FactCache,
) -> Result<Change, Halt> {
    let files = comma_list(call, "requirements")?;
    let mut own = files.iter().filter(|file| file.starts_with("salt://"));
    let (Some(file), Change::Run(mut run)) = (own.next(), step.clone()) else {
        return Ok(step);
    };
    if own.next().is_some() {
        return refuse("`requirements` can have one file of the state tree only");
    }
    match read_source(call, file, facts)? {
        Some((bytes, _)) => run.stdin = Some(bytes.to_vec()),
        None => return refuse(format!("Error: pip requirements file '{file}' not found")),
    }
    Ok(Change::Run(run))
}

/// The packages to install, and the comments about the others.
struct PipPlan {
    targets: Vec<Requirement>,
    comments: Vec<String>,
}

/// Installs the packages that are missing or have another version.
fn install_packages(
    call: &StateCall<'_>,
    program: &PipProgram,
    wanted: &[Requirement],
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let packages = program.packages(facts)?;
    let mut plan = PipPlan {
        targets: Vec::new(),
        comments: Vec::new(),
    };
    for package in wanted {
        match right_comment(call, program, package, &packages, facts)? {
            Some(comment) => plan.comments.push(comment),
            None => plan.targets.push(package.clone()),
        }
    }
    let PipPlan { targets, comments } = plan;
    let Some(first) = targets.first() else {
        let end = if call.flag("upgrade", false) {
            " and up-to-date"
        } else {
            ""
        };
        let last = format!("All specified packages are already installed{end}");
        return unchanged(with_comments(&comments, &last));
    };
    let planned = if let [_] = wanted {
        format!("Python package {} is set to be installed", first.written)
    } else {
        let names: Vec<&str> = wanted.iter().map(|it| it.written.as_str()).collect();
        format!(
            "Python package(s) set to be installed:\n{}",
            names.join("\n")
        )
    };
    let planned = StateOutcome::planned(planned);
    if call.mode == Mode::Test {
        return done(planned);
    }
    let names: Vec<String> = targets.iter().map(|it| it.written.clone()).collect();
    let options = install_options(call, &names)?;
    let step = pip_change(program, options);
    let program = program.clone();
    act_on_outputs(planned, vec![step], move |ended, facts| {
        let run = PipRun::of(ended);
        if !run.is_ok {
            let names = names.join(", ");
            let comment = format!("Failed to install packages: {names}. {}", run.error());
            return Ok(StateOutcome::failed(with_comments(&comments, &comment)));
        }
        let packages = program.packages(facts)?;
        let changes = installed_changes(&targets, &packages);
        let comment = with_comments(&comments, "All packages were successfully installed");
        Ok(StateOutcome::changed(changes, comment))
    })
}

/// Returns the changes: each package with its version.
fn installed_changes(targets: &[Requirement], packages: &PipPackages) -> Map {
    let changes = targets.iter().map(|target| {
        let found = target.name.as_deref();
        let found = found.and_then(|name| Some((name, packages.version(name)?)));
        let key = match found {
            Some((name, version)) => format!("{name}=={version}"),
            None => format!("{}==???", target.written),
        };
        (key.into(), "Installed".into())
    });
    changes.collect()
}

fn with_comments(comments: &[String], last: &str) -> String {
    let mut all: Vec<&str> = comments.iter().map(String::as_str).collect();
    all.push(last);
    all.join("\n")
}

/// Returns the comment about a package that is right already; None if it is to be installed.
fn right_comment(
    call: &StateCall<'_>,
    program: &PipProgram,
    package: &Requirement,
    packages: &PipPackages,
    facts: &FactCache,
) -> Result<Option<String>, Halt> {
    let is_set = |key| call.flag(key, false);
    let Some(name) = &package.name else {
        return Ok(None);
    };
    let Some(version) = packages.version(name) else {
        return Ok(None);
    };
    if is_set("ignore_installed") || is_set("force_reinstall") {
        return Ok(None);
    }
    let same = format!("Python package {} was already installed", package.written);
    if !is_set("upgrade") {
        return Ok(package.accepts(version).then_some(same));
    }
    let Some(best) = best_version(call, program, package, facts)? else {
        return Ok(Some(format!(
            "Python package {name} was already installed and\nthe available upgrade doesn't fulfills the version requirements"
        )));
    };
    let is_best = PythonVersion::parse(version) == PythonVersion::parse(&best);
    Ok(is_best.then_some(same))
}

/// Returns the newest version that pip can install and that the state allows.
fn best_version(
    call: &StateCall<'_>,
    program: &PipProgram,
    package: &Requirement,
    facts: &FactCache,
) -> Result<Option<String>, Halt> {
    let mut options = PipOptions::default();
    options.addresses(call, &["index_url", "extra_index_url"])?;
    let mut program = program.clone();
    program.setting.env.extend(options.variables);
    let name = package.name.as_deref().unwrap_or_default();
    let mut words = vec!["--disable-pip-version-check", "index", "versions", name];
    words.extend(options.words.iter().map(String::as_str));
    let command = format!("{} 2>/dev/null || :", quote_words(&words));
    let text = program.ask(&command, facts)?;
    let Some(list) = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Available versions: "))
    else {
        return Ok(None);
    };
    let allows = |phase: &str| {
        let mut conditions = package.conditions.iter();
        conditions.any(|it| it.version.contains(phase))
    };
    let refused: Vec<&str> = ["a", "b", "rc"]
        .into_iter()
        .filter(|it| !allows(it))
        .collect();
    let mut versions: Vec<(PythonVersion, &str)> = list
        .split(", ")
        .filter(|text| !refused.iter().any(|phase| text.contains(phase)))
        .filter(|text| package.accepts(text))
        .filter_map(|text| Some((PythonVersion::parse(text)?, text)))
        .collect();
    versions.sort();
    Ok(versions.pop().map(|(_, text)| text.to_owned()))
}

/// The result of a run of pip.
struct PipRun {
    is_ok: bool,
    stdout: String,
    stderr: String,
}

/// The beginnings of lines that tell of no change.
const IDLE_LINES: [&str; 8] = [
    "Requirement already satisfied",
    "Requirement already up-to-date",
    "Requirement not upgraded",
    "Collecting",
    "Cloning",
    "Cleaning up...",
    "Looking in indexes",
    "Looking in links",
];

impl PipRun {
    fn of(ended: &StepsResult<'_>) -> Self {
        let Some(output) = ended.outputs.last() else {
            return Self {
                is_ok: false,
                stdout: String::new(),
                stderr: ended.error.clone().unwrap_or_default(),
            };
        };
        Self {
            is_ok: output.exit.is_ok(),
            stdout: output.stdout.text().trim_end().to_owned(),
            stderr: output.stderr.text().trim_end().to_owned(),
        }
    }

    fn error(&self) -> String {
        format!("Error: {} {}", self.stdout, self.stderr)
    }

    fn has_installed(&self) -> bool {
        self.stdout
            .lines()
            .any(|line| !IDLE_LINES.iter().any(|idle| line.trim().starts_with(idle)))
    }
}
