//! The compile pipeline: runs the compiler's steps in order, from state files to ordered low data.
//!
//! Entry: [`compile`]. Errors stop the pipeline between the steps, since later errors would only be
//! consequences.

use std::sync::Arc;

use super::dag_order::{self, OrderEntry};
use super::high_data::{Exclusion, HighData};
use super::lower::LoweringResult;
use super::request::{CompileError, CompilePurpose, CompileRequest, CompiledStates, StateTargets};
use super::show;
use super::sls_loader::SlsLoader;
use super::top_file::{self, TopMatches};
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::fact::Fact;
use crate::states::render::{StateRenderer, trace_to_templates};
use crate::states::{BASE_ENV, FactCache, LowData, RunOrdering};
use crate::value::Value;

/// Compiles state files for a machine (S1–S31).
///
/// If templates read facts that are not yet in the cache, returns [`CompileError::Needs`]; the caller
/// collects them and calls this again.
///
/// ```
/// # use std::{collections::BTreeMap, sync::Arc};
/// # use unfurl::testing::states::{FileRoots, FileRootsError, MinionData};
/// # use unfurl::testing::value::Value;
/// use unfurl::testing::states::{
///     CompilePurpose, CompileRequest, FactCache, RunOrdering, StateRenderer, StateTargets, compile,
/// };
///
/// # struct Files(BTreeMap<&'static str, &'static str>);
/// # impl FileRoots for Files {
/// #     fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
/// #         Ok(self.0.get(path).map(|text| text.as_bytes().into()))
/// #     }
/// #     fn list(&self, _folder: &str) -> Result<Vec<String>, FileRootsError> {
/// #         Ok(self.0.keys().map(ToString::to_string).collect())
/// #     }
/// #     fn mode(&self, _path: &str) -> Result<Option<u32>, FileRootsError> {
/// #         Ok(None)
/// #     }
/// # }
/// let web = "
/// page:
///   test.nop:
///     - require:
///       - test: server
/// server:
///   test.nop: []
/// ";
/// # let minion = MinionData {
/// #     id: "web1".into(),
/// #     roots: Arc::new(Files(BTreeMap::from([("web.sls", web)]))).into(),
/// #     grains: Value::default(),
/// #     pillar: Value::default(),
/// #     options: Value::default(),
/// # };
/// let request = CompileRequest {
///     targets: StateTargets::Sls(vec!["web".to_owned()]),
///     ordering: RunOrdering::Dag,
///     purpose: CompilePurpose::Run,
///     exclude: Vec::new(),
/// };
/// let compiled = compile(&request, &StateRenderer::new(minion), &FactCache::default()).unwrap();
/// let chunks = &compiled.low.chunks;
/// let ids: Vec<&str> = compiled.low.order.iter().map(|it| &*chunks[*it as usize].id).collect();
/// assert_eq!(ids, ["server", "page"]);
/// ```
pub fn compile(
    request: &CompileRequest,
    renderer: &StateRenderer,
    facts: &FactCache,
) -> Result<CompiledStates, CompileError> {
    let mut tree = SlsLoader::new(renderer, facts);
    let mut chosen = TopMatches::default();
    match &request.targets {
        StateTargets::Sls(names) => {
            let env = renderer.option("saltenv").and_then(Value::as_str);
            let env = Arc::from(env.unwrap_or(BASE_ENV));
            let names = names.iter().map(String::as_str);
            tree.add_all(&env, names);
        }
        StateTargets::Highstate => {
            chosen = top_file::match_top_files(renderer, facts, &mut tree)?;
            for (env, names) in chosen.by_environment() {
                tree.add_all(env, names);
            }
        }
    }
    tree.finish();
    let SlsLoader {
        high,
        sources,
        needs,
        problems,
        ..
    } = tree;
    if !needs.is_empty() {
        return Err(CompileError::Needs(distinct(needs)));
    }
    let is_unmatched = request.targets == StateTargets::Highstate && chosen.is_empty();
    let stage = Pipeline {
        request,
        renderer,
        high,
        problems,
        calls: Diagnostics::default(),
    };
    match stage.run() {
        Err(problems) => {
            let problems = trace_to_templates(problems, &sources);
            Err(CompileError::Problems(problems, Box::new(sources)))
        }
        Ok(done) => Ok(done.into_compiled(sources, &chosen, is_unmatched)),
    }
}

fn distinct(mut needs: Vec<Fact>) -> Vec<Fact> {
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// The steps after loading: everything that happens to high data.
struct Pipeline<'a> {
    request: &'a CompileRequest,
    renderer: &'a StateRenderer,
    high: HighData,
    problems: Diagnostics,
    /// The errors of calls. They do not stop the pipeline, because nothing follows from them.
    calls: Diagnostics,
}

/// The results of a successful pipeline run.
struct PipelineOutput {
    low: LowData,
    order_entries: Vec<OrderEntry>,
    high_value: Value,
    files: Vec<(Arc<str>, String)>,
}

impl Pipeline<'_> {
    /// Runs the steps. Stops at the first step with errors, so that no follow-up errors are reported.
    fn run(mut self) -> Result<PipelineOutput, Diagnostics> {
        let ordering = self.request.ordering;
        let shown = show::high_data_value(&self.high);
        let added = self
            .request
            .exclude
            .iter()
            .map(|name| Exclusion::Sls(name.as_str().into()));
        self.high.exclusions.extend(added);
        let is_whole = !self.problems.has_errors();
        if is_whole {
            self.high.extend(&mut self.problems);
        }
        self.high.verify(ordering, &mut self.problems);
        let will_run = self.request.purpose == CompilePurpose::Run;
        if will_run {
            self.high.check_calls(&mut self.calls);
            if self.problems.has_errors() && !self.high.copies_arguments() {
                self.high.check_required(&mut self.calls);
            }
        }
        self.fail_on_errors()?;
        let disabled = self.disabled_requisites();
        self.high.inject(ordering, &disabled, &mut self.problems);
        self.high.apply_exclusions();
        if will_run {
            self.high.check_required(&mut self.calls);
        }
        self.fail_on_errors()?;
        let (low, turns) = self.lower_and_order(&disabled)?;
        let files = std::mem::take(&mut self.high.files);
        let files = files
            .into_iter()
            .map(|file| (file.sls, file.path))
            .collect();
        Ok(PipelineOutput {
            low,
            order_entries: turns,
            high_value: shown,
            files,
        })
    }

    /// Fails if there are errors of structure or requisites. Then all errors of calls are told, too.
    fn fail_on_errors(&mut self) -> Result<(), Diagnostics> {
        if !self.problems.has_errors() {
            return Ok(());
        }
        self.problems.append(std::mem::take(&mut self.calls));
        Err(std::mem::take(&mut self.problems))
    }

    fn disabled_requisites(&self) -> Vec<String> {
        match self.renderer.option("disabled_requisites") {
            Some(Value::List(words)) => words.iter().map(Value::to_string).collect(),
            Some(Value::Str(word)) => vec![word.to_string()],
            _ => Vec::new(),
        }
    }

    fn lower_and_order(
        &mut self,
        disabled: &[String],
    ) -> Result<(LowData, Vec<OrderEntry>), Diagnostics> {
        let ordering = self.request.ordering;
        let LoweringResult {
            mut low,
            numbers,
            draft_order: places,
        } = self.high.lower(self.request, disabled, &mut self.problems);
        let turn = |chunk: &u32| OrderEntry {
            chunk: *chunk,
            is_test: false,
        };
        let numbers: Vec<_> = places.iter().map(|place| numbers[*place].clone()).collect();
        let times: Vec<u32> = places
            .iter()
            .map(|place| u32::try_from(*place).unwrap_or(u32::MAX))
            .collect();
        let is_ordered = ordering == RunOrdering::Dag;
        // Classic ordering finds cycles while it runs. The other order tells them before.
        let mut turns = Vec::new();
        if is_ordered || self.request.purpose == CompilePurpose::Run {
            match dag_order::order(&low, &numbers, &times) {
                Ok(order) => turns = order,
                Err(problem) => self.problems.push(*problem),
            }
        }
        self.problems.append(std::mem::take(&mut self.calls));
        self.fail_on_errors()?;
        if !is_ordered {
            let turns = low.order.iter().map(turn).collect();
            return Ok((low, turns));
        }
        let runs = turns.iter().filter(|turn| !turn.is_test);
        low.order = runs.map(|turn| turn.chunk).collect();
        Ok((low, turns))
    }
}

impl PipelineOutput {
    fn into_compiled(
        self,
        sources: Sources,
        top: &TopMatches,
        is_unmatched: bool,
    ) -> CompiledStates {
        CompiledStates {
            low: Arc::new(self.low),
            order_entries: self.order_entries,
            high: self.high_value,
            top: top.to_value(),
            is_unmatched,
            files: self.files,
            sources,
            warnings: Diagnostics::default(),
        }
    }
}
