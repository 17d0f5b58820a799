//! Builds the inputs of the state compiler for each machine, from state files or from a typed
//! state.

use std::path::PathBuf;
use std::sync::Arc;

use super::choose_hosts::StateHost;
use super::render_programs::LocalPrograms;
use super::request::{StateSelection, StatesRequest};
use super::roots::FolderRoots;
use crate::states::{
    Aggregation, BASE_ENV, CompileInput, CompilePurpose, EngineOptions, FileRoots, FileRootsError,
    Mode, RenderPrograms, StateTargets, StateTrees,
};
use crate::value::{Map, Value};
use crate::yaml::emit;

/// The name of the virtual state file that holds a typed state (`unfurl op`).
const TYPED_SLS: &str = "op";
const TYPED_PATH: &str = "op.sls";

/// Builds the compiler inputs of machines.
pub(super) struct StatesCompiler<'a> {
    request: &'a StatesRequest,
    roots: StateTrees,
    programs: Arc<dyn RenderPrograms>,
    /// Whether states are only compiled and do not run.
    pub(super) is_compile_only: bool,
}

impl<'a> StatesCompiler<'a> {
    pub(super) fn new(request: &'a StatesRequest) -> Self {
        let source = &request.source;
        let typed_env = source.options.get("saltenv").and_then(Value::as_str);
        let tree = |(env, folders): (&Arc<str>, &Vec<PathBuf>)| {
            let all = source.roots.values().flatten();
            let folders = FolderRoots::new(folders.clone(), all);
            let tree: Arc<dyn FileRoots> = match &source.selection {
                StateSelection::Single {
                    function,
                    arguments,
                } if typed_env.unwrap_or(BASE_ENV) == &**env => Arc::new(TypedStateRoots {
                    text: typed_state_source(function, arguments).into_bytes().into(),
                    folders,
                }),
                _ => Arc::new(folders),
            };
            (Arc::clone(env), tree)
        };
        Self {
            request,
            roots: StateTrees::new(source.roots.iter().map(tree)),
            programs: Arc::new(LocalPrograms::new(source.allows_python)),
            is_compile_only: false,
        }
    }

    /// Returns the compiler input of a machine.
    pub(super) fn compile_input(&self, host: &StateHost) -> CompileInput {
        let source = &self.request.source;
        let mut options = source.options.clone();
        options.insert("test".into(), self.request.test.into());
        CompileInput {
            id: Arc::clone(&host.name),
            roots: self.roots.clone(),
            programs: Some(Arc::clone(&self.programs)),
            pillar: host.pillar(&source.pillar),
            grains: source.grains.clone(),
            options: options.into(),
            targets: match &source.selection {
                StateSelection::Top => StateTargets::Highstate,
                StateSelection::Sls(names) => StateTargets::Sls(names.clone()),
                StateSelection::Single { .. } => StateTargets::Sls(vec![TYPED_SLS.to_owned()]),
            },
            ordering: source.ordering,
            purpose: if self.is_compile_only {
                CompilePurpose::Show
            } else {
                CompilePurpose::Run
            },
        }
    }

    /// Returns the options with which the states of a machine run.
    ///
    /// Where hosts were named and no state has requisites, a failed state ends the run on that host
    /// (P34).
    pub(super) fn run_setup(&self, has_links: bool) -> EngineOptions {
        let options = &self.request.source.options;
        let option = |key: &str| options.get(key).map(Value::reveal);
        let failhard = option("failhard").is_some_and(Value::is_truthy);
        let names = |key: &str| -> Vec<String> {
            let list = option(key).and_then(Value::as_list).into_iter().flatten();
            list.filter_map(|item| item.as_str().map(str::to_owned))
                .collect()
        };
        let aggregate = match option("state_aggregate") {
            Some(Value::Bool(true)) => Aggregation::Always,
            Some(Value::List(_)) => Aggregation::Modules(names("state_aggregate")),
            _ => Aggregation::Never,
        };
        let max_parallel = option("state_max_parallel").and_then(Value::as_int);
        EngineOptions {
            mode: if self.request.test {
                Mode::Test
            } else {
                Mode::Apply
            },
            failhard: failhard || (self.request.has_named_hosts && !has_links),
            max_parallel: max_parallel
                .and_then(|max_parallel| usize::try_from(max_parallel).ok())
                .unwrap_or(0),
            aggregate,
            disabled: names("state_runs_disabled"),
            ..EngineOptions::default()
        }
    }
}

/// Returns the source of a state file that contains a typed state.
fn typed_state_source(function: &str, arguments: &Map) -> String {
    let arguments = arguments
        .iter()
        .map(|(key, value)| Value::map([(Arc::clone(key), value.clone())]));
    let id = arguments.clone().find_map(|argument| {
        let name = argument.get("name")?.as_str()?.to_owned();
        Some(name)
    });
    let id = id.unwrap_or_else(|| function.to_owned());
    let declared = Value::map([(function, Value::list(arguments))]);
    let tree = Value::map([(id.as_str(), declared)]);
    format!("#!yaml\n{}", emit(&tree, 0))
}

/// A state tree with the file of a typed state added.
struct TypedStateRoots {
    text: Arc<[u8]>,
    folders: FolderRoots,
}

impl FileRoots for TypedStateRoots {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        if path == TYPED_PATH {
            return Ok(Some(Arc::clone(&self.text)));
        }
        self.folders.read(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError> {
        let mut all = self.folders.list(folder)?;
        if folder.is_empty() {
            all.push(TYPED_PATH.to_owned());
            all.sort_unstable();
            all.dedup();
        }
        Ok(all)
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        self.folders.mode(path)
    }

    fn first_link(&self, folder: &str) -> Result<Option<String>, FileRootsError> {
        self.folders.first_link(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_state_is_a_state_file() {
        let arguments: Map = [
            ("name".into(), "/a: b".into()),
            ("mode".into(), "0644".into()),
        ]
        .into_iter()
        .collect();
        insta::assert_snapshot!(typed_state_source("file.managed", &arguments), @r"
        #!yaml
        '/a: b':
          file.managed:
          - name: '/a: b'
          - mode: '0644'
        ");
    }
}
