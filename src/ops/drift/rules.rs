//! Applies the ignore rules and the policies of an ensemble and its environment to an answer.

use std::sync::Arc;

use super::place::Places;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::drift::{
    DriftAnswer, DriftPolicies, Finding, OnDrift, apply_rules, own_policy, read_rules,
};
use crate::session::Session;
use crate::tosca::NodeTemplate;

/// The key of the metadata of a node template that has its policy.
const POLICY_KEY: &str = "on_drift";

/// Marks the findings that a rule ignores, adds the policies, and adds the problems of the rules themselves.
///
/// `is_whole` says that the answer is about all instances of the ensemble.
pub(super) fn apply(answer: &mut DriftAnswer, session: &Session, is_whole: bool) {
    let mut problems = Diagnostics::default();
    let section = session.environment.section("drift");
    let rules = section.map(|section| read_rules(section, &mut problems));
    problems.append(apply_rules(&rules.unwrap_or_default(), answer, is_whole));
    let mut mistakes = Diagnostics::default();
    let policies = section.map(|section| DriftPolicies::read(section, &mut mistakes));
    set_policies(
        answer,
        session,
        &policies.unwrap_or_default(),
        &mut mistakes,
    );
    problems.append(mistakes);
    let places = Places::of(&session.sources);
    let texts = problems.iter().map(|it| text(it, &places));
    answer.rule_problems.extend(texts);
}

/// Sets the policies of the findings. If any policy has a mistake, nothing is repaired unasked.
fn set_policies(
    answer: &mut DriftAnswer,
    session: &Session,
    policies: &DriftPolicies,
    mistakes: &mut Diagnostics,
) {
    for template in session.service.topology.nodes.values() {
        if let Err(problem) = own_word(template) {
            mistakes.push(problem);
        }
    }
    if !mistakes.is_empty() {
        return;
    }
    for finding in &mut answer.findings {
        finding.on_drift = policy_of(finding, session, policies);
    }
}

fn policy_of(finding: &Finding, session: &Session, policies: &DriftPolicies) -> OnDrift {
    let Some(instance) = &finding.subject.instance else {
        return OnDrift::Report;
    };
    let name = template_of(session, instance.as_str());
    let template = session.service.topology.nodes.get(&*name);
    let own = template.and_then(|template| own_word(template).ok().flatten());
    policies.of(instance.as_str(), &name, own)
}

/// Returns the name of the template of an instance, as the record has it; else that of the instance.
fn template_of(session: &Session, instance: &str) -> Arc<str> {
    let status = session.manifest.root().get("status");
    let instances = status.and_then(|status| status.get("instances"));
    let recorded = instances.and_then(|all| all.get(instance)?.get("template")?.as_str());
    recorded.unwrap_or(instance).into()
}

/// Returns the policy that the metadata of a template has.
fn own_word(template: &NodeTemplate) -> Result<Option<OnDrift>, Diagnostic> {
    let Some(value) = template.metadata.get(POLICY_KEY) else {
        return Ok(None);
    };
    let word = value.redacted().to_string();
    own_policy(&word).map(Some).map_err(|(message, help)| {
        let message = format!("{message} in the metadata of `{}`", template.name);
        Diagnostic::error(message)
            .label(template.span, "")
            .help(help)
    })
}

/// Returns a problem with its place as one line.
fn text(problem: &Diagnostic, places: &Places<'_>) -> Arc<str> {
    let place = problem.span().and_then(|span| places.of_span(span));
    let place = place.map_or_else(String::new, |place| format!("{place}: "));
    let help = problem.help.as_deref();
    let help = help.map_or_else(String::new, |help| format!("; {help}"));
    format!("{place}{}{help}", problem.message).into()
}
