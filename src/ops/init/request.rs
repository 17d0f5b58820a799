//! The options of `unfurl init` as data.

use std::path::PathBuf;

use crate::session::SessionOptions;
use crate::value::{Map, Value};

/// The repositories of a new project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// The ensemble has a repository of its own, which the project's repository leaves out.
    #[default]
    Poly,
    /// A single repository holds the project and the ensemble.
    Mono,
    /// The repository of the ensemble is a submodule of the project's.
    Submodule,
}

/// The source of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InitSource {
    /// The skeleton that Unfurl uses by default.
    #[default]
    Default,
    /// A built-in skeleton, a folder, or the URL of a repository.
    Skeleton(String),
    /// An example in the program.
    Example(String),
    /// The fewest files that deploy.
    Bare,
}

/// The way in which a new project encrypts its secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretsChoice {
    /// With the password of a vault, as Unfurl does.
    Vault,
    /// With age, for readers that a committed file names.
    Age,
}

impl SecretsChoice {
    /// Parses the word of an option or of the home project.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "vault" => Some(Self::Vault),
            "age" => Some(Self::Age),
            _ => None,
        }
    }
}

/// The options of `unfurl init`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
#[derive(Debug, Clone, Default)]
pub struct InitRequest {
    /// The home project and the permissions of the user.
    pub session: SessionOptions,
    /// The folder as the user wrote it; empty for none.
    pub folder: String,
    /// The folder of the ensemble in the project.
    pub ensemble: Option<String>,
    pub source: InitSource,
    pub layout: Layout,
    /// Whether to add the project to the repository around it.
    pub existing: bool,
    /// Whether to create no ensemble.
    pub empty: bool,
    /// Whether to leave the files uncommitted.
    pub render: bool,
    /// Whether to declare an environment with the name of the project, whose ensembles are created in the project.
    pub as_shared: bool,
    /// The folder of the repository that gets the ensemble.
    pub shared_repository: Option<PathBuf>,
    pub environment: Option<String>,
    /// The name of the project that manages the ensemble, if it is another one.
    pub managed_by: Option<String>,
    /// Whether to prepare the project for work on its model. Everything that the model needs is in the program.
    pub design: bool,
    /// Whether to create no repository.
    pub without_repository: bool,
    /// Whether the project is the home project.
    pub is_home: bool,
    pub deployment_blueprint: Option<String>,
    /// The way to encrypt secrets; by default, that of the home project, or else a vault.
    pub secrets: Option<SecretsChoice>,
    /// The variables for the templates of the skeleton.
    pub variables: Vec<(String, String)>,
}

impl InitRequest {
    /// Returns the variables for the templates of the skeleton.
    pub fn skeleton_variables(&self) -> Map {
        let pairs = self.variables.iter();
        pairs
            .map(|(name, value)| (name.as_str().into(), Value::from(value.as_str())))
            .collect()
    }

    /// Returns a variable for the templates of the skeleton.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let mut variables = self.variables.iter().rev();
        let found = variables.find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }
}
