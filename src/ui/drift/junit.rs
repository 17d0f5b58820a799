//! The answers of `unfurl drift` as XML in the form of `JUnit`, for the test pages of CI systems.
//!
//! A suite is an ensemble, and a case is an instance, attribute or file that was looked at.

use super::phrases::{Section, diff_lines, name, seen, sides};
use crate::drift::{DriftAnswer, Finding};
use crate::text::escape_controls;
use crate::ui::drift_note::last_set;
use crate::ui::words;

/// The numbers of cases in a suite.
#[derive(Debug, Clone, Copy, Default)]
struct Cases {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Cases {
    fn attributes(self) -> String {
        let Self {
            tests,
            failures,
            errors,
            skipped,
        } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\""
        )
    }
}

/// Returns the answers as one XML document: drift is a failure, and a case is skipped if nothing could be determined.
pub fn drift_junit(answers: &[DriftAnswer]) -> String {
    let suites: Vec<(String, Cases)> = answers.iter().map(suite).collect();
    let total = suites
        .iter()
        .fold(Cases::default(), |sum, (_, cases)| Cases {
            tests: sum.tests + cases.tests,
            failures: sum.failures + cases.failures,
            errors: sum.errors + cases.errors,
            skipped: sum.skipped + cases.skipped,
        });
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let attributes = total.attributes();
    words::append(
        &mut xml,
        format_args!("<testsuites name=\"unfurl drift\" {attributes}>\n"),
    );
    for (suite, _) in suites {
        xml.push_str(&suite);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(answer: &DriftAnswer) -> (String, Cases) {
    let mut cases = Cases::default();
    let mut inner = String::new();
    if let Some(problem) = &answer.problem {
        let (word, message) = super::phrases::problem(problem);
        cases.errors += 1;
        case(
            &mut inner,
            &answer.name,
            "look",
            &element("error", word, message),
        );
        cases.tests += 1;
    }
    for finding in &answer.findings {
        let outcome = outcome(finding, answer, &mut cases);
        let class = match name(finding) {
            "" => &answer.name,
            name => name,
        };
        case(&mut inner, class, &finding.subject.attribute, &outcome);
        cases.tests += 1;
    }
    for problem in &answer.rule_problems {
        cases.failures += 1;
        let failure = element("failure", "a problem of an ignore rule", problem);
        case(&mut inner, &answer.name, "ignore rule", &failure);
        cases.tests += 1;
    }
    for clean in &answer.clean {
        case(&mut inner, clean, "status", "");
        cases.tests += 1;
    }
    let mut xml = String::new();
    let (ensemble, attributes) = (text(&answer.name), cases.attributes());
    let at = answer.at.strftime("%Y-%m-%dT%H:%M:%S");
    words::append(
        &mut xml,
        format_args!("  <testsuite name=\"{ensemble}\" {attributes} timestamp=\"{at}\">\n"),
    );
    xml.push_str(&inner);
    xml.push_str("  </testsuite>\n");
    (xml, cases)
}

/// Returns the elements in the case of a finding, and counts it.
fn outcome(finding: &Finding, answer: &DriftAnswer, cases: &mut Cases) -> String {
    let sides = sides(&finding.difference);
    let sides = sides.unwrap_or_else(|| match &finding.difference.lines {
        Some(_) => "other content".to_owned(),
        None => Section::of(finding).word().to_owned(),
    });
    let reason = finding.reason.as_deref();
    match Section::of(finding) {
        Section::Drifted => {
            cases.failures += 1;
            element("failure", &sides, &details(finding, answer))
        }
        Section::CannotTell => {
            cases.skipped += 1;
            element(
                "skipped",
                reason.unwrap_or("nothing could be determined"),
                "",
            )
        }
        section => {
            let word = section.word();
            let word = if sides == word {
                sides
            } else {
                format!("{word}: {sides}")
            };
            let text = format!("{word}\n{}", details(finding, answer));
            element("system-out", "", &text)
        }
    }
}

/// Returns everything that is known about a finding, one fact a line.
fn details(finding: &Finding, answer: &DriftAnswer) -> String {
    let mut lines = vec![format!("id {}", finding.id())];
    lines.extend(finding.reason.as_deref().map(str::to_owned));
    let sightings = finding.sightings.as_ref();
    lines.extend(sightings.map(|it| seen(it, answer.at)));
    lines.extend(finding.last_set.as_ref().map(last_set));
    let job = finding.left_by.as_deref();
    lines.extend(job.map(|job| format!("left by the failed job {job}")));
    let rule = finding.ignored_by.as_deref();
    lines.extend(rule.map(|rule| format!("ignored by the rule {rule}")));
    lines.extend(finding.place.as_deref().map(str::to_owned));
    let diff = diff_lines(&finding.difference);
    if !diff.is_empty() {
        lines.push("- as found, + as a repair writes it:".to_owned());
        lines.extend(diff);
    }
    lines.join("\n")
}

fn case(xml: &mut String, class: &str, name: &str, inner: &str) {
    let (class, name) = (text(class), text(name));
    let begin = format_args!("    <testcase classname=\"{class}\" name=\"{name}\"");
    words::append(xml, begin);
    if inner.is_empty() {
        xml.push_str("/>\n");
    } else {
        words::append(xml, format_args!(">\n{inner}    </testcase>\n"));
    }
}

/// Returns an element with a message and a text. An empty message or text is left out.
fn element(tag: &str, message: &str, body: &str) -> String {
    let message = match message {
        "" => String::new(),
        message => format!(" message=\"{}\"", text(&words::one_line(message))),
    };
    match body {
        "" => format!("      <{tag}{message}/>\n"),
        body => format!("      <{tag}{message}>{}</{tag}>\n", text(body)),
    }
}

/// Escapes text for XML. Control characters are shown as in JSON, because XML has no way to write them.
///
/// The runner of a GitHub workflow finds no command in the result.
fn text(text: &str) -> String {
    let shown = escape_controls(text);
    let mut escaped = String::with_capacity(shown.len());
    let mut before = ' ';
    for c in shown.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            ':' if before == ':' => escaped.push_str("&#58;"),
            '[' if before == '#' => escaped.push_str("&#91;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}
