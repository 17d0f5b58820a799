//! The state of a folder as the node template needs it: the folder is a module there, which another one calls.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::state::TerraformState;

/// The address of the module in the configuration that the configurator writes.
const MAIN: &str = "module.main";

/// Returns the state with all resources in the module `main`, as JSON.
///
/// `outputs` are the outputs that the node template uses. They are sensitive, as the configurator declares them.
pub(super) fn wrapped_state(state: &TerraformState, outputs: &[String]) -> Vec<u8> {
    let mut json = state.json.clone();
    let serial = json.get("serial").and_then(Json::as_u64).unwrap_or(0);
    json.insert("serial".to_owned(), json!(serial.saturating_add(1)));
    let mut kept = JsonMap::new();
    for (name, output) in state.outputs().filter(|(name, _)| outputs.contains(name)) {
        let mut output = output.clone();
        if let Some(output) = output.as_object_mut() {
            output.insert("sensitive".to_owned(), Json::Bool(true));
        }
        kept.insert(name.clone(), output);
    }
    json.insert("outputs".to_owned(), Json::Object(kept));
    if let Some(Json::Array(resources)) = json.get_mut("resources") {
        resources.iter_mut().for_each(move_into_main);
    }
    // The results of checks have addresses, too, and the next plan finds them again.
    json.insert("check_results".to_owned(), Json::Null);
    let mut text = serde_json::to_vec_pretty(&Json::Object(json)).unwrap_or_default();
    text.push(b'\n');
    text
}

fn move_into_main(resource: &mut Json) {
    let Some(resource) = resource.as_object_mut() else {
        return;
    };
    let old = resource
        .get("module")
        .and_then(Json::as_str)
        .filter(|it| !it.is_empty());
    let module = old.map_or_else(|| MAIN.to_owned(), inside_main);
    // Terraform writes the module first.
    resource.shift_remove("module");
    let mut moved = JsonMap::new();
    moved.insert("module".to_owned(), Json::String(module));
    moved.append(resource);
    *resource = moved;
    let Some(Json::Array(instances)) = resource.get_mut("instances") else {
        return;
    };
    for instance in instances {
        let dependencies = instance
            .get_mut("dependencies")
            .and_then(Json::as_array_mut);
        for dependency in dependencies.into_iter().flatten() {
            if let Json::String(address) = dependency {
                *address = inside_main(address);
            }
        }
    }
}

fn inside_main(address: &str) -> String {
    format!("{MAIN}.{address}")
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::STATE;
    use super::*;

    #[test]
    fn resources_and_their_dependencies_move_into_the_module() {
        let state = TerraformState::parse(STATE.as_bytes(), "`tf`").unwrap();
        let text = wrapped_state(&state, &["ip".to_owned()]);
        let json: Json = serde_json::from_slice(&text).unwrap();
        let modules: Vec<_> = json["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["module"])
            .collect();
        assert_eq!(
            modules,
            [
                "module.main",
                "module.main",
                r#"module.main.module.net["a.module.b"].module.sub"#
            ]
        );
        let dependencies = &json["resources"][1]["instances"][0]["dependencies"];
        assert_eq!(
            *dependencies,
            json!([
                "module.main.module.net.terraform_data.vpc",
                "module.main.terraform_data.base"
            ])
        );
        assert_eq!(
            json["outputs"],
            json!({"ip": {"value": "10.0.0.1", "type": "string", "sensitive": true}})
        );
        assert_eq!(
            (&json["serial"], &json["lineage"]),
            (&json!(8), &json!("l-1"))
        );
        // The original is as it was.
        assert_eq!(state.resources[1].address.whole(), "terraform_data.web[0]");
    }
}
