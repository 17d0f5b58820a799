//! Runs the converter script on a file in Python.
//!
//! [`PythonConverter`] checks the permission and the cache, then tries the interpreters in turn. The script
//! answers with JSON (see `converter_output.rs`).

use std::path::{Path, PathBuf};

use super::cache::{CacheEntry, ConversionCache, digest};
use super::converter_output::{ConversionFailure, ConverterOutput};
use super::sandbox::{PythonSandbox, last_line};
use super::without_statements::has_no_statements;
use crate::project::Trust;
use crate::system::env::Env;
use crate::system::process::Helper;

/// The source of the converter script.
const SCRIPT: &str = include_str!("convert.py");

/// The result for a file without any statements.
const EMPTY_TEMPLATE: &str =
    "tosca_definitions_version: tosca_simple_unfurl_1_0_0\ntopology_template: {}\n";

/// Converts files in Python, if the user permits it.
#[derive(Debug)]
pub(in crate::project) struct PythonConverter<'e> {
    env: &'e Env,
    permitted: bool,
    base_dir: Option<PathBuf>,
    sandbox: PythonSandbox<'e>,
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
            sandbox: PythonSandbox::new(env),
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
        let pythons = self.sandbox.interpreters();
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
        if self.sandbox.network_isolation().is_none() {
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
        let program = python.display().to_string();
        let file = path.display().to_string();
        let base = self.base(path).display().to_string();
        let words = [&*program, "-B", "-c", SCRIPT, &*file, &*base];
        let output = self.sandbox.run(Helper {
            cwd: path.parent().map(Path::to_owned),
            keep_stdin_open: true,
            ..Helper::new(words)
        })?;
        serde_json::from_slice(&output.stdout).map_err(|_| ConversionFailure::NoOutput {
            code: output.code,
            last_error_line: last_line(&output.stderr),
        })
    }
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
}
