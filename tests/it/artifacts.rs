//! Artifacts: their attributes in expressions, and operations that execute them.

use super::drafts::{ensemble, topology};
use super::locks::web::{HttpServer, answer};
use super::support::TestEnv;

/// An artifact type for scripts whose output is data, with the inputs that its execution takes.
const SCRIPT: &str = "    artifact_types:
      Script:
        derived_from: unfurl.artifacts.ShellExecutable
        properties:
          outputsTemplate: {type: any, required: false, default: '{{ stdout | trim }}'}
          color: {type: string, default: red, metadata: {input_match: true}}
        interfaces:
          Executable:
            type: unfurl.interfaces.Executable
            operations:
              execute:
                metadata: {input_match: [shape]}
                inputs:
                  size: {type: integer, default: 3}
                  name: {type: string}
";

/// An environment with a node whose operation `create` is the given text, plus further node templates.
fn node_with(create: &str, more: &str) -> TestEnv {
    let text = "
        node_templates:
          web:
            type: unfurl.nodes.Generic
            interfaces:
              Standard:
                operations:
                  create:
                    <create>
            <more>
        ";
    topology(text)
        .with("create", create)
        .with("more", more)
        .env()
}

fn deploy(env: &TestEnv) -> serde_json::Value {
    env.unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds()
        .json()
}

/// Asserts that a second deploy has nothing to do and leaves every tracked byte unchanged.
#[track_caller]
fn stays_as_it_is(env: &TestEnv) {
    let before = env.tracked();
    let again = deploy(env);
    assert_eq!(again["job"]["changed"], 0, "{again}");
    assert_eq!(again["job"]["ok"], 0, "{again}");
    assert!(before == env.tracked(), "the second deploy changed a file");
}

/// The text of all change records.
fn changes(env: &TestEnv) -> String {
    let files = env.tracked().into_iter();
    let records = files.filter(|(path, _)| path.to_string_lossy().contains("/changes/"));
    records
        .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
        .collect()
}

#[test]
fn contents_see_the_inputs_of_the_task_and_outputs_are_recorded() {
    let env = node_with(
        r#"
            implementation:
              primary:
                type: unfurl.artifacts.ShellExecutable
                file: none.sh
                contents: 'echo {{ inputs.word }} {{ SELF[".name"] }}'
                properties:
                  outputsTemplate: {said: '{{ stdout | trim }}'}
            inputs: {word: {eval: '.::greeting'}}
            outputs: {said: {type: string, mapping: heard}}
            "#,
        "properties: {greeting: hello}",
    );
    let summary = deploy(&env);
    assert_eq!(summary["job"]["status"], "ok");
    let web = &env.ensemble()["status"]["instances"]["web"];
    assert_eq!(web["attributes"]["heard"], "hello web");
    let changes = changes(&env);
    assert!(changes.contains("said: hello web"), "{changes}");
    assert!(
        changes.contains("::web::.artifacts::__primary_Standard_create::contents"),
        "{changes}"
    );
    stays_as_it_is(&env);
}

#[test]
fn an_output_of_the_wrong_type_fails_the_task() {
    let env = node_with(
        "
            implementation:
              primary:
                type: unfurl.artifacts.ShellExecutable
                file: none.sh
                contents: echo many
                properties: {outputsTemplate: {count: '{{ stdout | trim }}'}}
            outputs:
              count: {type: integer, mapping: count}
              other: {type: string}
              loose: {type: string, required: false}
            ",
        "",
    );
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["output `count`", "the required output `other` is missing"]);
    let web = &env.ensemble()["status"]["instances"]["web"];
    assert_eq!(web["readyState"]["local"], "unknown");
    assert!(web["attributes"].is_null(), "{web}");
}

#[test]
fn arguments_are_gathered_from_execute_properties_and_inputs() {
    let env = ensemble("
            <script>
            node_types:
              Shaped:
                derived_from: tosca.nodes.Root
                properties:
                  form: {type: string, metadata: {input_match: shape}}
                  aside: {type: string, metadata: {input_match: other}}
                interfaces:
                  Standard:
                    create:
                      implementation: script
                      inputs: {name: 'a b', unrelated: 1}
            topology_template:
              node_templates:
                web:
                  type: Shaped
                  properties: {form: round, aside: no}
                  artifacts: {script: {type: Script, file: say.sh, properties: {outputsTemplate: {said: '{{ stdout | trim }}'}, command: ./say.sh}}}
            ").with("script", SCRIPT).env();
    env.write(
        "say.sh",
        "#!/bin/sh\nfor a in \"$@\"; do printf '[%s]' \"$a\"; done\n",
    );
    make_executable(&env, "say.sh");
    deploy(&env);
    let changes = changes(&env);
    let said = "said: '[--size][3][--color][red][--form][round][--name][a b]'";
    assert!(changes.contains(said), "{changes}");
    stays_as_it_is(&env);
}

#[test]
fn only_the_inputs_that_metadata_lists_are_arguments() {
    let env = node_with("
            implementation: {primary: script}
            metadata: {arguments: [one]}
            inputs: {command: ./say.sh, one: 1, two: 2, outputsTemplate: {said: '{{ stdout | trim }}'}}
            ", "artifacts: {script: {type: unfurl.artifacts.ShellExecutable, file: say.sh}}");
    env.write("say.sh", "#!/bin/sh\necho \"$@\"\n");
    make_executable(&env, "say.sh");
    deploy(&env);
    let changes = changes(&env);
    assert!(changes.contains("said: --one 1\n"), "{changes}");
}

#[test]
fn an_argument_of_the_wrong_type_fails_the_task_before_it_runs() {
    let env = ensemble("
            <script>
            topology_template:
              node_templates:
                web:
                  type: tosca.nodes.Root
                  artifacts: {script: {type: Script, file: say.sh, properties: {command: ./say.sh}}}
                  interfaces:
                    Standard:
                      create:
                        implementation: script
                        inputs: {size: {eval: {template: \"{{ 'many' }}\"}}, name: {eval: {template: \"{{ 3 }}\"}}}
            ").with("script", SCRIPT).env();
    env.write("say.sh", "#!/bin/sh\ntouch ran\n");
    make_executable(&env, "say.sh");
    let run = env
        .unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["the value `many` of argument `size` is not an integer"]);
    assert!(!env.work().join("ran").exists());
    assert!(!run.stderr.contains("argument `name`"), "{}", run.stderr);
}

#[test]
fn a_script_runs_again_when_its_file_changes() {
    let env = ensemble(
        "    topology_template:
      node_templates:
        web:
          type: unfurl.nodes.Generic
          artifacts: {script: {type: unfurl.artifacts.ShellExecutable, file: say.sh}}
          interfaces: {Standard: {configure: script}}
",
    )
    .env();
    env.write("say.sh", "#!/bin/sh\necho one\n");
    make_executable(&env, "say.sh");
    deploy(&env);
    stays_as_it_is(&env);
    env.write("say.sh", "#!/bin/sh\necho two\n");
    assert_eq!(deploy(&env)["job"]["ok"], 1);
    stays_as_it_is(&env);
}

#[test]
fn secrets_in_the_properties_of_an_artifact_are_not_shown() {
    let env = ensemble(
        "    artifact_types:
      Login:
        derived_from: unfurl.artifacts.ShellExecutable
        properties: {token: {type: string, metadata: {sensitive: true}}}
    topology_template:
      outputs: {token: {value: {eval: '::web::.artifacts::login::token'}}}
      node_templates:
        web:
          type: unfurl.nodes.Generic
          artifacts:
            login:
              type: Login
              file: none
              contents: 'echo {{ inputs.token }} >> out.txt; echo {{ inputs.token }}'
              properties: {token: hush-hush, outputsTemplate: {said: '{{ stdout }}'}}
          interfaces: {Standard: {configure: login}}
",
    )
    .env();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.stdout.contains("hush-hush"), "{run}");
    assert!(!run.stderr.contains("hush-hush"), "{run}");
    assert_eq!(env.read("out.txt"), "hush-hush\n");
    let model = env.read("ensemble.yaml");
    assert_eq!(model.matches("hush-hush").count(), 1, "{model}");
    let records = changes(&env);
    assert!(!records.contains("hush-hush"), "{records}");
    stays_as_it_is(&env);
}

#[test]
fn expressions_see_artifacts() {
    let env = ensemble(
        "    topology_template:
      outputs:
        names: {value: {eval: '::web::.artifacts::*::.name'}}
        intent: {value: {eval: '::web::.artifacts::page::intent'}}
        owner: {value: {eval: '::web::.artifacts::page::.owner::.name'}}
        type: {value: {eval: '::web::.artifacts::page::.type'}}
        deployed: {value: {eval: '::web::.artifacts::*::[intent=deploy]::.name'}}
        path: {value: {get_artifact: [web, page]}}
        same: {value: {eval: '::web::.artifacts::page::.path'}}
        image: {value: {get_artifact: [web, image]}}
        nothing: {value: {get_artifact: [web, nope]}}
        text: {value: \"{{ '::web::.artifacts::page' | eval | attr('contents') }}\"}
      node_templates:
        web:
          type: tosca.nodes.Root
          artifacts:
            page: {file: pages/a.html, intent: deploy, contents: 'I am {{ \".name\" | eval }}'}
            image: {type: tosca.artifacts.Deployment.Image.Container.Docker, file: 'registry.example.com/team/app:1.0'}
",
    ).env();
    let summary = deploy(&env);
    let outputs = &summary["outputs"];
    let path = env.work().canonicalize().unwrap().join("pages/a.html");
    assert_eq!(outputs["names"], serde_json::json!(["page", "image"]));
    assert_eq!(outputs["intent"], "deploy");
    assert_eq!(outputs["owner"], "web");
    assert_eq!(outputs["type"], "tosca.artifacts.Root");
    assert_eq!(outputs["deployed"], "page");
    assert_eq!(outputs["path"], path.to_str().unwrap());
    assert_eq!(outputs["same"], path.to_str().unwrap());
    assert_eq!(outputs["image"], "registry.example.com/team/app:1.0");
    assert!(outputs["nothing"].is_null(), "{outputs}");
    assert_eq!(outputs["text"], "I am page");
}

#[test]
fn each_copy_of_a_nested_topology_executes_its_own_artifact() {
    let env = ensemble(
        "    imports: [sub/nested.yaml]
    topology_template:
      outputs: {path: {value: {eval: '::one::.artifacts::script::.path'}}}
      node_templates:
        one: {type: Outer, directives: [substitute], properties: {text: first}}
        two: {type: Outer, directives: [substitute], properties: {text: second}}
",
    )
    .env();
    env.write(
        "sub/nested.yaml",
        "tosca_definitions_version: tosca_simple_unfurl_1_0_0
node_types:
  Outer: {derived_from: tosca.nodes.Root, properties: {text: {type: string}}}
topology_template:
  root: {node: main}
  node_templates:
    main:
      type: Outer
      properties: {text: own}
      artifacts:
        script:
          type: unfurl.artifacts.ShellExecutable
          file: say.sh
          properties: {command: \"{{ '.path' | eval }} {{ SELF.text }} {{ inputs.more }}\"}
      interfaces: {Standard: {configure: {implementation: script, inputs: {more: {eval: '.::text'}}}}}
",
    );
    env.write("sub/say.sh", "#!/bin/sh\necho \"$@\" >> out.txt\n");
    make_executable(&env, "sub/say.sh");
    let summary = env
        .unfurl(["deploy", "--approve", "--parallel", "1", "--output", "json"])
        .succeeds()
        .json();
    assert_eq!(env.read("out.txt"), "first first\nsecond second\n");
    let path = env.work().canonicalize().unwrap().join("sub/say.sh");
    assert_eq!(summary["outputs"]["path"], path.to_str().unwrap());
    stays_as_it_is(&env);
}

#[test]
fn an_artifact_without_its_file_is_named_once() {
    let env = node_with(
        "implementation: {primary: book}",
        "artifacts: {book: {type: unfurl.artifacts.AnsiblePlaybook, file: a.yaml}}",
    );
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    let run = run.says(&["the playbook `", "a.yaml` does not exist"]);
    let aborting = run
        .stderr
        .lines()
        .find(|line| line.contains("Aborting job"));
    assert_eq!(aborting.unwrap().matches("`Ansible`").count(), 1);
}

#[test]
fn outputs_become_the_attributes_that_ask_for_them() {
    let env = ensemble(
        "
            <script>
            node_types:
              Seen:
                derived_from: tosca.nodes.Root
                attributes:
                  all: {type: string, required: false, metadata: {output_match: true}}
                  mine: {type: string, required: false, metadata: {output_match: [script]}}
                  other: {type: string, required: false, metadata: {output_match: [another]}}
                interfaces: {Standard: {create: {implementation: script}}}
            topology_template:
              node_templates:
                web:
                  type: Seen
                  artifacts:
                    script:
                      type: Script
                      file: none
                      contents: echo hello
                      properties: {outputsTemplate: {all: '{{ stdout | trim }}', mine: 1, other: 2}}
            ",
    )
    .with("script", SCRIPT)
    .env();
    deploy(&env);
    let web = &env.ensemble()["status"]["instances"]["web"];
    assert_eq!(
        web["attributes"],
        serde_json::json!({"all": "hello", "mine": 1})
    );
    stays_as_it_is(&env);
}

#[test]
fn a_relationship_executes_an_artifact_by_its_properties() {
    let env = ensemble(
        "    topology_template:
      node_templates:
        base: {type: tosca.nodes.Root}
        web:
          type: tosca.nodes.Root
          requirements:
          - dependency:
              node: base
              relationship:
                type: tosca.relationships.Root
                interfaces:
                  Configure:
                    operations:
                      pre_configure_source:
                        implementation:
                          primary:
                            type: unfurl.artifacts.ShellExecutable
                            file: none
                            properties: {command: 'echo joined > out.txt'}
",
    )
    .env();
    deploy(&env);
    assert_eq!(env.read("out.txt"), "joined\n");
}

#[test]
fn an_artifact_without_a_type_is_a_command() {
    let env = node_with(
        "implementation: hello",
        "artifacts: {hello: 'echo hello > out.txt'}",
    );
    deploy(&env);
    assert_eq!(env.read("out.txt"), "hello\n");
}

fn make_executable(env: &TestEnv, path: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(env.work().join(path), mode).unwrap();
}

/// An ensemble with a tool that two operations need.
fn tool_users() -> TestEnv {
    ensemble(
        "
            artifact_types:
              Tool:
                derived_from: tosca.artifacts.Root
                properties: {version: {type: string, default: '1'}}
                interfaces:
                  Standard:
                    operations:
                      create:
                        implementation: Cmd
                        inputs: {cmd: 'echo {{ SELF.file }} {{ SELF.version }} >> installed'}
            topology_template:
              node_templates:
                tools:
                  type: unfurl.nodes.LocalRepository
                  artifacts: {mytool: {type: Tool, file: mytool, properties: {version: '2'}}}
                web:
                  type: tosca.nodes.Root
                  interfaces: &uses
                    Standard:
                      operations:
                        configure:
                          implementation: {primary: Cmd, dependencies: [mytool]}
                          inputs: {cmd: 'cat installed'}
                app: {type: tosca.nodes.Root, interfaces: *uses}
            ",
    )
    .env()
}

#[test]
fn a_tool_is_installed_once_before_the_operations_that_need_it() {
    let env = tool_users();
    deploy(&env);
    assert_eq!(env.read("installed"), "mytool 2\n");
    let record = env.ensemble();
    let installer = &record["status"]["instances"]["__artifact__tools--mytool"];
    assert_eq!(installer["readyState"]["local"], "ok", "{installer}");
    // Unfurl finds the template there, too.
    let template = &record["spec"]["discovered"]["__artifact__tools--mytool"];
    assert_eq!(template["type"], "unfurl.nodes.ArtifactInstaller");
    assert_eq!(template["artifacts"]["install"]["file"], "mytool");
    stays_as_it_is(&env);
    assert_eq!(env.read("installed"), "mytool 2\n");
    env.unfurl(["teardown", "--approve"]).succeeds();
    let installer = &env.ensemble()["status"]["instances"]["__artifact__tools--mytool"];
    assert_eq!(installer["readyState"]["local"], "ok", "{installer}");
}

#[test]
fn a_job_for_chosen_instances_installs_the_tools_that_they_need() {
    let env = tool_users();
    env.unfurl(["deploy", "--approve", "--instance", "web"])
        .succeeds();
    assert_eq!(env.read("installed"), "mytool 2\n");
    let app = &env.ensemble()["status"]["instances"]["app"]["readyState"];
    assert_eq!(app["local"], "pending");
    let again = env.unfurl(["deploy", "--approve", "--instance", "web"]);
    assert!(again.succeeds().all().contains("Nothing to do"));
    env.unfurl(["deploy", "--approve", "--instance", "app"])
        .succeeds();
    assert_eq!(env.read("installed"), "mytool 2\n");
}

#[test]
fn an_operation_executes_an_artifact_of_a_local_repository() {
    let env = ensemble(
        "
            artifact_types:
              Script:
                derived_from: unfurl.artifacts.ShellExecutable
                interfaces:
                  Standard:
                    operations:
                      create: {implementation: Cmd, inputs: {cmd: echo installed >> log}}
            node_types:
              App:
                derived_from: tosca.nodes.Root
                interfaces:
                  Standard: {operations: {configure: {implementation: {primary: hello}}}}
            topology_template:
              node_templates:
                app: {type: App}
                own:
                  type: App
                  artifacts: {hello: {type: unfurl.artifacts.ShellExecutable, file: none, contents: echo own >> log}}
                tools:
                  type: unfurl.nodes.LocalRepository
                  artifacts: {hello: {type: Script, file: none, contents: 'echo {{ SELF[\".name\"] }} >> log'}}
            ",
    )
    .env();
    deploy(&env);
    let log = env.read("log");
    let mut lines: Vec<_> = log.lines().collect();
    let place = |word: &str| lines.iter().position(|line| *line == word);
    assert!(place("installed") < place("app"), "{log}");
    lines.sort_unstable();
    assert_eq!(lines, ["app", "installed", "own"]);
    stays_as_it_is(&env);
}

/// An ensemble whose only operation needs tools and runs a command.
fn with_tools(tools: &str, command: &str) -> TestEnv {
    let env = ensemble(
        "
            imports: [{repository: unfurl, file: tosca_plugins/artifacts.yaml}]
            topology_template:
              node_templates:
                tools:
                  type: unfurl.nodes.LocalRepository
                  artifacts:
                    <tools>
                app:
                  type: tosca.nodes.Root
                  interfaces:
                    Standard:
                      operations:
                        configure:
                          implementation: {primary: Cmd, dependencies: [tool]}
                          inputs: {cmd: '<command>'}
            ",
    )
    .with("tools", tools)
    .with("command", command)
    .env();
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles:\n- file: ensemble.yaml\n",
    );
    env
}

/// Makes a package for Python with the program `greet`, as a wheel.
fn write_wheel(env: &TestEnv) {
    let info = "wheel/greet-1.5.dist-info";
    env.write(
        "wheel/greet.py",
        "def main(): print('hello from a wheel')\n",
    );
    env.write(
        &format!("{info}/METADATA"),
        "Metadata-Version: 2.1\nName: greet\nVersion: 1.5\n",
    );
    env.write(
        &format!("{info}/WHEEL"),
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    );
    env.write(
        &format!("{info}/entry_points.txt"),
        "[console_scripts]\ngreet = greet:main\n",
    );
    env.write(&format!("{info}/RECORD"), "");
    let zip = "import shutil; shutil.make_archive('wheels/greet-1.5-py3-none-any', 'zip', 'wheel')";
    std::fs::create_dir(env.work().join("wheels")).unwrap();
    let made = std::process::Command::new("python3")
        .args(["-c", zip])
        .current_dir(env.work())
        .status();
    assert!(made.unwrap().success());
    let from = env.work().join("wheels/greet-1.5-py3-none-any.zip");
    std::fs::rename(&from, from.with_extension("whl")).unwrap();
    std::fs::remove_dir_all(env.work().join("wheel")).unwrap();
}

#[test]
fn a_python_package_is_installed_into_an_environment_of_the_project() {
    requires!("python3");
    let env = with_tools(
        "tool: {type: artifact.PythonPackage, file: ./wheels/greet-1.5-py3-none-any.whl}",
        "greet > out.txt",
    );
    write_wheel(&env);
    deploy(&env);
    assert_eq!(env.read("out.txt"), "hello from a wheel\n");
    let program = env.work().join("local/tools/python/bin/greet");
    assert!(program.exists());
    stays_as_it_is(&env);
}

#[test]
fn a_download_needs_the_checksum_that_is_stated() {
    use sha2::Digest as _;
    requires!("curl");
    let script = "#!/bin/sh\necho downloaded\n";
    let sum = unfurl::testing::value::hex(&sha2::Sha256::digest(script));
    let server = HttpServer::start(move |_| answer(200, script));
    let address = format!("{}/v1/my-tool", server.url());
    let download = |sum: &str| {
        format!("tool: {{type: artifact.Download, file: '{address}', properties: {{{sum}}}}}")
    };
    let env = with_tools(&download(&format!("sha256: {sum}")), "my-tool > out.txt");
    deploy(&env);
    assert_eq!(env.read("out.txt"), "downloaded\n");
    stays_as_it_is(&env);
    let wrong = with_tools(
        &download(&format!("sha256: {}", sum.replace(['a', '1'], "0"))),
        "true",
    );
    let run = wrong.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["my-tool: the SHA-256 of the download is", &sum]);
    assert!(!wrong.work().join("local/tools/bin/my-tool").exists());
    let without = with_tools(&download(""), "true");
    let run = without.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["sha256"]);
    assert!(!without.work().join("local/tools").exists());
}

#[test]
fn a_collection_is_installed_with_the_users_ansible_galaxy() {
    requires!("ansible-playbook");
    let env = with_tools(
        "tool: {type: artifact.AnsibleCollection, file: ./mine-tools-1.0.0.tar.gz}",
        "ansible-galaxy collection list mine.tools > out.txt",
    );
    env.write(
        "c/galaxy.yml",
        "namespace: mine\nname: tools\nversion: 1.0.0\nreadme: README.md\nauthors: [me]\n",
    );
    env.write("c/README.md", "# Tools\n");
    env.write("c/meta/runtime.yml", "requires_ansible: '>=2.9'\n");
    let built = std::process::Command::new("ansible-galaxy")
        .args(["collection", "build", "c"])
        .current_dir(env.work())
        .output();
    assert!(built.unwrap().status.success());
    deploy(&env);
    assert!(env.read("out.txt").contains("mine.tools 1.0.0"));
}

#[test]
fn a_package_of_debian_that_is_installed_is_left_alone() {
    requires!("dpkg-query");
    let env = with_tools(
        "tool: {type: artifact.AptPackage, file: base-files}",
        "true",
    );
    let summary = deploy(&env);
    assert_eq!(summary["job"]["status"], "ok");
    env.unfurl(["check", "--approve"]).succeeds();
    stays_as_it_is(&env);
}

#[test]
fn a_tool_on_the_path_needs_no_installation() {
    let env = tool_users();
    let text = env
        .read("ensemble.yaml")
        .replace("file: mytool", "file: sh");
    env.write("ensemble.yaml", &text.replace("cat installed", "true"));
    let plan = env.unfurl(["plan"]).succeeds();
    assert!(!plan.all().contains("__artifact__"), "{plan}");
}

#[test]
fn terraform_is_installed_first_where_it_is_missing_and_an_artifact_has_it() {
    requires!("terraform");
    let env = ensemble(
        "
            imports: [{repository: unfurl, file: tosca_plugins/artifacts.yaml}]
            artifact_types:
              Tool:
                derived_from: tosca.artifacts.Root
                interfaces:
                  Standard:
                    operations:
                      create:
                        implementation: Cmd
                        inputs: {cmd: mkdir -p local/tools/bin && ln -sf \"$REAL\" local/tools/bin/terraform}
            topology_template:
              node_templates:
                tools:
                  type: unfurl.nodes.LocalRepository
                  artifacts: {terraform: {type: Tool, file: terraform}}
                web:
                  type: unfurl.nodes.Installer.Terraform
                  properties: {main: \"output \\\"o\\\" { value = 1 }\\n\"}
                  interfaces: {Standard: {operations: {configure: }}}
            ",
    )
    .env();
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles:\n- file: ensemble.yaml\n",
    );
    // The `PATH` has everything but the tool.
    let path = std::env::var("PATH").unwrap();
    let find = |name: &str| {
        let mut folders = path.split(':').map(std::path::Path::new);
        folders.find_map(|folder| Some(folder.join(name)).filter(|it| it.exists()))
    };
    std::fs::create_dir(env.work().join("bin")).unwrap();
    for name in ["sh", "env", "mkdir", "ln", "git", "flock"] {
        let program = find(name).unwrap();
        std::os::unix::fs::symlink(program, env.work().join("bin").join(name)).unwrap();
    }
    let bin = env.work().join("bin").display().to_string();
    let real = find("terraform").unwrap().display().to_string();
    let env = env.variable("REAL", &real).variable("PATH", &bin);
    deploy(&env);
    let record = env.ensemble();
    let installer = &record["status"]["instances"]["__artifact__tools--terraform"];
    assert_eq!(installer["readyState"]["local"], "ok", "{installer}");
    stays_as_it_is(&env);
}

#[test]
fn tools_of_asdf_and_mise_are_on_the_path_of_tasks() {
    let env = node_with(
        "{implementation: {primary: Cmd}, inputs: {cmd: 'mytool > out.txt'}}",
        "",
    );
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles:\n- file: ensemble.yaml\n",
    );
    env.write(".tool-versions", "mytool 2.0\n");
    let home = env.work().join("../home/.asdf/installs/mytool/2.0/bin");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("mytool"), "#!/bin/sh\necho from asdf\n").unwrap();
    let path = home.join("mytool").display().to_string();
    make_executable(&env, &path);
    deploy(&env);
    assert_eq!(env.read("out.txt"), "from asdf\n");
}
