//! Builds an executor chain from the names and options of a request and of the configuration (X4 to
//! X7).
//!
//! [`ChainSpec`] is the parsed form of either, and [`ChainSpec::resolve`] combines the two.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::ExecutorError;
use crate::host::Secret;
use crate::host::chain::{
    BecomeUser, ChainExecutor, CustomExecutor, Delegation, ExecutorChain, Spread,
};
use crate::system::fs;
use crate::value::{Map, Value};
use crate::yaml::{Schema, parse_text};

/// The options that a request may set. The configuration provides the defaults.
const REQUEST_OPTIONS: [&str; 5] = ["splaytime", "spread", "timeout", "attempts", "interval"];

/// The options that only the configuration may set, because they decide what a requester is allowed
/// to do.
const CONFIGURATION_OPTIONS: [&str; 11] = [
    "sudo_user",
    "sudo_password",
    "su_user",
    "su_password",
    "container",
    "container_engine",
    "chroot",
    "delegated_modules",
    "delegated_functions",
    "allow_missing_func",
    "all_missing_func",
];

/// The options that add to a list of the configuration, whether a request or the configuration sets them.
const ADDED_OPTIONS: [&str; 2] = ["add_delegated_modules", "add_delegated_functions"];

/// The names of the built-in executors, without aliases.
const BUILT_IN: &[&str] = &[
    "splay",
    "timeout",
    "retry",
    "direct",
    "sudo",
    "su",
    "container",
    "docker",
    "transactional_update",
    "chroot",
    "dryrun",
];

fn option_names() -> impl Iterator<Item = &'static str> {
    let own = REQUEST_OPTIONS.into_iter().chain(CONFIGURATION_OPTIONS);
    own.chain(ADDED_OPTIONS)
}

/// The default time of `splay`, in seconds (X14).
const SPLAY_TIME: u32 = 300;
/// The default number of attempts of `retry`.
const ATTEMPTS: u32 = 3;
/// The default pause of `retry`, in seconds.
const INTERVAL: f64 = 5.0;
/// The folder beside the ensemble that holds custom executors.
const CUSTOM_FOLDER: &str = "executors";
/// The configuration keys that name the chain.
const CHAIN_KEYS: [&str; 2] = ["chain", "module_executors"];

/// The executor names and options of a request or of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainSpec {
    /// The names in order; `None` if not specified.
    pub names: Option<Vec<String>>,
    pub options: Map,
}

/// The executors that a file configures, with the folder of that file.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutorConfiguration {
    pub spec: ChainSpec,
    /// The folder that custom executors are found in.
    pub folder: PathBuf,
}

impl ChainSpec {
    /// Combines the configurations of several files, the strongest one first.
    ///
    /// The first one that names executors decides about them; each option comes from the first one that sets it.
    pub fn merged<'a>(configurations: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut merged = Self::default();
        for configuration in configurations {
            merged.names = merged.names.or_else(|| configuration.names.clone());
            for (name, value) in &configuration.options {
                let options = &mut merged.options;
                options
                    .entry(Arc::clone(name))
                    .or_insert_with(|| value.clone());
            }
        }
        merged
    }
}

/// The environment in which custom executors are found and run.
#[derive(Debug, Clone, Default)]
pub struct ExecutorEnvironment {
    /// The folder of the ensemble or of the run, where relative paths start.
    pub folder: PathBuf,
    /// More folders in which custom executors are looked for, in order.
    pub other_folders: Vec<PathBuf>,
    /// The environment variables of the programs.
    pub environment: Vec<(String, String)>,
}

/// A chain, with warnings about its options.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedChain {
    pub chain: ExecutorChain,
    /// The warnings to show, as sentences without a final period.
    pub warnings: Vec<String>,
}

impl ChainSpec {
    /// Parses command line arguments: the names (X5) and the options, each a YAML text.
    pub fn parse(names: Option<&str>, options: Option<&str>) -> Result<Self, ExecutorError> {
        let names = match names {
            None => None,
            Some(text) => {
                let value = value_of("executors", text)?;
                Some(names_of(&value).ok_or_else(|| ExecutorError::Specification(text.into()))?)
            }
        };
        let options = match options {
            None => Map::new(),
            Some(text) => map_of(value_of("options of executors", text)?)?,
        };
        Ok(Self { names, options })
    }

    /// Reads a configuration value: a name, a list of names, or a map of options whose key `chain`
    /// has the names.
    pub fn from_value(value: &Value) -> Result<Self, ExecutorError> {
        let wrong = |value: &Value| ExecutorError::Specification(value.redacted().to_string());
        if value.is_null() {
            return Ok(Self::default());
        }
        let Some(map) = value.reveal().as_map() else {
            let names = Some(names_of(value).ok_or_else(|| wrong(value))?);
            return Ok(Self {
                names,
                options: Map::new(),
            });
        };
        let mut options = map.clone();
        let mut names = None;
        for key in CHAIN_KEYS {
            let stated = options.shift_remove(key);
            if let Some(value) = stated.filter(|value| !value.is_null()) {
                names = Some(names_of(&value).ok_or_else(|| wrong(&value))?);
            }
        }
        Ok(Self { names, options })
    }

    /// Returns the chain of a request.
    ///
    /// The names of the request take precedence over those of the configuration; the default is
    /// `direct` alone (X4). If the configuration sets `sudo_user`, a final `direct` becomes `sudo`
    /// (X8). An unknown name fails here, before anything has run.
    pub fn resolve(
        &self,
        configuration: &Self,
        environment: &ExecutorEnvironment,
    ) -> Result<ResolvedChain, ExecutorError> {
        let mut reader = ChainReader {
            request: self,
            configuration,
            environment,
            warnings: Vec::new(),
        };
        let names = self.names.as_ref().or(configuration.names.as_ref());
        let default = [String::from("direct")];
        let names = names.map_or(&default[..], Vec::as_slice);
        let mut executors = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            let is_last = place + 1 == names.len();
            let direct = matches!(name.as_str(), "direct" | "direct_call");
            let becomes = is_last && direct && reader.configuration_option("sudo_user").is_some();
            executors.push(reader.executor(if becomes { "sudo" } else { name })?);
        }
        reader.check_options(&executors)?;
        let mut chain = ExecutorChain::new(executors);
        chain.missing_functions = reader.missing_functions()?;
        if chain.never_executes() {
            let text = "no executor of the chain performs the action: add `direct` at its end";
            reader.warnings.push(text.to_owned());
        }
        Ok(ResolvedChain {
            chain,
            warnings: reader.warnings,
        })
    }
}

fn value_of(what: &'static str, text: &str) -> Result<Value, ExecutorError> {
    let node = parse_text(Schema::Core, text);
    node.map(|node| node.to_value())
        .map_err(|why| ExecutorError::Text {
            part: what,
            text: text.to_owned(),
            why,
        })
}

fn map_of(value: Value) -> Result<Map, ExecutorError> {
    match value {
        Value::Map(map) => Ok(map.as_ref().clone()),
        Value::Null => Ok(Map::new()),
        other => Err(ExecutorError::Options(other.kind())),
    }
}

fn names_of(value: &Value) -> Option<Vec<String>> {
    let name = |value: &Value| {
        let text = value.reveal().as_str().map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    match value.reveal() {
        Value::List(items) if !items.is_empty() => items.iter().map(name).collect(),
        Value::Str(_) => Some(vec![name(value)?]),
        _ => None,
    }
}

struct ChainReader<'a> {
    request: &'a ChainSpec,
    configuration: &'a ChainSpec,
    environment: &'a ExecutorEnvironment,
    warnings: Vec<String>,
}

impl ChainReader<'_> {
    fn executor(&self, name: &str) -> Result<ChainExecutor, ExecutorError> {
        Ok(match name {
            "direct" | "direct_call" => ChainExecutor::Direct,
            "splay" => self.splay()?,
            "sudo" | "become" => ChainExecutor::Sudo(BecomeUser {
                user: self.required_option("sudo", "sudo_user")?,
                password: self.configuration_option("sudo_password").map(Secret::new),
            }),
            "su" => ChainExecutor::Su(BecomeUser {
                user: self.required_option("su", "su_user")?,
                password: self.configuration_option("su_password").map(Secret::new),
            }),
            "container" => ChainExecutor::Container {
                name: self.required_option("container", "container")?,
                engine: self.engine()?,
            },
            "docker" => ChainExecutor::Container {
                name: self.required_option("docker", "container")?,
                engine: "docker".to_owned(),
            },
            "transactional_update" => {
                ChainExecutor::TransactionalUpdate(Box::new(self.delegation()?))
            }
            "chroot" => ChainExecutor::Chroot(self.required_option("chroot", "chroot")?.into()),
            "timeout" => ChainExecutor::Timeout(self.seconds("timeout", None)?),
            "retry" => ChainExecutor::Retry {
                attempts: self.count("attempts", ATTEMPTS)?,
                interval: self.seconds("interval", Some(INTERVAL))?,
            },
            "dryrun" => ChainExecutor::DryRun,
            name => ChainExecutor::Custom(Box::new(self.custom_executor(name)?)),
        })
    }

    fn splay(&self) -> Result<ChainExecutor, ExecutorError> {
        let spread = match self.option("spread").as_ref().map(Value::reveal) {
            None | Some(Value::Null) => Spread::default(),
            Some(value) => match value.as_str() {
                Some("hash") => Spread::Hash,
                Some("rank") => Spread::Rank,
                _ => return Err(invalid_value("spread", "`hash` or `rank`")),
            },
        };
        Ok(ChainExecutor::Splay {
            seconds: self.count("splaytime", SPLAY_TIME)?,
            spread,
        })
    }

    /// Returns an option of the request, or else of the configuration.
    fn option(&self, name: &str) -> Option<Value> {
        let all = [&self.request.options, &self.configuration.options];
        let mut found = all.into_iter().filter_map(|options| options.get(name));
        found.find(|value| !value.is_null()).cloned()
    }

    /// Returns an option that only the configuration may set.
    fn configuration_option(&self, name: &str) -> Option<String> {
        let value = self.configuration.options.get(name)?;
        let text = value.reveal().to_string();
        (!value.is_null() && !text.is_empty()).then_some(text)
    }

    fn required_option(
        &self,
        executor: &'static str,
        option: &'static str,
    ) -> Result<String, ExecutorError> {
        let value = self.configuration_option(option);
        let value = value.ok_or(ExecutorError::Missing { executor, option })?;
        checked_name(option, value)
    }

    /// Returns the functions that run in a transaction (X17). A list of the request adds to that of the
    /// configuration, and replaces what the configuration itself adds.
    fn delegation(&self) -> Result<Delegation, ExecutorError> {
        let list = |options: &Map, name: &str| match options.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let names = names_of(value).or_else(|| {
                    let items = value.reveal().as_list()?;
                    items.is_empty().then(Vec::new)
                });
                names
                    .map(Some)
                    .ok_or_else(|| invalid_value(name, "a list of names"))
            }
        };
        let configured = &self.configuration.options;
        let all = |base: &str, added: &str, default: &[&str]| {
            let default = || default.iter().map(|name| (*name).to_owned()).collect();
            let mut names = list(configured, base)?.unwrap_or_else(default);
            let own = list(&self.request.options, added)?;
            let more = match own {
                Some(own) => Some(own),
                None => list(configured, added)?,
            };
            names.extend(more.unwrap_or_default());
            Ok(names)
        };
        Ok(Delegation {
            modules: all(
                "delegated_modules",
                "add_delegated_modules",
                &Delegation::MODULES,
            )?,
            functions: all("delegated_functions", "add_delegated_functions", &[])?,
        })
    }

    /// Returns the patterns of `allow_missing_func`, which Salt's documentation calls `all_missing_func` as well (X9).
    fn missing_functions(&self) -> Result<Vec<String>, ExecutorError> {
        let options = &self.configuration.options;
        let named = ["allow_missing_func", "all_missing_func"];
        let found = named
            .into_iter()
            .find_map(|name| Some((name, options.get(name)?)));
        let Some((name, value)) = found else {
            return Ok(Vec::new());
        };
        match value.reveal() {
            Value::Null | Value::Bool(false) => Ok(Vec::new()),
            Value::Bool(true) => Ok(vec!["*".to_owned()]),
            other => names_of(other)
                .ok_or_else(|| invalid_value(name, "`true`, `false` or a list of patterns")),
        }
    }

    /// Returns the container program; `docker` by default.
    fn engine(&self) -> Result<String, ExecutorError> {
        let named = self.configuration_option("container_engine");
        checked_name(
            "container_engine",
            named.unwrap_or_else(|| "docker".to_owned()),
        )
    }

    fn count(&self, option: &'static str, default: u32) -> Result<u32, ExecutorError> {
        let Some(value) = self.option(option) else {
            return Ok(default);
        };
        let count = value
            .reveal()
            .as_int()
            .and_then(|it| u32::try_from(it).ok());
        let count = count.filter(|count| *count > 0);
        count.ok_or_else(|| invalid_value(option, "a positive whole number"))
    }

    fn seconds(
        &self,
        option: &'static str,
        default: Option<f64>,
    ) -> Result<Duration, ExecutorError> {
        const EXPECTED: &str = "a positive number of seconds";
        let number = match self.option(option).as_ref().map(|it| it.reveal().clone()) {
            None => default,
            Some(Value::Int(seconds)) => u32::try_from(seconds).ok().map(f64::from),
            Some(Value::Float(seconds)) => Some(seconds),
            Some(_) => None,
        };
        let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
        let time = time.filter(|time| option == "interval" || !time.is_zero());
        time.ok_or_else(|| invalid_value(option, EXPECTED))
    }

    /// Returns the program of a custom executor, from the first folder that has it.
    fn custom_executor(&self, name: &str) -> Result<CustomExecutor, ExecutorError> {
        let environment = self.environment;
        let folders = std::iter::once(&environment.folder).chain(&environment.other_folders);
        let in_folder = |folder: &PathBuf| {
            let path = if name.contains('/') {
                folder.join(name)
            } else {
                folder.join(CUSTOM_FOLDER).join(name)
            };
            (fs::absolute(&path, folder), folder.clone())
        };
        let all: Vec<(PathBuf, PathBuf)> = folders.map(in_folder).collect();
        let found = all.iter().find(|(program, _)| fs::is_program(program));
        let Some((program, folder)) = found else {
            let tried = list_paths(all.iter().map(|(program, _)| program));
            return Err(ExecutorError::Unknown {
                name: name.to_owned(),
                why: match all.len() {
                    1 => format!("{tried} is not an executable file"),
                    _ => format!("none of {tried} is an executable file"),
                },
                known: list_names(BUILT_IN.iter().copied()),
            });
        };
        Ok(CustomExecutor {
            name: name.to_owned(),
            program: program.clone(),
            folder: folder.clone(),
            environment: self.environment.environment.clone(),
            options: json_of(&self.request.options),
            configuration: json_of(&self.configuration.options),
        })
    }

    /// Warns about options that a request may not set, and rejects unknown ones.
    ///
    /// With a custom executor in the chain, unknown options are accepted, as they may be meant for
    /// it.
    fn check_options(&mut self, executors: &[ChainExecutor]) -> Result<(), ExecutorError> {
        let has_custom = executors
            .iter()
            .any(|it| matches!(it, ChainExecutor::Custom(_)));
        let configured_names = self.configuration.options.keys();
        for name in self.request.options.keys().chain(configured_names) {
            if !has_custom && !option_names().any(|known| *known == **name) {
                return Err(ExecutorError::UnknownOption {
                    option: name.to_string(),
                    known: list_names(option_names()),
                });
            }
        }
        for name in self.request.options.keys() {
            if CONFIGURATION_OPTIONS.contains(&&**name) {
                self.warnings.push(format!(
                    "the option `{name}` of executors is ignored: only the configuration may set it"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the value of an option that becomes a word of a command line.
fn checked_name(option: &str, value: String) -> Result<String, ExecutorError> {
    if value.starts_with('-') || value.contains(char::is_control) {
        return Err(invalid_value(
            option,
            "a name that does not start with `-` and has no control characters",
        ));
    }
    Ok(value)
}

fn invalid_value(option: &str, expected: &'static str) -> ExecutorError {
    ExecutorError::Value {
        option: option.to_owned(),
        expected,
    }
}

fn list_paths<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> String {
    let paths: Vec<String> = paths.map(|path| format!("`{}`", path.display())).collect();
    paths.join(", ")
}

fn list_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Serializes options as JSON, with their secrets in clear text.
fn json_of(options: &Map) -> Secret {
    let map = options
        .iter()
        .map(|(name, value)| (name.to_string(), json(value)));
    let map: serde_json::Map<_, _> = map.collect();
    Secret::new(serde_json::Value::Object(map).to_string())
}

fn json(value: &Value) -> serde_json::Value {
    match value.reveal() {
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(name, value)| (name.to_string(), json(value)))
            .collect(),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;

    fn parsed(names: &str, options: &str) -> ChainSpec {
        ChainSpec::parse(Some(names), Some(options)).unwrap()
    }

    fn configured(text: &str) -> ChainSpec {
        ChainSpec::from_value(&value_of("configuration", text).unwrap()).unwrap()
    }

    fn names(request: &ChainSpec, configuration: &ChainSpec) -> String {
        match request.resolve(configuration, &ExecutorEnvironment::default()) {
            Ok(resolved) => {
                let all = resolved.chain.executors().iter();
                all.map(|it| it.name().to_owned())
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_first_source_that_names_executors_counts() {
        let nothing = ChainSpec::default();
        assert_eq!(names(&nothing, &nothing), "direct");
        let config = configured("[splay, direct_call]");
        assert_eq!(names(&nothing, &config), "splay direct");
        assert_eq!(names(&parsed("direct", "{}"), &config), "direct");
        let config = configured("{chain: splay, splaytime: 30}");
        assert_eq!(names(&nothing, &config), "splay");
    }

    #[test]
    fn an_empty_list_is_refused() {
        let refused = |text| ChainSpec::parse(Some(text), None).unwrap_err().to_string();
        insta::assert_snapshot!(refused("[]"), @"`[]` is not a list of executors: give one name, or a list with at least one name");
        insta::assert_snapshot!(refused("''"), @"`''` is not a list of executors: give one name, or a list with at least one name");
        insta::assert_snapshot!(refused("{a: b}"), @"`{a: b}` is not a list of executors: give one name, or a list with at least one name");
    }

    #[test]
    fn who_asks_may_set_what_is_safe_and_nothing_else() {
        let config = configured("{splaytime: 30, sudo_user: deploy, chroot: /srv, spread: rank}");
        let request = parsed(
            "[splay, sudo]",
            "{splaytime: 60, sudo_user: root, chroot: /}",
        );
        let resolved = request
            .resolve(&config, &ExecutorEnvironment::default())
            .unwrap();
        let [
            ChainExecutor::Splay { seconds, spread },
            ChainExecutor::Sudo(to),
        ] = resolved.chain.executors()
        else {
            panic!("{resolved:?}");
        };
        assert_eq!((*seconds, *spread), (60, Spread::Rank));
        assert_eq!(to.user, "deploy");
        insta::assert_snapshot!(resolved.warnings.join("\n"), @r"
        the option `sudo_user` of executors is ignored: only the configuration may set it
        the option `chroot` of executors is ignored: only the configuration may set it
        ");
    }

    #[test]
    fn every_option_is_one_or_the_other() {
        for option in option_names() {
            let configured_names = ChainSpec {
                names: None,
                options: Map::from_iter([(option.into(), Value::from("x"))]),
            };
            let resolved =
                configured_names.resolve(&ChainSpec::default(), &ExecutorEnvironment::default());
            let ignored = resolved.unwrap().warnings.len();
            assert_eq!(
                ignored == 1,
                CONFIGURATION_OPTIONS.contains(&option),
                "{option}"
            );
        }
    }

    #[test]
    fn a_configured_user_stands_in_for_a_last_direct() {
        let nothing = ChainSpec::default();
        assert_eq!(names(&nothing, &configured("{sudo_user: x}")), "sudo");
        let config = configured("{chain: [direct, splay], sudo_user: x}");
        assert_eq!(names(&nothing, &config), "direct splay");
        let config = configured("{chain: dryrun, sudo_user: x}");
        assert_eq!(names(&nothing, &config), "dryrun");
    }

    #[test]
    fn a_missing_executor_is_reported_before_anything_runs() {
        let nothing = ChainSpec::default();
        insta::assert_snapshot!(names(&parsed("[splay, nosuch]", "{}"), &nothing), @"executor `nosuch` is not available: `executors/nosuch` is not an executable file; the built-in executors are `splay`, `timeout`, `retry`, `direct`, `sudo`, `su`, `container`, `docker`, `transactional_update`, `chroot`, `dryrun`");
        insta::assert_snapshot!(names(&parsed("sudo", "{}"), &nothing), @"executor `sudo` needs the option `sudo_user` in the configuration");
        insta::assert_snapshot!(names(&parsed("splay", "{splaytime: 0}"), &nothing), @"the option `splaytime` of executors must be a positive whole number");
        insta::assert_snapshot!(names(&parsed("timeout", "{}"), &nothing), @"the option `timeout` of executors must be a positive number of seconds");
        insta::assert_snapshot!(names(&parsed("direct", "{splaytim: 3}"), &nothing), @"no executor has the option `splaytim`; the options are `splaytime`, `spread`, `timeout`, `attempts`, `interval`, `sudo_user`, `sudo_password`, `su_user`, `su_password`, `container`, `container_engine`, `chroot`, `delegated_modules`, `delegated_functions`, `allow_missing_func`, `all_missing_func`, `add_delegated_modules`, `add_delegated_functions`");
        insta::assert_snapshot!(names(&nothing, &configured("{chain: sudo, sudo_user: -x}")), @"the option `sudo_user` of executors must be a name that does not start with `-` and has no control characters");
    }

    #[test]
    fn a_file_beside_the_ensemble_is_an_executor() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("executors/mine");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let environment = ExecutorEnvironment {
            folder: folder.path().to_path_buf(),
            ..ExecutorEnvironment::default()
        };
        let expected = parsed("[mine, ./executors/mine]", "{free: 1}");
        assert!(
            expected
                .resolve(&ChainSpec::default(), &environment)
                .is_err()
        );
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
        let resolved = expected
            .resolve(&ChainSpec::default(), &environment)
            .unwrap();
        assert_eq!(resolved.chain.executors().len(), 2);
    }
}
