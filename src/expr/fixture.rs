//! Test fixtures: a small topology ([`FakeScope`]) and an in-memory machine ([`FakeSystem`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::value::{Handle, Map, Value};

use super::context::Context;
use super::effect::{Effect, EffectOutput};
use super::error::Error;
use super::evaluator::Evaluator;
use super::memo::Memo;
use super::ports::{
    Clock, DirectoryOwner, EffectError, Effects, Random, RandomError, ReadEnvironment, ReadError,
    ReadFiles, Yaml, YamlError, json_as_yaml,
};
use super::scope::{Attribute, Scope};

/// A topology whose entity 0 is the root.
#[derive(Debug, Default)]
pub(super) struct FakeScope {
    state: Mutex<FakeState>,
}

#[derive(Debug, Default)]
struct FakeState {
    entities: Vec<Entity>,
    generation: u64,
    evaluated: usize,
}

#[derive(Debug, Default)]
struct Entity {
    name: String,
    attributes: Map,
    sensitive: Vec<String>,
    versions: HashMap<String, u64>,
    hosts: Vec<Handle>,
}

pub(super) fn yaml(text: &str) -> Value {
    FakeSystem::default().parse_yaml(text).unwrap()
}

fn from_json(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => truth.into(),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => number.as_f64().into(),
        },
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Array(items) => Value::list(items.into_iter().map(from_json)),
        serde_json::Value::Object(map) => {
            Value::map(map.into_iter().map(|(k, v)| (k, from_json(v))))
        }
    }
}

impl FakeScope {
    /// Creates a topology from the attributes of its entities. Each entity hosts those listed under its
    /// `.hosts`.
    pub(super) fn new(text: &str) -> Arc<Self> {
        let entities = yaml(text);
        let fake = Self::default();
        let mut state = fake.state();
        for (name, attributes) in entities.as_map().unwrap() {
            let mut attributes = attributes.as_map().cloned().unwrap_or_default();
            let names = |value: Option<Value>| -> Vec<String> {
                let value = value.unwrap_or_default();
                value
                    .as_list()
                    .into_iter()
                    .flatten()
                    .map(Value::to_string)
                    .collect()
            };
            let hosts = names(attributes.shift_remove(".hosts"));
            let find = |name: &String| {
                let place = state
                    .entities
                    .iter()
                    .position(|entity| entity.name == *name);
                Handle(place.unwrap().try_into().unwrap())
            };
            let hosts = hosts.iter().map(find).collect();
            let sensitive = names(attributes.shift_remove(".sensitive"));
            state.entities.push(Entity {
                name: name.to_string(),
                attributes,
                sensitive,
                versions: HashMap::new(),
                hosts,
            });
        }
        drop(state);
        Arc::new(fake)
    }

    fn state(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock().unwrap()
    }

    pub(super) fn named(&self, name: &str) -> Handle {
        let place = self
            .state()
            .entities
            .iter()
            .position(|entity| entity.name == name);
        Handle(place.unwrap().try_into().unwrap())
    }

    pub(super) fn write(&self, of: Handle, name: &str, value: impl Into<Value>) {
        let mut state = self.state();
        state.generation += 1;
        let generation = state.generation;
        let entity = &mut state.entities[of.0 as usize];
        entity.attributes.insert(name.into(), value.into());
        entity.versions.insert(name.to_owned(), generation);
    }

    /// Increments the generation without changing an attribute that is read.
    pub(super) fn bump_generation(&self) {
        self.state().generation += 1;
    }

    /// Returns how many attribute lookups the scope has answered.
    pub(super) fn lookup_count(&self) -> usize {
        self.state().evaluated
    }
}

impl Scope for FakeScope {
    fn attribute(&self, of: Handle, name: &str) -> Option<Attribute> {
        let mut state = self.state();
        state.evaluated += 1;
        let entity = &state.entities[of.0 as usize];
        Some(Attribute {
            raw: entity.attributes.get(name)?.clone(),
            sensitive: entity.sensitive.iter().any(|sensitive| sensitive == name),
            owner: of,
        })
    }

    fn attribute_names(&self, of: Handle) -> Vec<Arc<str>> {
        self.state().entities[of.0 as usize]
            .attributes
            .keys()
            .cloned()
            .collect()
    }

    fn special(&self, of: Handle, key: &str) -> Option<Value> {
        let state = self.state();
        let entity = &state.entities[of.0 as usize];
        let reference = |of: Handle| {
            let name = &state.entities[of.0 as usize].name;
            Value::entity(of, format!("::{name}").into(), None)
        };
        let hosts = || Value::list(entity.hosts.iter().copied().map(reference));
        let parent = entity.hosts.first().copied().unwrap_or(Handle(0));
        Some(match key {
            ".name" => entity.name.as_str().into(),
            ".key" => format!("::{}", entity.name).into(),
            ".type" => "unfurl.nodes.Generic".into(),
            ".status" => 1.into(),
            ".hosted_on" => hosts(),
            ".targets" => Value::map(entity.hosts.iter().map(|host| ("host", reference(*host)))),
            ".." | ".parent" => reference(parent),
            ".ancestors" => {
                let mut ancestors = vec![of];
                while let Some(host) = state.entities[ancestors[ancestors.len() - 1].0 as usize]
                    .hosts
                    .first()
                {
                    ancestors.push(*host);
                }
                ancestors.push(Handle(0));
                Value::list(ancestors.into_iter().map(reference))
            }
            ".instances" | ".sources" => {
                let on = |place: &usize| state.entities[*place].hosts.contains(&of);
                let found: Vec<_> = (0..state.entities.len()).filter(on).collect();
                let handle = |place: usize| reference(Handle(place.try_into().unwrap()));
                match key {
                    ".sources" => {
                        Value::map(found.into_iter().map(|place| ("host", handle(place))))
                    }
                    _ => Value::list(found.into_iter().map(handle)),
                }
            }
            _ => return None,
        })
    }

    fn find(&self, _: Handle, name: &str) -> Option<Handle> {
        let place = self
            .state()
            .entities
            .iter()
            .position(|entity| entity.name == name)?;
        Some(Handle(place.try_into().unwrap()))
    }

    fn instances(&self, _: Handle) -> Vec<Handle> {
        let count = u32::try_from(self.state().entities.len()).unwrap();
        (1..count).map(Handle).collect()
    }

    fn root(&self, _: Handle) -> Handle {
        Handle(0)
    }

    fn key(&self, of: Handle) -> Arc<str> {
        format!("::{}", self.state().entities[of.0 as usize].name).into()
    }

    fn is_type(&self, _: Handle, type_name: &str) -> bool {
        type_name == "unfurl.nodes.Generic"
    }

    fn generation(&self) -> u64 {
        self.state().generation
    }

    fn version(&self, of: Handle, name: &str) -> u64 {
        let state = self.state();
        state.entities[of.0 as usize]
            .versions
            .get(name)
            .copied()
            .unwrap_or_default()
    }
}

/// A machine whose files are in memory.
#[derive(Debug, Default)]
pub(super) struct FakeSystem {
    pub(super) files: Mutex<HashMap<PathBuf, Vec<u8>>>,
    /// Whether programs may run. If true, the clock and the random source also return a new value each time.
    pub(super) runs_programs: bool,
    /// Whether the machine has no source of random numbers.
    pub(super) lacks_randomness: bool,
    /// The programs that ran, and the files and directories that were created.
    pub(super) performed: Mutex<Vec<String>>,
    /// The number of calls of the clock and the random source.
    pub(super) random_calls: Mutex<u8>,
}

impl FakeSystem {
    /// Creates a machine on which programs run. Each program prints the number of effects so far.
    pub(super) fn with_programs() -> Self {
        let is_busy = true;
        Self {
            runs_programs: is_busy,
            ..Self::default()
        }
    }

    fn ask(&self) -> u8 {
        let mut asked = self.random_calls.lock().unwrap();
        *asked += u8::from(self.runs_programs);
        *asked
    }
}

impl ReadEnvironment for FakeSystem {
    fn env(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/me".to_owned())
    }

    fn env_all(&self) -> Vec<(String, String)> {
        vec![
            ("HOME".to_owned(), "/home/me".to_owned()),
            ("PATH".to_owned(), "/bin".to_owned()),
        ]
    }

    fn context_value(&self, _: &str, _: &str) -> Option<Value> {
        None
    }

    fn metadata(&self) -> Map {
        Map::new()
    }

    fn permits(&self, _: &str) -> bool {
        self.runs_programs
    }

    fn temp_dir(&self) -> PathBuf {
        "/tmp".into()
    }
}

impl ReadFiles for FakeSystem {
    fn check_read(&self, _: &Path) -> Result<(), ReadError> {
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let files = self.files.lock().unwrap();
        files
            .get(path)
            .cloned()
            .ok_or(ReadError::Refused("there is no such file"))
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.lock().unwrap().contains_key(path)
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }

    fn is_link(&self, _: &Path) -> bool {
        false
    }

    fn is_mount(&self, _: &Path) -> bool {
        false
    }

    fn list(&self, _: &Path) -> Result<Vec<PathBuf>, ReadError> {
        Ok(Vec::new())
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        (name == "sh").then(|| "/bin/sh".into())
    }

    fn directory(&self, place: &DirectoryOwner, location: &str) -> Result<PathBuf, ReadError> {
        let name = place.instance.as_deref().unwrap_or_default();
        match location {
            "." | "ensemble" => Ok("/e".into()),
            "src" => Ok("/src".into()),
            "artifacts" | "tasks" => Ok(PathBuf::from("/e").join(location).join(name)),
            other => Err(ReadError::UnknownLocation(other.to_owned())),
        }
    }

    fn tree_digest(&self, path: &Path) -> Option<String> {
        let files = self.files.lock().unwrap();
        files
            .get(path)
            .map(|bytes| format!("contents:{}", String::from_utf8_lossy(bytes)))
    }

    fn content_digest(&self, path: &Path) -> Option<String> {
        self.tree_digest(path)
    }
}

impl Effects for FakeSystem {
    fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError> {
        let mut performed = self.performed.lock().unwrap();
        let name = match effect {
            Effect::Run { .. } | Effect::Fetch { .. } if !self.runs_programs => {
                return Err(EffectError::Refused("expressions here cannot run programs"));
            }
            Effect::Run { command } => command.last().cloned().unwrap_or_default(),
            Effect::Fetch { url } => url.clone(),
            Effect::WriteFile { path, contents, .. } => {
                let mut files = self.files.lock().unwrap();
                files.insert(path.clone(), contents.clone());
                path.display().to_string()
            }
            Effect::MakeDir { path } => path.display().to_string(),
        };
        performed.push(name.clone());
        if name == "false" {
            return Err(EffectError::Refused("it failed"));
        }
        let output = performed.len().to_string().into_bytes();
        Ok(EffectOutput { output })
    }

    fn check(&self, _: &Effect) -> Result<(), EffectError> {
        Ok(())
    }
}

impl Clock for FakeSystem {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_second(self.ask().into()).unwrap()
    }
}

impl Random for FakeSystem {
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        if self.lacks_randomness {
            return Err(RandomError("too many open files".to_owned()));
        }
        let first = 1 + self.ask();
        bytes
            .iter_mut()
            .zip(first..)
            .for_each(|(byte, number)| *byte = number);
        Ok(())
    }
}

impl Yaml for FakeSystem {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        let value: serde_json::Value =
            serde_yaml::from_str(text).map_err(|error| YamlError(error.to_string()))?;
        Ok(from_json(value))
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        json_as_yaml(value)
    }
}

/// Creates an evaluator with a low nesting limit, so that the stack of a test thread is enough.
pub(super) fn evaluator(scope: &Arc<FakeScope>) -> Evaluator {
    let scope = Arc::clone(scope);
    Evaluator::with_limit(
        scope,
        Arc::new(FakeSystem::default()),
        Arc::new(Memo::default()),
        60,
    )
}

pub(super) fn topology() -> Arc<FakeScope> {
    FakeScope::new(
        "
        root: {inputs: {who: world, num: {eval: {add: [1, 2]}}}, outputs: {abs: {eval: '::host::ip'}}}
        host:
          ip: 10.0.0.1
          tags: [a, b, c]
          m: {k1: {v: 1}, k2: {v: 2}}
          list: [{name: x, n: 1}, {name: 'y', n: 2}, {name: x, n: 3}]
          items: 5
        app:
          .hosts: [host]
          .sensitive: [password]
          port: 80
          flag: false
          local: '{{ SELF.port + 1 }}'
          password: 'hush-{{ SELF.port }}'
          login: 'me:{{ SELF.password }}'
          own: {x: 1, y: {eval: '.::own::x'}, z: '{{ SELF.own.y + 1 }}'}
          r: {eval: '.::s'}
          s: {eval: '.::r'}
          text: '12'
        ",
    )
}

/// Evaluates an expression on the instance `app` of [`topology`].
pub(super) fn evaluate(text: &str) -> Result<Value, Error> {
    let scope = topology();
    let context = Context::new(scope.named("app"));
    evaluator(&scope).evaluate(&yaml(text), &context)
}

/// Returns the value or the error of an expression as text.
pub(super) fn evaluate_to_text(text: &str) -> String {
    match evaluate(text) {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error: {error}"),
    }
}
