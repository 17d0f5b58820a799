//! The data that a render hands to the run.

use crate::value::{Map, Value};

/// The data that a render hands to the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RenderedRun {
    /// The folder in which the tool runs.
    pub(super) cwd: String,
    pub(super) variables: Option<String>,
    /// The name and the content of the file with secret variables.
    pub(super) secret: Option<(String, Value)>,
    /// The digest of the configuration.
    pub(super) digest: String,
    /// The digest of the files in the working folder.
    pub(super) files_digest: String,
    pub(super) location: String,
    /// True if the configuration can declare resources.
    pub(super) may_have_resources: bool,
    /// Files that the run itself writes into the folder, and removes.
    pub(super) own_files: Vec<(String, String)>,
}

impl RenderedRun {
    pub(super) fn to_value(&self) -> Value {
        let (name, content) = self.secret.clone().unzip();
        let own_files = self.own_files.iter();
        let own_files: Map = own_files
            .map(|(name, content)| (name.as_str().into(), Value::from(content.as_str())))
            .collect();
        Value::from(Map::from_iter([
            ("cwd".into(), Value::from(self.cwd.as_str())),
            ("variables".into(), Value::from(self.variables.clone())),
            ("secret_name".into(), Value::from(name)),
            ("secret".into(), content.unwrap_or_default()),
            ("digest".into(), Value::from(self.digest.as_str())),
            (
                "files_digest".into(),
                Value::from(self.files_digest.as_str()),
            ),
            ("location".into(), Value::from(self.location.as_str())),
            ("own_files".into(), Value::from(own_files)),
            (
                "may_have_resources".into(),
                Value::Bool(self.may_have_resources),
            ),
        ]))
    }

    pub(super) fn of_value(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let secret = value.get("secret").cloned().unwrap_or_default();
        let resources = value.get("may_have_resources");
        let own_files = value.get("own_files").and_then(Value::as_map);
        let own_files = own_files.into_iter().flatten();
        Self {
            own_files: own_files
                .map(|(name, content)| (name.to_string(), content.to_string()))
                .collect(),
            may_have_resources: resources.and_then(Value::as_bool).unwrap_or(true),
            cwd: text("cwd").unwrap_or_default(),
            variables: text("variables"),
            secret: text("secret_name").map(|name| (name, secret)),
            digest: text("digest").unwrap_or_default(),
            files_digest: text("files_digest").unwrap_or_default(),
            location: text("location").unwrap_or_default(),
        }
    }
}
