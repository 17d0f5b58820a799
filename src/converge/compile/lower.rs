//! High data to low data: drafts of chunks, their numbers and Classic order, and the sets of chunks
//! that requisites lead to, shared by all that ask for the same (S12–S15, S19, S20).

use std::sync::Arc;

use indexmap::IndexMap;

use super::extend::BASE;
use super::high::{Argument, Body, File, Given, High, State, Want, arguments_of};
use super::names::{Word, is_keyword};
use super::problem::Problem;
use crate::converge::{Chunk, ChunkIndex, Link, Low, Ordering, Requisite, Target, find};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::text::Glob;
use crate::value::{FoldMap, FoldSet, Map, Value};

/// How far from the others those stand that come last.
const LAST: f64 = 1_000_000.0;

/// Low data, and what its order was made from.
pub(super) struct Lowered {
    pub(super) low: Low,
    /// The numbers of drafts.
    pub(super) numbers: Vec<Number>,
    /// The places of drafts, in the order of chunks.
    pub(super) places: Vec<usize>,
}

/// A chunk before it has its number.
#[derive(Debug, Clone)]
struct Draft {
    id: Arc<str>,
    sls: Arc<str>,
    file: usize,
    state: Arc<str>,
    fun: Arc<str>,
    name: Arc<str>,
    /// The order as written or numbered; none if there is none.
    order: Option<Value>,
    /// Its place among the `names`, from 1.
    place: Option<u32>,
    /// All other arguments, each as given last.
    fields: IndexMap<Arc<str>, (Given, Span)>,
    span: Span,
}

impl High {
    /// Makes low data in Classic order, without the requisites that `disabled` names (S31).
    pub(super) fn lower(
        &self,
        ordering: Ordering,
        disabled: &[String],
        problems: &mut Diagnostics,
    ) -> Lowered {
        let drafts = self.drafts();
        let numbers = numbers(&drafts);
        let places = sorted(&drafts, &numbers);
        let plan = Plan {
            drafts: &drafts,
            numbers: &numbers,
            places: &places,
            files: &self.files,
            ordering,
            disabled,
        };
        let low = resolve(&plan, problems);
        Lowered {
            low,
            numbers,
            places,
        }
    }

    /// One draft for each ID, module and name, in the order of high data.
    fn drafts(&self) -> Vec<Draft> {
        let mut drafts = Vec::with_capacity(self.ids.len());
        for (id, body) in &self.ids {
            for (module, state) in &body.states {
                draft(id, body, module, state, &mut drafts);
            }
        }
        drafts
    }
}

fn draft(id: &Arc<str>, body: &Body, module: &Arc<str>, state: &State, drafts: &mut Vec<Draft>) {
    let Some(fun) = state.functions().next() else {
        return;
    };
    let mut draft = Draft {
        id: Arc::clone(id),
        sls: Arc::clone(&body.sls),
        file: body.file,
        state: Arc::clone(module),
        fun: Arc::clone(fun),
        name: Arc::clone(id),
        order: None,
        place: None,
        fields: IndexMap::new(),
        span: state.span,
    };
    let mut names: Vec<&Value> = Vec::new();
    let mut seen = FoldSet::default();
    let mut names_span = state.span;
    for argument in state.arguments() {
        match (&*argument.key, &argument.given) {
            ("names", Given::Value(Value::List(list))) => {
                names_span = argument.span;
                names.extend(
                    list.iter()
                        .filter(|entry| seen.insert(format!("{entry:?}"))),
                );
            }
            ("name", Given::Value(Value::Str(name))) => draft.name = Arc::clone(name),
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
        live.place = Some(place);
        match entry {
            Value::Map(map) if !map.is_empty() => {
                for (name, arguments) in map.iter().take(1) {
                    live.name = Arc::clone(name);
                    for argument in arguments_of(arguments, names_span) {
                        live.take(argument);
                    }
                }
            }
            other => live.name = other.to_string().into(),
        }
        drafts.push(live);
    }
}

impl Draft {
    fn take(&mut self, argument: Argument) {
        let Argument { key, given, span } = argument;
        match (&*key, given) {
            ("state" | "fun" | "names", _) => {}
            ("name", Given::Value(name)) => self.name = name.to_string().into(),
            ("order", Given::Value(order)) => self.order = Some(order),
            (_, given) => drop(self.fields.insert(key, (given, span))),
        }
    }
}

/// The numbers of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Number {
    /// The number of its state, without its place among names.
    pub(super) state: f64,
    /// Its own.
    pub(super) own: f64,
    /// Its own, as people see it.
    pub(super) shown: Value,
}

/// Gives each draft its number.
fn numbers(drafts: &[Draft]) -> Vec<Number> {
    let cap = cap(drafts);
    drafts.iter().map(|draft| number(draft, cap)).collect()
}

/// The number in place of an order that is none: nearly always more than each that is one.
fn cap(drafts: &[Draft]) -> f64 {
    let mut cap = 1.0;
    for draft in drafts {
        let Some(order @ (Value::Int(_) | Value::Big(_))) = &draft.order else {
            continue;
        };
        let order = float(order);
        if order > cap - 1.0 && order > 0.0 {
            cap = order + 100.0;
        }
    }
    cap
}

#[expect(clippy::cast_precision_loss, reason = "orders are small")]
fn float(order: &Value) -> f64 {
    match order {
        Value::Int(number) => *number as f64,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Float(number) if !number.is_nan() => *number,
        Value::Big(digits) => digits.parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

fn number(draft: &Draft, cap: f64) -> Number {
    let is_float = matches!(draft.order, Some(Value::Float(_)));
    let written = match &draft.order {
        Some(Value::Str(word)) if &**word == "last" => cap + LAST,
        Some(Value::Str(word)) if &**word == "first" => 0.0,
        Some(order @ (Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Bool(_))) => {
            float(order)
        }
        _ => cap,
    };
    let from_end = |order: f64| {
        if order < 0.0 {
            cap + LAST + order
        } else {
            order
        }
    };
    let place = draft.place.map_or(0.0, |place| f64::from(place) / 10_000.0);
    let own = from_end(written + place);
    let whole = !is_float && draft.place.is_none();
    Number {
        state: from_end(written),
        own,
        shown: if whole {
            whole_number(own)
        } else {
            Value::Float(own)
        },
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast stops at the largest number"
)]
fn whole_number(number: f64) -> Value {
    Value::Int(number as i64)
}

/// The places of drafts by number, equal ones by module, name and function.
fn sorted(drafts: &[Draft], numbers: &[Number]) -> Vec<usize> {
    let labels: Vec<String> = drafts.iter().map(label).collect();
    let mut places: Vec<usize> = (0..drafts.len()).collect();
    places.sort_by(|a, b| {
        let by_number = numbers[*a].own.total_cmp(&numbers[*b].own);
        by_number.then_with(|| labels[*a].cmp(&labels[*b]))
    });
    places
}

fn label(draft: &Draft) -> String {
    [&*draft.state, &*draft.name, &*draft.fun].concat()
}

/// Resolves the requisites of chunks.
struct Resolver<'a> {
    ordering: Ordering,
    files: &'a [File],
    /// Chunks by module and by each of ID and name; `id` stands for any module.
    by_name: FoldMap<(Arc<str>, Arc<str>), Vec<ChunkIndex>>,
    by_file: Vec<Vec<ChunkIndex>>,
    file_of: FoldMap<Arc<str>, usize>,
    known: FoldMap<(Arc<str>, Arc<str>), Target>,
    sets: Vec<Box<[ChunkIndex]>>,
    problems: &'a mut Diagnostics,
}

/// What drafts become chunks with.
struct Plan<'a> {
    drafts: &'a [Draft],
    numbers: &'a [Number],
    /// The places of drafts, in the order of chunks.
    places: &'a [usize],
    files: &'a [File],
    ordering: Ordering,
    /// The words of requisites that are dropped (S31).
    disabled: &'a [String],
}

/// Makes chunks of drafts, and sets of what their requisites lead to.
fn resolve(plan: &Plan<'_>, problems: &mut Diagnostics) -> Low {
    let mut resolver = Resolver::new(plan, problems);
    let mut chunks = Vec::with_capacity(plan.places.len());
    for place in plan.places {
        let (draft, number) = (&plan.drafts[*place], &plan.numbers[*place]);
        chunks.push(resolver.chunk(draft, number, plan.disabled));
    }
    resolver.listen_in(plan, &mut chunks);
    let count = ChunkIndex::try_from(chunks.len()).unwrap_or(ChunkIndex::MAX);
    Low {
        has_links: chunks.iter().any(|chunk| !chunk.links.is_empty()),
        sets: resolver.sets,
        chunks,
        order: (0..count).collect(),
        ordering: plan.ordering,
    }
}

impl<'a> Resolver<'a> {
    fn new(plan: &Plan<'a>, problems: &'a mut Diagnostics) -> Self {
        let mut by_name: FoldMap<_, Vec<ChunkIndex>> = FoldMap::default();
        let mut by_file = vec![Vec::new(); plan.files.len()];
        let any: Arc<str> = "id".into();
        for (index, place) in (0..).zip(plan.places) {
            let draft = &plan.drafts[*place];
            if let Some(own) = by_file.get_mut(draft.file) {
                own.push(index);
            }
            let names = [
                Some(&draft.id),
                Some(&draft.name).filter(|name| **name != draft.id),
            ];
            for name in names.into_iter().flatten() {
                for module in [&draft.state, &any] {
                    let key = (Arc::clone(module), Arc::clone(name));
                    by_name.entry(key).or_default().push(index);
                }
            }
        }
        let files = plan.files.iter().enumerate();
        Self {
            ordering: plan.ordering,
            files: plan.files,
            by_name,
            by_file,
            file_of: files
                .map(|(place, file)| (Arc::clone(&file.sls), place))
                .collect(),
            known: FoldMap::default(),
            sets: Vec::new(),
            problems,
        }
    }

    fn chunk(&mut self, draft: &Draft, number: &Number, disabled: &[String]) -> Chunk {
        let mut chunk = Chunk {
            id: Arc::clone(&draft.id),
            sls: Arc::clone(&draft.sls),
            env: BASE.into(),
            state: Arc::clone(&draft.state),
            fun: Arc::clone(&draft.fun),
            name: Arc::clone(&draft.name),
            order: number.shown.clone(),
            args: Map::new(),
            keywords: Map::new(),
            links: Vec::new(),
            span: draft.span,
        };
        let function = find(&draft.state, &draft.fun).1;
        let takes = |key: &str| function.is_some_and(|it| it.takes(key));
        for (key, (given, _)) in &draft.fields {
            match (Word::of(key), given) {
                (Some(Word::Direct(kind)), Given::Wants(_, wants)) => {
                    if disabled.iter().any(|word| *word == kind.word()) {
                        continue;
                    }
                    for want in wants {
                        chunk.links.extend(self.link(draft, kind, want));
                    }
                }
                // What is not formed well was told before.
                (Some(Word::Direct(_)), Given::Value(_)) | (None, Given::Wants(..)) => {}
                (Some(_), given) => {
                    let value = match given {
                        Given::Value(value) => value.clone(),
                        Given::Wants(_, wants) => {
                            Value::list(wants.iter().map(|want| want.written.clone()))
                        }
                    };
                    chunk.keywords.insert(Arc::clone(key), value);
                }
                (None, Given::Value(value)) => {
                    if is_keyword(key) {
                        chunk.keywords.insert(Arc::clone(key), value.clone());
                    }
                    // A function that has such an argument gets it too.
                    if !is_keyword(key) || takes(key) {
                        chunk.args.insert(Arc::clone(key), value.clone());
                    }
                }
            }
        }
        chunk
    }

    fn link(&mut self, draft: &Draft, kind: Requisite, want: &Want) -> Option<Link> {
        let (key, value): (Arc<str>, &Value) = match &want.written {
            text @ Value::Str(_) => ("id".into(), text),
            Value::Map(map) => {
                let (key, value) = map.first()?;
                let short = key.split('.').next().unwrap_or_default();
                (short.into(), value)
            }
            _ => return None,
        };
        let bare = matches!(want.written, Value::Str(_));
        let target = match value {
            Value::Str(value) if kind == Requisite::Listen => self.listened(&key, value, bare)?,
            Value::Str(value) => self.target(&key, value),
            Value::Null if self.ordering == Ordering::Dag => return None,
            _ => {
                let (name, sls) = (Arc::clone(&draft.name), Arc::clone(&draft.sls));
                let word = Word::Direct(kind);
                let problem = Problem::RequisiteValue {
                    word,
                    key,
                    name,
                    sls,
                };
                self.problems
                    .push(Diagnostic::error(problem).label(want.span, ""));
                return None;
            }
        };
        let lost = target == Target::Missing && kind != Requisite::Listen;
        if lost && self.ordering == Ordering::Dag {
            let problem = Problem::MissingRequisite {
                word: Word::Direct(kind),
                key,
                value: value.to_string().into(),
                name: Arc::clone(&draft.name),
                sls: Arc::clone(&draft.sls),
            };
            self.problems
                .push(Diagnostic::error(problem).label(want.span, ""));
        }
        Some(Link {
            kind,
            target,
            written: want.written.clone(),
            span: want.span,
        })
    }

    fn target(&mut self, key: &Arc<str>, value: &Arc<str>) -> Target {
        let pair = (Arc::clone(key), Arc::clone(value));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        let found = if &**key == "sls" {
            self.sls(value)
        } else if Glob::is_pattern(value) {
            self.fitting(key, value)
        } else {
            self.by_name.get(&pair).cloned()
        };
        let target = found.map_or(Target::Missing, |members| self.set(members));
        self.known.insert(pair, target);
        target
    }

    fn set(&mut self, members: Vec<ChunkIndex>) -> Target {
        let index = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        self.sets.push(members.into());
        Target::Set(index)
    }

    fn fitting(&self, key: &Arc<str>, pattern: &str) -> Option<Vec<ChunkIndex>> {
        let glob = Glob::new(pattern);
        let fitting = self
            .by_name
            .iter()
            .filter(|((module, name), _)| module == key && glob.matches(name));
        let mut members: Vec<ChunkIndex> = fitting.flat_map(|(_, own)| own).copied().collect();
        members.sort_unstable();
        members.dedup();
        (!members.is_empty()).then_some(members)
    }

    /// The chunks of an SLS; for [`Ordering::Dag`] with those of what it includes.
    fn sls(&self, name: &Arc<str>) -> Option<Vec<ChunkIndex>> {
        let mut places: Vec<usize> = if Glob::is_pattern(name) {
            let glob = Glob::new(name);
            let files = self.files.iter().enumerate();
            files
                .filter(|(_, file)| glob.matches(&file.sls))
                .map(|(place, _)| place)
                .collect()
        } else {
            self.file_of.get(name).copied().into_iter().collect()
        };
        let none_accepted = self.ordering == Ordering::Dag && Glob::is_pattern(name);
        if places.is_empty() && !none_accepted {
            return None;
        }
        if self.ordering == Ordering::Dag {
            let mut within = vec![false; self.files.len()];
            for place in places {
                within[place] = true;
            }
            // What is included stands behind what includes it.
            for (place, file) in self.files.iter().enumerate() {
                let parent = file.parent.is_some_and(|parent| within[parent]);
                within[place] |= parent;
            }
            places = (0..within.len()).filter(|place| within[*place]).collect();
        }
        let mut members: Vec<ChunkIndex> = places
            .iter()
            .flat_map(|place| &self.by_file[*place])
            .copied()
            .collect();
        members.sort_unstable();
        Some(members)
    }

    /// What a `listen` leads to: exact names only, and the first state of a bare text (S30). A bare
    /// text that leads nowhere is passed over.
    fn listened(&mut self, key: &Arc<str>, value: &Arc<str>, bare: bool) -> Option<Target> {
        if bare {
            let any = (Arc::clone(key), Arc::clone(value));
            self.by_name.get(&any)?;
            return Some(self.target(key, value));
        }
        if Glob::is_pattern(value) || matches!(&**key, "sls" | "id") {
            return Some(Target::Missing);
        }
        Some(self.target(key, value))
    }

    /// Gives `listen` to those that `listen_in` names.
    fn listen_in(&mut self, plan: &Plan<'_>, chunks: &mut [Chunk]) {
        let key: Arc<str> = Word::In(Requisite::Listen).text().into();
        for place in plan.places {
            let draft = &plan.drafts[*place];
            let Some((Given::Wants(_, wants), _)) = draft.fields.get(&key) else {
                continue;
            };
            let target = self.target(&draft.state, &draft.id);
            let written = Want::of(&draft.state, &draft.id, draft.span).written;
            for want in wants {
                let pairs = want.written.as_map().into_iter().flatten();
                for (module, name) in pairs {
                    let Value::Str(name) = name else {
                        continue;
                    };
                    let pair = (Arc::clone(module), Arc::clone(name));
                    for listener in self.by_name.get(&pair).cloned().unwrap_or_default() {
                        chunks[listener as usize].links.push(Link {
                            kind: Requisite::Listen,
                            target,
                            written: written.clone(),
                            span: want.span,
                        });
                    }
                }
            }
        }
    }
}
