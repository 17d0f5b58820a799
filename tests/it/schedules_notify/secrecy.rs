//! Keys and URLs of webhooks stay out of logs, files and screens.

use super::project::{break_task, project};
use super::receiver::Receiver;

const KEY: &str = "hush-KEY-1";
const TOKEN: &str = "T0K3N-in-path";

#[test]
fn keys_and_paths_of_webhooks_are_written_nowhere() {
    let receiver = Receiver::start(&[500]);
    let env = project(&format!(
        "t: {{every: 1h, action: task, task: look, notify: [
  {{webhook: {{url: 'http://{0}/{TOKEN}', secret: {{env: HOOK_KEY}}}}}},
  {{webhook: {{url: 'http://127.0.0.1:1/{TOKEN}', secret: {{file: key}}}}}},
  {{webhook: {{url: 'http://{0}/a/{TOKEN}', secret: {KEY}}}}}]}}",
        receiver.address
    ));
    env.write("key", KEY);
    let env = env.variable("HOOK_KEY", KEY);
    break_task(&env, true);
    let mut said = env.unfurl(["schedule", "run", "t"]).exits(1).all();
    for arguments in [
        &["schedule", "log"][..],
        &["schedule", "list"],
        &["schedule", "list", "--output", "json"],
        &["validate"],
        &["validate", "--output", "json"],
        &["-vvv", "schedule", "run", "t"],
    ] {
        said += &env.unfurl(arguments).does_not_panic().all();
    }
    assert!(
        said.contains("the secret of a webhook stands in clear"),
        "{said}"
    );
    for secret in [KEY, TOKEN] {
        assert!(!said.contains(secret), "{said}");
    }
    let key_file = env.work().join("key").display().to_string();
    for (path, bytes) in env.files() {
        let is_source = path.ends_with("/unfurl.yaml") || path == key_file;
        let text = String::from_utf8_lossy(&bytes);
        let is_clean = !text.contains(KEY) && !text.contains(TOKEN);
        assert!(is_source || is_clean, "{path}: {text}");
    }
}
