//! Finds passwords that a project file contains as plain text.

use crate::diagnostic::Span;
use crate::expr::is_stand_alone;
use crate::yaml::{Node, NodeKind};

/// The keys whose value is a password.
const PASSWORD_KEYS: [&str; 8] = [
    "password",
    "passphrase",
    "private_key_passphrase",
    "ansible_password",
    "ansible_ssh_pass",
    "ansible_ssh_password",
    "ansible_become_pass",
    "ansible_become_password",
];
/// The key of a password in a credential, and the key of the credential.
const TOKEN_KEY: &str = "token";
const CREDENTIAL_KEY: &str = "credential";

/// A password that a document contains as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenPassword {
    pub(super) key: String,
    pub(super) span: Span,
}

impl OpenPassword {
    fn new(key: &str, value: &Node) -> Self {
        Self {
            key: key.to_owned(),
            span: value.span(),
        }
    }
}

/// Returns the first password in a document that is a plain text, or else the first such value under `secrets` of
/// an environment.
///
/// A password that comes from a variable, a template or an encrypted value is none.
pub(super) fn find_open_password(document: &Node) -> Option<OpenPassword> {
    find_password(document).or_else(|| {
        let environments = document.get("environments").and_then(Node::as_map);
        let mut environments = environments.into_iter().flatten();
        environments.find_map(|(_, environment)| find_secret(environment.value.get("secrets")?))
    })
}

/// Returns the first value of the section `secrets` that is no expression.
fn find_secret(section: &Node) -> Option<OpenPassword> {
    let mut open = vec![section];
    while let Some(node) = open.pop() {
        for (name, entry) in node.as_map().into_iter().flatten() {
            let value = &entry.value;
            let is_number = matches!(value.kind(), NodeKind::Int(_) | NodeKind::Big(_));
            if is_plain(value) || is_number {
                return Some(OpenPassword::new(name, value));
            }
            let calls = value.as_map().into_iter().flatten();
            let is_call = calls.map(|(name, _)| name).any(|name| is_function(name));
            if !is_call {
                open.push(value);
            }
        }
    }
    None
}

/// Returns true if a map with the key is an expression.
fn is_function(key: &str) -> bool {
    matches!(key, "eval" | "ref" | "q") || is_stand_alone(key)
}

fn find_password(document: &Node) -> Option<OpenPassword> {
    let mut found = open_passwords(document).into_iter();
    found
        .next()
        .map(|(key, value)| OpenPassword::new(&key, value))
}

/// Returns the passwords in a document that are plain texts, each with its key.
///
/// A password that comes from a variable, a template or an encrypted value is none.
pub fn open_passwords(document: &Node) -> Vec<(String, &Node)> {
    let mut found = Vec::new();
    let mut open = vec![(document, "")];
    while let Some((node, key)) = open.pop() {
        for (name, entry) in node.as_map().into_iter().flatten() {
            let is_password =
                PASSWORD_KEYS.contains(&&**name) || (key == CREDENTIAL_KEY && &**name == TOKEN_KEY);
            if is_password && is_plain(&entry.value) {
                found.push((name.to_string(), &entry.value));
            }
            open.push((&entry.value, name));
        }
        open.extend(node.as_seq().into_iter().flatten().map(|item| (item, "")));
    }
    found
}

fn is_plain(value: &Node) -> bool {
    let text = value.as_str().filter(|_| !value.is_opened());
    text.is_some_and(|text| !text.is_empty() && !text.contains("{{") && !text.contains("{%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    fn found(text: &str) -> Option<String> {
        let found = find_open_password(&parse_text(Schema::Core, text).unwrap());
        found.map(|found| found.key)
    }

    #[test]
    fn only_plain_texts_are_passwords() {
        assert_eq!(found("a: [{password: x}]").as_deref(), Some("password"));
        let credential = "c: {credential: {user: u, token: x}}";
        assert_eq!(found(credential).as_deref(), Some("token"));
        let secret = |text: &str| found(&format!("environments: {{a: {{secrets: {text}}}}}"));
        assert_eq!(secret("{x: y}").as_deref(), Some("x"));
        assert_eq!(secret("{x: 12}").as_deref(), Some("x"));
        assert_eq!(
            secret("{e: {get_env: X}, vault_secrets: {default: y}}").as_deref(),
            Some("default")
        );
        for text in [
            "{x: {get_env: Y}}",
            "{x: {eval: {get_secret: y, from: z}}}",
            "{x: '{{ y }}', z: , f: {eval: {secret: y}}}",
        ] {
            assert_eq!(secret(text), None, "{text}");
        }
        for text in [
            "secrets: {x: y}",
            "password: {get_env: PW}",
            "password: \"{{ lookup('env', 'PW') }}\"",
            "password: ''",
            "password:",
            "token: x",
            "passwords: x",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
