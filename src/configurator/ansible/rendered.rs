//! The data that the rendering of a playbook hands to its run.

use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::host::change::{Change, FileWrite, ModeAndOwner};
use crate::task::{RenderedFile, WorkFolder};
use crate::value::{Map, Value};

/// The permission bits of the folder.
const FOLDER_MODE: u32 = 0o700;
/// The permission bits of its files.
const FILE_MODE: u32 = 0o600;

/// A playbook that was rendered: the command without the passwords of vaults.
#[derive(Debug, Default)]
pub(super) struct RenderedPlaybook {
    /// The words of the command before those about vaults.
    pub(super) words: Vec<String>,
    /// The path of the playbook that runs.
    pub(super) playbook: String,
    /// The file that the input `playbook` names.
    pub(super) playbook_file: Option<PathBuf>,
    /// The password of the file with secret variables.
    pub(super) password: Option<Zeroizing<String>>,
    /// The values of the secret variables.
    pub(super) secrets: Value,
    /// The files of a run that leaves none in the ensemble.
    pub(super) private_files: Option<PrivateFiles>,
}

/// Files in a folder that exists only during a run.
#[derive(Debug)]
pub(super) struct PrivateFiles {
    pub(super) folder: PathBuf,
    pub(super) files: Vec<RenderedFile>,
}

impl RenderedPlaybook {
    /// Returns the playbook as the data of a rendered task.
    pub(super) fn to_value(&self) -> Value {
        let words = self.words.iter().map(|word| Value::str(word.as_str()));
        let file = self.playbook_file.as_ref();
        let password = self.password.as_ref().map(|it| Value::str(it.as_str()));
        Value::map([
            ("words", Value::list(words)),
            ("playbook", Value::str(self.playbook.as_str())),
            (
                "playbook_file",
                Value::from(file.map(|path| path.display().to_string())),
            ),
            ("password", password.unwrap_or_default().sensitive()),
            ("secrets", self.secrets.clone().sensitive()),
            (
                "private_files",
                Value::from(self.private_files.as_ref().map(PrivateFiles::to_value)),
            ),
        ])
    }

    /// Returns the playbook from the data of a rendered task.
    pub(super) fn of_value(data: &Value) -> Self {
        let field = |name: &str| data.get(name).map(Value::reveal);
        let text = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
        let words = field("words").and_then(Value::as_list);
        Self {
            words: words.into_iter().flatten().map(Value::to_string).collect(),
            playbook: text("playbook").unwrap_or_default(),
            playbook_file: text("playbook_file").map(PathBuf::from),
            password: text("password").map(Zeroizing::new),
            secrets: field("secrets").cloned().unwrap_or_default(),
            private_files: field("private_files").and_then(PrivateFiles::of_value),
        }
    }

    /// Returns all words of the command, for messages.
    pub(super) fn shown_words(&self) -> Vec<String> {
        let words = self.words.iter().cloned();
        words
            .chain(std::iter::once(self.playbook.clone()))
            .collect()
    }
}

impl PrivateFiles {
    fn to_value(&self) -> Value {
        let files = self.files.iter().map(|file| {
            let text = String::from_utf8_lossy(&file.bytes);
            (file.path.as_str().into(), Value::str(text.as_ref()))
        });
        let folder = self.folder.display().to_string();
        Value::map([
            ("folder", Value::from(folder)),
            ("files", Value::from(files.collect::<Map>())),
        ])
    }

    fn of_value(data: &Value) -> Option<Self> {
        let files = data.get("files")?.as_map()?.iter();
        let files = files.map(|(path, text)| RenderedFile {
            folder: WorkFolder::Operation,
            path: path.to_string(),
            bytes: text.as_str().unwrap_or_default().as_bytes().to_vec(),
            sensitive: true,
        });
        Some(Self {
            folder: data.get("folder")?.as_str()?.into(),
            files: files.collect(),
        })
    }

    /// Returns the changes that write the files.
    pub(super) fn writes(&self) -> Vec<Change> {
        let like = |mode| ModeAndOwner {
            mode: Some(mode),
            ..ModeAndOwner::default()
        };
        let folder = |path: String| Change::Folder {
            path,
            parents: true,
            like: like(FOLDER_MODE),
        };
        let mut changes = vec![folder(self.folder.display().to_string())];
        for file in &self.files {
            let path = self.folder.join(&file.path);
            if let Some(parent) = path.parent().filter(|parent| *parent != self.folder) {
                changes.push(folder(parent.display().to_string()));
            }
            changes.push(Change::Write(FileWrite {
                path: path.display().to_string(),
                bytes: file.bytes.clone(),
                like: like(FILE_MODE),
                secret: true,
                present_mode: None,
            }));
        }
        changes
    }

    /// Returns the changes that remove the files.
    pub(super) fn removal(&self) -> Vec<Change> {
        let path = self.folder.display().to_string();
        vec![Change::Remove { path }]
    }
}
