//! The example of `docs/environments.md`.

use super::super::support::TestEnv;

#[test]
fn the_example_of_the_documentation_prints_the_documented_line() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/environments.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut blocks = page.split("```yaml\n").skip(1);
    let mut block = || {
        blocks
            .next()
            .unwrap()
            .split("```")
            .next()
            .unwrap()
            .to_owned()
    };
    let env = TestEnv::new();
    env.write("unfurl.yaml", &block());
    env.write("ensemble.yaml", &block());
    let env = env
        .variable("PROD_PROFILE", "ops")
        .variable("AWS_PROFILE", "of-shell");
    let expected = page.split("`unfurl deploy` prints `").nth(1).unwrap();
    let expected = expected.split('`').next().unwrap();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(run.stderr.lines().any(|line| line == expected), "{run}");
}
