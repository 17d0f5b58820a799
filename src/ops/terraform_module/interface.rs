//! The variables and outputs of a module, read from one file of it.

use serde_json::Value as Json;

use super::blocks::{Block, blocks};

/// A variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleVariable {
    pub name: String,
    /// True if the variable has no default.
    pub is_required: bool,
    pub is_sensitive: bool,
    pub description: Option<String>,
}

/// An output of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleOutput {
    pub name: String,
    pub is_sensitive: bool,
}

/// The parts of a module that one of its files declares.
#[derive(Debug, Default)]
pub(super) struct FilePart {
    pub(super) variables: Vec<ModuleVariable>,
    pub(super) outputs: Vec<ModuleOutput>,
    /// The type of the backend; `cloud` for the block of that name.
    pub(super) backend: Option<String>,
}

impl FilePart {
    /// Reads a file in HCL.
    pub(super) fn of_hcl(text: &str) -> Self {
        let mut part = Self::default();
        for block in blocks(text) {
            match (block.kind, &block.labels[..]) {
                ("variable", [name]) => part.variables.push(variable(name, &block)),
                ("output", [name]) => part.outputs.push(ModuleOutput {
                    name: (*name).to_owned(),
                    is_sensitive: block.value("sensitive") == Some("true"),
                }),
                ("terraform", []) => part.backend = part.backend.or_else(|| backend(&block)),
                _ => {}
            }
        }
        part
    }

    /// Reads a file in the JSON form of HCL.
    pub(super) fn of_json(text: &str) -> Result<Self, serde_json::Error> {
        let json: Json = serde_json::from_str(text)?;
        let entries = |key: &str| {
            json.get(key)
                .and_then(Json::as_object)
                .into_iter()
                .flatten()
        };
        let is_true = |of: &Json| of.get("sensitive") == Some(&Json::Bool(true));
        let variables = entries("variable").map(|(name, of)| ModuleVariable {
            name: name.clone(),
            is_required: of.get("default").is_none(),
            is_sensitive: is_true(of),
            description: of
                .get("description")
                .and_then(Json::as_str)
                .map(str::to_owned),
        });
        let outputs = entries("output").map(|(name, of)| ModuleOutput {
            name: name.clone(),
            is_sensitive: is_true(of),
        });
        let backend = json.pointer("/terraform/backend").and_then(Json::as_object);
        Ok(Self {
            variables: variables.collect(),
            outputs: outputs.collect(),
            backend: backend.and_then(|it| it.keys().next()).cloned(),
        })
    }
}

fn variable(name: &str, block: &Block<'_>) -> ModuleVariable {
    ModuleVariable {
        name: name.to_owned(),
        is_required: !block.has("default"),
        is_sensitive: block.value("sensitive") == Some("true"),
        description: block.value("description").map(str::to_owned),
    }
}

fn backend(block: &Block<'_>) -> Option<String> {
    let mut inner = block.blocks.iter();
    inner.find_map(|block| match block.kind {
        "backend" => block.labels.first().map(|label| (*label).to_owned()),
        "cloud" => Some("cloud".to_owned()),
        _ => None,
    })
}
