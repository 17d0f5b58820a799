//! The commands of `docs/inputs.md` do what the page says.

use crate::support::TestEnv;

/// The answers of the commands under "Try it", in order.
const ANSWERS: [&str; 7] = [
    "name = \"world\"   default, ",
    "Hello, Ada!",
    "name: \"Ada\" -> \"world\"",
    "Nothing to do",
    "Nothing to do",
    "name: \"Ada\" -> \"Bob\"   UNFURL_INPUT_NAME",
    "Torn down: 2 deleted",
];

#[test]
fn the_commands_of_the_page_on_inputs_work_in_the_example() {
    let page = include_str!("../../../docs/inputs.md");
    let (_, rest) = page.split_once("## Try it").unwrap();
    let block = rest.split("```").nth(1).unwrap();
    let lines: Vec<&str> = block.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), ANSWERS.len());
    let env = TestEnv::with_example("hello");
    for (line, answer) in lines.into_iter().zip(ANSWERS) {
        let command = line.split('#').next().unwrap();
        let (variables, words) = command.split_once("unfurl").unwrap();
        let variables: Vec<(String, String)> = variables
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let words: Vec<&str> = words.split_whitespace().collect();
        let run = env.unfurl_in(".", &variables, &words).succeeds();
        assert!(
            run.stdout.contains(answer),
            "{line}: `{answer}` is missing\n{run}"
        );
    }
    assert_eq!(env.ensemble()["spec"]["inputs"]["name"], "Ada");
}
