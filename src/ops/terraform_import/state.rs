//! The state of Terraform as data: its resources with their addresses, and the modules that they are in.

use serde_json::{Map as JsonMap, Value as Json};

use super::digits::inexact_number;
use crate::configurator::StateAddress;
use crate::ops::failure::{Failure, FailureKind};

/// The version of the format of states that Terraform 0.12 and later and OpenTofu write.
const VERSION: i64 = 4;

/// A state, checked as far as importing needs it.
#[derive(Debug, Clone)]
pub(super) struct TerraformState {
    pub(super) json: JsonMap<String, Json>,
    pub(super) resources: Vec<StateResource>,
}

/// An instance of a resource in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateResource {
    pub(super) address: StateAddress,
    pub(super) kind: String,
    pub(super) id: Option<String>,
    /// True for a resource that Terraform manages, and not only reads.
    pub(super) is_managed: bool,
    /// True for a resource that Terraform will replace.
    pub(super) is_tainted: bool,
    /// True for a resource that was replaced and that Terraform still has to destroy.
    pub(super) is_deposed: bool,
}

impl TerraformState {
    /// Reads a state. `origin` names its source in messages.
    ///
    /// # Errors
    ///
    /// The text is no state, or one of another version.
    pub(super) fn parse(text: &[u8], origin: &str) -> Result<Self, Failure> {
        let refused = |reason: String, help: &str| {
            let message = format!("the state of {origin} cannot be imported: {reason}");
            Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
        };
        let not_a_state = "name a folder whose state `terraform show` can read";
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(refused("it is empty".to_owned(), not_a_state));
        }
        let json: Json = serde_json::from_slice(text)
            .map_err(|error| refused(format!("it is not JSON ({error})"), not_a_state))?;
        let Json::Object(json) = json else {
            return Err(refused("it is not a JSON object".to_owned(), not_a_state));
        };
        if json.contains_key("encrypted_data") {
            let help = "run `tofu state pull > terraform.tfstate` in a copy of the folder whose configuration has no `encryption`";
            return Err(refused("OpenTofu has encrypted it".to_owned(), help));
        }
        match json.get("version").and_then(Json::as_i64) {
            Some(VERSION) => {}
            Some(version) if version < VERSION => {
                let help = "run `terraform apply -refresh-only` with Terraform 0.13 or later, which writes version 4";
                return Err(refused(
                    format!("it has version {version}, and version {VERSION} is needed"),
                    help,
                ));
            }
            Some(version) => {
                let help = "this program reads version 4; look for a newer version of it";
                return Err(refused(
                    format!("it has the unknown version {version}"),
                    help,
                ));
            }
            None => return Err(refused("it has no `version`".to_owned(), not_a_state)),
        }
        if let Some(number) = inexact_number(text) {
            let help = "keep such a number as a text in the configuration";
            return Err(refused(
                format!("the number {number} cannot be kept exactly"),
                help,
            ));
        }
        let resources = read_resources(&json)
            .map_err(|reason| refused(reason, "run `terraform state list` to check the state"))?;
        Ok(Self { json, resources })
    }

    /// Returns the resources that Terraform manages.
    pub(super) fn managed(&self) -> impl Iterator<Item = &StateResource> {
        self.resources
            .iter()
            .filter(|it| it.is_managed && !it.is_deposed)
    }

    /// Returns the outputs of the root module.
    pub(super) fn outputs(&self) -> impl Iterator<Item = (&String, &Json)> {
        self.json
            .get("outputs")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
    }

    /// Returns the addresses of the modules with resources and of those around them, without the root module.
    pub(super) fn modules(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for module in self
            .resources
            .iter()
            .filter_map(|it| it.address.module.as_deref())
        {
            for part in module_prefixes(module) {
                if !all.iter().any(|known| known == part) {
                    all.push(part.to_owned());
                }
            }
        }
        all
    }
}

/// Returns the addresses of the modules around a module, and its own, from the outside to the inside.
///
/// `module.a["x.y"].module.b` has `module.a["x.y"]` and itself.
pub(super) fn module_prefixes(address: &str) -> Vec<&str> {
    let mut prefixes = Vec::new();
    let mut in_text = false;
    let mut is_escaped = false;
    for (at, c) in address.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => in_text = !in_text,
            '.' if !in_text && at > 0 && address[at..].starts_with(".module.") => {
                prefixes.push(&address[..at]);
            }
            _ => {}
        }
    }
    prefixes.push(address);
    prefixes
}

fn read_resources(json: &JsonMap<String, Json>) -> Result<Vec<StateResource>, String> {
    let listed = match json.get("resources") {
        None => return Ok(Vec::new()),
        Some(Json::Array(listed)) => listed,
        Some(_) => return Err("its `resources` are no list".to_owned()),
    };
    let mut resources = Vec::new();
    for (index, entry) in listed.iter().enumerate() {
        let text = |key: &str| entry.get(key).and_then(Json::as_str);
        let (Some(mode), Some(kind), Some(name)) = (text("mode"), text("type"), text("name"))
        else {
            return Err(format!(
                "resource {} has no `mode`, `type` or `name`",
                index + 1
            ));
        };
        let Some(instances) = entry.get("instances").and_then(Json::as_array) else {
            return Err(format!("`{kind}.{name}` has no list of instances"));
        };
        for instance in instances {
            let address = StateAddress::of(entry, instance)
                .ok_or_else(|| format!("`{kind}.{name}` has an instance with a wrong key"))?;
            let id = instance.pointer("/attributes/id").and_then(Json::as_str);
            resources.push(StateResource {
                address,
                kind: kind.to_owned(),
                id: id.map(str::to_owned),
                is_managed: mode == "managed",
                is_tainted: instance.get("status").and_then(Json::as_str) == Some("tainted"),
                is_deposed: instance.get("deposed").is_some_and(|it| !it.is_null()),
            });
        }
    }
    Ok(resources)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A state with modules, counts, keys with dots, and a tainted resource.
    pub(in super::super) const STATE: &str = r#"{
  "version": 4, "terraform_version": "1.11.4", "serial": 7, "lineage": "l-1",
  "outputs": {"ip": {"value": "10.0.0.1", "type": "string"}, "key": {"value": "s3cret", "type": "string", "sensitive": true}},
  "resources": [
    {"mode": "data", "type": "terraform_remote_state", "name": "other", "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": [{"schema_version": 0, "attributes": {}}]},
    {"mode": "managed", "type": "terraform_data", "name": "web", "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": [
      {"index_key": 0, "schema_version": 0, "attributes": {"id": "w-0"}, "dependencies": ["module.net.terraform_data.vpc", "terraform_data.base"]},
      {"index_key": 1, "status": "tainted", "schema_version": 0, "attributes": {"id": "w-1"}}]},
    {"module": "module.net[\"a.module.b\"].module.sub", "mode": "managed", "type": "terraform_data", "name": "vpc", "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": [
      {"index_key": "x\"y", "schema_version": 0, "attributes": {"id": "v"}},
      {"deposed": "12345678", "index_key": "x\"y", "schema_version": 0, "attributes": {"id": "old"}}]}
  ],
  "check_results": null
}"#;

    #[test]
    fn resources_have_addresses_and_modules_have_those_around_them() {
        let state = TerraformState::parse(STATE.as_bytes(), "`tf`").unwrap();
        let addresses: Vec<_> = state
            .resources
            .iter()
            .map(|it| it.address.whole())
            .collect();
        insta::assert_snapshot!(addresses.join("\n"), @r#"
        data.terraform_remote_state.other
        terraform_data.web[0]
        terraform_data.web[1]
        module.net["a.module.b"].module.sub.terraform_data.vpc["x\"y"]
        module.net["a.module.b"].module.sub.terraform_data.vpc["x\"y"]
        "#);
        assert_eq!(
            state.modules(),
            [
                r#"module.net["a.module.b"]"#,
                r#"module.net["a.module.b"].module.sub"#
            ]
        );
        assert_eq!(state.managed().count(), 3);
        assert!(state.resources[2].is_tainted && state.resources[4].is_deposed);
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "it is empty"),
            ("{", "it is not JSON"),
            ("[]", "it is not a JSON object"),
            ("{}", "it has no `version`"),
            (r#"{"version": 3}"#, "it has version 3"),
            (r#"{"version": 5}"#, "the unknown version 5"),
            (
                r#"{"version": 4, "resources": {}}"#,
                "its `resources` are no list",
            ),
            (
                r#"{"version": 4, "resources": [1]}"#,
                "resource 1 has no `mode`",
            ),
            (
                r#"{"version": 4, "resources": [{"mode": "managed", "type": "a", "name": "b"}]}"#,
                "no list of instances",
            ),
            (
                r#"{"version": 4, "x": 123456789012345678901234567890}"#,
                "cannot be kept exactly",
            ),
            (
                r#"{"encrypted_data": "x", "serial": 1}"#,
                "OpenTofu has encrypted it",
            ),
        ] {
            let error = TerraformState::parse(text.as_bytes(), "`tf`").unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }
}
