//! The environments of a project, and the one that applies to an ensemble.
//!
//! [`Environments`] holds all definitions, merged with those of inherited projects. [`Environments::resolve`]
//! returns the [`Environment`] for a name. `environment_merge.rs` has the rules of merging.

use std::sync::Arc;

use indexmap::IndexMap;

use super::Error;
use super::environment_aliases::AliasResolver;
use super::environment_check::check_environment;
use super::environment_merge::merge;
use crate::diagnostic::{Diagnostics, Span};
use crate::expr::is_template;
use crate::lock::RemoteLockSettings;
use crate::secret::SecretBackends;
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node, NodeKind, without_strategies};

/// The environment that all others are merged over.
pub const DEFAULT_ENVIRONMENT: &str = "defaults";

/// The environments by name. Those of a project are merged over those of the projects that it inherits from.
#[derive(Debug, Clone, Default)]
pub struct Environments(IndexMap<Arc<str>, Node>);

impl Environments {
    /// Reads the `environments` of a project file.
    pub(super) fn read(section: Option<&Node>) -> Self {
        let entries = section.and_then(Node::as_map).into_iter().flatten();
        Self(
            entries
                .map(|(name, entry)| (Arc::clone(name), entry.value.clone()))
                .collect(),
        )
    }

    /// Merges these environments over inherited ones.
    pub(super) fn merged_over(self, inherited: &Self) -> Self {
        let mut all = self.0;
        for (name, under) in &inherited.0 {
            let node = match all.get(name) {
                Some(over) => merge(under, over),
                None => under.clone(),
            };
            all.insert(Arc::clone(name), node);
        }
        Self(all)
    }

    /// Returns the names of all environments except `defaults`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .keys()
            .map(|name| &**name)
            .filter(|name| *name != DEFAULT_ENVIRONMENT)
    }

    /// Whether an environment with the name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns an error if no environment has the name. The name `defaults` is always valid.
    pub fn check(&self, name: &str) -> Result<(), Error> {
        if name == DEFAULT_ENVIRONMENT || self.contains(name) {
            return Ok(());
        }
        Err(Error::UnknownEnvironment {
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    /// Returns the environment with the name.
    ///
    /// The named environment is merged over `defaults`, and both over the `environment` section of the
    /// manifest. An unknown name gives the defaults; [`Self::check`] reports it.
    pub fn resolve(&self, name: Option<&str>, manifest: Option<&Node>) -> Environment {
        let empty = || Node::new(NodeKind::Map(Mapping::default()), Span::NONE, None);
        let defaults = self.0.get(DEFAULT_ENVIRONMENT).cloned();
        let named = name
            .filter(|name| *name != DEFAULT_ENVIRONMENT)
            .and_then(|name| self.0.get(name));
        let manifest = manifest.cloned();
        let own_lock = manifest
            .as_ref()
            .and_then(|node| node.get("lfs_lock"))
            .cloned();
        let layers = [manifest, defaults, named.cloned()];
        let merged = layers.into_iter().flatten().filter(|node| !node.is_null());
        let root = merged
            .reduce(|base, over| merge(&base, &over))
            .unwrap_or_else(empty);
        let root = without_strategies(&root);
        let mut problems = Diagnostics::default();
        if let Some(root) = root.as_map() {
            check_environment(root, &mut problems);
        }
        let environments = &self.0;
        let root = AliasResolver {
            environments,
            problems: &mut problems,
        }
        .resolve(&root);
        Environment::build(name, root, own_lock, problems)
    }
}

/// Marks a value of the section `secrets`, unless it has to be evaluated: the mark would prevent that, and the
/// function `secret` marks the result.
fn secret_value(value: Value) -> Value {
    let is_evaluated = match &value {
        Value::Map(_) | Value::List(_) => true,
        Value::Str(text) => is_template(text),
        _ => false,
    };
    value.sensitive_if(!is_evaluated)
}

/// The environment that applies to an ensemble. Expressions in its values are not evaluated.
#[derive(Debug, Clone)]
pub struct Environment {
    pub name: Option<String>,
    /// The rules for environment variables, in order, in the form that [`crate::value::filter_env`] takes.
    pub variables: Vec<(String, Value)>,
    pub locals: Map,
    /// The secret values. Those that are not evaluated are marked as sensitive.
    pub secrets: Map,
    /// The places outside of the project that hold secrets.
    pub secret_backends: SecretBackends,
    /// The settings of the lock that protects the ensemble against jobs on other machines.
    pub remote_lock: RemoteLockSettings,
    /// The problems found in the sections.
    pub problems: Diagnostics,
    root: Node,
}

impl Environment {
    fn build(
        name: Option<&str>,
        root: Node,
        own_lock: Option<Node>,
        mut problems: Diagnostics,
    ) -> Self {
        let map = |key: &str| {
            let value = root.get(key).map(Node::to_value);
            value
                .and_then(|value| value.marked_entries())
                .unwrap_or_default()
        };
        let variables = map("variables");
        let shared = root.get("lfs_lock").cloned();
        // Unlike in other sections, the manifest's settings have priority over the environment's.
        let lock = match (shared, own_lock) {
            (Some(shared), Some(own)) => Some(merge(&shared, &own)),
            (shared, own) => own.or(shared),
        };
        let lock = lock.map(|lock| RemoteLockSettings::read(&lock, &mut problems));
        let backends = root.get("secret_backends");
        let backends = backends.map(|section| SecretBackends::read(section, &mut problems));
        Self {
            name: name.map(str::to_owned),
            variables: variables
                .into_iter()
                .map(|(key, value)| (key.to_string(), value))
                .collect(),
            locals: map("locals"),
            secrets: map("secrets")
                .into_iter()
                .map(|(key, value)| (key, secret_value(value)))
                .collect(),
            secret_backends: backends.unwrap_or_default(),
            remote_lock: lock.unwrap_or_default(),
            problems,
            root,
        }
    }

    /// Returns a merged section, such as `connections`, `instances` or `imports`. `None` if it is empty.
    pub fn section(&self, name: &str) -> Option<&Node> {
        self.root.get(name).filter(|node| !node.is_null())
    }

    /// Returns the relationship templates that connect to resources outside of the ensemble.
    pub fn connections(&self) -> Option<&Node> {
        self.section("connections")
    }

    pub fn repositories(&self) -> Option<&Node> {
        self.section("repositories")
    }

    /// Returns the declarations of other ensembles whose instances are used.
    pub fn external(&self) -> Option<&Node> {
        self.section("external")
    }

    /// Returns true if the commits of jobs include the drift record: `drift: {commit: true}`.
    pub fn commits_drift_record(&self) -> bool {
        let commit = self.section("drift").and_then(|drift| drift.get("commit"));
        commit.and_then(Node::as_bool).unwrap_or(false)
    }

    /// Returns the name of the deployment blueprint to apply.
    pub fn deployment_blueprint(&self) -> Option<&str> {
        self.section("deployment_blueprint")?.as_str()
    }

    /// Returns the type of the primary provider's connection, which is the cloud to deploy to.
    pub fn cloud(&self) -> Option<&str> {
        let name = self.section("primary_provider").and_then(Node::as_str);
        let provider = self.connections()?.get(name.unwrap_or("primary_provider"));
        provider?.get("type")?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::lock::LockMode;
    use crate::yaml::{Limits, parse};

    fn node(text: &str) -> Node {
        let mut sources = Sources::default();
        let id = sources.add("x", text, None);
        parse(&sources, id, &Limits::default()).unwrap()
    }

    fn environments(text: &str) -> Environments {
        Environments::read(Some(&node(text)))
    }

    fn inputs(environment: &Environment) -> String {
        let inputs = environment.section("inputs").map(Node::to_value);
        inputs.unwrap_or_default().to_string()
    }

    #[test]
    fn the_named_environment_comes_before_defaults_and_those_before_the_manifest() {
        let all =
            environments("{defaults: {inputs: {b: d, c: d}}, staging: {inputs: {c: s}}, empty: }");
        let manifest = node("{inputs: {a: m, b: m, c: m}}");
        let resolved = all.resolve(Some("staging"), Some(&manifest));
        assert_eq!(inputs(&resolved), "{'c': 's', 'b': 'd', 'a': 'm'}");
        let resolved = all.resolve(Some("empty"), Some(&manifest));
        assert_eq!(inputs(&resolved), "{'b': 'd', 'c': 'd', 'a': 'm'}");
        let resolved = Environments::default().resolve(None, None);
        assert!(resolved.section("inputs").is_none() && resolved.connections().is_none());
    }

    #[test]
    fn the_own_project_comes_before_the_one_it_inherits_from() {
        let home =
            environments("{defaults: {inputs: {a: home, b: home}}, prod: {inputs: {c: home}}}");
        let own = environments("{prod: {inputs: {b: own}}}").merged_over(&home);
        let resolved = own.resolve(Some("prod"), None);
        assert_eq!(inputs(&resolved), "{'b': 'own', 'c': 'home', 'a': 'home'}");
    }

    #[test]
    fn an_unknown_environment_is_refused_with_those_known() {
        let all = environments("{defaults: {}, prod: {}, dev: {}}");
        all.check("defaults").unwrap();
        let error = all.check("prd").unwrap_err();
        assert_eq!(error.to_string(), "no environment named `prd`");
        let problems = Diagnostics::from(error);
        let help = problems.iter().next().unwrap().help.clone();
        assert_eq!(help.unwrap(), "did you mean `prod`?");
        let problems = Diagnostics::from(all.check("staging").unwrap_err());
        let help = problems.iter().next().unwrap().help.clone();
        assert_eq!(help.unwrap(), "the environments are `prod`, `dev`");
    }

    #[test]
    fn the_ensembles_own_lock_settings_go_first() {
        let all = environments("{defaults: {lfs_lock: {lock: try, url: 'http://x'}}}");
        let lock = all
            .resolve(None, Some(&node("{lfs_lock: {lock: require, name: n}}")))
            .remote_lock;
        let expected = RemoteLockSettings {
            mode: LockMode::Require,
            name: Some("n".into()),
            url: Some("http://x".into()),
        };
        assert_eq!(lock, expected);
    }

    #[test]
    fn secrets_are_sensitive() {
        let all = environments("{defaults: {secrets: {a: hush}, variables: {X: 1, -Y: }}}");
        let resolved = all.resolve(None, None);
        assert!(resolved.secrets["a"].has_sensitive());
        let rules: Vec<_> = resolved.variables.iter().map(|(rule, _)| rule).collect();
        assert_eq!(rules, ["X", "-Y"]);
    }
}
