//! Registers ensembles and other projects in a project file. The text is patched: comments, order and layout stay.

use std::path::{Path, PathBuf};

use super::StoreError;
use super::trust_record::lock_beside;
use crate::diagnostic::{Diagnostics, Sources};
use crate::system::fs::{self, Beneath, Replacement};
use crate::value::{Map, Value};
use crate::yaml::{self, Limits, Node, Patch, PatchError, PatchOp, Route, parse};

/// The maximum size of a project file.
const MAX_PROJECT_BYTES: u64 = 64 << 20;
/// The number of times that the change is made anew because another program saved the file.
const MAX_ATTEMPTS: usize = 20;
/// The folder of the file that git ignores.
const LOCAL_FOLDER: &str = "local/";

/// A reason why a project file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error(transparent)]
    File(#[from] fs::Error),
    #[error("`{}` is not valid YAML", path.display())]
    Invalid {
        path: PathBuf,
        problems: Box<(Diagnostics, Sources)>,
    },
    #[error("`{}` cannot be changed: {source}", path.display())]
    Unpatchable { path: PathBuf, source: PatchError },
    #[error("`{}` cannot be changed, because another program saves it again and again", path.display())]
    Busy { path: PathBuf },
}

impl RegistryError {
    /// Returns a hint on how to fix the problem.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Invalid { .. } => Some("correct the file and try again".to_owned()),
            Self::Unpatchable { .. } => {
                Some("write the section in block style, without anchors and tags".to_owned())
            }
            Self::Busy { .. } => Some("try again".to_owned()),
        }
    }
}

/// The file that gets an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The project file, which is committed.
    Shared,
    /// The file of this computer that the project file includes, or else the project file.
    Local,
}

/// An ensemble for the list of a project.
#[derive(Debug, Clone, Default)]
pub struct NewEntry {
    /// The path of the manifest from the folder of its project.
    pub file: String,
    pub alias: String,
    /// Whether the ensemble becomes the default one, unless the project has one.
    pub default: bool,
    pub environment: Option<String>,
    /// The name of the project that contains the ensemble, if it is another one.
    pub project: Option<String>,
    /// The name of the project that manages the ensemble, if it is another one.
    pub managed_by: Option<String>,
}

/// A project for the list of another one, such as the home project.
#[derive(Debug, Clone, Default)]
pub struct NewProject {
    pub name: String,
    /// The folder of the repository that contains the project.
    pub folder: PathBuf,
    /// The URL of the repository, without user and password.
    pub url: String,
    /// The first commit of the repository.
    pub initial: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    pub branch: Option<String>,
    /// The folder of the project in the repository, if it is not the root.
    pub file: Option<String>,
    /// Whether the repository exists on this computer alone.
    pub is_local: bool,
    /// The environments whose new ensembles are created in the project.
    pub environments: Vec<String>,
}

/// Adds an ensemble to the list of a project, or brings its entry up to date. Returns the file that was changed.
pub fn register_ensemble(
    project_file: &Path,
    entry: &NewEntry,
    registration: Registration,
) -> Result<PathBuf, RegistryError> {
    let file = match registration {
        Registration::Shared => project_file.to_owned(),
        Registration::Local => local_file(project_file)?,
    };
    let has_default = all_ensembles(project_file)?
        .iter()
        .any(|(name, is_default)| *is_default && *name != entry.file);
    edit(&file, |root| {
        let list = root
            .get("ensembles")
            .and_then(Node::as_seq)
            .unwrap_or_default();
        let is_same = |item: &Node| item.get("file").and_then(Node::as_str) == Some(&entry.file);
        let index = list.iter().position(is_same);
        let values = entry.values(has_default);
        match index {
            Some(index) => {
                let at = Route::keys(["ensembles"]).index(index);
                let set = |(key, value)| set(at.clone().key(key), value);
                values.into_iter().map(set).collect()
            }
            None if list.is_empty() => {
                vec![set(
                    Route::keys(["ensembles"]),
                    Value::list([Value::from(values)]),
                )]
            }
            None => vec![set(
                Route::keys(["ensembles"]).index(list.len()),
                Value::from(values),
            )],
        }
    })?;
    Ok(file)
}

/// Adds a project to the lists of another one: its clone to `localRepositories`, its URL to `projects`. Returns the
/// files that were changed.
pub fn register_project(
    project_file: &Path,
    project: &NewProject,
) -> Result<Vec<PathBuf>, RegistryError> {
    let local = local_file(project_file)?;
    let mut changed = Vec::new();
    let clone = Route::keys(["localRepositories"]).key(project.folder.display().to_string());
    if edit(&local, |_| {
        vec![set(clone.clone(), Value::from(project.clone_values()))]
    })? {
        changed.push(local.clone());
    }
    let main = if project.is_local {
        local
    } else {
        project_file.to_owned()
    };
    let by_name = Route::keys(["projects", &project.name]);
    let edited = edit(&main, |_| {
        let mut patches = vec![set(by_name.clone(), Value::from(project.values()))];
        for environment in &project.environments {
            let route = Route::keys(["environments", environment, "defaultProject"]);
            patches.push(set(route, Value::from(&*project.name)));
        }
        patches
    })?;
    if edited && !changed.contains(&main) {
        changed.push(main);
    }
    Ok(changed)
}

/// Adds an environment to a project file, if the file has none of the name. Returns whether the file was changed.
pub fn add_environment(
    project_file: &Path,
    name: &str,
    content: &Map,
) -> Result<bool, RegistryError> {
    let route = Route::keys(["environments", name]);
    edit(project_file, |root| {
        let is_new = route.find(root).is_none();
        let patch = is_new.then(|| set(route.clone(), Value::from(content.clone())));
        patch.into_iter().collect()
    })
}

/// Returns a name for a project that no other project in the lists has.
pub fn unused_project_name(
    project_file: &Path,
    name: &str,
    url: &str,
) -> Result<String, RegistryError> {
    let mut taken = Vec::new();
    for file in [project_file.to_owned(), local_file(project_file)?] {
        let (_, root) = read(&file)?;
        let known = root.get("projects").and_then(Node::as_map);
        for (name, known) in known.into_iter().flatten() {
            let known_url = known.value.get("url").and_then(Node::as_str);
            if known_url == Some(url) {
                return Ok(name.to_string());
            }
            taken.push(name.to_string());
        }
    }
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let free = names.find(|name| !taken.contains(name));
    Ok(free.unwrap_or_else(|| name.to_owned()))
}

/// Returns the paths of the clones that a project lists.
pub(super) fn local_repositories(project_file: &Path) -> Result<Vec<PathBuf>, RegistryError> {
    let mut found = Vec::new();
    for file in [project_file.to_owned(), local_file(project_file)?] {
        let (_, root) = read(&file)?;
        let listed = root.get("localRepositories").and_then(Node::as_map);
        let listed = listed.into_iter().flatten();
        found.extend(listed.map(|(path, _)| PathBuf::from(&**path)));
    }
    Ok(found)
}

/// Returns the file of this computer that a project file includes from the folder `local`, or else the project file.
pub fn local_file(project_file: &Path) -> Result<PathBuf, RegistryError> {
    let (_, root) = read(project_file)?;
    let folder = fs::parent_of(project_file);
    let mut first = None;
    for (key, entry) in root.as_map().into_iter().flatten() {
        let is_include = key.starts_with("+include") || key.starts_with("+?include");
        let value = &entry.value;
        let path = value.as_str().or_else(|| value.get("file")?.as_str());
        let Some(path) = path.filter(|path| is_include && path.starts_with(LOCAL_FOLDER)) else {
            continue;
        };
        let file = folder.join(path);
        // A link must not lead to a file of another project.
        let real = |path: &Path| fs::canonicalize(path).ok();
        let is_inside = real(&file).zip(real(folder)).is_some_and(|(file, folder)| {
            fs::is_file(&file) && file.starts_with(folder.join(LOCAL_FOLDER))
        });
        if !is_inside {
            continue;
        }
        if read(&file)?.1.get("localRepositories").is_some() {
            return Ok(file);
        }
        first.get_or_insert(file);
    }
    let keeps_clones = root.get("localRepositories").is_some();
    Ok(first
        .filter(|_| !keeps_clones)
        .unwrap_or_else(|| project_file.to_owned()))
}

impl NewEntry {
    fn values(&self, has_default: bool) -> Map {
        let mut values = Map::new();
        let mut add = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                values.insert(key.into(), Value::from(value));
            }
        };
        add("file", Some(&self.file));
        add("alias", Some(&self.alias));
        add("managedBy", self.managed_by.as_deref());
        add("project", self.project.as_deref());
        add("environment", self.environment.as_deref());
        if self.default && !has_default {
            values.insert("default".into(), Value::from(true));
        }
        values
    }
}

impl NewProject {
    fn values(&self) -> Map {
        text_map([
            ("url", Some(&*self.url)),
            ("initial", self.initial.as_deref()),
            ("file", self.file.as_deref()),
        ])
    }

    fn clone_values(&self) -> Map {
        text_map([
            ("url", Some(&*self.url)),
            ("commit", self.commit.as_deref()),
            ("initial", self.initial.as_deref()),
            ("discovered_revision", Some("")),
            ("branch", self.branch.as_deref()),
            ("project", Some(&*self.name)),
        ])
    }
}

fn text_map<const N: usize>(pairs: [(&str, Option<&str>); N]) -> Map {
    let pairs = pairs.into_iter();
    let pairs = pairs.filter_map(|(key, value)| Some((key.into(), Value::from(value?))));
    pairs.collect()
}

fn set(route: Route, value: Value) -> Patch {
    Patch {
        route,
        op: PatchOp::Set(value),
    }
}

/// Returns the files of the listed ensembles, and whether each is marked as the default one.
fn all_ensembles(project_file: &Path) -> Result<Vec<(String, bool)>, RegistryError> {
    let mut found = Vec::new();
    for file in [project_file.to_owned(), local_file(project_file)?] {
        let (_, root) = read(&file)?;
        for item in root
            .get("ensembles")
            .and_then(Node::as_seq)
            .into_iter()
            .flatten()
        {
            let file = item.get("file").and_then(Node::as_str).unwrap_or_default();
            let is_default = item.get("default").and_then(Node::as_bool).unwrap_or(false);
            found.push((file.to_owned(), is_default));
        }
    }
    Ok(found)
}

fn read(file: &Path) -> Result<(String, Node), RegistryError> {
    let bytes = fs::read_within(file, MAX_PROJECT_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
        fs::Error::new(fs::FileAction::Read, file, source)
    })?;
    let mut sources = Sources::default();
    let source = sources.add(file, &*text, None);
    match parse(&sources, source, &Limits::default()) {
        Ok(root) => Ok((text, root)),
        Err(problems) => Err(RegistryError::Invalid {
            path: file.to_owned(),
            problems: Box::new((problems, sources)),
        }),
    }
}

/// Patches a file, again if another program saves it meanwhile. Returns whether its text has changed.
fn edit(file: &Path, patches: impl Fn(&Node) -> Vec<Patch>) -> Result<bool, RegistryError> {
    let folder = Beneath::open(fs::parent_of(file))?;
    // Calls of this program wait for each other. Other programs are noticed by the comparison.
    let lock = lock_beside(file).map_err(|error| match error {
        StoreError::File(error) => RegistryError::File(error),
        _ => RegistryError::Busy {
            path: file.to_owned(),
        },
    })?;
    let edited = edit_locked(file, &folder, patches);
    lock.remove()?;
    edited
}

fn edit_locked(
    file: &Path,
    folder: &Beneath,
    patches: impl Fn(&Node) -> Vec<Patch>,
) -> Result<bool, RegistryError> {
    let name = Path::new(file.file_name().unwrap_or_default());
    for _ in 0..MAX_ATTEMPTS {
        let (text, root) = read(file)?;
        let differs = |patch: &Patch| {
            let PatchOp::Set(value) = &patch.op else {
                return true;
            };
            patch.route.find(&root).map(Node::to_value).as_ref() != Some(value)
        };
        let patches: Vec<Patch> = patches(&root).into_iter().filter(differs).collect();
        let new = yaml::apply(&text, &root, &patches);
        let new = new.map_err(|source| RegistryError::Unpatchable {
            path: file.to_owned(),
            source,
        })?;
        if new == text {
            return Ok(false);
        }
        match folder.replace_if_unchanged(name, new.as_bytes(), text.as_bytes())? {
            Replacement::Done => return Ok(true),
            Replacement::Overtaken => {}
        }
    }
    Err(RegistryError::Busy {
        path: file.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write_plain(&folder.path().join(path), text.as_bytes(), None).unwrap();
        }
        let file = folder.path().join("unfurl.yaml");
        (folder, file)
    }

    fn entry(name: &str) -> NewEntry {
        NewEntry {
            file: format!("{name}/ensemble.yaml"),
            alias: name.to_owned(),
            default: true,
            ..NewEntry::default()
        }
    }

    #[test]
    fn an_ensemble_is_added_and_comments_stay() {
        let (_folder, file) = project(&[(
            "unfurl.yaml",
            "# a\nkind: Project  # b\nenvironments:\n  # c\n  x:\n    inputs: {a:  1}\n",
        )]);
        for name in ["one", "two", "two"] {
            register_ensemble(&file, &entry(name), Registration::Shared).unwrap();
        }
        insta::assert_snapshot!(fs::read_to_string(&file).unwrap(), @"
        # a
        kind: Project  # b
        environments:
          # c
          x:
            inputs: {a:  1}
        ensembles:
        - file: one/ensemble.yaml
          alias: one
          default: true
        - file: two/ensemble.yaml
          alias: two
        ");
    }

    #[test]
    fn a_local_entry_goes_to_the_included_file_that_git_ignores() {
        let (folder, file) = project(&[
            (
                "unfurl.yaml",
                "kind: Project\n+?include-local: local/unfurl.yaml\n",
            ),
            ("local/unfurl.yaml", "kind: Project\n"),
        ]);
        let changed = register_ensemble(&file, &entry("one"), Registration::Local).unwrap();
        assert_eq!(changed, folder.path().join("local/unfurl.yaml"));
        let mut project = NewProject {
            name: "web".to_owned(),
            folder: "/srv/web".into(),
            url: "git-local://1:web/.".to_owned(),
            initial: Some("1".to_owned()),
            is_local: true,
            ..NewProject::default()
        };
        assert_eq!(
            register_project(&file, &project).unwrap(),
            std::slice::from_ref(&changed)
        );
        assert!(register_project(&file, &project).unwrap().is_empty());
        project.url = "https://example.com/web".to_owned();
        project.is_local = false;
        assert_eq!(
            register_project(&file, &project).unwrap(),
            [changed.clone(), file.clone()]
        );
        insta::assert_snapshot!(fs::read_to_string(&changed).unwrap(), @"
        kind: Project
        ensembles:
        - file: one/ensemble.yaml
          alias: one
          default: true
        localRepositories:
          /srv/web:
            url: https://example.com/web
            initial: '1'
            discovered_revision: ''
            project: web
        projects:
          web:
            url: git-local://1:web/.
            initial: '1'
        ");
        assert_eq!(unused_project_name(&file, "web", "x").unwrap(), "web-1");
        assert_eq!(
            unused_project_name(&file, "y", &project.url).unwrap(),
            "web"
        );
    }

    #[test]
    fn a_project_file_that_is_a_link_is_not_changed() {
        let (folder, file) = project(&[("real.yaml", "kind: Project\n")]);
        std::os::unix::fs::symlink("real.yaml", &file).unwrap();
        let refused = register_ensemble(&file, &entry("one"), Registration::Shared);
        assert!(
            matches!(refused, Err(RegistryError::File(_))),
            "{refused:?}"
        );
        assert_eq!(
            fs::read_to_string(&folder.path().join("real.yaml")).unwrap(),
            "kind: Project\n"
        );
    }

    #[test]
    fn a_folder_of_settings_that_is_a_link_is_not_changed() {
        let elsewhere = tempfile::tempdir().unwrap();
        let text = "kind: Project\n+?include-local: local/unfurl.yaml\n";
        let (folder, file) = project(&[("unfurl.yaml", text)]);
        let other = elsewhere.path().join("unfurl.yaml");
        fs::write_plain(&other, b"kind: Project\n", None).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("local")).unwrap();
        let changed = register_ensemble(&file, &entry("one"), Registration::Local).unwrap();
        assert_eq!(changed, file);
        assert_eq!(fs::read_to_string(&other).unwrap(), "kind: Project\n");
    }

    #[test]
    fn entries_that_are_added_at_once_all_stay() {
        let (_folder, file) = project(&[("unfurl.yaml", "kind: Project\n")]);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    let entry = entry(&format!("e{number}"));
                    register_ensemble(file, &entry, Registration::Shared).unwrap();
                });
            }
        });
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches("file: e").count(), 8, "{text}");
    }
}
