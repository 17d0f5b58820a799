//! The command that runs a playbook: its words, its environment, and the passwords of vaults.

use std::path::{Path, PathBuf};

use crate::expr::{DirectoryOwner, LocalContext, VaultPassword};
use crate::host::{Program, Variables};

/// The id of the vault that this program encrypts secret variables with.
pub(super) const VAULT_ID: &str = "unfurl";
/// The name of the callback plugin that reports as JSON.
const CALLBACK: &str = "unfurl_report";
/// The file from which Ansible takes its settings.
const CONFIG_FILE: &str = "ansible.cfg";
/// The shell that hands several passwords over.
const SHELL: &str = "/bin/sh";
/// The maximum number of passwords: a shell knows descriptors of one digit only.
const MAX_VAULTS: usize = 7;
/// The first descriptor from which Ansible reads a password.
const FIRST_DESCRIPTOR: usize = 3;

/// A folder kind that Ansible searches, with its setting.
struct SearchSetting {
    folder: &'static str,
    variable: &'static str,
    /// The older name of the variable.
    old_variable: &'static str,
    keys: [&'static str; 2],
    default: &'static str,
}

const ROLES: SearchSetting = SearchSetting {
    folder: "roles",
    variable: "ANSIBLE_ROLES_PATH",
    old_variable: "ANSIBLE_ROLES_PATH",
    keys: ["roles_path", "roles_path"],
    default: "~/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles",
};

const COLLECTIONS: SearchSetting = SearchSetting {
    folder: "collections",
    variable: "ANSIBLE_COLLECTIONS_PATH",
    old_variable: "ANSIBLE_COLLECTIONS_PATHS",
    keys: ["collections_path", "collections_paths"],
    default: "~/.ansible/collections:/usr/share/ansible/collections",
};

/// Adds the settings of Ansible to the environment of a run.
///
/// The roles and collections of the ensemble and of the project are found in addition to those of the user's settings.
/// The file `ansible.cfg` beside the playbook applies, or else that of the ensemble, of the project or of the user.
pub(super) fn add_settings(
    variables: &mut Variables,
    playbook: Option<&Path>,
    context: &dyn LocalContext,
    base: &Path,
) {
    let project = context
        .directory(&DirectoryOwner::default(), "project")
        .ok();
    let mut folders = vec![base.to_owned()];
    folders.extend(project.filter(|project| project != base));
    let config = config_file(variables, playbook, context, &folders);
    if let Some(file) = &config
        && variables.get("ANSIBLE_CONFIG").is_none()
    {
        variables.add("ANSIBLE_CONFIG", file.display().to_string());
    }
    for setting in [ROLES, COLLECTIONS] {
        let own = folders.iter().map(|folder| folder.join(setting.folder));
        let own: Vec<PathBuf> = own.filter(|folder| context.is_dir(folder)).collect();
        if own.is_empty() {
            continue;
        }
        let known = variables
            .get(setting.variable)
            .or_else(|| variables.get(setting.old_variable))
            .map(str::to_owned);
        let configured = || configured_path(config.as_deref()?, &setting, context);
        let rest = known.or_else(configured);
        let rest = rest.unwrap_or_else(|| setting.default.to_owned());
        let own = own.iter().map(|folder| folder.display().to_string());
        let all: Vec<String> = own.chain(std::iter::once(rest)).collect();
        variables.add(setting.variable, all.join(":"));
    }
    variables.add("ANSIBLE_STDOUT_CALLBACK", CALLBACK);
    variables.add("ANSIBLE_NOCOLOR", "1");
    variables.add("ANSIBLE_FORCE_COLOR", "0");
}

/// Returns the file with the settings that apply. None if Ansible looks for it in the folders of the user.
fn config_file(
    variables: &Variables,
    playbook: Option<&Path>,
    context: &dyn LocalContext,
    folders: &[PathBuf],
) -> Option<PathBuf> {
    if let Some(file) = variables.get("ANSIBLE_CONFIG") {
        return Some(file.into());
    }
    let beside = playbook.and_then(Path::parent).map(Path::to_owned);
    let mut files = beside
        .iter()
        .chain(folders)
        .map(|folder| folder.join(CONFIG_FILE));
    files.find(|file| context.exists(file))
}

/// Returns the search path that a file of settings has.
fn configured_path(
    file: &Path,
    setting: &SearchSetting,
    context: &dyn LocalContext,
) -> Option<String> {
    let text = context.read(file).ok()?;
    let text = String::from_utf8_lossy(&text);
    let path = setting_of(&text, &setting.keys)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let absolute = |part: &str| {
        if part.starts_with(['/', '~', '$']) {
            part.to_owned()
        } else {
            folder.join(part).display().to_string()
        }
    };
    let parts: Vec<String> = path.split(':').map(absolute).collect();
    Some(parts.join(":"))
}

/// Returns a setting of the section `defaults`.
fn setting_of(text: &str, keys: &[&str]) -> Option<String> {
    let mut is_in_section = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_in_section = line.starts_with("[defaults]");
        } else if let Some((key, value)) = line.split_once(['=', ':'])
            && is_in_section
            && keys.contains(&key.trim())
        {
            let value = value.split(" ;").next().unwrap_or_default().trim();
            found = Some(value.to_owned());
        }
    }
    found.filter(|value| !value.is_empty())
}

/// A program with the text for its standard input.
pub(super) struct ProgramInput {
    pub(super) program: Program,
    pub(super) stdin: Option<Vec<u8>>,
}

/// Returns the program for the words of a command, which gets the passwords of vaults through pipes: they are on no
/// command line, in no variable and in no file. `tail` are the words behind those about vaults.
pub(super) fn with_vaults(
    mut words: Vec<String>,
    tail: Vec<String>,
    vaults: &[VaultPassword],
) -> ProgramInput {
    let is_line = |vault: &&VaultPassword| !vault.password.contains(['\n', '\r', '\0']);
    let vaults: Vec<&VaultPassword> = vaults.iter().filter(is_line).take(MAX_VAULTS).collect();
    let option = |vault: &VaultPassword, file: &str| {
        let id = vault.id.replace('@', "_");
        ["--vault-id".to_owned(), format!("{id}@{file}")]
    };
    if let [vault] = vaults[..] {
        words.extend(option(vault, "/dev/stdin"));
        words.extend(tail);
        return ProgramInput {
            program: Program::Argv(words),
            stdin: Some(vault.password.as_bytes().to_vec()),
        };
    }
    for (place, vault) in vaults.iter().enumerate() {
        words.extend(option(
            vault,
            &format!("/dev/fd/{}", FIRST_DESCRIPTOR + place),
        ));
    }
    words.extend(tail);
    if vaults.is_empty() {
        return ProgramInput {
            program: Program::Argv(words),
            stdin: None,
        };
    }
    let passwords: Vec<&str> = vaults.iter().map(|vault| vault.password.as_str()).collect();
    let lines = passwords.join("\n") + "\n";
    let mut all = vec![
        SHELL.to_owned(),
        "-c".to_owned(),
        handing_script(vaults.len()),
        "sh".to_owned(),
    ];
    all.extend(words);
    ProgramInput {
        program: Program::Argv(all),
        stdin: Some(lines.into_bytes()),
    }
}

/// Returns the script that reads passwords, one in a line, and runs its arguments with each of them behind a descriptor.
/// The shell waits for the program after a signal, which the program gets as well.
fn handing_script(count: usize) -> String {
    let numbers: Vec<usize> = (0..count).map(|place| FIRST_DESCRIPTOR + place).collect();
    let mut script = "trap : INT TERM\n".to_owned();
    for number in &numbers {
        script.push_str(&format!("IFS= read -r p{number}\n"));
    }
    for number in &numbers {
        script.push_str(&format!(
            "printf '%s' \"$p{number}\" | {{ exec {number}<&0; "
        ));
    }
    script.push_str("exec 0</dev/null; exec \"$@\"; ");
    script.push_str(&"}; ".repeat(count));
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_section_defaults_is_found() {
        let text =
            "[ssh]\nroles_path=no\n[defaults]\n# roles_path = no\nroles_path = a:/b ; comment\n";
        assert_eq!(setting_of(text, &["roles_path"]).as_deref(), Some("a:/b"));
        assert_eq!(setting_of("[defaults]\nx=1", &["roles_path"]), None);
    }

    #[test]
    fn passwords_of_vaults_are_on_no_command_line() {
        let vault = |id: &str| VaultPassword {
            id: id.to_owned(),
            password: format!("hunter2-{id}").into(),
        };
        let words = || vec!["ansible-playbook".to_owned()];
        let run = |vaults: &[VaultPassword]| with_vaults(words(), vec!["p.yml".into()], vaults);
        let none = run(&[]);
        assert_eq!(none.program.argv(), ["ansible-playbook", "p.yml"]);
        assert_eq!(none.stdin, None);
        let one = run(&[vault("a")]);
        let argv = one.program.argv();
        assert_eq!(
            argv,
            ["ansible-playbook", "--vault-id", "a@/dev/stdin", "p.yml"]
        );
        assert_eq!(one.stdin, Some(b"hunter2-a".to_vec()));
        let two = run(&[vault("a"), vault("b")]);
        assert!(!two.program.argv().concat().contains("hunter2"));
        assert_eq!(two.stdin, Some(b"hunter2-a\nhunter2-b\n".to_vec()));
    }
}
