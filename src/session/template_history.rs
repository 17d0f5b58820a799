//! Finds node templates in the git history of the ensemble: in earlier versions of its manifest and of the
//! included files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostics, SourceId, Sources};
use crate::git::Repository;
use crate::name::TemplateName;
use crate::system::fs;
use crate::yaml::{self, IncludeRequest, Limits, LoadResult, Loader, MapEntry, Node};

/// The maximum number of commits examined.
const MAX_COMMITS: usize = 1_000;

/// The maximum number of nodes of all versions that are examined, with each alias and merge as a copy.
const MAX_NODES: u64 = 20_000_000;

/// The number of nodes that a version counts for if it exceeds the limits of a document.
const MAX_REFUSED_NODES: u32 = 1_000_000;

/// Finds templates, each in the newest commit that contains it. The search ends after [`MAX_COMMITS`] commits or
/// [`MAX_NODES`] nodes.
pub(crate) fn templates(
    manifest: &Path,
    names: &BTreeSet<TemplateName>,
    sources: &mut Sources,
) -> HashMap<TemplateName, MapEntry> {
    let mut found = HashMap::new();
    let Ok(Some(repository)) = Repository::discover(manifest) else {
        return found;
    };
    let mut seen = HashSet::new();
    let mut included = BTreeSet::new();
    let mut nodes = 0;
    for commit in repository.commits(MAX_COMMITS) {
        if found.len() == names.len() {
            break;
        }
        let Some(text) = repository.text_at(&commit, manifest) else {
            continue;
        };
        // Jobs change only the status, which contains no templates. Comparing the rest skips most commits.
        let specification = text.find("\nstatus:").map_or(&*text, |end| &text[..=end]);
        let files = included
            .iter()
            .map(|file: &PathBuf| repository.blob_id_at(&commit, file));
        if !seen.insert((specification.to_owned(), files.collect::<Vec<_>>())) {
            continue;
        }
        if !may_have(specification, names) {
            continue;
        }
        let mut past = CommitFiles {
            repository: &repository,
            commit: &commit,
            sources,
            paths: HashMap::new(),
        };
        let root = past.expanded(manifest, specification);
        nodes += u64::from(root.as_ref().map_or(MAX_REFUSED_NODES, Node::weight));
        if nodes > MAX_NODES {
            break;
        }
        if let Some(root) = root {
            for name in names {
                let entry = template(&root, name.as_str());
                if let Some(entry) = entry.filter(|_| !found.contains_key(name)) {
                    found.insert(name.clone(), entry);
                }
            }
        }
        included.extend(past.paths.into_values().filter(|path| path != manifest));
    }
    found
}

/// Whether one of the names can stand in a text, or in a file that the text includes.
fn may_have(text: &str, names: &BTreeSet<TemplateName>) -> bool {
    let includes = ["+include", "+?include"]
        .iter()
        .any(|word| text.contains(word));
    includes || names.iter().any(|name| text.contains(name.as_str()))
}

/// Returns a node template of a manifest.
fn template(root: &Node, name: &str) -> Option<MapEntry> {
    let spec = root.get("spec")?;
    let service = spec.get("service_template").or_else(|| spec.get("tosca"))?;
    let templates = service.get("topology_template")?.get("node_templates")?;
    templates.as_map()?.entry(name).cloned()
}

/// The files of a commit, as a loader of included files.
struct CommitFiles<'a> {
    repository: &'a Repository,
    commit: &'a str,
    sources: &'a mut Sources,
    paths: HashMap<SourceId, PathBuf>,
}

impl CommitFiles<'_> {
    fn expanded(&mut self, manifest: &Path, text: &str) -> Option<Node> {
        let (_, root) = self.parse(manifest, text).ok()?;
        let expanded = yaml::expand(&root, self, &Limits::default());
        expanded.ok().map(|expanded| expanded.root)
    }

    fn parse(&mut self, path: &Path, text: &str) -> Result<(SourceId, Node), Diagnostics> {
        let short = self.commit.get(..8).unwrap_or_default();
        let shown = format!("{} at {short}", path.display());
        let source = self.sources.add(shown, text, None);
        self.paths.insert(source, path.to_owned());
        let root = yaml::parse(self.sources, source, &Limits::default())?;
        Ok((source, root))
    }
}

impl Loader for CommitFiles<'_> {
    fn load(&mut self, request: &IncludeRequest) -> Result<LoadResult, Diagnostics> {
        if request.repository.is_some() || request.repository_url.is_some() {
            return Ok(LoadResult::Skipped);
        }
        let from = self.paths.get(&request.from);
        let folder = from
            .and_then(|from| from.parent())
            .unwrap_or(Path::new("."));
        let path = fs::absolute(Path::new(&request.file), folder);
        let Some(text) = self.repository.text_at(self.commit, &path) else {
            return Ok(LoadResult::Missing);
        };
        let (source, root) = self.parse(&path, &text)?;
        Ok(LoadResult::Found { source, root })
    }
}
