//! Finds passwords that a project file contains as plain text.

use crate::yaml::Node;

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

/// Returns the key of the first password in a document that is a plain text.
///
/// A password that comes from a variable, a template or an encrypted value is none.
pub(super) fn find_open_password(document: &Node) -> Option<String> {
    let mut open = vec![(document, "")];
    while let Some((node, key)) = open.pop() {
        for (name, entry) in node.as_map().into_iter().flatten() {
            let is_password =
                PASSWORD_KEYS.contains(&&**name) || (key == CREDENTIAL_KEY && &**name == TOKEN_KEY);
            if is_password && is_plain(&entry.value) {
                return Some(name.to_string());
            }
            open.push((&entry.value, name));
        }
        open.extend(node.as_seq().into_iter().flatten().map(|item| (item, "")));
    }
    None
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
        find_open_password(&parse_text(Schema::Core, text).unwrap())
    }

    #[test]
    fn only_plain_texts_are_passwords() {
        assert_eq!(found("a: [{password: x}]").as_deref(), Some("password"));
        let credential = "c: {credential: {user: u, token: x}}";
        assert_eq!(found(credential).as_deref(), Some("token"));
        for text in [
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
