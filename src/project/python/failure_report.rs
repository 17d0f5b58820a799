//! Error messages for files in Python that were not converted.
//!
//! [`failure_report`] is the entry. Exceptions are reported at the line that raised them.

use std::path::Path;
use std::time::Duration;

use super::converter_output::{ConversionFailure, PythonException};
use super::sandbox::TIME_LIMIT_VARIABLE;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources, Span};
use crate::project::Trust;
use crate::system::fs;

/// The hint to install the packages. It lists packages that `tosca` needs but does not declare.
const INSTALL_HELP: &str = "install it for that Python with \
    `pip install tosca stevedore pyyaml certifi python-dateutil`, or with `pip install unfurl`";

/// Returns the errors for a file that was not converted.
///
/// `text` is the content of the file at `path`, and `include_span` is the location that includes it.
pub(in crate::project) fn failure_report(
    failure: ConversionFailure,
    path: &Path,
    text: &str,
    include_span: Span,
    sources: &mut Sources,
) -> Diagnostics {
    let faults = match failure {
        ConversionFailure::Exceptions(faults) => faults,
        other => return file_problem(&other, path, include_span).into(),
    };
    let mut problems = Diagnostics::default();
    for fault in &faults {
        problems.push(exception_problem(fault, path, text, include_span, sources));
    }
    problems
}

/// Returns the error for a failure without a location in the file.
fn file_problem(failure: &ConversionFailure, path: &Path, include_span: Span) -> Diagnostic {
    let file = path.display();
    let (message, help) = match failure {
        ConversionFailure::NotPermitted => (
            format!("`{file}` is a program in Python, which is not allowed to run"),
            Trust::help("python"),
        ),
        ConversionFailure::InArchive => (
            format!("`{file}` is a program in Python, which does not run inside an archive"),
            "unpack the archive, and validate the folder".to_owned(),
        ),
        ConversionFailure::NoPython => (
            format!("`{file}` cannot be converted: `python3` was not found"),
            "install Python 3.8 or later with the package `tosca`, and put it on the `PATH`"
                .to_owned(),
        ),
        ConversionFailure::MissingPackage { package, python } => (
            format!(
                "`{file}` cannot be converted: the Python package `{package}` is missing for `{}`",
                python.display()
            ),
            INSTALL_HELP.to_owned(),
        ),
        ConversionFailure::UnusablePackages { message, python } => (
            format!(
                "`{file}` cannot be converted: the Python package `tosca` does not work with `{}`: {message}",
                python.display()
            ),
            "install another version of the package or of Python".to_owned(),
        ),
        ConversionFailure::TimedOut(limit) => (
            format!("`{file}` was not converted within {}", seconds(*limit)),
            format!(
                "check whether the file waits or loops; `{TIME_LIMIT_VARIABLE}` sets the limit in seconds"
            ),
        ),
        ConversionFailure::OutputTooLarge => (
            format!("the YAML converted from `{file}` exceeds 64 MiB"),
            "check whether the file creates templates in an endless loop".to_owned(),
        ),
        ConversionFailure::NoOutput {
            code,
            last_error_line,
        } => describe_missing_output(path, *code, last_error_line),
        ConversionFailure::StartFailed(error) => (
            format!("`{file}` cannot be converted: {error}"),
            "check whether `python3` is a program for this machine".to_owned(),
        ),
        ConversionFailure::InvalidTimeLimit(text) => (
            format!("`{TIME_LIMIT_VARIABLE}` has the invalid value `{text}`"),
            format!("set `{TIME_LIMIT_VARIABLE}` to a number of seconds up to a day, or unset it"),
        ),
        ConversionFailure::Exceptions(_) => (format!("`{file}` raised exceptions"), String::new()),
    };
    Diagnostic::error(message)
        .label(include_span, "included here")
        .help(help)
}

/// Returns the message and the help for a conversion that ended without a result.
fn describe_missing_output(path: &Path, code: i32, last_error_line: &str) -> (String, String) {
    let file = path.display();
    (
        format!("the conversion of `{file}` ended with exit code {code} and without a result"),
        if last_error_line.is_empty() {
            "check whether the file ends its own process".to_owned()
        } else {
            format!("its last error output was: {last_error_line}")
        },
    )
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f32())
}

/// Returns the error for an exception, at its location in the file that raised it.
fn exception_problem(
    fault: &PythonException,
    path: &Path,
    text: &str,
    include_span: Span,
    sources: &mut Sources,
) -> Diagnostic {
    let file = fault.file.as_deref().unwrap_or(path);
    let kind = &fault.kind;
    let message = match fault.message.as_str() {
        "" => kind.clone(),
        message => format!("{kind}: {}", message.trim_end_matches('.')),
    };
    let Some(line) = fault.line else {
        let message = format!("`{}` cannot be converted: {message}", path.display());
        return Diagnostic::error(message).label(include_span, "included here");
    };
    let known = sources.find(file);
    let source = known.or_else(|| {
        let text = if file == path {
            text.to_owned()
        } else {
            fs::read_to_string(file).ok()?
        };
        Some(sources.add(
            file,
            text,
            Some(include_span).filter(|include_span| include_span.is_some()),
        ))
    });
    let span = source.map(|source| line_span(sources, source, line, fault.column));
    let diagnostic = Diagnostic::error(message);
    match span {
        Some(span) => diagnostic.label(span, "raised here"),
        None => diagnostic.label(include_span, "included here"),
    }
}

/// Returns the span of a line, from its column or its first word to its end.
fn line_span(sources: &Sources, id: SourceId, line: usize, column: Option<usize>) -> Span {
    let text = sources.get(id).map_or("", |source| &source.text);
    let skipped = text.split_inclusive('\n').take(line.saturating_sub(1));
    let begin: usize = skipped.map(str::len).sum();
    let content = text[begin..].lines().next().unwrap_or("");
    let first_word = content.len() - content.trim_start().len();
    let from = match column {
        Some(column) => {
            let before = content.chars().take(column.saturating_sub(1));
            before.map(char::len_utf8).sum()
        }
        None => first_word,
    };
    let place = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    Span::new(
        id,
        place(begin + from),
        place(begin + content.trim_end().len().max(from)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(fault: PythonException) -> (String, String, String) {
        let mut sources = Sources::default();
        let text = "import tosca\n    x = é [\n";
        let path = Path::new("/d/x.py");
        let problems = failure_report(
            ConversionFailure::Exceptions(vec![fault]),
            path,
            text,
            Span::NONE,
            &mut sources,
        );
        let problem = problems.iter().next().unwrap();
        let span = problem.span().unwrap_or(Span::NONE);
        let at = sources.position(span).map(|place| place.to_string());
        let cut = sources.text(span).to_owned();
        (problem.message.clone(), at.unwrap_or_default(), cut)
    }

    fn fault(line: Option<usize>, column: Option<usize>) -> PythonException {
        PythonException {
            kind: "NameError".into(),
            message: "no y.".into(),
            file: line.map(|_| "/d/x.py".into()),
            line,
            column,
        }
    }

    #[test]
    fn an_exception_is_shown_at_its_line() {
        let (message, at, cut) = shown(fault(Some(2), None));
        assert_eq!(
            (message.as_str(), at.as_str()),
            ("NameError: no y", "/d/x.py:2:5")
        );
        assert_eq!(cut, "x = é [");
        let (_, at, cut) = shown(fault(Some(2), Some(11)));
        assert_eq!((at.as_str(), cut.as_str()), ("/d/x.py:2:11", "["));
    }

    #[test]
    fn places_that_the_file_does_not_have_break_nothing() {
        for (line, column) in [(99, None), (2, Some(999)), (0, Some(0)), (usize::MAX, None)] {
            let (_, at, _) = shown(fault(Some(line), column));
            assert!(at.starts_with("/d/x.py:"), "{at}");
        }
        let (message, at, _) = shown(fault(None, None));
        assert_eq!(message, "`/d/x.py` cannot be converted: NameError: no y");
        assert!(at.is_empty());
    }

    #[test]
    fn a_refusal_names_both_ways_to_allow_it() {
        let problem = file_problem(
            &ConversionFailure::NotPermitted,
            Path::new("/x.py"),
            Span::NONE,
        );
        let help = problem.help.unwrap();
        assert!(
            help.contains("--allow python") && help.contains("`trusted`"),
            "{help}"
        );
    }
}
