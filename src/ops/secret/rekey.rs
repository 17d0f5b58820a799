//! Encrypts the secrets of a project for other readers or with another password: all of them or none.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::inventory::{
    ACTIVE, Inventory, SealedLeaf, SecretFile, SecretScheme, read_secrets, sealed_leaf, whole_place,
};
use super::project::{SecretProject, seal_bytes};
use super::set::lock_manifest;
use super::text_file::{TextFile, relative};
use super::verify::SecretProblem;
use crate::ops::failure::{Failure, FailureKind};
use crate::secret::{
    AgeRecipient, FileChange, Keys, ReaderPolicy, RotationDebt, SealedValue, VaultSecret, clear_of,
    encrypt_age, password_variable, payload_of, sealed_document, write_all_or_none,
};
use crate::system::env::Env;
use crate::system::{clock, fs};
use crate::value::Value;
use crate::yaml::{Node, Route, TaggedText};

/// The options of `unfurl secret rekey`.
#[derive(Debug, Clone, Default)]
pub struct RekeyRequest {
    /// The readers to add, with their recipients.
    pub add: Vec<(String, AgeRecipient)>,
    pub remove: Vec<String>,
    pub new_password: Option<Zeroizing<String>>,
    /// The vault that gets the password; by default, the first one with a password.
    pub vault: Option<String>,
}

/// The changes that a rekey makes. Nothing is written yet.
#[derive(Debug, Default)]
pub struct RekeyPlan {
    /// The number of values and of whole files that are encrypted again.
    pub values: usize,
    pub whole_files: usize,
    /// The number of files that change, and of values that stay as they are.
    pub files: usize,
    pub kept: usize,
    /// The values that cannot be opened.
    pub closed: Vec<SecretProblem>,
    /// The values that a removed reader could read.
    pub rotate: Vec<RotationDebt>,
    /// Other facts that the user should know.
    pub notes: Vec<String>,
    changes: Vec<FileChange>,
    /// The keys that must and must not open the new texts of a vault.
    vault: Option<(Keys, Keys)>,
}

/// The result of a rekey.
#[derive(Debug, Clone)]
pub struct RekeyedSecrets {
    /// The number of values and files that were opened with the new keys.
    pub checked: usize,
}

/// The policies of a project before and after the change.
struct PolicyChange {
    old: ReaderPolicy,
    new: ReaderPolicy,
    /// The readers whose key was replaced by another one.
    replaced: Vec<String>,
}

/// The password of a vault before and after the change.
struct PasswordChange {
    old: VaultSecret,
    new: VaultSecret,
}

struct Planner<'a> {
    project: &'a SecretProject,
    policies: Vec<PolicyChange>,
    password: Option<PasswordChange>,
    plan: RekeyPlan,
}

/// Opens every secret and encrypts those whose readers change. Nothing is written.
pub fn plan_rekey(project: &SecretProject, request: &RekeyRequest) -> Result<RekeyPlan, Failure> {
    let inventory = Inventory::of(&project.root)?;
    let mut policies = Vec::new();
    for path in &inventory.policies {
        policies.extend(change_policy(path, request)?);
    }
    if policies.is_empty() && !(request.add.is_empty() && request.remove.is_empty()) {
        let message = "the project has no file `secret-readers.yaml`, so it has no readers";
        let help = "create a project with `unfurl init --secrets age`; a vault has a password: `--new-password`";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(help.to_owned()),
        ));
    }
    let password = change_password(project, request)?;
    let mut planner = Planner {
        project,
        policies,
        password,
        plan: RekeyPlan::default(),
    };
    for (path, failure) in &inventory.problems {
        planner.plan.closed.push(SecretProblem {
            place: whole_place(&project.root, path),
            message: failure.to_string(),
            help: None,
        });
    }
    for file in &inventory.files {
        match file {
            SecretFile::Values(text, leaves) => planner.values(text, leaves)?,
            SecretFile::Whole {
                path,
                bytes,
                scheme,
            } => planner.whole(path, bytes, scheme)?,
        }
    }
    planner.local_passwords(&inventory.local)?;
    planner.finish()
}

/// Writes the changes of a plan, all or none, and checks that each value opens with the new keys.
pub fn rekey(project: &SecretProject, plan: &RekeyPlan) -> Result<RekeyedSecrets, Failure> {
    plan.refuse_closed()?;
    let mut locks = Vec::new();
    for change in &plan.changes {
        locks.extend(lock_manifest(&change.path)?);
    }
    for change in &plan.changes {
        check(project, plan, &change.path, &change.new)?;
    }
    write_all_or_none(&project.root, &plan.changes)?;
    let mut checked = 0;
    for change in &plan.changes {
        checked += check(project, plan, &change.path, &fs::read(&change.path)?)?;
    }
    Ok(RekeyedSecrets { checked })
}

impl RekeyPlan {
    /// Returns true if nothing would be written.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Fails if a value cannot be opened: then nothing may be written.
    pub fn refuse_closed(&self) -> Result<(), Failure> {
        if self.closed.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{} of the secrets cannot be opened, so nothing was changed",
            self.closed.len()
        );
        let help =
            "ask a reader of all secrets to run the command, or remove the values".to_owned();
        Err(Failure::new(FailureKind::Refused, message, Some(help)))
    }
}

impl Planner<'_> {
    fn values(&mut self, text: &TextFile, leaves: &[SealedLeaf]) -> Result<(), Failure> {
        let mut new = Vec::new();
        for leaf in leaves {
            let sealed = match leaf.scheme() {
                SecretScheme::Age => self.age_value(text, leaf)?,
                SecretScheme::Vault(id) => self.vault_value(text, leaf, &id)?,
            };
            match sealed {
                Some(sealed) => new.push(TaggedText {
                    route: leaf.route.clone(),
                    tag: static_tag(&leaf.tag),
                    value: Value::from(sealed),
                }),
                None => self.plan.kept += 1,
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        self.plan.values += new.len();
        let changed = match new.as_slice() {
            [root] if root.route == Route::default() => {
                sealed_document(root.tag, root.value.as_str().unwrap_or_default())
            }
            _ => text.with_values(&new)?,
        };
        self.change(&text.path, text.text().as_bytes(), changed.into_bytes());
        Ok(())
    }

    /// Returns the new text of a value. None if its readers stay the same, or if it cannot be opened.
    fn age_value(&mut self, file: &TextFile, leaf: &SealedLeaf) -> Result<Option<String>, Failure> {
        let place = file.place_of(&self.project.root, &leaf.node, &leaf.route);
        let Some(index) = self.policy_index(&file.path) else {
            let message = "the project has no file `secret-readers.yaml` for the value";
            self.closed(place, message.to_owned(), None);
            return Ok(None);
        };
        let parsed = SealedValue::parse(leaf.text());
        let new = &self.policies[index].new;
        if parsed.as_ref().is_ok_and(|sealed| sealed.is_for(new)) {
            return Ok(None);
        }
        let opened = self.project.open_value(&file.path, leaf);
        let value = match opened {
            Ok(value) => value,
            Err((reason, help)) => {
                self.closed(place, reason, help);
                return Ok(None);
            }
        };
        if let Ok(sealed) = &parsed {
            let readers: Vec<&str> = sealed.readers.split(", ").collect();
            self.owe(index, &file.path, &leaf.name, &readers);
        }
        let new = &self.policies[index].new;
        let identities = self.project.identities(&file.path)?;
        let sealed = SealedValue::seal(&value, &leaf.name, new, &identities)?;
        Ok(Some(sealed.text()))
    }

    fn vault_value(
        &mut self,
        file: &TextFile,
        leaf: &SealedLeaf,
        id: &str,
    ) -> Result<Option<String>, Failure> {
        let Some(password) = self.password_for(id) else {
            return Ok(None);
        };
        let opened = self.project.keys().open(leaf.text());
        match opened {
            Ok(content) => Ok(Some(seal_bytes(&content, &password)?)),
            Err(error) => {
                let place = file.place_of(&self.project.root, &leaf.node, &leaf.route);
                self.closed(place, error.to_string(), Some(error.help()));
                Ok(None)
            }
        }
    }

    fn whole(&mut self, path: &Path, bytes: &[u8], scheme: &SecretScheme) -> Result<(), Failure> {
        let index = self.policy_index(path);
        let password = match scheme {
            SecretScheme::Vault(id) => self.password_for(id),
            SecretScheme::Age => None,
        };
        let is_age = *scheme == SecretScheme::Age;
        let readers_change = index.is_some_and(|index| {
            let PolicyChange { old, new, .. } = &self.policies[index];
            old.recipients_digest() != new.recipients_digest()
        });
        if password.is_none() && !(is_age && readers_change) {
            self.plan.kept += 1;
            return Ok(());
        }
        let plain = match self.project.open_file(bytes, path) {
            Ok(plain) => plain,
            Err((reason, help)) => {
                self.closed(whole_place(&self.project.root, path), reason, help);
                return Ok(());
            }
        };
        let new = match (&password, index) {
            (Some(password), _) => {
                let inner = self.state_in_copy(path, bytes, &plain, password)?;
                seal_bytes(inner.as_ref().unwrap_or(&plain), password)?
            }
            (None, Some(index)) => {
                let names: Vec<String> = self.policies[index].old.readers.keys().cloned().collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                self.owe(index, path, "", &names);
                let policy = &self.policies[index].new;
                let keys = policy.recipients(&*self.project.identities(path)?)?;
                encrypt_age(&plain, &keys)?
            }
            (None, None) => return Ok(()),
        };
        self.plan.whole_files += 1;
        self.change(path, bytes, new.into_bytes());
        Ok(())
    }

    /// Returns the content of a copy with the state of a tool, which is encrypted once more in itself, for the new
    /// password. None for another copy.
    fn state_in_copy(
        &self,
        path: &Path,
        sealed: &[u8],
        plain: &[u8],
        password: &VaultSecret,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        let content = clear_of(path, sealed, plain);
        let Ok(file) = TextFile::of_bytes(path, content.to_vec()) else {
            return Ok(None);
        };
        let Some(leaf) = sealed_leaf(&file.root, &Route::default()) else {
            return Ok(None);
        };
        let Ok(opened) = self.project.keys().open(leaf.text()) else {
            return Ok(None);
        };
        let tag = static_tag(&leaf.tag);
        let text = sealed_document(tag, &seal_bytes(&opened, password)?);
        Ok(Some(payload_of(path, text.as_bytes())))
    }

    /// Replaces the password in the files of this computer.
    fn local_passwords(&mut self, files: &[PathBuf]) -> Result<(), Failure> {
        let Some(PasswordChange { old, new }) = &self.password else {
            return Ok(());
        };
        let (old, new) = (old.clone(), new.clone());
        let mut is_stored = false;
        for path in files {
            let Ok(file) = TextFile::read(path) else {
                continue;
            };
            let routes = password_routes(&file.root, &old);
            if routes.is_empty() {
                continue;
            }
            let set = |route| TaggedText {
                route,
                tag: "",
                value: Value::from(new.password.as_str()),
            };
            let values: Vec<TaggedText> = routes.into_iter().map(set).collect();
            let changed = file.with_values(&values)?;
            self.change(path, file.text().as_bytes(), changed.into_bytes());
            is_stored = true;
        }
        let variable = password_variable(&old.id);
        if !is_stored || Env::of_this_process().non_empty(&variable).is_some() {
            self.plan.notes.push(format!(
                "the password of the vault `{}` comes from elsewhere: set `{variable}` to the new one afterwards",
                old.id
            ));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RekeyPlan, Failure> {
        for change in std::mem::take(&mut self.policies) {
            let PolicyChange { old, new, .. } = change;
            if new != old {
                let text = new.to_text()?;
                self.change(&new.path, &fs::read(&old.path)?, text.into_bytes());
            }
        }
        if let Some(PasswordChange { old, new }) = &self.password {
            let keys = |secret: &VaultSecret| Keys::default().with_passwords(vec![secret.clone()]);
            self.plan.vault = Some((keys(new), keys(old)));
        }
        self.plan.files = self.plan.changes.len();
        Ok(self.plan)
    }

    fn change(&mut self, path: &Path, old: &[u8], new: Vec<u8>) {
        self.plan.changes.push(FileChange {
            path: path.to_owned(),
            old: old.to_vec(),
            new,
        });
    }

    fn closed(&mut self, place: super::SecretPlace, message: String, help: Option<String>) {
        self.plan.closed.push(SecretProblem {
            place,
            message,
            help,
        });
    }

    /// Returns the new password for texts of a vault. None if the vault keeps its password.
    fn password_for(&self, id: &str) -> Option<VaultSecret> {
        let change = self.password.as_ref()?;
        let is_same = change.old.id.to_lowercase() == id.to_lowercase();
        is_same.then(|| VaultSecret {
            id: id.to_owned(),
            password: change.new.password.clone(),
        })
    }

    /// Returns the index of the nearest policy above a file.
    fn policy_index(&self, file: &Path) -> Option<usize> {
        let above = |index: &usize| file.starts_with(self.policies[*index].new.project());
        let depth = |index: &usize| self.policies[*index].new.path.iter().count();
        (0..self.policies.len()).filter(above).max_by_key(depth)
    }

    /// Notes that removed readers could read a value.
    fn owe(&mut self, index: usize, file: &Path, name: &str, readers: &[&str]) {
        let change = &mut self.policies[index];
        if is_of_job(file) {
            let is_kept = |reader: &&str| change.new.readers.contains_key(*reader);
            let note = "a removed reader may have kept files of `active`, such as states of tools: change the secrets in them \
                        with their own tools";
            let is_known = self.plan.notes.iter().any(|known| known == note);
            if !is_known && !readers.iter().all(is_kept) {
                self.plan.notes.push(note.to_owned());
            }
            return;
        }
        let file = relative(change.new.project(), file);
        for reader in readers {
            let is_removed = !change.new.readers.contains_key(*reader)
                || change.replaced.iter().any(|replaced| replaced == reader);
            let debt = RotationDebt {
                file: file.to_string_lossy().into_owned(),
                name: name.to_owned(),
                reader: (*reader).to_owned(),
                date: clock::now().to_string().chars().take(10).collect(),
            };
            let is_known = change.new.rotate.iter().any(|known| {
                (&known.file, &known.name, &known.reader) == (&debt.file, &debt.name, &debt.reader)
            });
            if is_removed && !is_known {
                change.new.rotate.push(debt.clone());
                self.plan.rotate.push(debt);
            }
        }
    }
}

/// Returns true for a file that jobs write, for which no command sets a new value.
fn is_of_job(file: &Path) -> bool {
    file.iter().any(|part| part == ACTIVE)
}

/// Returns a policy with the readers of the request.
fn change_policy(path: &Path, request: &RekeyRequest) -> Result<Option<PolicyChange>, Failure> {
    let Some(old) = ReaderPolicy::load(fs::parent_of(path))? else {
        return Ok(None);
    };
    let mut new = old.clone();
    for name in &request.remove {
        if new.readers.shift_remove(name).is_none() {
            let message = format!("`{}` has no reader `{name}`", path.display());
            let help = format!("its readers are {}", old.reader_names());
            return Err(Failure::new(FailureKind::Refused, message, Some(help)));
        }
    }
    let mut replaced = Vec::new();
    for (name, key) in &request.add {
        let before = new.readers.insert(name.clone(), key.clone());
        replaced.extend(before.filter(|before| before != key).map(|_| name.clone()));
    }
    if new.readers.is_empty() {
        let message =
            "the last reader cannot be removed, because nobody could read the secrets then";
        let help =
            "add another reader in the same command: `--add-reader NAME=RECIPIENT`".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    Ok(Some(PolicyChange { old, new, replaced }))
}

fn change_password(
    project: &SecretProject,
    request: &RekeyRequest,
) -> Result<Option<PasswordChange>, Failure> {
    let Some(password) = &request.new_password else {
        return Ok(None);
    };
    let known = project.keys().passwords();
    let wanted = request.vault.as_deref().map(str::to_lowercase);
    let found = known.iter().find(|secret| {
        wanted
            .as_ref()
            .is_none_or(|id| secret.id.to_lowercase() == *id)
    });
    let Some(old) = found else {
        let message = match &request.vault {
            Some(id) => format!("no password of the vault `{id}` is known"),
            None => "the project has no password of a vault".to_owned(),
        };
        let help = "set the present password in the variable UNFURL_VAULT_<ID>_PASSWORD".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    };
    if old.password == *password {
        let message = "the new password is the present one";
        return Err(Failure::new(FailureKind::Refused, message, None));
    }
    Ok(Some(PasswordChange {
        old: old.clone(),
        new: VaultSecret {
            id: old.id.clone(),
            password: password.clone(),
        },
    }))
}

/// Returns the places of a password in the environments of a file.
fn password_routes(root: &Node, password: &VaultSecret) -> Vec<Route> {
    let environments = root.get("environments").and_then(Node::as_map);
    let mut routes = Vec::new();
    for (name, environment) in environments.into_iter().flatten() {
        let at = Route::keys(["environments", &**name, "secrets", "vault_secrets"]);
        let section = environment
            .value
            .get("secrets")
            .and_then(|it| it.get("vault_secrets"));
        for (id, entry) in section.and_then(Node::as_map).into_iter().flatten() {
            let is_same = id.to_lowercase() == password.id.to_lowercase();
            if is_same && entry.value.as_str() == Some(&password.password) {
                routes.push(at.clone().key(&**id));
            }
        }
    }
    routes
}

/// Checks that the secrets of a file open with the new keys and not with the old ones. Returns their number.
fn check(
    project: &SecretProject,
    plan: &RekeyPlan,
    path: &Path,
    bytes: &[u8],
) -> Result<usize, Failure> {
    let refuse = |reason: &str| {
        let message = format!(
            "`{}` was not encrypted as planned: {reason}",
            path.display()
        );
        Failure::new(FailureKind::Internal, message, None)
    };
    let vault = |text: &str, id: &str| {
        let Some((new, old)) = &plan.vault else {
            return Ok(());
        };
        let is_own = |keys: &Keys| {
            let mut all = keys.passwords().iter();
            all.any(|secret| secret.id.to_lowercase() == id.to_lowercase())
        };
        if !is_own(new) {
            return Ok(());
        }
        match (new.open(text).is_ok(), old.open(text).is_ok()) {
            (true, false) => Ok(()),
            (false, _) => Err(refuse("the new password does not open a value")),
            (_, true) => Err(refuse("the old password still opens a value")),
        }
    };
    let is_yaml = path
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml");
    match read_secrets(path, bytes.to_vec(), is_yaml)? {
        Some(SecretFile::Values(_, leaves)) => {
            for leaf in &leaves {
                match leaf.scheme() {
                    SecretScheme::Vault(id) => vault(leaf.text(), &id)?,
                    SecretScheme::Age => {
                        let opened = project.open_value(path, leaf);
                        opened.map_err(|(reason, _)| refuse(&reason))?;
                    }
                }
            }
            Ok(leaves.len())
        }
        Some(SecretFile::Whole { bytes, scheme, .. }) => {
            match &scheme {
                SecretScheme::Vault(id) => vault(&String::from_utf8_lossy(&bytes), id)?,
                SecretScheme::Age => {
                    let opened = project.open_file(&bytes, path);
                    opened.map_err(|(reason, _)| refuse(&reason))?;
                }
            }
            Ok(1)
        }
        None => Ok(0),
    }
}

/// Returns a known tag with a static lifetime.
fn static_tag(tag: &str) -> &'static str {
    let mut known = super::inventory::VAULT_TAGS.into_iter();
    known
        .find(|known| *known == tag)
        .unwrap_or(crate::secret::AGE_TAG)
}
