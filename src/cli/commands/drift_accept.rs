//! The command `drift accept`: writes ignore rules for findings into the ensemble.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::cli::request::drift::check_job;
use crate::cli::screen::job::JobScreen;
use crate::drift::{FindingId, Until};
use crate::name::{EnumWords as _, InstanceName};
use crate::ops::drift::{AcceptRequest, Accepted, WrittenRule, accept};
use crate::ops::{Failure, watch_signals};
use crate::system::{clock, fs};

/// The options of `drift accept`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DriftAcceptArgs {
    /// The ensemble, and the ids of findings as `unfurl drift` shows them; an ensemble whose name looks like an id is
    /// given as `./NAME`
    #[arg(value_name = "ENSEMBLE|ID")]
    names: Vec<String>,
    /// Accept all findings of this instance; may be given more than once
    #[arg(short, long, value_name = "NAME")]
    instance: Vec<InstanceName>,
    /// The end of the rule: `30d`, `12h`, a day such as `2026-12-31`, or a time; without it, the rule has no end
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The reason, for people
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Writes the rules and shows them.
pub(in crate::cli) fn run(args: &DriftAcceptArgs, cx: &Context) -> Result<u8, Failure> {
    let request = accept_request(args, cx)?;
    let interrupts = request.job.interrupts.clone();
    let mut screen = JobScreen::new(&cx.output, true, interrupts);
    let accepted = accept(&request, &mut screen);
    screen.clear_progress();
    let accepted = accepted?;
    match args.output {
        OutputFormat::Json => cx.output.json(&json_of(&accepted)),
        OutputFormat::Text => cx.output.print_result(&text(&accepted)),
        OutputFormat::None => {}
    }
    Ok(0)
}

fn accept_request(args: &DriftAcceptArgs, cx: &Context) -> Result<AcceptRequest, Failure> {
    let (ids, ensembles): (Vec<_>, Vec<_>) = args
        .names
        .iter()
        .partition(|name| FindingId::is_written_as(name));
    if let [_, second, ..] = &ensembles[..] {
        let message = format!("`{second}` is neither the id of a finding nor the only ensemble");
        let help = "an id has 4 to 12 hexadecimal digits; name one ensemble at most";
        return Err(Failure::usage_with(message, help));
    }
    if args.reason.trim().is_empty() {
        let help = "say why this drift is accepted, for those who read the rule later";
        return Err(Failure::usage_with("`--reason` is empty", help));
    }
    let ensemble = ensembles.first().map_or("", |name| name.as_str());
    let mut job = check_job(ensemble, args.use_environment.clone(), cx)?;
    job.interrupts = watch_signals();
    Ok(AcceptRequest {
        job,
        ids: ids.into_iter().cloned().collect(),
        instances: args.instance.clone(),
        until: args.until.as_deref().map(until).transpose()?,
        reason: args.reason.trim().to_owned(),
    })
}

fn until(text: &str) -> Result<Until, Failure> {
    let now = clock::now();
    let Some(until) = Until::parse_after(text, now) else {
        let message = format!("`{text}` is no end of a rule");
        let help = "write `30d`, `12h`, a day (`2026-12-31`) or a time with its zone (`2026-12-31T18:00:00Z`)";
        return Err(Failure::usage_with(message, help));
    };
    if until.has_passed(now) {
        let message = format!("`--until {text}` is in the past");
        return Err(Failure::usage_with(message, "name a day or a time to come"));
    }
    Ok(until)
}

fn text(accepted: &Accepted) -> String {
    let rules = accepted.rules.iter();
    let lines = rules.map(|rule| {
        let subject = &rule.finding.subject;
        let name = subject.instance.as_ref().map(InstanceName::as_str);
        let name = name.or(subject.host.as_deref()).unwrap_or_default();
        let (kind, attribute) = (rule.finding.kind.as_str(), &subject.attribute);
        format!(
            "{}: ignores {kind} drift of {name} {attribute} ({})\n",
            place(accepted, rule),
            rule.finding.id()
        )
    });
    let mut text: String = lines.collect();
    let until = accepted.until.map_or_else(
        || "without an end".to_owned(),
        |until| format!("until {until}"),
    );
    let rules = accepted.rules.len();
    let word = if rules == 1 { "rule" } else { "rules" };
    text.push_str(&format!("{rules} {word} written, {until}\n"));
    text
}

/// Returns the place of a rule in the manifest.
fn place(accepted: &Accepted, rule: &WrittenRule) -> String {
    let path = fs::canonicalize(&accepted.manifest).unwrap_or_else(|_| accepted.manifest.clone());
    let path = shown_path(&path);
    rule.line
        .map_or(path.clone(), |line| format!("{path}:{line}"))
}

fn json_of(accepted: &Accepted) -> Json {
    let rules = accepted.rules.iter().map(|rule| {
        let subject = &rule.finding.subject;
        json!({
            "id": rule.finding.id().to_string(),
            "kind": rule.finding.kind.as_str(),
            "instance": subject.instance.as_ref().map(InstanceName::as_str),
            "host": subject.host.as_deref(),
            "attribute": &*subject.attribute,
            "cause": &*rule.finding.cause(),
            "line": rule.line,
        })
    });
    json!({
        "manifest": accepted.manifest.display().to_string(),
        "until": accepted.until.map(|until| until.to_string()),
        "reason": accepted.reason,
        "rules": rules.collect::<Vec<_>>(),
    })
}
