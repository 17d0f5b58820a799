//! The names of secrets in backends, and the places in settings where they are filled in.

use std::fmt::{Display, Formatter};

use super::error::Problem;

/// The text in a setting that stands for the name of the secret.
pub(super) const PLACEHOLDER: &str = "{name}";

/// The name of a secret: parts that are joined by `/`.
///
/// A name cannot lead to another folder, and is no option of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecretName(String);

impl SecretName {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let help = "give the name that the backend knows, such as `db/password`";
        let is_bad = |part: &str| matches!(part, "" | "." | "..");
        let reason = if text.is_empty() {
            "the name is empty"
        } else if text.starts_with('-') {
            "the name begins with `-`"
        } else if text.chars().any(char::is_control) {
            "the name has a control character"
        } else if text.split('/').any(is_bad) {
            "a part of the name is empty, `.` or `..`"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(Problem::new(reason, help))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Fills the name in.
    pub(super) fn fill_in(&self, setting: &str) -> String {
        setting.replace(PLACEHOLDER, &self.0)
    }
}

impl Display for SecretName {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_option_and_leads_to_no_other_folder() {
        for name in ["a", "a/b", "a b", "ä.b", "a-", "{name}", "$(id)"] {
            let parsed = SecretName::parse(name).unwrap();
            assert_eq!(parsed.fill_in("x {name}"), format!("x {name}"));
        }
        for name in [
            "", "-a", "/a", "a/", "a//b", "../a", "a/./b", "a\nb", "a\0", "..", "\u{1b}[m",
        ] {
            let problem = SecretName::parse(name).unwrap_err();
            assert!(
                !problem.reason.is_empty() && !problem.help.is_empty(),
                "{name}"
            );
        }
    }
}
