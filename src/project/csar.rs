//! Finds the entry file of a CSAR, a package of a service template (TOSCA 1.3, section 6).
//!
//! A CSAR is an archive, or a folder with the same content. [`FileLoader`] reads the files of both.

use std::path::{Path, PathBuf};

use super::FileLoader;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::system::fs;
use crate::yaml::Node;

/// The possible paths of the metadata file in a CSAR.
const META_FILES: [&str; 2] = ["TOSCA-Metadata/TOSCA.meta", "TOSCA.meta"];
/// The extensions of service template files.
const TEMPLATE_EXTENSIONS: [&str; 3] = ["yaml", "yml", "tosca"];

/// A CSAR whose files a loader can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csar {
    /// The path of the folder or of the archive.
    pub root: PathBuf,
    /// Whether the CSAR is an archive instead of a folder.
    pub archive: bool,
}

impl Csar {
    /// Returns the path of the file that contains the service template.
    pub fn entry_file(&self, loader: &mut FileLoader<'_>) -> Result<PathBuf, Diagnostics> {
        let mut metas = META_FILES.iter().map(|name| self.root.join(name));
        match metas.find(|path| loader.is_file(path)) {
            Some(meta) => self.entry_from_meta(&meta, loader),
            None => self.entry_at_root(loader),
        }
    }

    /// Returns the entry that `TOSCA.meta` names.
    ///
    /// The file has lines of a name and a value. Only the first block, up to an empty line, counts.
    fn entry_from_meta(
        &self,
        meta: &Path,
        loader: &mut FileLoader<'_>,
    ) -> Result<PathBuf, Diagnostics> {
        let (source, text) = loader.text(meta)?;
        let mut place = 0;
        let mut entry = None;
        let mut has_version = false;
        for line in text.split_inclusive('\n') {
            let start = place;
            place += line.len();
            let Some((name, value)) = line.split_once(':') else {
                if line.trim().is_empty() && start > 0 {
                    break;
                }
                continue;
            };
            let span = Span::new(source, offset(start), offset(start + line.trim_end().len()));
            match name.trim_start_matches('\u{feff}').trim() {
                "CSAR-Version" => has_version = true,
                "Entry-Definitions" => entry = Some((value.trim().to_owned(), span)),
                _ => {}
            }
        }
        let all = Span::new(source, 0, offset(text.trim_end().len()));
        let Some((file, span)) = entry else {
            return Err(Diagnostic::error("`TOSCA.meta` has no `Entry-Definitions`")
                .label(all, "")
                .help("add `Entry-Definitions:` and the path of the service template")
                .into());
        };
        if !has_version {
            let problem = Diagnostic::warning("`TOSCA.meta` has no `CSAR-Version`");
            loader.warn(problem.label(all, ""));
        }
        let path = fs::normalize(&self.root.join(&file));
        if path.starts_with(&self.root) && loader.is_file(&path) {
            return Ok(path);
        }
        let message = format!("the CSAR does not contain its service template `{file}`");
        Err(Diagnostic::error(message)
            .label(span, "named here")
            .help("the path is relative to the folder that contains `TOSCA-Metadata`")
            .into())
    }

    /// Returns the only service template at the top level, for a CSAR without `TOSCA.meta`.
    fn entry_at_root(&self, loader: &mut FileLoader<'_>) -> Result<PathBuf, Diagnostics> {
        let mut found = Vec::new();
        for path in loader.files_in(&self.root) {
            let end = path.extension().unwrap_or_default();
            if !TEMPLATE_EXTENSIONS.iter().any(|known| end == *known) {
                continue;
            }
            let root = match loader.read(&path, None) {
                Ok((_, root)) => root,
                Err(problems) if self.archive => return Err(problems),
                Err(_) => continue,
            };
            if root.get("tosca_definitions_version").is_some() {
                found.push((path, root));
            }
        }
        match found.as_slice() {
            [(path, root)] => {
                if self.archive {
                    check_version(root)?;
                }
                Ok(path.clone())
            }
            [] => Err(Diagnostic::error(format!(
                "`{}` contains neither `TOSCA-Metadata/TOSCA.meta` nor a service template at its top level",
                self.root.display()
            ))
            .label(loader.start_span(&self.root), "")
            .help("pack the folder's content, not the folder, and name the entry in `TOSCA.meta`")
            .into()),
            [first, second, ..] => {
                let place = |root: &Node| {
                    root.get("tosca_definitions_version")
                        .map_or(root.span(), Node::span)
                };
                let message = "the CSAR has no `TOSCA.meta` and more than one service template";
                Err(Diagnostic::error(message)
                    .label(place(&second.1), "a service template")
                    .label(place(&first.1), "another service template")
                    .help("add `TOSCA-Metadata/TOSCA.meta` with `Entry-Definitions:`")
                    .into())
            }
        }
    }
}

/// Reports an archive without `TOSCA.meta` in TOSCA 1.0, which requires one. Later versions do not.
fn check_version(root: &Node) -> Result<(), Diagnostic> {
    let version = root.get("tosca_definitions_version");
    let text = version.and_then(Node::as_str).unwrap_or_default();
    if !matches!(text, "tosca_simple_yaml_1_0" | "tosca_simple_yaml_1_0_0") {
        return Ok(());
    }
    let span = version.map_or(root.span(), Node::span);
    Err(
        Diagnostic::error("the CSAR has no `TOSCA.meta`, which TOSCA 1.0 requires")
            .label(span, "")
            .help("add `TOSCA-Metadata/TOSCA.meta` with `Entry-Definitions:`"),
    )
}

fn offset(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
