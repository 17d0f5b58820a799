//! Lowering of high data to low data: one chunk per ID, module and name, its order number, and the resolved
//! requisites (S12–S15, S19, S20).
//!
//! Entry: [`HighData::lower`], called by the compile pipeline. Chunks come out in Classic order. Requisites
//! with the same target share one set of chunks. `dag_order.rs` computes the other order.

use std::sync::Arc;

use super::draft::{ChunkDraft, OrderNumber, numbers, sort_drafts};
use super::high_data::{ArgumentValue, HighData, RequisiteEntry, SlsFile};
use super::keywords::{RequisiteKeyword, is_keyword};
use super::problem::StateFileProblem;
use super::request::{CompilePurpose, CompileRequest};
use super::watching::require_what_cannot_be_watched;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::states::{
    Chunk, ChunkIndex, LinkTarget, LowData, MODULES, Requisite, RequisiteLink, RunOrdering, find,
};
use crate::text::{Glob, did_you_mean};
use crate::value::{FoldMap, Map, Value};

/// The maximum number of misspelt requisites that look for their target. Each one compares many names.
const MAX_HINTS: usize = 50;
/// The maximum number of states among which a misspelt requisite looks for its target.
const MAX_CANDIDATES: usize = 10_000;

/// Low data with the intermediate results that the DAG order needs.
pub(super) struct LoweringResult {
    pub(super) low: LowData,
    /// The order numbers, indexed by draft.
    pub(super) numbers: Vec<OrderNumber>,
    /// The draft index of each chunk, in chunk order.
    pub(super) draft_order: Vec<usize>,
}

impl HighData {
    /// Makes low data in Classic order. Drops the requisites whose keywords are in `disabled` (S31).
    pub(super) fn lower(
        &self,
        request: &CompileRequest,
        disabled: &[String],
        problems: &mut Diagnostics,
    ) -> LoweringResult {
        let drafts = self.drafts();
        let numbers = numbers(&drafts);
        let places = sort_drafts(&drafts, &numbers);
        let plan = LoweringPlan {
            drafts: &drafts,
            numbers: &numbers,
            draft_order: &places,
            files: &self.files,
            ordering: request.ordering,
            purpose: request.purpose,
            disabled,
        };
        let low = resolve(&plan, problems);
        LoweringResult {
            low,
            numbers,
            draft_order: places,
        }
    }
}

/// Resolves requisites to sets of chunks and caches them by target.
struct RequisiteResolver<'a> {
    ordering: RunOrdering,
    purpose: CompilePurpose,
    files: &'a [SlsFile],
    /// Chunks by module and name, where both the ID and the `name` count as the name. The module `id` stands
    /// for any module.
    by_name: FoldMap<(Arc<str>, Arc<str>), Vec<ChunkIndex>>,
    by_file: Vec<Vec<ChunkIndex>>,
    file_of: FoldMap<Arc<str>, Vec<usize>>,
    target_cache: FoldMap<(Arc<str>, Arc<str>), LinkTarget>,
    sets: Vec<Box<[ChunkIndex]>>,
    /// The number of requisites without a target so far.
    missing_count: usize,
    problems: &'a mut Diagnostics,
}

/// The input of [`resolve`]: drafts, their order, and the options of this compilation.
struct LoweringPlan<'a> {
    drafts: &'a [ChunkDraft],
    numbers: &'a [OrderNumber],
    /// The draft index of each chunk, in chunk order.
    draft_order: &'a [usize],
    files: &'a [SlsFile],
    ordering: RunOrdering,
    purpose: CompilePurpose,
    /// The keywords of disabled requisites (S31).
    disabled: &'a [String],
}

/// Turns drafts into chunks and resolves their requisites to sets.
fn resolve(plan: &LoweringPlan<'_>, problems: &mut Diagnostics) -> LowData {
    let mut resolver = RequisiteResolver::new(plan, problems);
    let mut chunks = Vec::with_capacity(plan.draft_order.len());
    for place in plan.draft_order {
        let (draft, number) = (&plan.drafts[*place], &plan.numbers[*place]);
        chunks.push(resolver.build_chunk(draft, number, plan.disabled));
    }
    resolver.inject_listen_in(plan, &mut chunks);
    let count = ChunkIndex::try_from(chunks.len()).unwrap_or(ChunkIndex::MAX);
    LowData {
        has_links: chunks.iter().any(|chunk| !chunk.links.is_empty()),
        sets: resolver.sets,
        chunks,
        order: (0..count).collect(),
        ordering: plan.ordering,
    }
}

impl<'a> RequisiteResolver<'a> {
    fn new(plan: &LoweringPlan<'a>, problems: &'a mut Diagnostics) -> Self {
        let mut by_name: FoldMap<_, Vec<ChunkIndex>> = FoldMap::default();
        let mut by_file = vec![Vec::new(); plan.files.len()];
        let any: Arc<str> = "id".into();
        for (index, place) in (0..).zip(plan.draft_order) {
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
        let mut file_of: FoldMap<_, Vec<usize>> = FoldMap::default();
        for (place, file) in plan.files.iter().enumerate() {
            let places = file_of.entry(Arc::clone(&file.sls)).or_default();
            places.push(place);
        }
        Self {
            ordering: plan.ordering,
            purpose: plan.purpose,
            files: plan.files,
            by_name,
            by_file,
            file_of,
            target_cache: FoldMap::default(),
            sets: Vec::new(),
            missing_count: 0,
            problems,
        }
    }

    fn build_chunk(
        &mut self,
        draft: &ChunkDraft,
        number: &OrderNumber,
        disabled: &[String],
    ) -> Chunk {
        let mut chunk = Chunk {
            id: Arc::clone(&draft.id),
            sls: Arc::clone(&draft.sls),
            env: Arc::clone(&self.files[draft.file].env),
            state: Arc::clone(&draft.state),
            fun: Arc::clone(&draft.fun),
            name: Arc::clone(&draft.name),
            order: number.displayed.clone(),
            args: Map::new(),
            keywords: Map::new(),
            links: Vec::new(),
            span: draft.span,
        };
        let function = find(&draft.state, &draft.fun).1;
        let takes = |key: &str| function.is_some_and(|it| it.takes(key));
        for (key, (argument_value, _)) in &draft.fields {
            match (RequisiteKeyword::parse(key), argument_value) {
                (
                    Some(RequisiteKeyword::Direct(kind)),
                    ArgumentValue::Requisites(_, requisites),
                ) => {
                    if disabled.iter().any(|word| *word == kind.as_str()) {
                        continue;
                    }
                    for requisite in requisites {
                        chunk
                            .links
                            .extend(self.resolve_link(draft, kind, requisite));
                    }
                }
                // Malformed requisites were already reported by `verify`.
                (Some(RequisiteKeyword::Direct(_)), ArgumentValue::Value(_))
                | (None, ArgumentValue::Requisites(..)) => {}
                (Some(_), argument_value) => {
                    let value = written_value(argument_value);
                    chunk.keywords.insert(Arc::clone(key), value);
                }
                (None, ArgumentValue::Value(value)) => {
                    if is_keyword(key) {
                        chunk.keywords.insert(Arc::clone(key), value.clone());
                    }
                    // A function with a parameter of the same name gets the keyword as well.
                    if !is_keyword(key) || takes(key) {
                        chunk.args.insert(Arc::clone(key), value.clone());
                    }
                }
            }
        }
        require_what_cannot_be_watched(&mut chunk, self.ordering);
        chunk
    }

    fn resolve_link(
        &mut self,
        draft: &ChunkDraft,
        kind: Requisite,
        requisite: &RequisiteEntry,
    ) -> Option<RequisiteLink> {
        let (key, value): (Arc<str>, &Value) = match &requisite.written {
            text @ Value::Str(_) => ("id".into(), text),
            Value::Map(map) => {
                let (key, value) = map.first()?;
                let short = key.split('.').next().unwrap_or_default();
                (short.into(), value)
            }
            _ => return None,
        };
        let bare = matches!(requisite.written, Value::Str(_));
        let target = match value {
            Value::Str(value) if kind == Requisite::Listen => {
                self.listen_target(&key, value, bare)?
            }
            Value::Str(value) => self.resolve_target(&key, value),
            // Salt shows a requisite without a name, and lets it count as met.
            Value::Null if !self.fails_without_name(draft, &key, kind) => self.add_set(Vec::new()),
            _ => {
                let (name, sls) = (Arc::clone(&draft.name), Arc::clone(&draft.sls));
                let word = RequisiteKeyword::Direct(kind);
                let problem = StateFileProblem::RequisiteValue {
                    word,
                    key,
                    name,
                    sls,
                };
                self.problems
                    .push(Diagnostic::error(problem).label(requisite.span, ""));
                return None;
            }
        };
        if target == LinkTarget::Missing && kind != Requisite::Listen {
            self.report_missing(draft, kind, (&key, value), requisite.span);
        }
        Some(RequisiteLink {
            kind,
            target,
            written: requisite.written.clone(),
            repeats: requisite.repeats,
            span: requisite.span,
        })
    }

    fn resolve_target(&mut self, key: &Arc<str>, value: &Arc<str>) -> LinkTarget {
        let pair = (Arc::clone(key), Arc::clone(value));
        if let Some(known) = self.target_cache.get(&pair) {
            return *known;
        }
        let found = if &**key == "sls" {
            self.sls_members(value)
        } else if Glob::is_pattern(value) {
            self.matching_members(key, value)
        } else {
            self.by_name.get(&pair).cloned()
        };
        let target = found.map_or(LinkTarget::Missing, |members| self.add_set(members));
        self.target_cache.insert(pair, target);
        target
    }

    /// Returns true for a requisite without a name that ends a run of Salt up to 3007: one on states of the own module.
    fn fails_without_name(&self, draft: &ChunkDraft, key: &Arc<str>, kind: Requisite) -> bool {
        self.ordering == RunOrdering::Classic
            && self.purpose == CompilePurpose::Run
            && *key == draft.state
            && matches!(kind, Requisite::Require | Requisite::Watch)
    }

    /// Reports a requisite without a target, unless Salt reports it when the state runs and nothing runs here.
    fn report_missing(
        &mut self,
        draft: &ChunkDraft,
        kind: Requisite,
        (key, value): (&Arc<str>, &Value),
        span: Span,
    ) {
        if self.ordering == RunOrdering::Classic && self.purpose == CompilePurpose::Show {
            return;
        }
        let problem = StateFileProblem::MissingRequisite {
            word: RequisiteKeyword::Direct(kind),
            key: Arc::clone(key),
            value: value.to_string().into(),
            name: Arc::clone(&draft.name),
            sls: Arc::clone(&draft.sls),
        };
        let diagnostic = Diagnostic::error(problem).label(span, "");
        self.missing_count += 1;
        let is_early = self.missing_count <= MAX_HINTS;
        let hint = is_early.then(|| self.similar_target(key, value)).flatten();
        self.problems.push(match hint {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        });
    }

    /// Returns a hint at the state that a requisite without target probably means.
    fn similar_target(&self, module: &Arc<str>, value: &Value) -> Option<String> {
        let name = value.as_str()?;
        if &**module == "sls" {
            return did_you_mean(name, self.files.iter().map(|file| &*file.sls));
        }
        let any = ("id".into(), name.into());
        if self.by_name.contains_key(&any) {
            let mut modules = MODULES.iter().map(|module| module.name);
            let module =
                modules.find(|it| self.by_name.contains_key(&((*it).into(), name.into())))?;
            return Some(format!("did you mean `{module}: {name}`?"));
        }
        let known = self.by_name.keys().take(MAX_CANDIDATES);
        let own = known.filter(|(of, _)| of == module);
        did_you_mean(name, own.map(|(_, name)| &**name))
    }

    fn add_set(&mut self, members: Vec<ChunkIndex>) -> LinkTarget {
        let index = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        self.sets.push(members.into());
        LinkTarget::Set(index)
    }

    fn matching_members(&self, key: &Arc<str>, pattern: &str) -> Option<Vec<ChunkIndex>> {
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

    /// The chunks of an SLS. With [`RunOrdering::Dag`] the chunks of the SLS files it includes count too.
    fn sls_members(&self, name: &Arc<str>) -> Option<Vec<ChunkIndex>> {
        let mut places: Vec<usize> = if Glob::is_pattern(name) {
            let glob = Glob::new(name);
            let files = self.files.iter().enumerate();
            files
                .filter(|(_, file)| glob.matches(&file.sls))
                .map(|(place, _)| place)
                .collect()
        } else {
            self.file_of.get(name).cloned().unwrap_or_default()
        };
        let none_accepted = self.ordering == RunOrdering::Dag && Glob::is_pattern(name);
        if places.is_empty() && !none_accepted {
            return None;
        }
        if self.ordering == RunOrdering::Dag {
            let mut within = vec![false; self.files.len()];
            for place in places {
                within[place] = true;
            }
            // An included file always has a higher index than the file that includes it, so one pass is
            // enough.
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

    /// Resolves the target of a `listen`: exact names only, and any module for a bare text (S30). Returns
    /// `None` for a bare text that matches nothing.
    fn listen_target(
        &mut self,
        key: &Arc<str>,
        value: &Arc<str>,
        bare: bool,
    ) -> Option<LinkTarget> {
        if bare {
            let any = (Arc::clone(key), Arc::clone(value));
            self.by_name.get(&any)?;
            return Some(self.resolve_target(key, value));
        }
        if Glob::is_pattern(value) || matches!(&**key, "sls" | "id") {
            return Some(LinkTarget::Missing);
        }
        Some(self.resolve_target(key, value))
    }

    /// Adds a `listen` link to the chunks that `listen_in` requisites name.
    fn inject_listen_in(&mut self, plan: &LoweringPlan<'_>, chunks: &mut [Chunk]) {
        let key: Arc<str> = RequisiteKeyword::In(Requisite::Listen).as_str().into();
        for place in plan.draft_order {
            let draft = &plan.drafts[*place];
            let Some((ArgumentValue::Requisites(_, requisites), _)) = draft.fields.get(&key) else {
                continue;
            };
            let target = self.resolve_target(&draft.state, &draft.id);
            for requisite in requisites {
                let pairs = requisite.written.as_map().into_iter().flatten();
                for (module, name) in pairs {
                    let Value::Str(name) = name else {
                        continue;
                    };
                    let pair = (Arc::clone(module), Arc::clone(name));
                    for listener in self.by_name.get(&pair).cloned().unwrap_or_default() {
                        chunks[listener as usize].links.push(RequisiteLink {
                            kind: Requisite::Listen,
                            target,
                            written: Value::Null,
                            repeats: 0,
                            span: requisite.span,
                        });
                    }
                }
            }
        }
    }
}

/// Returns the value of an argument, with requisites as they are written.
fn written_value(argument: &ArgumentValue) -> Value {
    match argument {
        ArgumentValue::Value(value) => value.clone(),
        ArgumentValue::Requisites(_, requisites) => {
            let repeated = |requisite: &RequisiteEntry| {
                std::iter::repeat_n(requisite.written.clone(), requisite.repeats as usize)
            };
            Value::list(requisites.iter().flat_map(repeated))
        }
    }
}
