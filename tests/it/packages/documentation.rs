//! The commands of `docs/packages.md` work, in their order.

use super::{publish, types, world};

#[test]
fn each_command_of_the_page_works() {
    let env = world();
    publish(&env, "types", &[("types.yaml", &types("one"))], "v1.2.0");
    publish(
        &env,
        "app",
        &[("unfurl.yaml", "apiVersion: unfurl/v1.0.0\nkind: Project\n")],
        "",
    );
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/packages.md")).unwrap();
    let block = |language: &str, number: usize| {
        let blocks = page.split("```").skip(1).step_by(2);
        let mut blocks =
            blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
        blocks.nth(number).unwrap().to_owned()
    };
    let indented = |text: String| {
        let lines: Vec<String> = text.lines().map(|line| format!("    {line}\n")).collect();
        lines.concat()
    };
    env.write(
        "proj/ensemble/ensemble.yaml",
        &format!(
            "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n{}    topology_template:\n      \
             node_templates:\n        it: {{type: Speaker}}\n",
            indented(block("yaml", 0))
        ),
    );
    let commands = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ unfurl "));
    let mut count = 0;
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        env.unfurl_in("proj", &[], &words).succeeds();
        count += 1;
    }
    assert_eq!(count, 4);
    // The rules of the page are valid; none of them applies to the package.
    let rules = block("yaml", 1).replace("example.test/types:", "example.test/other:");
    env.write(
        "proj/unfurl.yaml",
        &format!("apiVersion: unfurl/v1.0.0\nkind: Project\n{rules}"),
    );
    env.unfurl_in("proj", &[], &["validate", "--locked"])
        .succeeds();
}
