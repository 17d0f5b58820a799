//! The `primary` of an implementation: an artifact, a configurator or a file, but no command line.

use crate::support::TestEnv;

fn ensemble(implementation: &str) -> TestEnv {
    let text = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        good: {type: tosca.nodes.Root, interfaces: {Standard: {create: echo good >> log}}}
        app:
          type: tosca.nodes.Root
          interfaces: {Standard: {operations: {create: {implementation: <implementation>}}}}
";
    TestEnv::with_ensemble(&text.replace("<implementation>", implementation))
}

#[test]
fn a_primary_that_is_no_file_runs_nothing_and_says_so() {
    for text in ["echo app >> log", "touch", "none --fast"] {
        let env = ensemble(&format!("{{primary: '{text}'}}"));
        let message = format!("`{text}`");
        let hint =
            format!("write `implementation: {text}`, or `primary: Cmd` with the input `cmd`");
        let run = env.unfurl(["validate"]).exits(1);
        assert!(
            run.all().contains(&message) && run.all().contains(&hint),
            "{run}"
        );
        let run = env.unfurl(["deploy", "--approve"]).exits(64);
        assert!(run.all().contains(&hint), "{run}");
        assert_eq!(env.read("log"), "good\n");
        let app = &env.ensemble()["status"]["instances"]["app"];
        assert_eq!(app["readyState"]["local"], "pending");
    }
}

#[test]
fn a_primary_that_names_a_file_runs_it_and_a_text_is_a_command() {
    for implementation in [
        "{primary: ./make.sh}",
        "{primary: ./make.sh app}",
        "./make.sh app",
    ] {
        let env = ensemble(implementation);
        env.write("make.sh", "#!/bin/sh\necho app >> log\n");
        let path = env.work().join("make.sh");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
        env.unfurl(["validate"]).succeeds();
        env.unfurl(["deploy", "--approve", "--parallel", "1"])
            .succeeds();
        assert_eq!(env.read("log"), "good\napp\n", "{implementation}");
    }
}
