//! Ansible Vault: encrypted values and files, passwords, filters, and the folders `secrets` and `.secrets`.

mod ansible;
mod filters;
mod folders;
mod values;

use unfurl::testing::secret::seal;

/// The variable with the password of the tests.
const PASSWORD: (&str, &str) = ("UNFURL_VAULT_DEFAULT_PASSWORD", "pass");

/// Returns a `!vault` value whose lines are indented by some columns.
fn vault(tag: &str, clear: &str, id: &str, password: &str, indentation: usize) -> String {
    let text = seal(clear.as_bytes(), id, password).unwrap();
    let lines = text.lines();
    let lines = lines.map(|line| format!("\n{}{line}", " ".repeat(indentation)));
    format!("{tag} |{}", lines.collect::<String>())
}
