//! Finds the passwords of vaults in the environments of projects.
//!
//! [`keys_of_environment`] is the entry. The variable of this process has priority over the variable of the
//! environment, and both over the section `secrets: vault_secrets`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::locate::home_project_folder;
use super::{Environment, Environments, FileLoader, PROJECT_FILE, Project, enclosing_project};
use crate::diagnostic::Sources;
use crate::secret::{FileKeys, Keys, VaultSecret, password_variable, vault_of_variable};
use crate::system::env::Env;
use crate::system::fs;
use crate::value::{REDACTED, Value};
use crate::yaml::{Limits, TagError, TagReader};

/// The section of `secrets` with passwords by vault.
const SECTION: &str = "vault_secrets";
/// The key of a merge directive, which is no vault.
const DIRECTIVE: &str = "+%";

/// Adds the passwords of an environment to keys. The vaults of `vault_secrets` go first, in their order.
pub fn keys_of_environment(environment: &Environment, env: &Env, keys: &Keys) -> Keys {
    let of_variables = |id: &str| {
        let name = password_variable(id);
        let own = env.non_empty(&name).map(str::to_owned);
        own.or_else(|| {
            let mut variables = environment.variables.iter();
            let (_, value) = variables.find(|(other, _)| *other == name)?;
            plain_text(value, env)
        })
    };
    let mut passwords = Vec::new();
    let section = environment.secrets.get(SECTION).and_then(Value::as_map);
    for (id, value) in section.into_iter().flatten() {
        if &**id == DIRECTIVE {
            continue;
        }
        let password = of_variables(id).or_else(|| plain_text(value, env));
        passwords.extend(password.map(|password| VaultSecret::new(&**id, password)));
    }
    for (name, _) in &environment.variables {
        let is_known = |secret: &VaultSecret| password_variable(&secret.id) == *name;
        let id = vault_of_variable(name).filter(|_| !passwords.iter().any(is_known));
        let password = id.and_then(|id| Some(VaultSecret::new(&id, of_variables(&id)?)));
        passwords.extend(password);
    }
    keys.with_passwords(passwords)
}

/// The keys for files in a folder that need not belong to a project. They are looked up on first use.
#[derive(Debug)]
pub struct FolderKeys {
    folder: PathBuf,
    home: Option<PathBuf>,
    keys: OnceLock<Keys>,
}

impl FolderKeys {
    pub fn new(folder: &Path, home: Option<&Path>) -> Self {
        Self {
            folder: folder.to_owned(),
            home: home.map(Path::to_owned),
            keys: OnceLock::new(),
        }
    }

    /// Returns the keys: those of the project around the folder and of the home project.
    pub fn get(&self) -> &Keys {
        self.keys.get_or_init(|| {
            let env = Env::of_this_process();
            keys_of_folder(&self.folder, self.home.as_deref(), None, &env)
        })
    }

    /// Returns the keys for the values and the files of the folder.
    pub fn for_files(&self) -> FileKeys<'_> {
        self.get().for_folder(&self.folder)
    }
}

/// Keys that are known already.
impl From<Keys> for FolderKeys {
    fn from(keys: Keys) -> Self {
        Self {
            folder: PathBuf::new(),
            home: None,
            keys: OnceLock::from(keys),
        }
    }
}

impl TagReader for FolderKeys {
    fn read(&self, tag: &str, text: &str, path: &str) -> Option<Result<Value, TagError>> {
        self.for_files().read(tag, text, path)
    }
}

/// Returns the keys for the files in a folder: those of the project around it and of the home project.
///
/// A project that cannot be read has none; the commands that need it report its problems.
pub fn keys_of_folder(
    folder: &Path,
    home: Option<&Path>,
    environment: Option<&str>,
    env: &Env,
) -> Keys {
    let search_root = env.non_empty("UNFURL_SEARCH_ROOT").map(Path::new);
    let home = home.filter(|home| !home.as_os_str().is_empty());
    let home = home.map(|home| home_project_folder(home, folder).1);
    let project = enclosing_project(folder, search_root).map(|root| root.join(PROJECT_FILE));
    let mut keys = Keys::of_variables(env);
    loop {
        let mut sources = Sources::default();
        let mut loader = FileLoader::new(&mut sources, env, Limits::default());
        loader.set_keys(keys.clone());
        loader.tolerate_closed_values();
        let mut environments = Environments::default();
        let mut name = environment.map(str::to_owned);
        for file in [&home, &project].into_iter().flatten() {
            if !fs::is_file(file) {
                continue;
            }
            loader.scope().add_file(file);
            if let Ok(project) = Project::load(file, &mut loader, &Limits::default()) {
                environments = project.environments.merged_over(&environments);
                name = name.or(project.default_environment);
            }
        }
        let environment = environments.resolve(name.as_deref(), None);
        let more = keys_of_environment(&environment, env, &keys);
        let has_closed = loader.take_closed_values().has_errors();
        let is_complete = !has_closed || more.passwords() == keys.passwords();
        keys = more;
        if is_complete {
            return keys;
        }
    }
}

/// Returns the text of a value that is a scalar, or that a variable of this process gives.
///
/// The environment is not complete yet, so other expressions have no value here.
fn plain_text(value: &Value, env: &Env) -> Option<String> {
    let text = match value.reveal() {
        Value::Str(text) => match template_variable(text) {
            Some(name) => env.get(name)?.to_owned(),
            None if text.contains("{{") || &**text == REDACTED => return None,
            None => text.to_string(),
        },
        Value::Int(number) => number.to_string(),
        Value::Big(digits) => digits.to_string(),
        Value::Map(map) => {
            let call = map.get("eval").and_then(Value::as_map).unwrap_or(map);
            return called_variable(call.get("get_env")?, env);
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the value of `get_env: NAME` or `get_env: [NAME, DEFAULT]`.
fn called_variable(argument: &Value, env: &Env) -> Option<String> {
    let items = argument.as_list().map(|items| &items[..]);
    let name = items.map_or(Some(argument), |items| items.first())?;
    let set = name.as_str().and_then(|name| env.non_empty(name));
    set.map(str::to_owned).or_else(|| {
        let default = items.and_then(|items| items.get(1))?.as_str()?;
        Some(default.to_owned())
    })
}

/// Returns the variable of a template like `{{ lookup('env', 'NAME') }}`.
fn template_variable(text: &str) -> Option<&str> {
    let call = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let arguments = call.strip_prefix("lookup(")?.strip_suffix(')')?;
    let (kind, name) = arguments.split_once(',')?;
    let unquoted = |text: &'_ str| -> Option<std::ops::Range<usize>> {
        let trimmed = text.trim();
        let quote = trimmed.chars().next().filter(|c| "'\"".contains(*c))?;
        let inner = trimmed.strip_prefix(quote)?.strip_suffix(quote)?;
        let start = text.find(inner)?;
        Some(start..start + inner.len())
    };
    let is_env = unquoted(kind).is_some_and(|range| &kind[range] == "env");
    is_env.then(|| unquoted(name).map(|range| &name[range]))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    fn passwords(environment: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let text = format!("defaults: {environment}");
        let root = parse_text(Schema::Core, &text).unwrap();
        let environment = Environments::read(Some(&root)).resolve(None, None);
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env: Env = variables.collect();
        let keys = keys_of_environment(&environment, &env, &Keys::of_variables(&env));
        let shown = keys.passwords().iter();
        shown
            .map(|secret| format!("{}={}", secret.id, *secret.password))
            .collect()
    }

    #[test]
    fn variables_go_before_the_section_and_the_section_states_the_order() {
        let environment = "{variables: {UNFURL_VAULT_B_PASSWORD: vb, UNFURL_VAULT_C_PASSWORD: vc},
            secrets: {vault_secrets: {+%: merge, a: sa, b: sb, d: sd}}}";
        let variables = [
            ("UNFURL_VAULT_A_PASSWORD", "ea"),
            ("UNFURL_VAULT_E_PASSWORD", "ee"),
        ];
        let found = passwords(environment, &variables);
        assert_eq!(found, ["a=ea", "b=vb", "d=sd", "c=vc", "e=ee"]);
    }

    #[test]
    fn a_password_can_come_from_a_variable_of_any_name() {
        let environment = "{secrets: {vault_secrets: {
            a: {get_env: PW}, b: {eval: {get_env: [NONE, other]}}, c: \"{{ lookup('env', 'PW') }}\",
            d: {eval: ::x}, e: '{{ x }}', f: '', g: , h: 12, i: '<<REDACTED>>'}}}";
        let found = passwords(environment, &[("PW", "p")]);
        assert_eq!(found, ["a=p", "b=other", "c=p", "h=12"]);
    }
}
