//! The address of a resource, as the tool writes it.

use serde_json::Value as Json;

/// The address of an instance of a resource in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateAddress {
    /// The address of the module, such as `module.a["x"].module.b`. None for the root module.
    pub module: Option<String>,
    /// The address in the module, such as `aws_instance.web[0]`.
    pub local: String,
}

impl StateAddress {
    /// Returns the address of an instance of a resource. None if its type, its name or its key is not a valid one.
    pub fn of(resource: &Json, instance: &Json) -> Option<Self> {
        let text = |key: &str| resource.get(key).and_then(Json::as_str);
        let start = match text("mode") {
            Some("data") => "data.",
            _ => "",
        };
        let (kind, name) = (text("type")?, text("name")?);
        let key = match instance.get("index_key") {
            None | Some(Json::Null) => String::new(),
            // A text is shown in quotes.
            Some(key @ (Json::Number(_) | Json::String(_))) => format!("[{key}]"),
            Some(_) => return None,
        };
        let module = text("module").filter(|it| !it.is_empty());
        Some(Self {
            module: module.map(str::to_owned),
            local: format!("{start}{kind}.{name}{key}"),
        })
    }

    /// Returns the whole address.
    pub fn whole(&self) -> String {
        match &self.module {
            Some(module) => format!("{module}.{}", self.local),
            None => self.local.clone(),
        }
    }
}
