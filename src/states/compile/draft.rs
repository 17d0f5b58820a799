//! Drafts of chunks: one for each ID, module and name, with its order number, before requisites are resolved (S12–S15).
//!
//! Entry: [`HighData::drafts`], called by `lower.rs`.

use std::sync::Arc;

use indexmap::IndexMap;

use super::high_data::{
    ArgumentValue, HighData, IdDeclaration, StateArgument, StateDeclaration, parse_arguments,
};
use crate::diagnostic::Span;
use crate::value::{FoldSet, Value};

/// The offset that `order: last` and negative orders add, to place chunks behind the others.
const LAST_OFFSET: f64 = 1_000_000.0;

/// A chunk before its requisites are resolved.
#[derive(Debug, Clone)]
pub(super) struct ChunkDraft {
    pub(super) id: Arc<str>,
    pub(super) sls: Arc<str>,
    pub(super) file: usize,
    pub(super) state: Arc<str>,
    pub(super) fun: Arc<str>,
    pub(super) name: Arc<str>,
    /// The `order` argument as written. `None` if absent.
    pub(super) order: Option<Value>,
    /// The 1-based position in `names`, if the draft comes from such a list.
    pub(super) names_index: Option<u32>,
    /// The other arguments. If a key is repeated, the last value counts.
    pub(super) fields: IndexMap<Arc<str>, (ArgumentValue, Span)>,
    pub(super) span: Span,
}

impl HighData {
    /// Makes one draft for each ID, module and name, in the order of high data.
    pub(super) fn drafts(&self) -> Vec<ChunkDraft> {
        let mut drafts = Vec::with_capacity(self.ids.len());
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                build_draft(id, body, module, state, &mut drafts);
            }
        }
        drafts
    }
}

fn build_draft(
    id: &Arc<str>,
    body: &IdDeclaration,
    module: &Arc<str>,
    state: &StateDeclaration,
    drafts: &mut Vec<ChunkDraft>,
) {
    let Some(fun) = state.functions().next() else {
        return;
    };
    let mut draft = ChunkDraft {
        id: Arc::clone(id),
        sls: Arc::clone(&body.sls),
        file: body.file,
        state: Arc::clone(module),
        fun: Arc::clone(fun),
        name: Arc::clone(id),
        order: None,
        names_index: None,
        fields: IndexMap::new(),
        span: state.span,
    };
    let mut names: Vec<&Value> = Vec::new();
    let mut seen = FoldSet::default();
    let mut names_span = state.span;
    for argument in state.arguments() {
        match (&*argument.key, &argument.value) {
            ("names", ArgumentValue::Value(Value::List(list))) => {
                names_span = argument.span;
                names.extend(
                    list.iter()
                        .filter(|entry| seen.insert(format!("{entry:?}"))),
                );
            }
            ("name", ArgumentValue::Value(Value::Str(name))) => draft.name = Arc::clone(name),
            ("name", _) => draft.name = Arc::clone(id),
            _ => draft.take(argument.clone()),
        }
    }
    if names.is_empty() {
        drafts.push(draft);
        return;
    }
    for (place, entry) in (1..).zip(names) {
        let mut live = draft.clone();
        live.names_index = Some(place);
        match entry {
            Value::Map(map) if !map.is_empty() => {
                for (name, arguments) in map.iter().take(1) {
                    live.name = Arc::clone(name);
                    for argument in parse_arguments(arguments, names_span) {
                        live.take(argument);
                    }
                }
            }
            other => live.name = other.to_string().into(),
        }
        drafts.push(live);
    }
}

impl ChunkDraft {
    fn take(&mut self, argument: StateArgument) {
        let StateArgument {
            key,
            value: argument_value,
            span,
            ..
        } = argument;
        match (&*key, argument_value) {
            ("state" | "fun" | "names", _) => {}
            ("name", ArgumentValue::Value(name)) => self.name = name.to_string().into(),
            ("order", ArgumentValue::Value(order)) => self.order = Some(order),
            (_, argument_value) => drop(self.fields.insert(key, (argument_value, span))),
        }
    }
}

/// The order numbers of a draft.
#[derive(Debug, Clone)]
pub(super) struct OrderNumber {
    /// The number of the state, without the fraction that a position in `names` adds.
    pub(super) state: f64,
    /// The number of this draft, including that fraction.
    pub(super) own: f64,
    /// The number of this draft as users see it: an integer where possible.
    pub(super) displayed: Value,
}

pub(super) fn numbers(drafts: &[ChunkDraft]) -> Vec<OrderNumber> {
    let cap = default_number(drafts);
    drafts
        .iter()
        .map(|draft| compute_number(draft, cap))
        .collect()
}

/// The order number of a state without a usable `order`: nearly always higher than all explicit orders.
fn default_number(drafts: &[ChunkDraft]) -> f64 {
    let mut cap = 1.0;
    for draft in drafts {
        let Some(order @ (Value::Int(_) | Value::Big(_))) = &draft.order else {
            continue;
        };
        let order = to_float(order);
        if order > cap - 1.0 && order > 0.0 {
            cap = order + 100.0;
        }
    }
    cap
}

#[expect(clippy::cast_precision_loss, reason = "orders are small")]
fn to_float(order: &Value) -> f64 {
    match order {
        Value::Int(number) => *number as f64,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Float(number) if !number.is_nan() => *number,
        Value::Big(digits) => digits.parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

fn compute_number(draft: &ChunkDraft, cap: f64) -> OrderNumber {
    let is_float = matches!(draft.order, Some(Value::Float(_)));
    let written = match &draft.order {
        Some(Value::Str(word)) if &**word == "last" => cap + LAST_OFFSET,
        Some(Value::Str(word)) if &**word == "first" => 0.0,
        Some(order @ (Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Bool(_))) => {
            to_float(order)
        }
        _ => cap,
    };
    let from_end = |order: f64| {
        if order < 0.0 {
            cap + LAST_OFFSET + order
        } else {
            order
        }
    };
    let place = draft
        .names_index
        .map_or(0.0, |place| f64::from(place) / 10_000.0);
    let own = from_end(written + place);
    let whole = !is_float && draft.names_index.is_none();
    OrderNumber {
        state: from_end(written),
        own,
        displayed: if whole {
            whole_number(own)
        } else {
            Value::Float(own)
        },
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
fn whole_number(number: f64) -> Value {
    Value::Int(number as i64)
}

/// Sorts draft indices by order number. Ties are broken by module, name and function.
pub(super) fn sort_drafts(drafts: &[ChunkDraft], numbers: &[OrderNumber]) -> Vec<usize> {
    let labels: Vec<String> = drafts.iter().map(label).collect();
    let mut places: Vec<usize> = (0..drafts.len()).collect();
    places.sort_by(|a, b| {
        let by_number = numbers[*a].own.total_cmp(&numbers[*b].own);
        by_number.then_with(|| labels[*a].cmp(&labels[*b]))
    });
    places
}

fn label(draft: &ChunkDraft) -> String {
    [&*draft.state, &*draft.name, &*draft.fun].concat()
}
