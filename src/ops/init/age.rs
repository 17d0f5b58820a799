//! The readers of a new project whose secrets are encrypted with age.

use std::path::Path;

use indexmap::IndexMap;

use super::registration::home_of;
use super::request::{InitRequest, SecretsChoice};
use crate::ops::failure::{Failure, FailureKind};
use crate::secret::{
    AgeRecipient, Identities, POLICY_FILE, ReaderPolicy, create_identity, identity_file_of_user,
};
use crate::skeleton::NewFile;
use crate::system::env::Env;
use crate::system::{fs, user};
use crate::yaml::{Node, Schema, parse_text};

/// The key of the home project that chooses how new projects encrypt their secrets.
const HOME_KEY: &str = "secrets";
/// The note for the user of a project with age alone.
const NOTE: &str = "the secrets of this project are encrypted with age, which Unfurl (Python) does not read: its \
                    ensembles cannot change hands";

/// The first reader of a new project.
#[derive(Debug, Clone)]
pub(super) struct FirstReader {
    name: String,
    key: AgeRecipient,
    /// The facts that the user should know.
    pub(super) notes: Vec<String>,
}

/// Returns the choice of the request, or else that of the home project.
pub(super) fn choice_of(request: &InitRequest) -> Result<SecretsChoice, Failure> {
    if let Some(choice) = request.secrets {
        return Ok(choice);
    }
    let Some((_, file)) = home_of(request)?.filter(|_| !request.is_home) else {
        return Ok(SecretsChoice::Vault);
    };
    let text = fs::read_to_string(&file)?;
    // A home project that cannot be read is reported by the commands that load it.
    let root = parse_text(Schema::Core, &text).ok();
    let word = root.as_ref().and_then(|root| root.get(HOME_KEY));
    match word.and_then(Node::as_str) {
        None => Ok(SecretsChoice::Vault),
        Some(word) => SecretsChoice::parse(word).ok_or_else(|| {
            let message = format!("`{HOME_KEY}: {}` is unknown", word.escape_debug());
            let help = format!("write `vault` or `age` in `{}`", file.display());
            Failure::new(FailureKind::Refused, message, Some(help))
        }),
    }
}

impl FirstReader {
    /// Returns the user as a reader. The identity file is created if the user has none.
    pub(super) fn of_user(git_name: Option<&str>) -> Result<Self, Failure> {
        let env = Env::of_this_process();
        let file = identity_file_of_user(&env);
        let is_named = env.non_empty("UNFURL_AGE_IDENTITIES").is_some();
        let mut notes = Vec::new();
        let key = match file.filter(|file| !is_named && !fs::exists(file)) {
            Some(file) => {
                let key = create_identity(&file)?;
                notes.push(format!(
                    "your age identity is in `{}`; keep a copy in a safe place, because nothing else opens the secrets",
                    file.display()
                ));
                key
            }
            None => first_key(&env)?,
        };
        notes.push(NOTE.to_owned());
        Ok(Self {
            name: reader_name(git_name),
            key,
            notes,
        })
    }

    /// Returns the policy file for a repository.
    pub(super) fn policy_file(&self) -> Result<NewFile, Failure> {
        policy_file([(self.name.clone(), self.key.clone())].into())
    }
}

/// Returns a policy file with the readers of a project. None if the project has none.
pub(super) fn policy_like(project: &Path) -> Result<Option<NewFile>, Failure> {
    match ReaderPolicy::load(project)? {
        Some(policy) => policy_file(policy.readers).map(Some),
        None => Ok(None),
    }
}

fn policy_file(readers: IndexMap<String, AgeRecipient>) -> Result<NewFile, Failure> {
    let id = ulid::Ulid::generate().to_string();
    let policy = ReaderPolicy::new(Path::new(""), &id, readers);
    let purpose = "the readers of the project's secrets";
    Ok(NewFile::new(POLICY_FILE, policy.to_text()?, purpose))
}

fn first_key(env: &Env) -> Result<AgeRecipient, Failure> {
    match Identities::find(env, None).first_recipient()? {
        Some(key) => Ok(key),
        None => {
            let message = "none of your age identities shows its public key";
            let help = "name an identity file without a passphrase, or an SSH key, in UNFURL_AGE_IDENTITIES";
            Err(Failure::new(
                FailureKind::Refused,
                message,
                Some(help.to_owned()),
            ))
        }
    }
}

/// Returns a name for the user: that of git, or else the login.
fn reader_name(git_name: Option<&str>) -> String {
    let name = git_name.unwrap_or_default().trim();
    let clean: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "._@-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    let clean = clean.trim_matches('-');
    if clean.is_empty() {
        return user::name();
    }
    clean.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_has_a_name_of_one_word() {
        assert_eq!(reader_name(Some(" Ada Lovelace ")), "Ada-Lovelace");
        assert_eq!(reader_name(Some(",:")), user::name());
        assert_eq!(reader_name(None), user::name());
    }
}
