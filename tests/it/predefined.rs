//! The repositories that need no declaration: `unfurl`, `self` and `spec`.

use std::path::{Path, PathBuf};

use crate::support::TestEnv;

/// An ensemble with imports from the predefined repository `unfurl`, and nodes of the imported types.
const ALL: &str = r#"apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    imports:
      - {repository: unfurl, file: tosca_plugins/artifacts.yaml}
      - {repository: unfurl, file: tosca_plugins/localhost.yaml}
      - {repository: unfurl, file: tosca_plugins/k8s.yaml}
      - {repository: unfurl, file: tosca_plugins/googlecloud.yaml}
      - {repository: unfurl, file: configurators/templates/docker.yaml}
      - {repository: unfurl, file: configurators/templates/dns.yaml}
      - {repository: unfurl, file: configurators/templates/helm.yaml}
      - {repository: unfurl, file: configurators/templates/supervisor.yaml}
    topology_template:
      node_templates:
        terraform: {type: unfurl.nodes.Installer.Terraform}
        machine: {type: unfurl.nodes.Localhost}
        cluster: {type: unfurl.nodes.K8sCluster}
        space: {type: unfurl.nodes.K8sNamespace, requirements: [{host: cluster}]}
        secret:
          type: unfurl.nodes.K8sSecretResource
          requirements: [{host: space}]
          properties: {key: password, keyValue: secret}
        release:
          type: unfurl.nodes.HelmRelease
          requirements: [{host: space}]
          properties: {chart: stable/app}
        charts: {type: unfurl.nodes.HelmRepository, properties: {url: "https://example.com"}}
        project: {type: unfurl.nodes.GoogleCloudProject, properties: {name: shop}}
        key: {type: unfurl.nodes.GoogleCloudServiceKey, properties: {account_id: me}}
        container:
          type: unfurl.nodes.Container.Application.Docker
          properties: {container: {image: busybox, ports: ["80:80"], restart: always}}
        zone:
          type: unfurl.nodes.DNSZone
          properties: {name: example.com, provider: {class: octodns.provider.Provider}}
        supervisor: {type: unfurl.nodes.Supervisor}
        program:
          type: unfurl.nodes.ProcessController.Supervisor
          requirements: [{host: supervisor}]
          properties: {name: sleep, program: {command: sleep 1}}
"#;

/// A service template with one import.
fn with_import(import: &str) -> String {
    format!(
        "apiVersion: unfurl/v1alpha1\nkind: Ensemble\nspec:\n  service_template:\n    imports: [{import}]\n"
    )
}

#[test]
fn every_file_of_the_repository_unfurl_can_be_imported_and_planned() {
    let env = TestEnv::with_ensemble(ALL);
    let run = env.unfurl(["validate"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, "No errors were found.\n");

    let run = env.unfurl(["plan"]);
    for (node, operations) in [
        ("machine", &["configure"][..]),
        ("space", &["configure"]),
        ("secret", &["configure"]),
        ("release", &["configure"]),
        ("charts", &["configure"]),
        ("project", &["configure"]),
        ("key", &["create"]),
        ("container", &["configure", "start"]),
        ("zone", &["configure"]),
        ("supervisor", &["create", "start"]),
        ("program", &["configure", "start"]),
    ] {
        let (_, rest) = run.stdout.split_once(&format!(" {node} (")).unwrap();
        let own = rest.split("\n\n").next().unwrap();
        for operation in operations {
            assert!(
                own.lines().any(|line| {
                    let line = line.strip_prefix("    ").unwrap_or_default();
                    line == *operation || line.starts_with(&format!("{operation}:"))
                }),
                "{node}: {own}"
            );
        }
    }
}

#[test]
fn an_operation_whose_configurator_is_missing_says_which() {
    let env = TestEnv::with_ensemble(ALL);
    let run = env.unfurl(["plan"]);
    for (operation, class) in [
        ("Standard.configure of `secret`", "k8s.ResourceConfigurator"),
        ("Standard.configure of `zone`", "dns.DNSConfigurator"),
        (
            "Standard.start of `program`",
            "supervisor.SupervisorConfigurator",
        ),
    ] {
        let told = run.stderr.lines().find(|line| line.contains(operation));
        assert!(
            told.is_some_and(|line| line.contains(class)),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn every_file_of_the_repository_unfurl_is_valid_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/unfurl");
    let mut folders = vec![root];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let list = if path.is_dir() {
                &mut folders
            } else {
                &mut files
            };
            list.push(path);
        }
    }
    assert_eq!(files.len(), 8);
    for file in files {
        let run = TestEnv::new().unfurl(["validate", file.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{}: {}", file.display(), run.stderr);
        assert_eq!(run.stderr, "", "{}", file.display());
    }
}

#[test]
fn problems_in_a_use_of_the_repository_unfurl_name_its_files() {
    let import = "{repository: unfurl, file: tosca_plugins/docker.yaml}";
    let run = TestEnv::with_ensemble(&with_import(import)).unfurl(["validate"]);
    assert_eq!(run.code, 1);
    let told =
        "error: there is no file `unfurl:tosca_plugins/docker.yaml`\n --> ensemble.yaml:5:42\n";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    let help = "the files of the repository `unfurl` are configurators/templates/dns.yaml, ";
    assert!(run.stderr.contains(help), "{}", run.stderr);
}

#[test]
fn a_merge_directive_takes_files_of_the_repository_unfurl() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    +include: {file: configurators/templates/supervisor.yaml, repository: unfurl}
    topology_template:
      node_templates:
        supervisor: {type: unfurl.nodes.Supervisor}
",
    );
    let run = env.unfurl(["validate"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_repository_unfurl_of_the_users_own_takes_precedence() {
    let types = "tosca_definitions_version: tosca_simple_unfurl_1_0_0\nnode_types: {Mine: {derived_from: tosca.nodes.Root}}\n";
    let env = TestEnv::new();
    env.write("repo/tosca_plugins/k8s.yaml", types);
    let import = "{repository: unfurl, file: tosca_plugins/k8s.yaml}";
    let more = "    repositories: {unfurl: {url: 'file:repo'}}
    topology_template: {node_templates: {mine: {type: Mine}}}\n";
    env.write("ensemble.yaml", &(with_import(import) + more));
    let run = env.unfurl(["validate"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn self_is_the_folder_of_the_ensemble_and_spec_that_of_the_project() {
    let env = TestEnv::new();
    let types = |name: &str| {
        format!(
            "tosca_definitions_version: tosca_simple_unfurl_1_0_0\nnode_types: {{{name}: {{derived_from: tosca.nodes.Root}}}}\n"
        )
    };
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nensembles: [{file: one/ensemble.yaml}]\n",
    );
    env.write("types.yaml", &types("OfProject"));
    env.write("one/types.yaml", &types("OfEnsemble"));
    let outer = "tosca_definitions_version: tosca_simple_unfurl_1_0_0
imports: [{repository: self, file: types.yaml}, {repository: spec, file: types.yaml}]\n";
    env.write("one/deep/outer.yaml", outer);
    let nodes =
        "    topology_template: {node_templates: {a: {type: OfEnsemble}, b: {type: OfProject}}}\n";
    env.write(
        "one/ensemble.yaml",
        &(with_import("deep/outer.yaml") + nodes),
    );
    let run = env.unfurl(["validate", "one/ensemble.yaml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_release_of_helm_is_deployed_with_the_helm_of_the_path() {
    use std::os::unix::fs::PermissionsExt as _;

    let text = with_import("{repository: unfurl, file: configurators/templates/helm.yaml}")
        + "    topology_template:
      node_templates:
        release:
          type: unfurl.nodes.HelmRelease
          properties: {chart: stable/app, version: '2', chart_values: {a: 1}, record_resources: false}
";
    let mut env = TestEnv::with_ensemble(&text);
    let calls = env.work().join("calls");
    let helm = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\necho '{{}}'\n",
        calls.display()
    );
    env.write("bin/helm", &helm);
    let program = env.work().join("bin/helm");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        env.work().join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    env = env.variable("PATH", &path);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let calls = env.read("calls");
    let expected =
        "upgrade --install --version 2 release stable/app -o json --reuse-values --values ";
    assert!(calls.starts_with(expected), "{calls}");
    assert!(calls.ends_with("/values.yaml\n"), "{calls}");
}
