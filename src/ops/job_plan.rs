//! Completes the plan of a job for people: with the name of the ensemble, its inputs, and the outputs that change.

use std::collections::HashSet;
use std::sync::Arc;

use crate::job::{DifferenceSide, Engine, Proposal, ProposalExtent, ProposedValue};
use crate::plan::WorkflowKind;
use crate::session::{PlannedInput, Session};
use crate::value::Value;

/// The inputs and outputs that the plan of a job shows besides its tasks.
#[derive(Debug)]
pub(super) struct PlannedValues {
    ensemble: String,
    inputs: Vec<ProposedValue>,
    outputs: Vec<ProposedValue>,
}

impl PlannedValues {
    /// Evaluates the inputs, and the outputs that change. `secrets` are the names of secret inputs with new values.
    pub(super) fn of(
        proposal: &Proposal,
        engine: &Engine,
        session: &Session,
        secrets: &HashSet<Arc<str>>,
    ) -> Self {
        let inputs = session.planned_inputs(&engine.inputs(), secrets);
        // A removed instance has no attributes, and an ad hoc command does not concern the model.
        let outputs = match proposal.goal.workflow {
            WorkflowKind::Undeploy | WorkflowKind::Run => Vec::new(),
            _ => engine.proposed_outputs(proposal, &session.recorded_outputs()),
        };
        Self {
            ensemble: session.full_name(),
            inputs: inputs
                .iter()
                .map(|input| input_of(input, session))
                .collect(),
            outputs,
        }
    }

    pub(super) fn add_to(self, proposal: &mut Proposal) {
        proposal.ensemble = self.ensemble;
        proposal.inputs = self.inputs;
        proposal.outputs = self.outputs;
    }
}

/// Returns the plan of a job as it is shown. `secrets` are the names of secret inputs with new values.
pub(super) fn complete_proposal(
    engine: &Engine,
    session: &Session,
    secrets: &HashSet<Arc<str>>,
    extent: ProposalExtent,
) -> Proposal {
    let mut proposal = engine.proposal(extent);
    let values = PlannedValues::of(&proposal, engine, session, secrets);
    values.add_to(&mut proposal);
    proposal
}

fn input_of(input: &PlannedInput, session: &Session) -> ProposedValue {
    let side = |value: Option<&Value>| {
        value.map_or(DifferenceSide::Missing, |value| {
            DifferenceSide::Value(value.clone())
        })
    };
    let new = match &input.value {
        Some(value) => side(Some(value)),
        None => DifferenceSide::Failed("see the message".to_owned()),
    };
    let old = match &input.last {
        Some(last) => side(Some(last)),
        None if input.is_changed_secret => DifferenceSide::Unknown,
        // The value is that of the last job.
        None if session.has_recorded_input(&input.name) => new.clone(),
        None => DifferenceSide::Missing,
    };
    ProposedValue {
        name: input.name.to_string(),
        old,
        new,
        is_secret: input.is_changed_secret,
        source: Some(input.source.label()),
        span: input.source.span(),
    }
}
