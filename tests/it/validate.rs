//! `unfurl validate`: the files that it accepts, and its messages.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use crate::support::TestEnv;

const META: &str = "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nEntry-Definitions: Definitions/main.yaml\n\nName: x\n";
const MAIN: &str = "tosca_definitions_version: tosca_simple_yaml_1_3
imports: [types.yaml]
topology_template:
  node_templates:
    app: {type: App}
";
const TYPES: &str = "tosca_definitions_version: tosca_simple_yaml_1_3
node_types:
  App:
    derived_from: tosca.nodes.Root
    interfaces: {Standard: {create: ../scripts/create.sh}}
";

fn zip(path: &Path, files: &[(&str, &str)]) {
    let mut writer = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, text) in files {
        writer
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_service_template_alone_is_checked() {
    let env = TestEnv::new();
    env.write("types.yaml", TYPES);
    env.write("main.tosca", MAIN);
    let run = env.unfurl(["validate", "main.tosca"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, "No errors were found.\n");

    env.write("main.tosca", &MAIN.replace("type: App", "type: Ap"));
    let run = env.unfurl(["validate", "main.tosca"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr
            .contains("error: there is no node type `Ap`\n --> main.tosca:5:17\n")
    );
    assert!(run.stderr.contains("hint: did you mean `App`?"));
    let json = env
        .unfurl(["validate", "main.tosca", "--output", "json"])
        .json();
    assert_eq!(json["errors"][0]["message"], "there is no node type `Ap`");
    let sarif = env
        .unfurl(["validate", "main.tosca", "--output", "sarif"])
        .json();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "main.tosca");
    assert_eq!(place["region"]["startLine"], 5);
}

#[test]
fn a_text_that_is_nothing_known_is_refused_at_its_place() {
    let env = TestEnv::new();
    for (text, told) in [
        (
            "a: 1\n",
            "the service template has no `tosca_definitions_version`\n --> x.yaml:1:1\n",
        ),
        (
            "- a\n",
            "this file is not an ensemble, project or service template: it contains a list\n --> x.yaml:1:1\n",
        ),
        ("", "--> x.yaml:1:1\n"),
        ("a: [\n", "--> x.yaml:"),
        (
            "tosca_definitions_version: tosca_9\n",
            "`tosca_9` is not a supported version of TOSCA\n --> x.yaml:1:28\n",
        ),
    ] {
        env.write("x.yaml", text);
        let run = env.unfurl(["validate", "x.yaml"]);
        assert_eq!(run.code, 1, "{text}");
        assert!(run.stderr.contains(told), "{text}: {}", run.stderr);
    }
    std::fs::write(env.work().join("x.yaml"), b"a: 1\nb: \xff\n").unwrap();
    let run = env.unfurl(["validate", "x.yaml"]);
    assert!(run.stderr.contains("--> x.yaml:2:4\n"), "{}", run.stderr);
}

#[test]
fn a_csar_is_checked_as_archive_and_as_folder() {
    let env = TestEnv::new();
    let files = [
        ("TOSCA-Metadata/TOSCA.meta", META),
        ("Definitions/main.yaml", MAIN),
        ("Definitions/types.yaml", TYPES),
        ("scripts/create.sh", "true\n"),
    ];
    zip(&env.work().join("good.csar"), &files);
    zip(&env.work().join("bad.zip"), &files[..3]);
    for (name, text) in files {
        env.write(&format!("folder/{name}"), text);
    }
    let tar = std::process::Command::new("tar")
        .args(["-czf", "good.tar.gz", "-C", "folder", "."])
        .current_dir(env.work())
        .status()
        .unwrap();
    assert!(tar.success());
    for good in ["good.csar", "good.tar.gz", "folder"] {
        let run = env.unfurl(["validate", good]);
        assert_eq!(run.code, 0, "{good}: {}", run.stderr);
    }
    let run = env.unfurl(["validate", "bad.zip"]);
    assert_eq!(run.code, 1);
    let told = "error: the archive has no file `../scripts/create.sh`\n --> bad.zip/Definitions/types.yaml:5:37\n";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn a_csar_whose_entry_is_missing_says_where_it_is_named() {
    let env = TestEnv::new();
    zip(
        &env.work().join("a.csar"),
        &[("TOSCA-Metadata/TOSCA.meta", META)],
    );
    zip(
        &env.work().join("b.csar"),
        &[("TOSCA.meta", "CSAR-Version: 1.1\n")],
    );
    zip(
        &env.work().join("c.csar"),
        &[("a.yaml", TYPES), ("b.yaml", TYPES)],
    );
    zip(&env.work().join("d.csar"), &[("x/a.yaml", TYPES)]);
    zip(&env.work().join("e.csar"), &[("a.yaml", TYPES)]);
    zip(
        &env.work().join("f.csar"),
        &[("a.yaml", &TYPES.replace("1_3", "1_0"))],
    );
    for (name, told) in [
        ("a", "a.csar/TOSCA-Metadata/TOSCA.meta:3:1\n"),
        (
            "b",
            "`TOSCA.meta` has no `Entry-Definitions`\n --> b.csar/TOSCA.meta:1:1\n",
        ),
        (
            "c",
            "more than one service template\n --> c.csar/b.yaml:1:28\n",
        ),
        (
            "d",
            "contains neither `TOSCA-Metadata/TOSCA.meta` nor a service template",
        ),
        ("f", "which TOSCA 1.0 requires\n --> f.csar/a.yaml:1:28\n"),
    ] {
        let run = env.unfurl(["validate", &format!("{name}.csar")]);
        assert_eq!(run.code, 1, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{name}: {}", run.stderr);
    }
    // With TOSCA 1.3, an archive with a single template of only types is valid.
    let run = env.unfurl(["validate", "e.csar"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn an_archive_cannot_import_what_is_outside_of_it() {
    let env = TestEnv::new();
    env.write("types.yaml", TYPES);
    let main = MAIN.replace("types.yaml", "../types.yaml");
    zip(&env.work().join("a.csar"), &[("main.yaml", &main)]);
    let run = env.unfurl(["validate", "a.csar"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("the imported file `../types.yaml` does not exist")
    );
}

#[test]
fn a_file_on_the_network_is_not_fetched_and_its_types_are_missed() {
    let env = TestEnv::new();
    let url = "https://example.com/types.yaml";
    env.write(
        "main.yaml",
        &MAIN.replace("[types.yaml]", &format!("['{url}']")),
    );
    let run = env.unfurl(["validate", "main.yaml"]);
    assert_eq!(run.code, 1);
    let message = format!(
        "error: `{url}` was not fetched, and may declare a name that is unknown\n --> main.yaml:2:11\n"
    );
    assert!(run.stderr.contains(&message), "{}", run.stderr);
    assert!(run.stderr.contains("there is no node type `App`"));
    assert_eq!(run.stderr.matches("error: ").count(), 1, "{}", run.stderr);
}

#[test]
fn all_ensembles_of_a_project_are_checked() {
    let env = TestEnv::new();
    let ensemble = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {service_template: {tosca_definitions_version: tosca_simple_unfurl_1_0_0, topology_template: {node_templates: {a: {type: X}}}}}\n";
    env.write("unfurl.yaml", "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles: [{file: one/ensemble.yaml}, {file: two/ensemble.yaml}]\n");
    env.write("one/ensemble.yaml", ensemble);
    env.write("two/ensemble.yaml", ensemble);
    for path in [".", "unfurl.yaml"] {
        let run = env.unfurl(["validate", path]);
        assert_eq!(run.code, 1);
        for name in ["one", "two"] {
            assert!(
                run.stderr.contains(&format!("--> {name}/ensemble.yaml:3:")),
                "{}",
                run.stderr
            );
        }
    }
}

#[test]
fn what_is_wrong_with_imported_types_that_nobody_uses_is_a_warning() {
    let env = TestEnv::new();
    env.write("main.yaml", MAIN);
    let unused = format!(
        "{TYPES}  Other: {{derived_from: Nowhere, properties: {{a: {{type: Nothing}}}}}}\n"
    );
    env.write("types.yaml", &unused.replace("../scripts", "."));
    let run = env.unfurl(["validate", "main.yaml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("warning: there is no node type `Nowhere`")
    );
    assert!(
        run.stderr
            .contains("warning: there is no data type `Nothing`")
    );
    assert_eq!(env.unfurl(["validate", "types.yaml"]).code, 1);
}

#[test]
fn a_condition_of_an_import_is_an_expression_over_the_model() {
    let env = TestEnv::new();
    let main = MAIN.replace(
        "[types.yaml]",
        "[{file: types.yaml, when: '::app::[.type=App]'}, {file: bad.yaml, when: '::nobody'}]",
    );
    env.write("main.yaml", &main);
    env.write("types.yaml", &TYPES.replace("../scripts", "."));
    env.write(
        "bad.yaml",
        &TYPES.replace("App", "Bad: {derived_from: Nowhere}\n  Apt"),
    );
    let run = env.unfurl(["validate", "main.yaml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("Nowhere"), "{}", run.stderr);
    env.write("main.yaml", &main.replace("nobody", "app"));
    let run = env.unfurl(["validate", "main.yaml"]);
    assert!(run.stderr.contains("Nowhere"), "{}", run.stderr);
    env.write("main.yaml", &main.replace("::nobody", "::a["));
    let run = env.unfurl(["validate", "main.yaml"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("the condition of an import cannot be evaluated"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("--> main.yaml:2:"), "{}", run.stderr);
}

#[test]
fn the_entry_of_a_folder_is_in_the_folder() {
    let env = TestEnv::new();
    env.write("outside.yaml", "secret: 1\n");
    env.write(
        "csar/TOSCA-Metadata/TOSCA.meta",
        "CSAR-Version: 1.1\nEntry-Definitions: ../outside.yaml\n",
    );
    let run = env.unfurl(["validate", "csar"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("does not contain its service template"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}
