//! The reference of states: the command `state doc`, and the page `docs/states-reference.md` that is made of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::TestEnv;

/// The text above the tables.
const HEAD: &str = "# Reference of states

A test writes this page from the tables of the program, so it lists what this version has. `unfurl state doc` shows the same.
[States](states.md) explains how states are written and run, and [From Salt](from-salt.md) names the differences.
";

fn reference() -> Json {
    let run = TestEnv::new().unfurl(["state", "doc", "--output", "json"]);
    run.succeeds().json()
}

fn names(values: &Json) -> Vec<String> {
    let values = values.as_array().unwrap().iter();
    values
        .map(|name| format!("`{}`", name.as_str().unwrap()))
        .collect()
}

/// Lists the states of each module with their arguments.
fn states(reference: &Json) -> String {
    let mut page = String::from(
        "\n## States\n\nEach state has the argument `name`, which is the ID if it is left out, and the [global arguments](states.md#compilation).\n",
    );
    let mut module = "";
    for (name, state) in reference["states"].as_object().unwrap() {
        let (of, _) = name.split_once('.').unwrap();
        if of != module {
            module = of;
            let watched = if state["watch"].as_bool().unwrap() {
                ""
            } else {
                "The module has no `mod_watch`, so `watch` counts as `require`.\n\n"
            };
            writeln!(
                page,
                "\n### {module}\n\n{watched}| state | description | arguments |\n|---|---|---|"
            )
            .unwrap();
        }
        let mut arguments = Vec::new();
        let required = names(&state["required"]);
        arguments.extend(required.iter().map(|name| format!("**{name}**")));
        arguments.extend(names(&state["optional"]));
        if state["takes_any"].as_bool().unwrap() {
            arguments.push("any others".to_owned());
        }
        let about = state["about"].as_str().unwrap();
        let reversal = state["reversal"].as_str().unwrap();
        let about = format!("{about} On removal: {reversal}.");
        writeln!(page, "| `{name}` | {about} | {} |", arguments.join(" ")).unwrap();
    }
    page
}

/// Lists the functions of templates by module.
fn functions(reference: &Json) -> String {
    let mut page = String::from(
        "\n## Functions of templates\n\nTemplates call them as `salt['grains.get']('os')` or `salt.grains.get('os')`. Arguments and results are those of Salt.\n\n| module | functions |\n|---|---|\n",
    );
    let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in reference["functions"].as_array().unwrap() {
        let (module, function) = name.as_str().unwrap().split_once('.').unwrap();
        modules
            .entry(module)
            .or_default()
            .push(format!("`{function}`"));
    }
    for (module, functions) in modules {
        writeln!(page, "| `{module}` | {} |", functions.join(" ")).unwrap();
    }
    page
}

fn page(reference: &Json) -> String {
    let mut page = HEAD.to_owned() + &states(reference) + &functions(reference);
    let filters = names(&reference["filters"]).join(" ");
    write!(
        page,
        "\n## Filters\n\nBeside the filters of Jinja: {filters}.\n"
    )
    .unwrap();
    page.push_str("\n## Grains\n\n| grain | meaning |\n|---|---|\n");
    for (name, about) in reference["grains"].as_object().unwrap() {
        writeln!(page, "| `{name}` | {} |", about.as_str().unwrap()).unwrap();
    }
    page
}

#[test]
fn the_page_of_the_reference_is_that_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/states-reference.md");
    let own = page(&reference());
    if std::env::var_os("UPDATE").is_some_and(|said| said == "1") {
        fs::write(&path, &own).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == own,
        "docs/states-reference.md is out of date; UPDATE=1 rewrites it"
    );
}

#[test]
fn the_grains_of_this_machine_are_in_the_reference() {
    let reference = reference();
    let env = TestEnv::new();
    let grains = env.unfurl(["fact", "--output", "json"]);
    let grains = grains.succeeds().json();
    // A fact has the same short name and says `Linux`.
    let os = env.unfurl(["fact", "os", "--output", "json"]).succeeds();
    assert_eq!(os.json(), grains["os"]);
    let unknown: Vec<_> = grains
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| reference["grains"].get(name).is_none())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_state_is_described_by_its_name() {
    let env = TestEnv::new();
    let run = env.unfurl(["state", "doc", "sysctl.present"]).succeeds();
    for part in ["Sets a kernel parameter", "value", "config", "not reverted"] {
        assert!(run.stdout.contains(part), "{run}");
    }
    let run = env.unfurl(["state", "doc", "service"]).succeeds();
    assert!(run.stdout.contains("service.running"), "{run}");
    assert!(!run.stdout.contains("file.managed"), "{run}");
    let run = env.unfurl(["state", "doc", "grains"]).succeeds();
    assert!(run.stdout.contains("os_family"), "{run}");
}

#[test]
fn a_misspelt_state_has_a_hint() {
    for (word, hint) in [
        ("pkg.instaled", "pkg.installed"),
        ("servise", "service"),
        ("grain", "grains"),
    ] {
        let run = TestEnv::new().unfurl(["state", "doc", word]).exits(2);
        assert!(
            run.stderr.contains(&format!("did you mean `{hint}`")),
            "{run}"
        );
    }
}

#[test]
fn the_states_that_pages_for_newcomers_name_exist() {
    let reference = reference();
    let states = reference["states"].as_object().unwrap();
    let modules: Vec<&str> = states
        .keys()
        .filter_map(|name| name.split('.').next())
        .collect();
    for page in ["from-salt.md", "from-pyinfra.md", "states.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(page);
        let text = fs::read_to_string(path).unwrap();
        let last_column = |line: &str| {
            line.trim_end_matches(" |")
                .rsplit("| ")
                .next()
                .map(str::to_owned)
        };
        let cells = text
            .lines()
            .filter(|line| line.starts_with("| "))
            .filter_map(last_column);
        let mut count = 0;
        for cell in cells {
            for word in cell.split('`').skip(1).step_by(2) {
                let name = word.split([':', ' ']).next().unwrap_or_default();
                let Some((module, _)) = name.split_once('.') else {
                    continue;
                };
                if modules.contains(&module) {
                    assert!(states.contains_key(name), "{page} names `{name}`");
                    count += 1;
                }
            }
        }
        assert!(page == "states.md" || count > 0, "{page} names no state");
    }
}
