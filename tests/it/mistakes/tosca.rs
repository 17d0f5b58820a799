//! Service templates with one mistake each, in `tests/data/mistakes/tosca`.

use std::path::Path;

use crate::support::TestEnv;

/// A file, the beginning of the message, the place, and the hint.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const MISTAKES: &[Mistake] = &[
    (
        "01-unknown-type",
        "there is no node type `tosca.nodes.DBSM`",
        "5:13",
        "did you mean `tosca.nodes.DBMS`?",
    ),
    (
        "02-text-for-integer",
        "the value `four` of property `num_cpus` in capability `host` of node template `server` is not an integer",
        "7:39",
        "the type of `num_cpus` is `integer`",
    ),
    (
        "03-missing-property",
        "node template `app` has no property `url`, which `App` requires",
        "9:5",
        "add `url` to its `properties`",
    ),
    (
        "04-misspelt-property",
        "property `urll` is not declared on `App`",
        "12:9",
        "did you mean `url`?",
    ),
    (
        "05-constraint",
        "the value `99` of property `workers` in node template `app` is not between 1 and 8",
        "11:29",
        "choose a value that the constraints of `workers` allow",
    ),
    (
        "06-missing-target",
        "requirement `host` of `web` names `servr`, which is neither a node template nor a node type",
        "7:17",
        "did you mean `server`?",
    ),
    (
        "07-wrong-target",
        "requirement `host` of node template `web` needs capability `tosca.capabilities.Compute`, which `disk` does not have",
        "7:11",
        "the capabilities of `disk` are ",
    ),
    (
        "08-unknown-key",
        "node template `server` has no key `propertis`",
        "6:7",
        "did you mean `properties`?",
    ),
    (
        "09-missing-import",
        "the imported file `types/app.yaml` does not exist",
        "3:5",
        "correct its name; relative paths start from the folder of this file",
    ),
    (
        "10-tab",
        "a tab cannot be used as indentation",
        "4:2",
        "use spaces",
    ),
    (
        "11-types-in-a-circle",
        "types derive from each other: `A` → `B`",
        "3:3",
        "remove one `derived_from` from the cycle",
    ),
    (
        "12-misspelt-input",
        "property `num_cpus` of capability `host` of node template `server` reads the input `cpu`, which is not declared",
        "9:51",
        "did you mean `cpus`?",
    ),
    (
        "13-substitution-capability",
        "`host` in `capabilities` of `substitution_mappings` names the capability `hosst` of `server`, which it does not have",
        "8:22",
        "did you mean `host`?",
    ),
    (
        "14-key-twice",
        "the key `server` occurs twice",
        "6:5",
        "remove or rename one of them",
    ),
    (
        "15-unknown-unit",
        "the value `4 GBs` of property `mem_size` in capability `host` of node template `server` is not a number with a unit",
        "7:39",
        "the type of `mem_size` is `scalar-unit.size`",
    ),
];

#[test]
fn each_mistake_is_an_error_with_its_place_and_a_hint() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mistakes/tosca");
    let mut wrong = Vec::new();
    for (name, message, place, hint) in MISTAKES {
        let env = TestEnv::new();
        let file = format!("{name}.yaml");
        env.write(&file, &std::fs::read_to_string(folder.join(&file)).unwrap());
        let run = env.unfurl(["validate", "--no-shellcheck", &file]);
        let is_right = run.code == 1
            && run.stderr.contains(&format!("error: {message}"))
            && run.stderr.contains(&format!("--> {file}:{place}\n"))
            && run.stderr.contains(&format!("hint: {hint}"))
            && run.stderr.matches("error: ").count() == 1;
        if !is_right {
            wrong.push(format!("{name}, exit code {}:\n{}", run.code, run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
