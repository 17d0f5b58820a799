//! Implements `unfurl validate`: checks a project and applies ignore comments, `--strict` and the baseline.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::shellcheck::shellcheck;
use crate::check::{Baseline, UnusedIgnores, apply_ignores};
use crate::session::validate::{self, ValidationReport};
use crate::session::{SessionOptions, current_dir};
use crate::system::env::Env;
use crate::system::fs;

/// The maximum size of a baseline in bytes.
const MAX_BASELINE: u64 = 64 << 20;

/// A request to validate.
#[derive(Debug)]
pub struct ValidateRequest {
    pub session: SessionOptions,
    /// Whether warnings count as errors.
    pub strict: bool,
    /// Whether `shellcheck` checks the commands if it is installed.
    pub shellcheck: bool,
    /// The file with accepted findings.
    pub baseline: Option<PathBuf>,
    /// Whether to create the baseline, or to remove the lines that accept nothing.
    pub update_baseline: bool,
}

/// The reports of a validation.
#[derive(Debug)]
pub struct Validation {
    /// The reports: one for each ensemble or service template.
    pub reports: Vec<ValidationReport>,
    /// The number of findings that the baseline accepts.
    pub accepted: usize,
    /// Describes the change of the baseline, if it was written.
    pub notice: Option<String>,
}

/// Validates the path that the request names.
pub fn validate(request: &ValidateRequest) -> Result<Validation, Failure> {
    let mut reports = validate::validate(&request.session)?;
    let env = Env::of_this_process();
    for report in &mut reports {
        let mut problems = std::mem::take(&mut report.problems);
        if let Some(topology) = report.topology.as_ref().filter(|_| request.shellcheck) {
            problems.append(shellcheck(topology, &report.sources, &env));
        }
        // After an error that stops the reading, other checks have not run.
        let unused = if problems.stop_loading() {
            UnusedIgnores::Accept
        } else {
            UnusedIgnores::Report
        };
        report.problems = apply_ignores(problems, &report.sources, unused);
        if request.strict {
            report.problems.make_strict();
        }
    }
    let mut validation = Validation {
        reports,
        accepted: 0,
        notice: None,
    };
    if let Some(file) = &request.baseline {
        apply_baseline(file, request, &mut validation)?;
    }
    Ok(validation)
}

fn apply_baseline(
    file: &Path,
    request: &ValidateRequest,
    validation: &mut Validation,
) -> Result<(), Failure> {
    let path = fs::absolute(file, &current_dir()?);
    // The names of files in a baseline do not depend on the current folder.
    let here = path.parent().unwrap_or(&path).to_path_buf();
    if !fs::exists(&path) {
        create(file, &path, request, validation)?;
    }
    let baseline = read(file, &path)?;
    let reports = &mut validation.reports;
    let mut seen = HashSet::new();
    for report in &mut *reports {
        let problems = std::mem::take(&mut report.problems);
        report.problems = baseline.apply(problems, &report.sources, &here, &mut seen);
    }
    validation.accepted = seen.len();
    if reports.iter().any(|report| report.problems.stop_loading()) {
        return Ok(());
    }
    let file = file.display().to_string();
    let unused = baseline.unused(&seen, &file);
    if request.update_baseline && !unused.is_empty() {
        let count = findings(unused.len());
        validation.notice = Some(format!("removed {count} from `{file}`"));
        return write(&path, &baseline.keep(&seen));
    }
    if let Some(last) = reports.last_mut() {
        last.problems.append(unused);
        if request.strict {
            last.problems.make_strict();
        }
    }
    Ok(())
}

/// Creates the baseline if the request says so.
fn create(
    file: &Path,
    path: &Path,
    request: &ValidateRequest,
    validation: &mut Validation,
) -> Result<(), Failure> {
    if !request.update_baseline {
        let message = format!("there is no baseline `{}`", file.display());
        let help = "create it with `--update-baseline`".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    let base = path.parent().unwrap_or(path);
    let mut baseline = Baseline::default();
    for report in &validation.reports {
        baseline.extend(Baseline::of(&report.problems, &report.sources, base));
    }
    write(path, &baseline)?;
    let count = findings(baseline.len());
    validation.notice = Some(format!("wrote {count} to `{}`", file.display()));
    Ok(())
}

fn read(file: &Path, path: &Path) -> Result<Baseline, Failure> {
    let bytes = fs::read_within(path, MAX_BASELINE)
        .map_err(|error| Failure::new(FailureKind::Refused, error, None))?;
    Baseline::parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
        let message = format!("`{}` is not a baseline", file.display());
        let help = "name another file, which `--update-baseline` creates".to_owned();
        Failure::new(FailureKind::Refused, message, Some(help))
    })
}

/// Returns a number of findings with its noun.
fn findings(count: usize) -> String {
    match count {
        1 => "1 finding".to_owned(),
        _ => format!("{count} findings"),
    }
}

fn write(path: &Path, baseline: &Baseline) -> Result<(), Failure> {
    fs::write_atomic(path, baseline.text().as_bytes(), None)
        .map_err(|error| Failure::new(FailureKind::Refused, error, None))
}
