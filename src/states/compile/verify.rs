//! Verification of high data: checks that each state is well-formed (S10, S19, S21).
//!
//! Entry: [`HighData::verify`]. Problems are reported, never repaired. Classic ordering additionally reports
//! two states that require each other, as Salt does.

use std::sync::Arc;

use super::high_data::{
    ArgumentValue, HighData, IdDeclaration, RequisiteEntry, StateArgument, StateDeclaration,
    StateItem,
};
use super::keywords::RequisiteKeyword;
use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::states::{Requisite, RunOrdering};
use crate::value::{FoldMap, Value};

/// The requisites of an ID: its module, and the module of each required ID.
type DeclaredRequisites = (Arc<str>, FoldMap<Arc<str>, Arc<str>>);

/// The checker of all states in high data.
pub(super) struct Verifier<'a> {
    ordering: RunOrdering,
    /// The last requisite list of each ID. Classic ordering uses it to find states that require each other.
    declared: FoldMap<Arc<str>, DeclaredRequisites>,
    problems: &'a mut Diagnostics,
}

/// The position of a state in high data.
struct StateLocation<'a> {
    id: &'a Arc<str>,
    body: &'a IdDeclaration,
    module: &'a Arc<str>,
}

impl HighData {
    /// Reports every state that is not well-formed.
    pub(super) fn verify(&self, ordering: RunOrdering, problems: &mut Diagnostics) {
        let mut verifier = Verifier {
            ordering,
            declared: FoldMap::default(),
            problems,
        };
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                verifier.verify_state(&StateLocation { id, body, module }, state);
            }
        }
    }
}

impl Verifier<'_> {
    fn report(&mut self, problem: StateFileProblem, span: Span) {
        self.problems
            .push(Diagnostic::error(problem).label(span, ""));
    }

    fn verify_state(&mut self, location: &StateLocation<'_>, state: &StateDeclaration) {
        let names = || (Arc::clone(location.id), Arc::clone(&location.body.sls));
        for item in &state.items {
            match item {
                StateItem::Function(function, span) if function.trim().contains(' ') => {
                    let (id, sls) = names();
                    let function = Arc::clone(function);
                    self.report(StateFileProblem::Whitespace { function, id, sls }, *span);
                }
                StateItem::Function(..) => {}
                StateItem::Arguments(arguments) => self.verify_arguments(location, arguments),
            }
        }
        let functions: Vec<&str> = state.functions().map(|name| &**name).collect();
        let (id, sls) = names();
        match functions.len() {
            1 => {}
            0 => self.report(StateFileProblem::NoFunction { id, sls }, state.span),
            _ => {
                let functions = functions.join(", ");
                self.report(
                    StateFileProblem::TooManyFunctions { id, sls, functions },
                    state.span,
                );
            }
        }
    }

    fn verify_arguments(&mut self, location: &StateLocation<'_>, arguments: &[StateArgument]) {
        let Some(first) = arguments.first() else {
            return;
        };
        let (id, sls) = (Arc::clone(location.id), Arc::clone(&location.body.sls));
        // Names appear in output and logs, so a secret value is refused as a name.
        if ["name", "names"].contains(&&*first.key)
            && matches!(&first.value, ArgumentValue::Value(value) if value.has_sensitive())
        {
            self.report(StateFileProblem::SecretName { id, sls }, first.span);
            return;
        }
        if &*first.key == "names" {
            if !matches!(first.value, ArgumentValue::Value(Value::List(_))) {
                self.report(StateFileProblem::NamesNotAList { id, sls }, first.span);
            }
            return;
        }
        let word = match RequisiteKeyword::parse(&first.key) {
            Some(word @ RequisiteKeyword::Direct(_)) => word,
            Some(word @ (RequisiteKeyword::OnfailStop | RequisiteKeyword::Prerequired))
                if self.ordering == RunOrdering::Dag =>
            {
                word
            }
            _ => return,
        };
        match &first.value {
            ArgumentValue::Value(_) => self.report(
                StateFileProblem::RequisiteNotAList { word, id, sls },
                first.span,
            ),
            ArgumentValue::Requisites(_, requisites) => {
                let mutual = matches!(
                    word,
                    RequisiteKeyword::Direct(
                        Requisite::Require
                            | Requisite::Watch
                            | Requisite::Prereq
                            | Requisite::Onchanges
                    )
                );
                if mutual && self.ordering == RunOrdering::Classic {
                    let declared = (Arc::clone(location.module), FoldMap::default());
                    self.declared.insert(Arc::clone(location.id), declared);
                }
                for requisite in requisites {
                    self.verify_requisite(location, requisite, mutual);
                }
            }
        }
        if arguments.len() > 1 {
            let (id, sls) = (Arc::clone(location.id), Arc::clone(&location.body.sls));
            self.report(StateFileProblem::ManyDictionaries { id, sls }, first.span);
        }
    }

    fn verify_requisite(
        &mut self,
        location: &StateLocation<'_>,
        requisite: &RequisiteEntry,
        mutual: bool,
    ) {
        let (id, sls) = (Arc::clone(location.id), Arc::clone(&location.body.sls));
        let shape = || StateFileProblem::RequisiteShape {
            written: requisite.written.to_string(),
            id: Arc::clone(&id),
            sls: Arc::clone(&sls),
        };
        let id_key: Arc<str> = "id".into();
        let (key, value) = match &requisite.written {
            text @ Value::Str(_) => (&id_key, text),
            Value::Map(map) if map.len() == 1 || self.ordering == RunOrdering::Classic => {
                match map.first() {
                    Some(pair) => pair,
                    None => return self.report(shape(), requisite.span),
                }
            }
            _ => return self.report(shape(), requisite.span),
        };
        if let Some((short, _)) = key.split_once('.') {
            let (key, short) = (Arc::clone(key), short.to_owned());
            let (id, sls) = (Arc::clone(&id), Arc::clone(&sls));
            self.report(
                StateFileProblem::RequisiteDot {
                    key,
                    short,
                    id,
                    sls,
                },
                requisite.span,
            );
        }
        if matches!(value, Value::List(_) | Value::Map(_)) {
            let written = value.to_string();
            return self.report(
                StateFileProblem::RequisiteIllegal { written, sls },
                requisite.span,
            );
        }
        if mutual && self.ordering == RunOrdering::Classic {
            self.verify_mutual(location, key, value, requisite.span);
        }
    }

    /// Reports two states that require each other.
    fn verify_mutual(
        &mut self,
        location: &StateLocation<'_>,
        key: &Arc<str>,
        value: &Value,
        span: Span,
    ) {
        let other: Arc<str> = value.to_string().into();
        if let Some((_, declared)) = self.declared.get_mut(location.id) {
            declared.insert(Arc::clone(&other), Arc::clone(key));
        }
        let Some((module, declared)) = self.declared.get(&other) else {
            return;
        };
        if declared.get(location.id) == Some(location.module) && module == key {
            let (sls, id) = (Arc::clone(&location.body.sls), Arc::clone(location.id));
            self.report(StateFileProblem::Mutual { sls, id, other }, span);
        }
    }
}
