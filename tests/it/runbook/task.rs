//! `unfurl task`.

use crate::support::TestEnv;

#[test]
fn the_tasks_are_listed_with_the_first_line_of_what_they_are_for() {
    let env = TestEnv::new();
    env.write(
        "tasks.yaml",
        "tasks:\n  up:\n    description: |\n      Starts it.\n      In detail.\n    run: start\n  down: stop\n",
    );
    let run = env.unfurl(["task", "-l"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    down
    up    Starts it.
    ");
}
