//! Runs the converter script on a file in Python.
//!
//! [`PythonConverter`] checks the permission and the cache, then tries the interpreters in turn. The script
//! answers with JSON (see `converter_output.rs`).

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache::{CacheEntry, ConversionCache, digest};
use super::converter_output::{ConversionFailure, ConverterOutput};
use super::interpreters::find_interpreters;
use super::without_statements::has_no_statements;
use crate::project::Trust;
use crate::system::env::Env;
use crate::system::process::{self, Helper};

/// The source of the converter script.
const SCRIPT: &str = include_str!("convert.py");

/// The result for a file without any statements.
const EMPTY_TEMPLATE: &str =
    "tosca_definitions_version: tosca_simple_unfurl_1_0_0\ntopology_template: {}\n";

/// The environment variable that sets the time limit, in seconds.
pub(super) const TIME_LIMIT_VARIABLE: &str = "UNFURL_PYTHON_TIMEOUT";

/// The time limit if the environment variable is not set.
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// The maximum time limit in seconds: one day.
const MAX_TIME_LIMIT: f64 = 86_400.0;

/// The maximum size of the converter's output, in bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

/// The environment variables that the converter inherits.
const PASSED_VARIABLES: [&str; 4] = ["PATH", "HOME", "LANG", "PYTHONPATH"];

/// Variables for a reproducible result: a fixed order of sets, and a fixed encoding.
const FIXED_VARIABLES: [(&str, &str); 2] = [("PYTHONHASHSEED", "0"), ("PYTHONUTF8", "1")];

/// The prefixes of commands without network access, in the order of preference.
const NETWORK_ISOLATION_COMMANDS: [&[&str]; 3] = [
    &["unshare", "--net", "--"],
    &["unshare", "--map-current-user", "--net", "--"],
    &["unshare", "--map-root-user", "--net", "--"],
];

/// Converts files in Python, if the user permits it.
#[derive(Debug)]
pub(in crate::project) struct PythonConverter<'e> {
    env: &'e Env,
    permitted: bool,
    base_dir: Option<PathBuf>,
    network_isolation: OnceCell<Option<&'static [&'static str]>>,
}

/// The result of a conversion: a service template and warnings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::project) struct ConvertedTemplate {
    pub(in crate::project) yaml: String,
    /// Messages for the user about the conversion.
    pub(in crate::project) warnings: Vec<String>,
}

impl ConvertedTemplate {
    fn empty() -> Self {
        Self {
            yaml: EMPTY_TEMPLATE.to_owned(),
            warnings: Vec::new(),
        }
    }
}

impl<'e> PythonConverter<'e> {
    /// Creates a converter that is not permitted to run.
    pub(in crate::project) fn new(env: &'e Env) -> Self {
        Self {
            env,
            permitted: false,
            base_dir: None,
            network_isolation: OnceCell::new(),
        }
    }

    /// Applies the permissions of a project. Module names of files below `base` are relative to it.
    pub(in crate::project) fn set_trust(&mut self, trust: &Trust, base: &Path) {
        self.permitted = trust.permits("python");
        self.base_dir = Some(base.to_owned());
    }

    /// Returns the folder that module names of a file are relative to.
    fn base<'p>(&'p self, path: &'p Path) -> &'p Path {
        let base = self
            .base_dir
            .as_deref()
            .filter(|base| path.starts_with(base));
        base.or_else(|| path.parent()).unwrap_or(path)
    }

    /// Converts the file at `path` with the content `text`.
    pub(in crate::project) fn convert(
        &self,
        path: &Path,
        text: &str,
    ) -> Result<ConvertedTemplate, ConversionFailure> {
        if has_no_statements(text) {
            return Ok(ConvertedTemplate::empty());
        }
        if !self.permitted {
            return Err(ConversionFailure::NotPermitted);
        }
        let cache = ConversionCache::open(self.env);
        let key = self.key(path, text);
        let pythons = find_interpreters(self.env);
        let cached = cache.as_ref().and_then(|cache| cache.get(&key, &pythons));
        if let Some(entry) = cached {
            return Ok(ConvertedTemplate {
                yaml: entry.yaml,
                warnings: entry.warnings,
            });
        }
        let (answer, mut converted) = self.run_first_usable_python(&pythons, path)?;
        if let Some(cache) = cache {
            let entry = CacheEntry::new(
                &key,
                &pythons,
                answer.package.into(),
                answer.files,
                converted.warnings.clone(),
                converted.yaml.clone(),
            );
            cache.put(&key, &entry);
        }
        if self.network_isolation().is_none() {
            converted.warnings.push(
                "the conversion had access to the network, because `unshare` cannot disable it on this system"
                    .to_owned(),
            );
        }
        Ok(converted)
    }

    /// Converts a file in an archive. Only a file without statements can be converted, because nothing runs.
    pub(in crate::project) fn convert_in_archive(
        text: &str,
    ) -> Result<ConvertedTemplate, ConversionFailure> {
        if has_no_statements(text) {
            Ok(ConvertedTemplate::empty())
        } else {
            Err(ConversionFailure::InArchive)
        }
    }

    /// Returns the cache key: a digest of all known inputs of the conversion.
    fn key(&self, path: &Path, text: &str) -> String {
        let python_path = self.env.get("PYTHONPATH").unwrap_or("");
        digest(&[
            SCRIPT.as_bytes(),
            path.as_os_str().as_encoded_bytes(),
            self.base(path).as_os_str().as_encoded_bytes(),
            python_path.as_bytes(),
            text.as_bytes(),
        ])
    }

    /// Converts with the first interpreter that has the required packages.
    fn run_first_usable_python(
        &self,
        pythons: &[PathBuf],
        path: &Path,
    ) -> Result<(ConverterOutput, ConvertedTemplate), ConversionFailure> {
        let mut first = None;
        for python in pythons {
            let mut answer = self.run(python, path)?;
            if let Some(yaml) = answer.yaml.take() {
                let warnings = std::mem::take(&mut answer.warnings);
                return Ok((answer, ConvertedTemplate { yaml, warnings }));
            }
            let python = python.clone();
            let failure = match (answer.missing, answer.unusable) {
                (Some(package), _) => ConversionFailure::MissingPackage { package, python },
                (None, Some(message)) => ConversionFailure::UnusablePackages { message, python },
                (None, None) => return Err(ConversionFailure::Exceptions(answer.faults)),
            };
            first.get_or_insert(failure);
        }
        Err(first.unwrap_or(ConversionFailure::NoPython))
    }

    fn run(&self, python: &Path, path: &Path) -> Result<ConverterOutput, ConversionFailure> {
        let time_limit = self.time_limit()?;
        let prefix = self.network_isolation().unwrap_or_default();
        let program = python.display().to_string();
        let file = path.display().to_string();
        let base = self.base(path).display().to_string();
        let words = [&*program, "-B", "-c", SCRIPT, &*file, &*base];
        let helper = Helper {
            cwd: path.parent().map(Path::to_owned),
            env: Some(self.environment()),
            extra_env: FIXED_VARIABLES
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            keep_stdin_open: true,
            time_limit,
            max_output: MAX_OUTPUT_BYTES,
            ..Helper::new(prefix.iter().copied().chain(words))
        };
        let output = process::run(&helper).map_err(|error| match error {
            process::Error::TimedOut { time_limit, .. } => ConversionFailure::TimedOut(time_limit),
            other => ConversionFailure::StartFailed(other),
        })?;
        if output.stdout.len() >= MAX_OUTPUT_BYTES {
            return Err(ConversionFailure::OutputTooLarge);
        }
        serde_json::from_slice(&output.stdout).map_err(|_| ConversionFailure::NoOutput {
            code: output.code,
            last_error_line: last_line(&output.stderr),
        })
    }

    fn environment(&self) -> Vec<(String, String)> {
        let value = |name: &str| Some((name.to_owned(), self.env.get(name)?.to_owned()));
        PASSED_VARIABLES.into_iter().filter_map(value).collect()
    }

    fn time_limit(&self) -> Result<Duration, ConversionFailure> {
        let Some(text) = self.env.non_empty(TIME_LIMIT_VARIABLE) else {
            return Ok(DEFAULT_TIME_LIMIT);
        };
        let seconds = text.trim().parse().ok();
        let seconds = seconds.filter(|seconds| (0.001..=MAX_TIME_LIMIT).contains(seconds));
        let limit = seconds.map(Duration::from_secs_f64);
        limit.ok_or_else(|| ConversionFailure::InvalidTimeLimit(text.to_owned()))
    }

    /// Returns the command prefix that disables the network. `None` if the system permits none.
    fn network_isolation(&self) -> Option<&'static [&'static str]> {
        *self.network_isolation.get_or_init(|| {
            let works = |prefix: &&&[&str]| {
                let helper = Helper {
                    env: Some(self.environment()),
                    time_limit: Duration::from_secs(5),
                    ..Helper::new(prefix.iter().copied().chain(["true"]))
                };
                process::run(&helper).is_ok_and(|output| output.is_ok())
            };
            NETWORK_ISOLATION_COMMANDS.iter().find(works).copied()
        })
    }
}

/// Returns the last line that is not empty.
fn last_line(bytes: &[u8]) -> String {
    let tail = &bytes[bytes.len().saturating_sub(2000)..];
    let text = String::from_utf8_lossy(tail);
    let mut lines = text.lines().rev().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_alone_need_no_python_and_no_permission() {
        let env = Env::default();
        let python = PythonConverter::new(&env);
        let path = Path::new("/x.py");
        let converted = python.convert(path, "\u{feff}# a\n\n   # b\n").unwrap();
        assert_eq!(converted.yaml, EMPTY_TEMPLATE);
        let refused = python.convert(path, "import tosca\nx = 1\n");
        assert!(matches!(refused, Err(ConversionFailure::NotPermitted)));
    }

    #[test]
    fn a_missing_python_is_reported() {
        let env = Env::default();
        let mut python = PythonConverter::new(&env);
        python.set_trust(&Trust::new(["python".to_owned()], false), Path::new("/"));
        let result = python.convert(Path::new("/x.py"), "import tosca\nx = 1\n");
        assert!(matches!(result, Err(ConversionFailure::NoPython)));
    }

    #[test]
    fn the_time_limit_is_a_number_of_seconds() {
        let limit = |text: &str| {
            let mut env = Env::default();
            env.set(TIME_LIMIT_VARIABLE, text);
            PythonConverter::new(&env).time_limit().ok()
        };
        assert_eq!(limit(""), Some(DEFAULT_TIME_LIMIT));
        assert_eq!(limit(" 2 "), Some(Duration::from_secs(2)));
        assert_eq!(limit("0.5"), Some(Duration::from_millis(500)));
        for wrong in ["0", "-1", "x", "NaN", "inf", "1e9", "1s"] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_converter_sees_little_of_the_environment() {
        let mut env = Env::default();
        for name in ["PATH", "HOME", "SECRET_TOKEN", "UNFURL_HOME"] {
            env.set(name, "x");
        }
        let seen = PythonConverter::new(&env).environment();
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["PATH", "HOME"]);
    }

    #[test]
    fn the_last_line_of_a_complaint_is_the_one_that_says_something() {
        assert_eq!(last_line(b"a\n  b \n\n"), "b");
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(&[0xff; 5000]).chars().count(), 2000);
    }
}
