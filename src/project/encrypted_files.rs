//! Decrypts values and files while they are loaded, for [`FileLoader`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::FileLoader;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::secret::{self, Keys};
use crate::system::fs;
use crate::yaml::{Mapping, Node, NodeKind, parse};

impl FileLoader<'_> {
    /// Returns the keys that decrypt values.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Sets the keys that decrypt values. At first, these are the passwords in environment variables.
    pub fn set_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Reads files although values in them cannot be decrypted. Such values become redacted values.
    ///
    /// Commands that never use the values call this.
    pub fn tolerate_closed_values(&mut self) {
        self.tolerates_closed = true;
    }

    /// Removes and returns the problems of values that could not be decrypted.
    pub fn take_closed_values(&mut self) -> Diagnostics {
        std::mem::take(&mut self.closed)
    }

    /// Returns true if a text was decrypted as a whole, so that its file has other bytes.
    pub fn is_decrypted(&self, source: SourceId) -> bool {
        self.decrypted.contains(&source)
    }

    /// Parses a text that was added to the sources, and decrypts the encrypted values in it.
    pub fn parse_source(&mut self, source: SourceId) -> Result<Node, Diagnostics> {
        let text = self.sources.get(source).map(|it| Arc::clone(&it.text));
        if let Some(text) = text.filter(|text| secret::is_encrypted(text.as_bytes())) {
            return self.parse_encrypted(source, &text);
        }
        let root = parse(self.sources, source, &self.limits)?;
        let mut problems = Diagnostics::default();
        let folder = self.folder_of(source);
        let root = root.opened(&self.keys.for_folder(&folder), &mut problems);
        self.check_closed(problems)?;
        Ok(root)
    }

    /// Parses a text that is encrypted as a whole. Messages do not quote the decrypted text.
    fn parse_encrypted(&mut self, source: SourceId, text: &str) -> Result<Node, Diagnostics> {
        let start = Span::new(source, 0, 0);
        self.decrypted.insert(source);
        if self.keys.skips() {
            return Ok(Node::new(NodeKind::Map(Mapping::default()), start, None));
        }
        let folder = self.folder_of(source);
        let keys = self.keys.clone();
        let keys = keys.for_folder(&folder);
        let path = self.sources.get(source).map(|source| source.path.display());
        let subject = path.map(|path| format!("`{path}`")).unwrap_or_default();
        let opened = match keys.open(text, &subject) {
            Ok(opened) => opened,
            Err(error) => {
                let message = format!("this encrypted file cannot be decrypted: {error}");
                let problem = Diagnostic::error(message).label(start, "");
                self.check_closed(problem.help(error.help()).into())?;
                return Ok(Node::new(NodeKind::Map(Mapping::default()), start, None));
            }
        };
        // A copy of a file in `secrets` is read as that file would be once it is restored.
        let path = self.sources.get(source).map(|source| source.path.clone());
        let copied = path.filter(|path| self.encrypted_copy(path).is_some());
        let opened = match &copied {
            Some(path) => secret::clear_of(path, text.as_bytes(), &opened),
            None => opened,
        };
        let Ok(opened) = std::str::from_utf8(&opened) else {
            let problem = Diagnostic::error("the decrypted content of this file is not UTF-8 text");
            return Err(problem.label(start, "").into());
        };
        self.sources.replace(source, |_| opened.to_owned());
        let parsed = parse(self.sources, source, &self.limits);
        let end = u32::try_from(opened.len()).unwrap_or(u32::MAX);
        self.hide(&[Span::new(source, 0, end)]);
        let mut problems = Diagnostics::default();
        let root = if copied.is_some() {
            parsed?
        } else {
            parsed?.sensitive()
        };
        let root = root.opened(&keys, &mut problems);
        self.check_closed(problems)?;
        Ok(root)
    }

    /// Returns true if a file that need not exist has only a copy that cannot be decrypted. A warning names the copy.
    pub(super) fn is_closed_copy(&mut self, path: &Path) -> bool {
        let Some(copy) = self.encrypted_copy(path).filter(|_| !fs::is_file(path)) else {
            return false;
        };
        let text = fs::read_within(&copy, self.limits.max_bytes as u64);
        let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
        if !secret::is_encrypted(text.as_bytes()) {
            return false;
        }
        let keys = self.keys.for_folder(fs::parent_of(path));
        let Err(error) = keys.open(&text, &format!("`{}`", copy.display())) else {
            return false;
        };
        let message = format!(
            "`{}` is left out, because `{}` cannot be decrypted: {error}",
            path.display(),
            copy.display()
        );
        self.closed
            .push(Diagnostic::warning(message).help(error.help()));
        true
    }

    /// Returns the problems of values that could not be decrypted, or collects them.
    fn check_closed(&mut self, problems: Diagnostics) -> Result<(), Diagnostics> {
        if problems.has_errors() && !self.tolerates_closed {
            return Err(problems);
        }
        self.closed.append(problems);
        Ok(())
    }

    /// Returns the encrypted copy of a file in `secrets`, if the copy is newer and the user wants it opened.
    pub(super) fn encrypted_copy(&self, path: &Path) -> Option<PathBuf> {
        let copy = (!self.keys.skips()).then(|| secret::newer_copy(path))??;
        self.scope.resolve(&copy).ok()
    }

    /// Returns the path to open for the content of a file, which may be that of its encrypted copy.
    pub(super) fn stored(&self, path: &Path) -> Result<PathBuf, Diagnostic> {
        let real = self.readable(path)?;
        Ok(self.encrypted_copy(&real).unwrap_or(real))
    }
}
