//! The files of a project and of an ensemble, rendered from a skeleton. Names and variables are those of Unfurl.

use super::built_in::GIT_ATTRIBUTES;
use super::render::Renderer;
use super::{Error, NewFile, Skeleton, VaultPassword};
use crate::value::{Map, Value};
use crate::yaml::{Schema, emit, parse_text};

/// The version of the file formats, which all versions of Unfurl read.
const API_VERSION: &str = "unfurl/v1alpha1";
/// The name of the file with the shared part of the model.
const ENSEMBLE_TEMPLATE: &str = "ensemble-template.yaml";
/// The prefix of skeleton variables that are inputs of the new ensemble.
const INPUT_PREFIX: &str = "input_";
/// The comment in the project file of an ensemble's own repository.
const ENSEMBLE_COMMENT: &str =
    "# These settings belong to the ensemble in this folder. The project around it has priority.";

/// The template, the path and the purpose of the file from which clones make their settings.
const LOCAL_TEMPLATE: (&str, &str, &str) = (
    "local-unfurl-template.yaml.j2",
    ".unfurl-local-template.yaml",
    "the model of local/unfurl.yaml for clones",
);
/// The same of the files with the shared part of the model.
const MODEL_FILES: [(&str, &str, &str); 2] = [
    (
        "manifest-template.yaml.j2",
        ENSEMBLE_TEMPLATE,
        "the shared part of the model",
    ),
    (
        "service_template.py.j2",
        "service_template.py",
        "the model in Python, empty so far",
    ),
];

/// The variables that templates may ask for even if nobody has set them.
const EMPTY_VARIABLES: [&str; 13] = [
    "KUBECONFIG",
    "VAULT_PASSWORD",
    "context",
    "defaultProject",
    "default_context",
    "deployment_blueprint",
    "ensemble_repository_config",
    "include",
    "inputs",
    "manifestPath",
    "name",
    "namespace",
    "std",
];

/// The parts of a project that decide about its files.
#[derive(Debug, Clone, Default)]
pub struct ProjectFiles<'a> {
    pub vault: Option<&'a VaultPassword>,
    /// The environment to declare and to use by default.
    pub default_environment: Option<&'a str>,
    /// Whether ensembles of that environment are created in this project.
    pub is_shared: bool,
    /// Whether the project only accompanies an ensemble in a repository of its own.
    pub is_of_ensemble: bool,
    /// Whether to write the shared part of the model.
    pub has_template: bool,
    /// The path of the manifest that the home project exposes.
    pub manifest: Option<&'a str>,
}

/// The parts of an ensemble that decide about its manifest.
#[derive(Debug, Clone, Default)]
pub struct EnsembleFile<'a> {
    /// The identity of the ensemble.
    pub uri: Option<&'a str>,
    /// The URL of the repository that holds the shared part of the model.
    pub spec_url: Option<&'a str>,
    /// The file that the manifest includes, relative to that repository's folder.
    pub template: TemplateInclude<'a>,
    pub deployment_blueprint: Option<&'a str>,
}

/// The file with the model that a manifest includes.
#[derive(Debug, Clone, Copy, Default)]
pub enum TemplateInclude<'a> {
    /// The ensemble template of the project.
    #[default]
    OfProject,
    /// An ensemble template with another name.
    Ensemble(&'a str),
    /// A TOSCA service template.
    Service(&'a str),
}

/// Renders the files of a project, without ensembles.
pub fn render_project(
    skeleton: &Skeleton,
    project: &ProjectFiles<'_>,
    own: &Map,
) -> Result<Vec<NewFile>, Error> {
    let renderer = Renderer::new(skeleton);
    let mut variables = project_variables(project, own);
    let mut includes = Vec::new();
    let mut local = Vec::new();
    if let Some(text) = renderer.render("unfurl.local.yaml.j2", &variables)? {
        let purpose = "settings of this computer, not committed";
        local.push(NewFile::new("local/unfurl.yaml", text, purpose).secret());
        includes.push("+?include-local: local/unfurl.yaml");
        if project.vault.is_some() {
            local.extend(secrets(&renderer, &variables)?);
            includes.insert(0, "+?include-secrets: secrets/secrets.yaml");
        }
    }
    variables.insert("include".into(), Value::from(includes.join("\n")));
    // The other files are committed, so their templates do not get the password.
    variables.insert("VAULT_PASSWORD".into(), Value::from(""));
    let purpose = if project.is_of_ensemble {
        "settings of this ensemble alone"
    } else {
        "the project: its environments and ensembles"
    };
    let mut committed = vec![("unfurl.yaml.j2", "unfurl.yaml", purpose)];
    committed.push(LOCAL_TEMPLATE);
    if project.has_template {
        committed.extend(MODEL_FILES);
    }
    let mut files = Vec::new();
    for (template, path, purpose) in committed {
        if let Some(text) = renderer.render(template, &variables)? {
            files.push(NewFile::new(path, text, purpose));
        }
    }
    files.extend(local);
    Ok(files)
}

/// Returns the variables for the files of a project.
fn project_variables(project: &ProjectFiles<'_>, own: &Map) -> Map {
    let mut variables = base_variables(own);
    let mut set = |name: &str, value: &str| {
        variables.insert(name.into(), Value::from(value));
    };
    set("vaultid", project.vault.map_or("", |vault| &vault.id));
    let password = project.vault.map_or("", |vault| &vault.password);
    set("VAULT_PASSWORD", password);
    if let Some(environment) = project.default_environment {
        set("default_context", &yaml_text(environment));
        if project.is_shared {
            set("defaultProject", &yaml_text(environment));
        }
    }
    if let Some(manifest) = project.manifest {
        set("manifestPath", &yaml_text(manifest));
    }
    if project.is_of_ensemble {
        set("ensemble_repository_config", ENSEMBLE_COMMENT);
    }
    variables
}

fn secrets(renderer: &Renderer, variables: &Map) -> Result<Option<NewFile>, Error> {
    let text = renderer.render("secrets.yaml.j2", variables)?;
    let purpose = "secret settings, committed in encrypted form only";
    Ok(text.map(|text| NewFile::new("secrets/secrets.yaml", text, purpose).secret()))
}

/// Renders the manifest of an ensemble.
pub fn render_ensemble(
    skeleton: &Skeleton,
    ensemble: &EnsembleFile<'_>,
    own: &Map,
) -> Result<NewFile, Error> {
    let mut variables = base_variables(own);
    variables.insert("inputs".into(), Value::from(inputs(own)?));
    let (key, template) = match ensemble.template {
        TemplateInclude::OfProject => ("ensembleTemplate", ENSEMBLE_TEMPLATE),
        TemplateInclude::Ensemble(file) => ("ensembleTemplate", file),
        TemplateInclude::Service(file) => ("serviceTemplate", file),
    };
    let optional = [
        (key, Some(template)),
        ("ensembleUri", ensemble.uri),
        ("specRepoUrl", ensemble.spec_url),
        ("deployment_blueprint", ensemble.deployment_blueprint),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            variables.insert(name.into(), Value::from(yaml_text(value)));
        }
    }
    let text = Renderer::new(skeleton).render("manifest.yaml.j2", &variables)?;
    let purpose = "the ensemble: what should exist, and what exists";
    Ok(NewFile::new(
        "ensemble.yaml",
        text.unwrap_or_default(),
        purpose,
    ))
}

/// Returns the files of git that each new repository gets first.
pub fn git_files(skeleton: &Skeleton) -> Result<Vec<NewFile>, Error> {
    let ignored = Renderer::new(skeleton).render("gitignore.j2", &Map::new())?;
    Ok(vec![
        NewFile::new(
            ".gitignore",
            ignored.unwrap_or_default(),
            "the files that git leaves out",
        ),
        NewFile::new(
            ".gitattributes",
            GIT_ATTRIBUTES,
            "how git merges the list of jobs",
        ),
    ])
}

/// Returns the variables of the user and those that are always defined.
fn base_variables(own: &Map) -> Map {
    let mut variables: Map = EMPTY_VARIABLES
        .iter()
        .map(|name| ((*name).into(), Value::from("")))
        .collect();
    variables.insert("vaultid".into(), Value::from(""));
    variables.insert("api_version".into(), Value::from(API_VERSION));
    variables.extend(
        own.iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    variables
}

/// Returns the inputs among the variables of the user, as lines of YAML.
fn inputs(own: &Map) -> Result<String, Error> {
    let mut inputs = Map::new();
    for (name, value) in own {
        let Some(input) = name.strip_prefix(INPUT_PREFIX) else {
            continue;
        };
        let text = value.as_str().unwrap_or_default();
        let node = parse_text(Schema::default(), text).map_err(|reason| Error::Variable {
            name: name.to_string(),
            reason,
        })?;
        inputs.insert(input.into(), node.to_value());
    }
    if inputs.is_empty() {
        return Ok(String::new());
    }
    Ok(emit(&Value::from(inputs), 0).trim_end().to_owned())
}

/// Returns a text as a YAML scalar, quoted if it needs quotes.
fn yaml_text(text: &str) -> String {
    emit(&Value::from(text), 0).trim_end().to_owned()
}
