//! The forms of the input `main`, and the metadata that joins properties, attributes and a module.

use super::TerraformEnv;
use crate::drafts::ensemble;

const MODULE: &str = "variable \"tag\" { type = string }
resource \"terraform_data\" \"d\" { input = var.tag }
output \"tout\" { value = \"got ${terraform_data.d.output}\" }
";

fn typed(inputs: &str) -> TerraformEnv {
    let text = ensemble(
        "
        node_types:
          M:
            derived_from: tosca.nodes.Root
            properties: {tag: {type: string, metadata: {tfvar: true}}}
            attributes: {tout: {type: string, metadata: {tfoutput: true}}}
            interfaces:
              defaults:
                implementation: Terraform
                inputs: <inputs>
              Standard: {operations: {configure: , delete: }}
        topology_template:
          node_templates: {tf: {type: M, properties: {tag: {get_env: [TAG, red]}}}}
        ",
    );
    TerraformEnv::with_text(&text.with("inputs", inputs).build())
}

#[test]
fn a_folder_is_called_as_a_module_and_its_files_are_watched() {
    requires!("terraform");
    let env = typed("{main: mod}").with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", "pw");
    env.write("mod/main.tf", MODULE);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let call = env.read("active/tasks/tf/main.tmp.tf.json");
    assert!(call.contains("\"source\": \"../../../mod\""), "{call}");
    let status = env.ensemble().to_string();
    // All outputs of a module in a folder are sensitive, as for Unfurl.
    assert!(!status.contains("got red"), "{status}");
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
    env.write("mod/main.tf", &MODULE.replace("got", "gotten"));
    let changed = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(changed.all().contains("1 changed"), "{changed}");
    env.unfurl(["teardown", "--approve"]).succeeds();
}

#[test]
fn the_default_folder_has_the_name_of_the_instance() {
    requires!("terraform");
    let env = typed("{tfvars: {}}");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`main` is missing", "does not exist"]);
    env.write("tf/main.tf", MODULE);
    env.unfurl(["deploy", "--approve"]).succeeds();
}

#[test]
fn a_file_is_the_configuration_itself() {
    requires!("terraform");
    let env = typed("{main: conf/site.tf}");
    env.write("conf/site.tf", MODULE);
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.attribute("tout"), "got red");
    assert_eq!(env.read("active/tasks/tf/main.unfurl.tmp.tf"), MODULE);
    env.write("conf/site.tf", &MODULE.replace("got", "gotten"));
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.attribute("tout"), "gotten red");
}

#[test]
fn a_map_is_a_configuration_in_json() {
    requires!("terraform");
    let main = "{main: {variable: {tag: {}}, resource: {terraform_data: {d: {input: '${var.tag}'}}}, output: {tout: {value: '${terraform_data.d.output}'}}}}";
    let env = typed(main).with_variable("TAG", "blue");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.attribute("tout"), "blue");
}

#[test]
fn the_tool_can_run_in_a_folder_of_the_project() {
    requires!("terraform");
    let env = typed("{main: mod, workdir: mod, tfvars: {}}");
    env.write(
        "mod/main.tf",
        &MODULE.replace("{ type = string }", "{ default = \"own\" }"),
    );
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`workdir: mod`", "nothing is written"]);
}

#[test]
fn a_backend_of_the_configuration_keeps_the_state() {
    requires!("terraform");
    let env = typed("{main: conf/site.tf, stateLocation: remote}");
    let path = env.work().with_file_name("tmp").join("backend.tfstate");
    let backend = format!(
        "terraform {{\n  backend \"local\" {{\n    path = \"{}\"\n  }}\n}}\n",
        path.display()
    );
    env.write("conf/site.tf", &(backend + MODULE));
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.attribute("tout"), "got red");
    assert!(std::fs::read_to_string(&path).unwrap().contains("got red"));
    assert_eq!(
        env.read_if("active/secrets/tf/terraform.tfstate.yaml"),
        None
    );
    env.unfurl(["teardown", "--approve"]).succeeds();
    let left = std::fs::read_to_string(&path).unwrap();
    assert!(left.contains("\"resources\": []"), "{left}");
}

#[test]
fn a_name_that_is_neither_a_path_nor_a_source_is_refused_before_anything_runs() {
    requires!("terraform");
    let env = typed("{main: nowhere}");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`main: nowhere` is neither a file or folder"]);
    assert_eq!(env.ensemble().get("status"), None);
}

#[test]
fn wrong_inputs_are_named_before_anything_runs() {
    requires!("terraform");
    for (inputs, message) in [
        (
            "{main: mod, stateLocation: drawer}",
            "`stateLocation: drawer`",
        ),
        ("{main: mod, tfvars: 5}", "`tfvars` must be a map or a text"),
        ("{main: mod, stop_timeout: soon}", "`stop_timeout: soon`"),
    ] {
        let env = typed(inputs);
        env.write("mod/main.tf", MODULE);
        let run = env.unfurl(["deploy", "--approve"]);
        assert_ne!(run.code, 0, "{run}");
        run.says(&[message]);
    }
}

#[test]
fn a_module_that_is_an_artifact_gets_its_arguments_and_sets_attributes() {
    requires!("terraform");
    let text = ensemble(
        "
        artifact_types:
          Module:
            derived_from: unfurl.artifacts.TerraformModule
            properties: {size: {type: integer, metadata: {input_match: true}, default: 3}}
            interfaces:
              Executable: {operations: {execute: {inputs: {word: {type: string}}}}}
        node_types:
          M:
            derived_from: tosca.nodes.Root
            attributes: {tout: {type: string, metadata: {output_match: true}}}
        topology_template:
          node_templates:
            tf:
              type: M
              artifacts: {module: {type: Module, file: mod}}
              interfaces:
                defaults: {implementation: module, inputs: {word: hello}}
                Standard: {operations: {configure: , delete: }}
            plain:
              type: tosca.nodes.Root
              interfaces:
                Standard:
                  configure:
                    implementation: Terraform
                    inputs: {main: mod, arguments: {word: hi, size: 1}, tfvars: {size: 2}}
                    outputs: {tout: told}
        ",
    );
    let env = TerraformEnv::with_text(&text.build());
    env.write(
        "mod/main.tf",
        "variable \"word\" {}\nvariable \"size\" {}\noutput \"tout\" { value = \"${var.word} ${var.size}\" }\n",
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let call = |node: &str| env.read(&format!("active/tasks/{node}/main.tmp.tf.json"));
    for part in ["\"word\": \"hello\"", "\"size\": 3", "module.main.tout"] {
        assert!(call("tf").contains(part), "{}", call("tf"));
    }
    // The input `tfvars` overrides `arguments`.
    assert!(call("plain").contains("\"size\": 2"), "{}", call("plain"));
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
    // An argument of the wrong type is found before the tool runs.
    let text = env
        .read("ensemble.yaml")
        .replace("word: hello", "word: [1]");
    env.write("ensemble.yaml", &text);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["word"]);
    let text = env
        .read("ensemble.yaml")
        .replace("word: [1]", "word: hello");
    env.write("ensemble.yaml", &text);
    env.unfurl(["teardown", "--approve"]).succeeds();
}
