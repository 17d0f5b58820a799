//! Compiled states in the form that `show` commands print: high data, low data, order, top and graph (S48).

use std::fmt::Write as _;
use std::sync::Arc;

use super::dag_order::OrderEntry;
use super::high_data::{HighData, IdDeclaration, StateItem};
use super::request::CompiledStates;
use super::run_order::run_order;
use crate::states::{Chunk, ChunkIndex, LinkTarget, Requisite, RequisiteLink, RunOrdering};
use crate::value::{FoldSet, Map, Value};

/// Converts high data to a map with Salt's keys.
pub(super) fn high_data_value(high: &HighData) -> Value {
    let mut map = Map::new();
    for (id, body) in &high.ids {
        map.insert(Arc::clone(id), declaration_value(high, body));
    }
    if !high.extensions.is_empty() {
        let pair = |(id, body): &(Arc<str>, IdDeclaration)| {
            Value::map([(id.as_ref(), declaration_value(high, body))])
        };
        map.insert(
            "__extend__".into(),
            Value::list(high.extensions.iter().map(pair)),
        );
    }
    map.into()
}

fn declaration_value(high: &HighData, body: &IdDeclaration) -> Value {
    let mut map = Map::new();
    for (module, state) in &body.states {
        let item = |item: &StateItem| match item {
            StateItem::Function(name, _) => Value::Str(Arc::clone(name)),
            StateItem::Arguments(arguments) => {
                let pair = arguments
                    .iter()
                    .map(|argument| (Arc::clone(&argument.key), argument.to_value()));
                Value::from(pair.collect::<Map>())
            }
        };
        map.insert(
            Arc::clone(module),
            Value::list(state.items.iter().map(item)),
        );
    }
    map.insert("__sls__".into(), Value::Str(Arc::clone(&body.sls)));
    map.insert("__env__".into(), Value::Str(Arc::clone(high.env_of(body))));
    map.into()
}

/// Converts a chunk to a map with Salt's keys.
fn chunk_map(chunk: &Chunk) -> Map {
    let text = |text: &Arc<str>| Value::Str(Arc::clone(text));
    let mut map = Map::from_iter([
        ("state".into(), text(&chunk.state)),
        ("name".into(), text(&chunk.name)),
        ("__sls__".into(), text(&chunk.sls)),
        ("__env__".into(), text(&chunk.env)),
        ("__id__".into(), text(&chunk.id)),
    ]);
    for (key, value) in chunk.args.iter().chain(&chunk.keywords) {
        map.insert(Arc::clone(key), value.clone());
    }
    for kind in Requisite::ALL {
        let is_shown = |link: &&RequisiteLink| link.kind == kind && !link.written.is_null();
        let links = chunk.links.iter().filter(is_shown);
        let repeated =
            |link: &RequisiteLink| std::iter::repeat_n(link.written.clone(), link.repeats as usize);
        let written: Vec<Value> = links.flat_map(repeated).collect();
        if !written.is_empty() {
            map.insert(kind.as_str().into(), written.into());
        }
    }
    map.insert("order".into(), chunk.order.clone());
    map.insert("fun".into(), text(&chunk.fun));
    map
}

impl CompiledStates {
    /// The high data: each ID with its states as written (S1).
    pub fn show_high(&self) -> &Value {
        &self.high
    }

    /// The chunks with Salt's keys.
    ///
    /// With [`RunOrdering::Dag`] in run order, where a chunk tested by a
    /// `prereq` appears twice; with Classic by order number (S16).
    pub fn show_low(&self) -> Value {
        let tested: FoldSet<ChunkIndex> = self
            .order_entries
            .iter()
            .filter(|turn| turn.is_test)
            .map(|turn| turn.chunk)
            .collect();
        let is_ordered = self.low.ordering == RunOrdering::Dag;
        let shown = |turn: &OrderEntry| {
            let chunk = &self.low.chunks[turn.chunk as usize];
            let mut map = chunk_map(chunk);
            // Salt from 3008 on marks both sides of a `prereq` when it makes the order.
            let mut mark = |key: &str| drop(map.insert(key.into(), true.into()));
            if tested.contains(&turn.chunk) {
                mark("__prereq__");
            }
            if is_ordered
                && chunk
                    .links
                    .iter()
                    .any(|link| link.kind == Requisite::Prereq)
            {
                mark("__prerequiring__");
            }
            map.into()
        };
        Value::list(self.order_entries.iter().map(shown))
    }

    /// The chunks in the order in which they run, with requirements before the chunks that require them.
    pub fn run_order(&self) -> Vec<ChunkIndex> {
        run_order(&self.low)
    }

    /// The run order as a table: number, ID, function, name and SLS of each chunk.
    pub fn show_order(&self) -> Value {
        let row = |index: &ChunkIndex| {
            let chunk = &self.low.chunks[*index as usize];
            let text = |text: &Arc<str>| Value::Str(Arc::clone(text));
            Value::map([
                ("order", chunk.order.clone()),
                ("id", text(&chunk.id)),
                ("function", format!("{}.{}", chunk.state, chunk.fun).into()),
                ("name", text(&chunk.name)),
                ("sls", text(&chunk.sls)),
            ])
        };
        Value::list(self.run_order().iter().map(row))
    }

    /// The SLS names that the top file assigns to the machine, by environment.
    pub fn show_top(&self) -> &Value {
        &self.top
    }

    /// The requisite graph: chunks as nodes, and an edge from each required chunk to the chunk that requires
    /// it.
    pub fn graph(&self) -> Value {
        let node = |chunk: &Chunk| {
            Value::map([
                ("tag", chunk.tag().into()),
                ("id", Value::Str(Arc::clone(&chunk.id))),
                ("function", format!("{}.{}", chunk.state, chunk.fun).into()),
                ("name", Value::Str(Arc::clone(&chunk.name))),
            ])
        };
        let edges = self.edges().map(|(from, to, kind)| {
            let tag = |index: ChunkIndex| Value::from(self.low.chunks[index as usize].tag());
            Value::map([
                ("from", tag(from)),
                ("to", tag(to)),
                ("requisite", kind.as_str().into()),
            ])
        });
        Value::map([
            ("nodes", Value::list(self.low.chunks.iter().map(node))),
            ("edges", Value::list(edges)),
        ])
    }

    /// The requisite graph in the DOT language of Graphviz.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph states {\n");
        // The results of `write!` are ignored, since writing to a string cannot fail.
        for chunk in &self.low.chunks {
            let mut label = format!("{}.{}\\n{}", chunk.state, chunk.fun, escaped(&chunk.id));
            if chunk.name != chunk.id {
                let _ = write!(label, "\\n({})", escaped(&chunk.name));
            }
            let _ = writeln!(text, "  \"{}\" [label=\"{label}\"];", escaped(&chunk.tag()));
        }
        for (from, to, kind) in self.edges() {
            let tag = |index: ChunkIndex| escaped(&self.low.chunks[index as usize].tag());
            let _ = writeln!(
                text,
                "  \"{}\" -> \"{}\" [label=\"{}\"];",
                tag(from),
                tag(to),
                kind.as_str()
            );
        }
        text.push_str("}\n");
        text
    }

    fn edges(&self) -> impl Iterator<Item = (ChunkIndex, ChunkIndex, Requisite)> {
        let chunks = (0..).zip(&self.low.chunks);
        chunks.flat_map(move |(to, chunk)| {
            chunk.links.iter().flat_map(move |link| {
                let members: &[ChunkIndex] = match link.target {
                    LinkTarget::Set(set) => &self.low.sets[set as usize],
                    LinkTarget::Missing => &[],
                };
                members.iter().map(move |from| (*from, to, link.kind))
            })
        })
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
