//! The entry point of the module `expr`: [`Evaluator`] evaluates attributes, raw values, queries and
//! templates of one topology and records the reads. The plan, jobs and configurators call it; `resolve`,
//! `path_eval`, `loops` and `template` hold the parts of the evaluation.

use std::collections::{HashMap, HashSet};
use std::fmt::{Debug, Formatter};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::value::limits::limits;
use crate::value::{Handle, Value};

use super::budget;
use super::context::{BoundItem, Context, EvaluatedInput, Inputs, Var};
use super::effect::{Effect, EffectOutput};
use super::error::{Error, Site};
use super::lazy::{LazyValue, Scene};
use super::memo::Memo;
use super::path::Segment;
use super::ports::{
    EffectError, FileContent, LocalContext, ReadError, SecretError, SecretRequest, SystemContext,
};
use super::reads::{Read, Reads};
use super::requested_writes::RequestedWrites;
use super::sandbox::sandbox_context;
use super::scope::Scope;
use super::syntax;
use super::tracker::Tracker;

/// The default limit of nested references.
const MAX_DEPTH: usize = 20_000;

/// An evaluator of expressions that memoizes values and records reads.
///
/// Clones share their state. Only one thread at a time may evaluate. Each nested reference needs stack:
/// evaluate in a thread with 1 GiB of stack, or set a limit with [`Evaluator::with_limit`].
#[derive(Clone)]
pub struct Evaluator(Arc<EvaluatorState>);

/// The maximum number of entries in a [`TextCache`].
const CACHE_CAPACITY: usize = 10_000;

/// A cache from source texts to their compiled form. A full cache is emptied.
#[derive(Debug)]
pub(super) struct TextCache<T>(Mutex<HashMap<Arc<str>, T>>);

impl<T> Default for TextCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> TextCache<T> {
    pub(super) fn get(&self, text: &str) -> Option<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(text).cloned()
    }

    pub(super) fn put(&self, text: &str, compiled: T) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CACHE_CAPACITY {
            known.clear();
        }
        known.insert(text.into(), compiled);
    }
}

struct EvaluatorState {
    scope: Arc<dyn Scope>,
    system: Arc<dyn SystemContext>,
    memo: Arc<Memo>,
    tracker: Tracker,
    path_cache: TextCache<Arc<[Segment]>>,
    /// Whether only expressions that read nothing outside the model are evaluated.
    sandboxed: bool,
    /// The artifact of a task, whose attributes see the variables of the task, and its context.
    task_artifact: Option<(Handle, Context)>,
    /// The last error of an evaluation for a task, until [`Evaluator::take_failure`] takes it.
    failure: Mutex<Option<Error>>,
}

impl EvaluatorState {
    fn new(
        scope: Arc<dyn Scope>,
        system: Arc<dyn SystemContext>,
        memo: Arc<Memo>,
        limit: usize,
    ) -> Self {
        Self {
            scope,
            system,
            memo,
            tracker: Tracker::new(limit),
            path_cache: TextCache::default(),
            sandboxed: false,
            task_artifact: None,
            failure: Mutex::default(),
        }
    }
}

impl Debug for Evaluator {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Evaluator").finish_non_exhaustive()
    }
}

impl Evaluator {
    /// Creates an evaluator for a topology, with the default nesting limit.
    pub fn new(scope: Arc<dyn Scope>, system: Arc<dyn SystemContext>, memo: Arc<Memo>) -> Self {
        Self::with_limit(scope, system, memo, MAX_DEPTH)
    }

    /// Creates an evaluator with a limit for the number of nested references.
    pub fn with_limit(
        scope: Arc<dyn Scope>,
        system: Arc<dyn SystemContext>,
        memo: Arc<Memo>,
        limit: usize,
    ) -> Self {
        Self(Arc::new(EvaluatorState::new(scope, system, memo, limit)))
    }

    /// Returns the evaluator for one task.
    ///
    /// The attributes of `of`, the artifact that the task executes, see the variables of the task. Their
    /// values are not memoized, because other tasks have other variables.
    #[must_use]
    pub fn for_task_artifact(self, of: Handle, task: &Context) -> Self {
        let mut context = task.clone();
        context.target = of;
        if let Some(Var::Inputs(inputs)) = task.vars.get("inputs") {
            let scene = Arc::new(Scene::new(task.clone()));
            let inputs = LazyValue::Inputs(Arc::clone(inputs), scene);
            context.vars.set("inputs", Var::Bound(BoundItem(inputs)));
        }
        context.vars.set("SELF", Var::Attributes(task.target));
        let host = self.scope().special(task.target, ".parent");
        if let Some(host) = host.as_ref().and_then(Value::as_entity) {
            context.vars.set("HOST", Var::Attributes(host));
        }
        let EvaluatorState {
            scope,
            system,
            memo,
            ..
        } = &*self.0;
        let (scope, system, memo) = (Arc::clone(scope), Arc::clone(system), Arc::clone(memo));
        Self(Arc::new(EvaluatorState {
            sandboxed: self.0.sandboxed,
            task_artifact: Some((of, context)),
            ..EvaluatorState::new(scope, system, memo, MAX_DEPTH)
        }))
    }

    /// Returns the scene of the task if `of` is the artifact of the task.
    ///
    /// Returns None while a memoized attribute is being evaluated, because a memoized value must not depend
    /// on a task.
    pub(super) fn task_scene(&self, of: Handle) -> Option<Scene> {
        let (artifact, context) = self.0.task_artifact.as_ref()?;
        if *artifact != of || self.tracker().is_in_slot() {
            return None;
        }
        let mut context = context.clone();
        let base_dir = self.scope().base_dir(of);
        if base_dir.is_absolute() {
            context.base_dir = base_dir;
        }
        Some(Scene::new(context))
    }

    /// Creates an evaluator for untrusted expressions. It allows only functions that read nothing outside
    /// the model and needs a memo of its own.
    pub fn sandboxed(
        scope: Arc<dyn Scope>,
        system: Arc<dyn SystemContext>,
        memo: Arc<Memo>,
    ) -> Self {
        Self(Arc::new(EvaluatorState {
            sandboxed: true,
            ..EvaluatorState::new(scope, sandbox_context(system), memo, MAX_DEPTH)
        }))
    }

    /// Evaluates an attribute completely and records the read. Returns None if the entity has no such
    /// attribute.
    pub fn attribute(&self, of: Handle, name: &str) -> Result<Option<Value>, Error> {
        let _run = self.tracker().begin_evaluation();
        let item = budget::settle(self.attribute_item(of, name))?;
        let Some(item) = item else {
            return Ok(None);
        };
        let value = budget::settle(self.value_of(item))?;
        let name = self.memo().intern_name(name);
        let read = Read::Attribute { of, name };
        self.tracker().record_read(read, Some(value.clone()));
        Ok(Some(value))
    }

    /// Evaluates a raw value completely, including the elements of maps and lists.
    ///
    /// ```
    /// # use std::{path::Path, sync::Arc};
    /// # use unfurl::testing::diagnostic::Sources;
    /// # use unfurl::testing::tosca::{NoImports, ReadOptions, read};
    /// # use unfurl::testing::topology::{Topology, TopologyInputs};
    /// # use unfurl::testing::yaml::{Limits, parse};
    /// use unfurl::testing::expr::{Context, Evaluator, FixedSources, Memo, NullContext};
    /// use unfurl::testing::value::Value;
    ///
    /// # let mut sources = Sources::default();
    /// # let text = "tosca_definitions_version: tosca_simple_unfurl_1_0_0\ntopology_template: {}\n";
    /// # let source = sources.add("service.yaml", text, None);
    /// # let root = parse(&sources, source, &Limits::default()).unwrap();
    /// # let (service, _) = read(&root, Path::new("/"), &mut NoImports, &ReadOptions::default());
    /// # let topology = Topology::new(Arc::new(service.unwrap()), TopologyInputs::default());
    /// # let root = topology.root();
    /// # let system = NullContext::new("no file is read here", FixedSources(|text| Ok(text.into())));
    /// let evaluator = Evaluator::new(Arc::new(topology), Arc::new(system), Arc::new(Memo::default()));
    /// let expression = Value::map([("concat", Value::list(["web".into(), 1.into()]))]);
    /// let value = evaluator.evaluate(&expression, &Context::new(root)).unwrap();
    /// assert_eq!(value, "web1".into());
    /// ```
    pub fn evaluate(&self, raw: &Value, context: &Context) -> Result<Value, Error> {
        if !syntax::needs_evaluation(raw) {
            return Ok(raw.clone());
        }
        let _run = self.tracker().begin_evaluation();
        let value = self.evaluate_raw(raw, &Scene::new(context.clone()), None);
        let value = budget::settle(value.and_then(check_size));
        value.inspect_err(|error| self.note_failure(error))
    }

    /// Takes the last error of [`Evaluator::evaluate`] and [`Evaluator::input`] since the previous call.
    pub fn take_failure(&self) -> Option<Error> {
        let mut failure = self
            .0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    pub(super) fn note_failure(&self, error: &Error) {
        let mut failure = self
            .0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *failure = Some(error.clone());
    }

    /// Evaluates one input of the task (an entry of the variable `inputs`) and records the read.
    pub fn input(&self, name: &str, context: &Context) -> Result<Option<Value>, Error> {
        let _run = self.tracker().begin_evaluation();
        match context.vars.get("inputs") {
            Some(Var::Inputs(inputs)) => {
                let value =
                    self.evaluate_input(&Arc::clone(inputs), name, &Scene::new(context.clone()));
                budget::settle(value).inspect_err(|error| self.note_failure(error))
            }
            Some(_) => {
                let inputs = self.variable("inputs", &Scene::new(context.clone()))?;
                let inputs = inputs.map(|item| self.value_of(item)).transpose()?;
                Ok(inputs.and_then(|inputs| inputs.get(name).cloned()))
            }
            None => Ok(None),
        }
    }

    /// Returns the results of an expression: a path, a function map or a whole `{eval: …}`.
    pub fn query(&self, expression: &Value, context: &Context) -> Result<Vec<Value>, Error> {
        let _run = self.tracker().begin_evaluation();
        let scene = Scene::new(context.clone());
        let form = syntax::Expression::parse_query(expression);
        let results = self.resolve(&form, &scene);
        budget::settle(results.and_then(|results| self.values_of(results)))
    }

    /// Renders a Jinja2 template and returns a native value, which need not be text.
    pub fn render(&self, template: &str, context: &Context) -> Result<Value, Error> {
        let _run = self.tracker().begin_evaluation();
        budget::settle(self.template(template, &Scene::new(context.clone())))
    }

    /// Evaluates a value that `q` quoted: evaluates the expressions in it, but not the templates.
    pub fn unquote(&self, value: &Value, context: &Context) -> Result<Value, Error> {
        if !syntax::needs_evaluation(value) {
            return Ok(value.clone());
        }
        let _run = self.tracker().begin_evaluation();
        budget::settle(self.evaluate_quoted(value, &Scene::new(context.clone())))
    }

    /// Marks a value from outside as data, unless the user allows the evaluation of results.
    pub fn foreign(&self, value: Value) -> Value {
        value.data_if(!self.system().evaluates_results())
    }

    /// Whether a raw map is an expression. A template does not count as one.
    pub fn is_expression(raw: &Value) -> bool {
        syntax::is_expression(raw)
    }

    /// Takes the reads since the previous call, in the order of first access, each with its value.
    pub fn take_reads(&self) -> Reads {
        let mut reads = self.tracker().take_reads();
        let unknown: Vec<_> = reads
            .iter()
            .filter(|(_, value)| value.is_null())
            .filter_map(|(read, _)| match read {
                Read::Attribute { of, name } => Some((*of, Arc::clone(name))),
                _ => None,
            })
            .collect();
        for (of, name) in unknown {
            if let Some(value) = self.unrecorded_attribute(of, &name) {
                reads.set_value(&Read::Attribute { of, name }, value);
            }
        }
        reads
    }

    /// Returns the attributes that the reads depend on directly or through other attributes, at most `cap`.
    ///
    /// Maps and lists that were read only in part are returned with their complete value.
    pub fn closure(&self, reads: &Reads, cap: usize) -> Vec<(Handle, Arc<str>, Value)> {
        let mut compute = |of: Handle, name: &str| self.unrecorded_attribute(of, name);
        self.memo().closure_with(reads, cap, &mut compute)
    }

    /// Returns the attributes of [`closure`](Self::closure) that Unfurl sees as well: it does not see what
    /// `get_property` reads. None if these are all of them.
    pub fn seen_by_upstream(
        &self,
        reads: &Reads,
        cap: usize,
    ) -> Option<HashSet<(Handle, Arc<str>)>> {
        self.memo().seen_by_upstream(reads, cap)
    }

    /// Records that an expression can access the attributes of an entity, which fixes the position of the
    /// entity in the order of reads.
    pub fn record_entity(&self, of: Handle) {
        self.tracker().record_read(Read::Entity(of), None);
    }

    /// Returns true if a read is among those since the previous call of [`Self::take_reads`].
    pub fn has_read(&self, read: &Read) -> bool {
        self.tracker().has_read(read)
    }

    /// Evaluates an attribute without recording the read. Returns None if the evaluation fails.
    fn unrecorded_attribute(&self, of: Handle, name: &str) -> Option<Value> {
        self.tracker().begin_frame();
        let value = self.attribute(of, name);
        self.tracker().end_frame();
        value.ok().flatten()
    }

    /// Evaluates one input, at most once per generation of the topology.
    pub(super) fn evaluate_input(
        &self,
        inputs: &Arc<Inputs>,
        name: &str,
        scene: &Scene,
    ) -> Result<Option<Value>, Error> {
        let Some((name, raw)) = inputs.entry(name) else {
            return Ok(None);
        };
        let read = Read::Input(Arc::clone(name));
        self.tracker().record_read(read.clone(), None);
        let generation = self.scope().generation();
        if let Some(known) = inputs.evaluated().get(name)
            && known.generation == generation
        {
            self.tracker().record_reads(&known.reads);
            self.tracker().record_read(read, Some(known.value.clone()));
            return Ok(Some(known.value.clone()));
        }
        let level = self.tracker().enter_level()?;
        // The address of the shared map identifies the inputs while they are being evaluated.
        let of = Arc::as_ptr(inputs).addr();
        if !self.tracker().begin_input(of, name) {
            return Ok(Some(Value::Null));
        }
        let scene = scene.at(LazyValue::Entity(scene.context.target));
        let value = {
            let _name = budget::enter(name);
            let value = budget::check().and_then(|()| self.evaluate_raw(raw, &scene, None));
            budget::settle(value.and_then(check_size))
        };
        let frame = self.tracker().end_input(of, name);
        drop(level);
        self.tracker().record_reads(&frame.reads);
        frame
            .slots
            .iter()
            .for_each(|slot| self.tracker().record_slot(slot));
        let value = value.map_err(|error| error.within(Site::Input(Arc::clone(name))))?;
        let known = EvaluatedInput {
            value: value.clone(),
            reads: frame.reads,
            generation,
        };
        inputs.evaluated().insert(Arc::clone(name), known);
        self.tracker().record_read(read, Some(value.clone()));
        Ok(Some(value))
    }

    /// Returns an error unless the user allowed the action by its name.
    pub(super) fn check_permission(&self, name: &str, action: &'static str) -> Result<(), Error> {
        if self.system().permits(name) && !self.0.sandboxed {
            return Ok(());
        }
        Err(Error::Refused {
            name: name.to_owned(),
            action,
        })
    }

    /// Whether the evaluator accepts untrusted expressions only.
    pub(super) fn is_sandboxed(&self) -> bool {
        self.0.sandboxed
    }

    /// Performs an effect that the user allowed.
    pub(super) fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError> {
        self.0.system.perform(effect)
    }

    /// Gets a secret that is stored outside of the project.
    pub(super) fn fetch_secret(&self, request: &SecretRequest) -> Result<Value, SecretError> {
        self.0.system.fetch_secret(request)
    }

    /// Requests a change of a file. The change is performed only while the task that needs it runs.
    pub(super) fn request_write(&self, effect: Effect) -> Result<(), EffectError> {
        self.0.system.check(&effect)?;
        let effect = Arc::new(effect);
        self.memo().add_requested(&effect);
        self.tracker().record_write(effect);
        Ok(())
    }

    /// Performs requested changes of files. Only the run of a task calls this.
    pub fn perform_writes(&self, writes: &RequestedWrites) -> Result<(), EffectError> {
        for effect in writes.iter() {
            self.perform(effect)?;
            self.memo().remove_requested(effect);
        }
        Ok(())
    }

    /// Returns the contents of a file, as they will be once the requested writes are performed.
    pub(super) fn read_file(&self, path: &Path) -> Result<FileContent, ReadError> {
        match self.memo().requested(path).as_deref() {
            Some(Effect::WriteFile { contents, .. }) => Ok(FileContent::plain(contents.clone())),
            _ => self.system().read_decrypted(path),
        }
    }

    /// Whether a path exists, or will exist once the requested writes are performed.
    pub(super) fn path_exists(&self, path: &Path) -> Result<bool, ReadError> {
        if self.memo().requested(path).is_some() {
            return Ok(true);
        }
        self.system().check_read(path)?;
        Ok(self.system().exists(path))
    }

    /// Whether a path is a directory, or will be one once the requested writes are performed.
    pub(super) fn path_is_dir(&self, path: &Path) -> Result<bool, ReadError> {
        if let Some(effect) = self.memo().requested(path) {
            return Ok(matches!(*effect, Effect::MakeDir { .. }));
        }
        self.system().check_read(path)?;
        Ok(self.system().is_dir(path))
    }

    pub(super) fn record_file_read(&self, path: &Path) {
        self.tracker()
            .record_read(Read::File(path.to_owned()), None);
    }

    /// Records a read of a path or file whose contents count for the reader.
    pub(super) fn record_path_read(&self, path: &Path) {
        self.record_file_read(path);
        self.tracker()
            .record_read(Read::Path(path.to_owned()), None);
    }

    pub(super) fn scope(&self) -> &dyn Scope {
        &*self.0.scope
    }

    pub(super) fn system(&self) -> &dyn LocalContext {
        &*self.0.system
    }

    pub(super) fn memo(&self) -> &Memo {
        &self.0.memo
    }

    pub(super) fn path_cache(&self) -> &TextCache<Arc<[Segment]>> {
        &self.0.path_cache
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.0.tracker
    }
}

/// Returns the value, unless it is larger than the limit.
pub(super) fn check_size(value: Value) -> Result<Value, Error> {
    let limit = limits().value;
    if value.fits(limit) {
        return Ok(value);
    }
    Err(Error::TooLarge { limit })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::super::context::EnvVariables;
    use super::super::fixture::{FakeScope, FakeSystem, evaluator, topology, yaml};
    use super::*;
    use crate::value::Map;

    fn names(reads: &Reads) -> Vec<String> {
        reads
            .iter()
            .map(|(read, value)| format!("{read:?} {value:?}"))
            .collect()
    }

    fn closure(evaluator: &Evaluator, scope: &FakeScope, reads: &Reads) -> String {
        let closure = evaluator.closure(reads, 1000);
        let line = |(of, name, value): &(Handle, Arc<str>, Value)| {
            format!("{}::{name} = {value:?}", scope.key(*of))
        };
        closure.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_closure_of_reads_is_in_the_order_in_which_accesses_began() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let context = Context::new(scope.named("app"));
        let template = "echo {{ HOST.ip }} {{ SELF.local }}";
        assert_eq!(
            evaluator.render(template, &context).unwrap(),
            "echo 10.0.0.1 81".into()
        );
        let reads = evaluator.take_reads();
        assert!(evaluator.take_reads().is_empty());
        insta::assert_snapshot!(closure(&evaluator, &scope, &reads), @"
        ::app::local = 81
        ::app::port = 80
        ::host::ip = '10.0.0.1'
        ");
    }

    #[test]
    fn values_that_wait_for_each_other_are_null() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let app = scope.named("app");
        assert!(evaluator.attribute(app, "r").unwrap().unwrap().is_null());
        let reads = evaluator.take_reads();
        insta::assert_snapshot!(closure(&evaluator, &scope, &reads), @"
        ::app::r = None
        ::app::s = None
        ");
    }

    #[test]
    fn a_write_makes_exactly_what_depends_on_it_new() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let app = scope.named("app");
        let login = || evaluator.attribute(app, "local").unwrap().unwrap();
        assert_eq!(login(), 81.into());
        scope.bump_generation();
        let asked = scope.lookup_count();
        assert_eq!(login(), 81.into());
        assert_eq!(
            scope.lookup_count(),
            asked + 1,
            "only the attribute itself is looked up again"
        );
        scope.write(app, "port", 90);
        assert_eq!(login(), 91.into());
        let own = evaluator.attribute(app, "own").unwrap().unwrap();
        insta::assert_snapshot!(own, @"{'x': 1, 'y': 1, 'z': 2}");
        scope.write(app, "own", yaml("{x: 5, y: {eval: '.::own::x'}}"));
        insta::assert_snapshot!(evaluator.attribute(app, "own").unwrap().unwrap(), @"{'x': 5, 'y': 5}");
    }

    #[test]
    fn what_reads_a_sensitive_value_is_sensitive() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let app = scope.named("app");
        let context = Context::new(app);
        for text in [
            "{{ SELF.login }}",
            "{{ SELF.login | length }}",
            "{{ SELF.values() | list }}",
        ] {
            let value = evaluator.render(text, &context).unwrap();
            assert!(matches!(value, Value::Sensitive(_)), "{text}: {value:?}");
        }
        let value = evaluator.render("{{ SELF.port }}", &context).unwrap();
        assert!(!value.has_sensitive());
        let shown = format!("{:?}", names(&evaluator.take_reads()));
        assert!(!shown.contains("hush"), "{shown}");
        let error = evaluator
            .render("{{ SELF.password | from_json }}", &context)
            .unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn the_error_of_an_attribute_shows_no_secret_to_its_readers() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let app = scope.named("app");
        scope.write(app, "bad", "{{ (SELF.password ~ 'x') | human_to_bytes }}");
        for _ in 0..2 {
            let read = evaluator.render("{{ SELF.bad }}", &Context::new(app));
            let message = read.unwrap_err().to_string();
            assert!(!message.contains("hush"), "{message}");
        }
    }

    #[test]
    fn an_input_is_evaluated_when_it_is_read_and_recorded() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let inputs = yaml(
            "{a: '{{ inputs.b }}-{{ SELF.port }}', b: {eval: '::host::ip'}, c: '{{ inputs.c }}', d: {eval: $inputs::b}}",
        );
        let context =
            Context::new(scope.named("app")).with("inputs", inputs.as_map().unwrap().clone());
        let input = |name| evaluator.input(name, &context).unwrap();
        assert_eq!(input("a"), Some("10.0.0.1-80".into()));
        insta::assert_snapshot!(names(&evaluator.take_reads()).join("\n"), @r#"
        Input("a") '10.0.0.1-80'
        Entity(Handle(2)) None
        Input("b") '10.0.0.1'
        Instance { from: Handle(2), name: "host" } NodeInstance('host')
        Attribute { of: Handle(1), name: "ip" } '10.0.0.1'
        Attribute { of: Handle(2), name: "port" } 80
        "#);
        assert_eq!(input("a"), Some("10.0.0.1-80".into()));
        assert_eq!(
            evaluator.take_reads().len(),
            6,
            "what is known already was still read"
        );
        assert_eq!(input("c"), Some(Value::Null));
        assert_eq!(input("d"), Some("10.0.0.1".into()));
        assert_eq!(input("nope"), None);
    }

    #[test]
    fn reads_made_before_an_error_are_kept() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        scope.write(scope.named("app"), "bad", "{{ SELF.port }}{{ HOST.nope }}");
        let context = Context::new(scope.named("app"));
        let error = evaluator
            .render("{{ SELF.flag }}{{ SELF.bad }}", &context)
            .unwrap_err();
        insta::assert_snapshot!(error, @"`nope` is not defined on `::host` in the template `{{ SELF.port }}{{ HOST.nope }}`");
        let reads = evaluator.take_reads();
        insta::assert_snapshot!(names(&reads).join("\n"), @r#"
        Entity(Handle(2)) None
        Attribute { of: Handle(2), name: "flag" } False
        Attribute { of: Handle(2), name: "bad" } None
        "#);
        // The memo has the reads of the failed attribute.
        insta::assert_snapshot!(closure(&evaluator, &scope, &reads), @"
        ::app::flag = False
        ::app::bad = None
        ::app::port = 80
        ");
        let absent = evaluator.memo().absent(&reads, 1000);
        assert_eq!(absent, [(scope.named("host"), "nope".into())]);
        let evaluated = scope.lookup_count();
        evaluator.render("{{ SELF.bad }}", &context).unwrap_err();
        assert_eq!(scope.lookup_count(), evaluated + 1, "the error is known");
        scope.write(scope.named("host"), "nope", 1);
        evaluator.render("{{ SELF.bad }}", &context).unwrap();
        let mut lenient = context.clone();
        lenient.strict = false;
        assert!(evaluator.render("{{ nope }}", &lenient).unwrap().is_null());
    }

    #[test]
    fn a_path_stays_external_through_a_template() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let context = Context::new(scope.named("app"));
        let Value::External(path) = evaluator.render("{{ 'x' | abspath }}", &context).unwrap()
        else {
            panic!("a path is external");
        };
        insta::assert_snapshot!(format!("{} {:?} {:?}", path.value, path.expression, path.digest), @"/e/x {'eval': {'path': '/e/x'}} Some('path::x')");
        let text = evaluator
            .render("ls {{ 'x' | abspath }}", &context)
            .unwrap();
        assert_eq!(text.kind(), "a string");
    }

    #[test]
    fn the_contents_of_a_file_stand_for_it_in_digests() {
        let scope = topology();
        let disk = Arc::new(FakeSystem::default());
        disk.files
            .lock()
            .unwrap()
            .insert("/e/f".into(), b"one".to_vec());
        let evaluator = Evaluator::with_limit(scope.clone(), disk.clone(), Arc::default(), 60);
        scope.write(
            scope.named("app"),
            "f",
            yaml("{eval: {file: f}, select: contents}"),
        );
        let read = || {
            evaluator
                .attribute(scope.named("app"), "f")
                .unwrap()
                .unwrap()
        };
        let first = read();
        disk.files
            .lock()
            .unwrap()
            .insert("/e/f".into(), b"two".to_vec());
        assert_eq!(
            read(),
            "one".into(),
            "within one state of the topology values hold"
        );
        scope.bump_generation();
        let second = read();
        let Value::External(file) = &second else {
            panic!("a file is external");
        };
        insta::assert_snapshot!(format!("{} {:?} {:?}", file.value, file.expression, file.digest), @"two {'eval': {'file': 'f'}} Some('two')");
        let digest = |value: &Value| crate::value::unfurl_digest([value]);
        assert_ne!(digest(&first), digest(&second));
        assert_eq!(digest(&second), digest(&"two".into()));
    }

    #[test]
    fn a_task_sees_its_own_environment() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let mut context = Context::new(scope.named("app"));
        let env = [("TOKEN".to_owned(), "hush".to_owned())];
        context.env = Some(EnvVariables(Arc::new(env.into_iter().collect())));
        let value = evaluator.evaluate(&yaml("[{get_env: TOKEN}, {get_env: HOME}]"), &context);
        assert_eq!(value.unwrap().to_string(), "['hush', None]");
        assert!(!format!("{context:?}").contains("hush"));
    }

    #[test]
    fn the_artifact_of_a_task_sees_its_variables_and_is_not_remembered() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let (host, app) = (scope.named("host"), scope.named("app"));
        scope.write(app, "said", "{{ inputs.word }} {{ SELF.ip }}");
        scope.write(app, "loop", "{{ '.::loop' | eval }}");
        scope.write(host, "again", yaml("{eval: '::app::said'}"));
        let task = |word: &str| {
            let inputs = Map::from_iter([("word".into(), Value::from(word))]);
            evaluator
                .clone()
                .for_task_artifact(app, &Context::new(host).with("inputs", inputs))
        };
        for (word, said) in [("{{ SELF.ip }}", "10.0.0.1 10.0.0.1"), ("b", "b 10.0.0.1")] {
            let around = task(word);
            assert_eq!(around.attribute(app, "said").unwrap(), Some(said.into()));
            let reads = around.take_reads();
            assert!(reads.get(&Read::Input("word".into())).is_some());
        }
        assert!(evaluator.attribute(app, "said").is_err());
        assert!(task("c").attribute(host, "again").is_err());
        let empty = task("d").attribute(app, "loop").unwrap();
        assert_eq!(empty, Some(Value::Null));
    }

    #[test]
    fn what_needs_no_evaluation_is_shared() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let raw = yaml("{a: [1, {b: c}]}");
        let value = evaluator.evaluate(&raw, &Context::new(Handle(0))).unwrap();
        let (Value::Map(raw), Value::Map(value)) = (raw, value) else {
            panic!("both are maps");
        };
        assert!(Arc::ptr_eq(&raw, &value));
    }

    /// A chain of properties in which each one is a template or a path that reads the one before.
    fn chain(length: usize, link: fn(usize) -> String) -> Arc<FakeScope> {
        let mut text = String::from("root: {}\nnode:\n  p0: 0\n");
        for place in 1..=length {
            writeln!(text, "  p{place}: {}", link(place - 1)).unwrap();
        }
        FakeScope::new(&text)
    }

    fn in_large_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::Builder::new().stack_size(1 << 30);
        thread.spawn(run).unwrap().join().unwrap()
    }

    #[test]
    fn a_long_chain_of_references_is_evaluated() {
        let template = |before: usize| format!("'{{{{ SELF.p{before} + 1 }}}}'");
        let path = |before: usize| format!("{{eval: {{add: [{{eval: '.::p{before}'}}, 1]}}}}");
        for link in [template as fn(usize) -> String, path] {
            in_large_stack(move || {
                let scope = chain(10_000, link);
                let evaluator =
                    Evaluator::new(scope.clone(), Arc::<FakeSystem>::default(), Arc::default());
                let node = scope.named("node");
                let last = || evaluator.attribute(node, "p10000").unwrap().unwrap();
                assert_eq!(last(), 10_000.into());
                let asked = scope.lookup_count();
                scope.bump_generation();
                assert_eq!(last(), 10_000.into());
                assert_eq!(scope.lookup_count(), asked + 1);
                scope.write(node, "p0", 5);
                assert_eq!(last(), 10_005.into());
                let reads = evaluator.take_reads();
                assert_eq!(evaluator.closure(&reads, 100_000).len(), 10_001);
                assert_eq!(evaluator.closure(&reads, 10).len(), 10);
            });
        }
    }

    #[test]
    fn what_was_quoted_can_be_evaluated_later() {
        let scope = topology();
        let evaluator = evaluator(&scope);
        let context = Context::new(scope.named("app"));
        let quoted = evaluator.evaluate(
            &yaml("{a: {q: {eval: '::host::ip'}}, b: '{{ 1 }}'}"),
            &context,
        );
        let quoted = quoted.unwrap();
        insta::assert_snapshot!(quoted, @"{'a': {'eval': '::host::ip'}, 'b': 1}");
        insta::assert_snapshot!(evaluator.unquote(&quoted, &context).unwrap(), @"{'a': '10.0.0.1', 'b': 1}");
    }

    #[test]
    fn a_chain_without_end_is_an_error() {
        let scope = chain(100, |before| format!("{{eval: '.::p{before}'}}"));
        let error = evaluator(&scope)
            .attribute(scope.named("node"), "p100")
            .unwrap_err();
        insta::assert_snapshot!(error, @"expressions refer to each other more than 60 levels deep");
    }

    #[test]
    fn many_paths_to_the_same_value_evaluate_it_once() {
        let mut text = String::from("root: {outputs: {o0: 1}}\nnode:\n  p0: 1\n");
        for place in 1..50 {
            let before = place - 1;
            writeln!(
                text,
                "  p{place}: '{{{{ SELF.p{before} + SELF.p{before} - SELF.p{before} }}}}'"
            )
            .unwrap();
        }
        let scope = FakeScope::new(&text);
        let mut outputs = Map::new();
        outputs.insert("o0".into(), 1.into());
        for place in 1..50 {
            let both = format!(
                "{{add: [{{eval: '::root::outputs::o{0}'}}, {{eval: '::root::outputs::o{0}'}}]}}",
                place - 1
            );
            outputs.insert(
                format!("o{place}").into(),
                yaml(&format!("{{eval: {both}}}")),
            );
        }
        scope.write(Handle(0), "outputs", outputs);
        let evaluator = evaluator(&scope);
        assert_eq!(
            evaluator.attribute(scope.named("node"), "p49").unwrap(),
            Some(1.into())
        );
        let outputs = evaluator.attribute(Handle(0), "outputs").unwrap().unwrap();
        assert_eq!(outputs.get("o49"), Some(&(1i64 << 49).into()));
    }

    /// Fragments of expressions and templates, joined at random.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "::",
            ".",
            "..",
            "[",
            "]",
            "=",
            "!=",
            "!",
            "?",
            "*",
            "$",
            "host",
            "app",
            "list",
            "name",
            "1",
            "-1",
            "{{ ",
            " }}",
            "{% ",
            " %}",
            "SELF",
            "HOST",
            "NODES",
            "for i in ",
            "if ",
            "endif",
            "endfor",
            " | ",
            "eval",
            "default",
            "(",
            ")",
            "'",
            "\"",
            ",",
            " ",
            ":",
            "{",
            "}",
            "é",
            "\n",
            "#jinja2:",
            "+",
            "range(9)",
            ".ancestors",
            "own",
            "$item",
            "\\",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn expressions() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            pieces().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            Just(Value::Null),
            any::<f64>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let key = prop::sample::select(vec![
                "eval",
                "foreach",
                "select",
                "vars",
                "if",
                "then",
                "else",
                "and",
                "or",
                "not",
                "add",
                "pow",
                "mod",
                "concat",
                "token",
                "get_input",
                "get_attribute",
                "template",
                "to_label",
                "to_env",
                "q",
                "file",
                "abspath",
                "portspec",
                "scalar",
                "scalar_value",
                "urljoin",
                "validate_json",
                "lookup",
                "_generate",
                "key",
                "value",
                "max",
                "sep",
                "allowed",
                "get_env",
                "container_image",
                "get_nodes_of_type",
                "strict",
                "unit",
                "round",
                "floordiv",
                "lt",
                "sensitive",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::list),
                prop::collection::vec((key, inner), 0..3).prop_map(Value::map),
            ]
        })
    }

    /// Evaluates in one large stack shared by the cases, because each level of nesting needs stack.
    fn survives(raw: Value) {
        static GATE: Mutex<()> = Mutex::new(());
        let _gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
        let scope = topology();
        let evaluator = evaluator(&scope);
        let mut context = Context::new(scope.named("app"));
        drop(evaluator.evaluate(&raw, &context));
        drop(evaluator.query(&raw, &context));
        context.strict = false;
        drop(evaluator.evaluate(&Value::map([("eval", raw)]), &context));
        drop(evaluator.closure(&evaluator.take_reads(), 10));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_evaluator_panic(text in pieces()) {
            in_large_stack(move || survives(text.into()));
        }

        #[test]
        fn no_expression_makes_the_evaluator_panic(raw in expressions()) {
            in_large_stack(move || survives(raw));
        }
    }
}
