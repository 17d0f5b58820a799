//! Finds everything that is encrypted in the folder of a project: values of YAML files, and whole files.

use std::path::{Path, PathBuf};

use super::report::SecretPlace;
use super::text_file::{MAX_FILE_BYTES, TextFile, name_of, relative};
use crate::ops::failure::Failure;
use crate::secret::{AGE_TAG, POLICY_FILE, SealedValue, is_age_text, is_vault_text, vault_id};
use crate::system::fs::{self, EntryKind};
use crate::yaml::{Node, Route, tagged_nodes};

/// The tags of values in a vault.
pub(super) const VAULT_TAGS: [&str; 3] = ["!vault", "!vault-json", "!vault-binary"];
/// The folders that hold no secrets of the project, or only copies of them.
const SKIPPED: [&str; 3] = [".git", "planned", "node_modules"];
/// The folder with files of tasks, and those in it that can have states of tools.
pub(super) const ACTIVE: &str = "active";
const STATE_FOLDERS: [&str; 3] = ["secrets", "artifacts", ENCRYPTED_FOLDER];
/// The folder with encrypted copies of files.
const ENCRYPTED_FOLDER: &str = ".secrets";
/// The maximum depth of folders.
const MAX_DEPTH: usize = 32;

/// The way in which a value or a file is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretScheme {
    /// A vault of Ansible with its id.
    Vault(String),
    Age,
}

impl SecretScheme {
    /// Returns the name of the scheme for lists.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Vault(_) => "vault",
            Self::Age => "age",
        }
    }
}

/// An encrypted value or file, for lists.
#[derive(Debug, Clone)]
pub struct SecretEntry {
    pub place: SecretPlace,
    pub scheme: SecretScheme,
    /// The readers: names of the policy, or the vault. None if the text is damaged or does not name them.
    pub readers: Option<String>,
}

/// A file of the project with encrypted content.
#[derive(Debug)]
pub(super) enum SecretFile {
    /// A YAML file with encrypted values.
    Values(TextFile, Vec<SealedLeaf>),
    /// A file that is encrypted as a whole.
    Whole {
        path: PathBuf,
        bytes: Vec<u8>,
        scheme: SecretScheme,
    },
}

/// An encrypted value of a file.
#[derive(Debug, Clone)]
pub(super) struct SealedLeaf {
    pub(super) route: Route,
    pub(super) node: Node,
    pub(super) tag: String,
    /// The path of the value in its file.
    pub(super) name: String,
}

impl SealedLeaf {
    /// Returns the encrypted text.
    pub(super) fn text(&self) -> &str {
        self.node.as_str().unwrap_or_default()
    }

    pub(super) fn scheme(&self) -> SecretScheme {
        if self.tag == AGE_TAG {
            SecretScheme::Age
        } else {
            SecretScheme::Vault(vault_id(self.text()).unwrap_or_default())
        }
    }

    /// Returns the readers that the text names.
    pub(super) fn readers(&self) -> Option<String> {
        match self.scheme() {
            SecretScheme::Vault(id) => Some(vault_readers(&id)),
            SecretScheme::Age => SealedValue::parse(self.text()).ok().map(|it| it.readers),
        }
    }
}

/// Describes who can open texts of a vault.
pub(super) fn vault_readers(id: &str) -> String {
    format!("everybody with the password of the vault `{id}`")
}

/// The encrypted files of a project, and the files that could not be read.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) files: Vec<SecretFile>,
    /// The policies of the project and of the projects in it.
    pub(super) policies: Vec<PathBuf>,
    /// The files of passwords of this computer (`local/*.yaml`).
    pub(super) local: Vec<PathBuf>,
    pub(super) problems: Vec<(PathBuf, Failure)>,
}

impl Inventory {
    /// Reads the folder of a project.
    pub(super) fn of(project: &Path) -> Result<Self, Failure> {
        let mut inventory = Self::default();
        let mut open = vec![(project.to_owned(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let is_active = folder.ends_with(ACTIVE);
            for entry in fs::list(&folder)? {
                if is_active && !STATE_FOLDERS.contains(&entry.name.as_str()) {
                    continue;
                }
                match entry.kind {
                    EntryKind::Folder
                        if depth < MAX_DEPTH && !SKIPPED.contains(&entry.name.as_str()) =>
                    {
                        open.push((entry.path, depth + 1));
                    }
                    EntryKind::File => inventory.add(&entry.path, &entry.name),
                    _ => {}
                }
            }
        }
        inventory.files.sort_by(|a, b| a.path().cmp(b.path()));
        inventory.policies.sort();
        Ok(inventory)
    }

    fn add(&mut self, path: &Path, name: &str) {
        let folder = fs::parent_of(path);
        let is_yaml = path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml");
        let is_copy = path.iter().any(|part| part == ENCRYPTED_FOLDER);
        if name == POLICY_FILE {
            self.policies.push(path.to_owned());
            return;
        }
        if folder.ends_with("local") && is_yaml {
            self.local.push(path.to_owned());
        }
        if !is_yaml && !is_copy {
            return;
        }
        let read = fs::read_within(path, MAX_FILE_BYTES).map_err(Failure::from);
        match read.and_then(|bytes| read_secrets(path, bytes, is_yaml)) {
            Ok(Some(found)) => self.files.push(found),
            Ok(None) => {}
            Err(failure) => self.problems.push((path.to_owned(), failure)),
        }
    }

    /// Returns all encrypted values and files for a list.
    pub(super) fn entries(&self, project: &Path) -> Vec<SecretEntry> {
        let mut entries = Vec::new();
        for file in &self.files {
            match file {
                SecretFile::Values(text, leaves) => {
                    entries.extend(leaves.iter().map(|leaf| SecretEntry {
                        place: text.place_of(project, &leaf.node, &leaf.route),
                        scheme: leaf.scheme(),
                        readers: leaf.readers(),
                    }));
                }
                SecretFile::Whole { path, scheme, .. } => entries.push(SecretEntry {
                    place: whole_place(project, path),
                    readers: match scheme {
                        SecretScheme::Vault(id) => Some(vault_readers(id)),
                        SecretScheme::Age => None,
                    },
                    scheme: scheme.clone(),
                }),
            }
        }
        entries
    }
}

/// Returns the place of a whole file.
pub(super) fn whole_place(project: &Path, path: &Path) -> SecretPlace {
    SecretPlace {
        file: relative(project, path),
        line: 1,
        column: 1,
        name: String::new(),
    }
}

impl SecretFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Values(text, _) => &text.path,
            Self::Whole { path, .. } => path,
        }
    }
}

/// Reads the secrets in the content of a file. None if it has no tag of a secret.
pub(super) fn read_secrets(
    path: &Path,
    bytes: Vec<u8>,
    is_yaml: bool,
) -> Result<Option<SecretFile>, Failure> {
    let scheme = if is_age_text(&bytes) {
        Some(SecretScheme::Age)
    } else if is_vault_text(&bytes) {
        let id = vault_id(&String::from_utf8_lossy(&bytes));
        Some(SecretScheme::Vault(id.unwrap_or_default()))
    } else {
        None
    };
    if let Some(scheme) = scheme {
        return Ok(Some(SecretFile::Whole {
            path: path.to_owned(),
            bytes,
            scheme,
        }));
    }
    let has = |tag: &str| bytes.windows(tag.len()).any(|part| part == tag.as_bytes());
    if !is_yaml || !(has("!vault") || has(AGE_TAG)) {
        return Ok(None);
    }
    let text = TextFile::of_bytes(path, bytes)?;
    let leaves = sealed_leaves(&text.root);
    Ok(Some(SecretFile::Values(text, leaves)))
}

/// Returns the encrypted values of a tree. A value with such a tag whose text is clear is none.
pub(super) fn sealed_leaves(root: &Node) -> Vec<SealedLeaf> {
    let leaves = tagged_nodes(root).into_iter().filter_map(|(route, node)| {
        let tag = node.tag()?.to_owned();
        let is_sealed = match &*tag {
            AGE_TAG => !is_clear_age(node.as_str()?),
            tag if VAULT_TAGS.contains(&tag) => is_vault_text(node.as_str()?.as_bytes()),
            _ => false,
        };
        is_sealed.then(|| SealedLeaf {
            name: name_of(&route),
            route,
            node,
            tag,
        })
    });
    leaves.collect()
}

/// Returns the encrypted value at a node, if it is one.
pub(super) fn sealed_leaf(node: &Node, route: &Route) -> Option<SealedLeaf> {
    let tag = node.tag()?;
    let is_known = tag == AGE_TAG || VAULT_TAGS.contains(&tag);
    is_known.then(|| SealedLeaf {
        route: route.clone(),
        node: node.clone(),
        tag: tag.to_owned(),
        name: name_of(route),
    })
}

/// Returns true if a value with the tag of age is still to be encrypted.
pub(super) fn is_clear_age(text: &str) -> bool {
    !text.contains("AGE ENCRYPTED FILE")
}
