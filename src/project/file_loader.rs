//! Loads the files that merge directives, includes and imports name.
//!
//! [`FileLoader`] implements [`Loader`] for `yaml::expand` and serves the search for projects. It finds
//! repositories on this machine and never uses the network. Files in Python are converted to YAML.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;
use std::sync::Arc;

use super::Trust;
use super::embedded;
use super::python::{ConvertedTemplate, PythonConverter, failure_report};
use super::read_scope::{OutsideError, ReadScope};
use super::repository_lookup::{NETWORK_PERMISSION, PackageUse, RepositoryLookup};
use super::web_files::WebFiles;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources, Span};
use crate::package::PackageRule;
use crate::secret::Keys;
use crate::system::env::Env;
use crate::system::{archive, fs};
use crate::text::{folder_of_url, format_size, is_url, join_url, without_logins};
use crate::yaml::{IncludeRequest, Limits, LoadResult, Loader, Mapping, Node};

const TEXT_LIMIT_HINT: &str = "raise the limit with `--max-text`";

/// Reads and parses files, each of them once.
///
/// A relative path starts at the folder of the including text, or at the local clone of a repository. Files
/// of the repository `unfurl` are embedded in the binary.
#[derive(Debug)]
pub struct FileLoader<'a> {
    pub(super) sources: &'a mut Sources,
    env: &'a Env,
    pub(super) limits: Limits,
    lookup: RepositoryLookup,
    parsed: HashMap<PathBuf, (SourceId, Node)>,
    python: PythonConverter<'a>,
    converted: HashMap<PathBuf, Result<(SourceId, Node), Diagnostics>>,
    from_python: HashSet<SourceId>,
    warnings: Diagnostics,
    archive: Option<Archive>,
    web_files: WebFiles,
    /// The texts that are used in place of those of files.
    replaced: HashMap<PathBuf, Arc<str>>,
    /// The files that may be read.
    pub(super) scope: ReadScope,
    pub(super) keys: Keys,
    /// True if values that cannot be decrypted are collected instead of being errors.
    pub(super) tolerates_closed: bool,
    pub(super) closed: Diagnostics,
    /// The texts that were decrypted as a whole.
    pub(super) decrypted: HashSet<SourceId>,
}

/// An open archive. The paths of its files start with the path of the archive.
#[derive(Debug)]
struct Archive {
    root: PathBuf,
    files: archive::ArchiveFiles,
}

impl Archive {
    /// Returns the content at a path. `None` if the archive has no such file.
    fn get(&self, path: &Path) -> Option<&Option<Vec<u8>>> {
        self.files.get(path.strip_prefix(&self.root).ok()?)
    }
}

impl<'a> FileLoader<'a> {
    /// Creates a loader that adds the texts that it reads to `sources`.
    pub fn new(sources: &'a mut Sources, env: &'a Env, limits: Limits) -> Self {
        Self {
            sources,
            env,
            limits,
            lookup: RepositoryLookup::new(),
            parsed: HashMap::new(),
            python: PythonConverter::new(env),
            converted: HashMap::new(),
            from_python: HashSet::new(),
            warnings: Diagnostics::default(),
            archive: None,
            web_files: WebFiles::default(),
            replaced: HashMap::new(),
            scope: ReadScope::default(),
            keys: Keys::of_variables(env),
            tolerates_closed: false,
            closed: Diagnostics::default(),
            decrypted: HashSet::new(),
        }
    }

    /// Opens an archive.
    ///
    /// From then on, the loader reads only files of the archive, at paths below that of the archive.
    pub fn open_archive(&mut self, path: &Path) -> Result<(), Diagnostic> {
        let path = fs::normalize(path);
        let bytes =
            fs::read_within(&path, self.limits.max_bytes as u64).map_err(Diagnostic::error)?;
        let files = archive::read(&bytes, is_text).map_err(|error| {
            let start = self.start_span(&path);
            Diagnostic::error(format!("`{}` is not a CSAR: {error}", path.display()))
                .label(start, "")
                .help("a CSAR must be a zip or tar file with a service template")
        })?;
        self.set_predefined_repositories(&path, None);
        self.archive = Some(Archive { root: path, files });
        Ok(())
    }

    /// Whether the path is a plain file, in the archive if one is open.
    pub fn is_file(&self, path: &Path) -> bool {
        let path = fs::normalize(path);
        match &self.archive {
            _ if embedded::text(&path).is_some() => true,
            Some(archive) => archive.get(&path).is_some(),
            None => self
                .scope
                .resolve(&path)
                .is_ok_and(|path| fs::is_file(&path) || self.encrypted_copy(&path).is_some()),
        }
    }

    /// Returns the files in a folder, sorted by name. Empty if the folder cannot be read.
    pub fn files_in(&self, folder: &Path) -> Vec<PathBuf> {
        let Some(archive) = &self.archive else {
            let entries = fs::list(folder).unwrap_or_default();
            let paths = entries.into_iter().map(|entry| entry.path);
            return paths.filter(|path| self.is_file(path)).collect();
        };
        let paths = archive.files.keys().map(|path| archive.root.join(path));
        paths.filter(|path| path.parent() == Some(folder)).collect()
    }

    /// Reads a file as text and adds it to the sources.
    pub fn text(&mut self, path: &Path) -> Result<(SourceId, Arc<str>), Diagnostic> {
        let path = fs::normalize(path);
        let text = self.content(&path)?;
        let text: Arc<str> = text.into();
        let source = self.sources.add(&path, Arc::clone(&text), None);
        Ok((source, text))
    }

    /// Uses a text in place of that of a file.
    pub fn replace_text(&mut self, path: &Path, text: Arc<str>) {
        self.replaced.insert(fs::normalize(path), text);
    }

    /// Adds a text that was read elsewhere to the sources.
    pub fn add_source(&mut self, path: &Path, text: Arc<str>) -> SourceId {
        self.sources.add(path, text, None)
    }

    fn content(&mut self, path: &Path) -> Result<String, Diagnostic> {
        if let Some(text) = embedded::text(path) {
            return Ok(text.to_owned());
        }
        if let Some(text) = self.replaced.get(path) {
            return Ok(text.to_string());
        }
        let bytes = match &self.archive {
            None => fs::read_within(&self.stored(path)?, self.limits.max_bytes as u64).map_err(
                |error| {
                    if error.is_too_large() {
                        let limit = format_size(self.limits.max_bytes as u64);
                        let message = format!("`{}` is larger than {limit}", path.display());
                        return Diagnostic::error(message).help(TEXT_LIMIT_HINT);
                    }
                    let diagnostic = Diagnostic::error(&error);
                    match error.hint() {
                        Some(hint) => diagnostic.help(hint),
                        None => diagnostic,
                    }
                },
            )?,
            Some(archive) => archive.get(path).cloned().flatten().ok_or_else(|| {
                Diagnostic::error(format!("`{}` is not a text file", path.display()))
            })?,
        };
        String::from_utf8(bytes).map_err(|error| self.invalid_utf8(path, &error))
    }

    /// Returns the error for a file that is not UTF-8, with the location of the first invalid byte.
    fn invalid_utf8(&mut self, path: &Path, error: &FromUtf8Error) -> Diagnostic {
        let place = u32::try_from(error.utf8_error().valid_up_to()).unwrap_or(u32::MAX);
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let source = self.sources.add(path, text, None);
        Diagnostic::error(format!("`{}` is not UTF-8 text", path.display()))
            .label(Span::new(source, place, place), "")
            .help("save the file as UTF-8")
    }

    /// Returns a location at the start of a file that is no text, such as an archive.
    pub fn start_span(&mut self, path: &Path) -> Span {
        Span::new(self.sources.add(path, "", None), 0, 0)
    }

    /// Returns a parsed file on the web. Later calls for the same address return the same source.
    fn read_url(&mut self, url: &str, span: Span) -> Result<(SourceId, Node), Diagnostics> {
        if let Some(known) = self.web_files.known.get(url) {
            return known.clone();
        }
        let result = self.fetch_url(url, span);
        self.web_files.known.insert(url.to_owned(), result.clone());
        result
    }

    fn fetch_url(&mut self, url: &str, span: Span) -> Result<(SourceId, Node), Diagnostics> {
        let limit = self.limits.max_bytes as u64;
        let text = self.web_files.fetch(url, span, limit)?;
        let path = PathBuf::from(without_logins(url));
        let source = self.sources.add(path, text, Some(span));
        self.check_total(source)?;
        let root = self.parse_source(source)?;
        self.declare_repositories_of(&root);
        Ok((source, root))
    }

    /// Adds a warning about a file.
    pub fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// Applies the permissions of the project whose files are below `base`.
    ///
    /// Until this call nothing is permitted.
    pub fn set_trust(&mut self, trust: &Trust, base: &Path) {
        self.python.set_trust(trust, base);
        self.web_files.permitted = trust.permits_by_name(NETWORK_PERMISSION);
        self.scope.set_trust(trust);
    }

    /// Returns the files that may be read. At first, these are none.
    pub fn scope(&mut self) -> &mut ReadScope {
        &mut self.scope
    }

    /// Returns the path to open for a read. A file outside of the project is not even looked at.
    pub(super) fn readable(&self, path: &Path) -> Result<PathBuf, Diagnostic> {
        let real = self.scope.resolve(path);
        real.map_err(|error| Diagnostic::error(error).help(OutsideError::help()))
    }

    /// Sets the local folder of a repository.
    pub fn add_repository(&mut self, name: impl Into<String>, folder: impl Into<PathBuf>) {
        self.lookup.set_folder(name.into(), folder.into());
    }

    /// Declares the repositories of an environment, whose paths are relative to a folder.
    pub fn declare_repositories(&mut self, section: &Mapping, base: &Path) {
        for warning in self.lookup.declare(section, Some(base)) {
            self.warnings.push(warning);
        }
    }

    /// Adds rules for packages.
    pub fn add_package_rules(&mut self, rules: Vec<PackageRule>) {
        self.lookup.add_rules(rules);
    }

    /// Returns the packages that files have used so far.
    pub fn package_uses(&self) -> &[PackageUse] {
        self.lookup.uses()
    }

    /// Returns the folders of this machine that are used as repositories, with the places that name them.
    pub fn local_repository_uses(&self) -> &[(PathBuf, Span)] {
        self.lookup.local_uses()
    }

    /// Returns the rules for packages.
    pub fn package_rules(&self) -> &[PackageRule] {
        self.lookup.rules()
    }

    /// Sets the predefined repositories `self`, `spec` and `project`.
    ///
    /// `self` is the folder of the ensemble, the others are that of its project. Declared repositories of the
    /// same names have priority.
    pub fn set_predefined_repositories(&mut self, ensemble: &Path, project: Option<&Path>) {
        self.lookup.set_predefined("self", ensemble);
        for name in ["spec", "project"] {
            self.lookup
                .set_predefined(name, project.unwrap_or(ensemble));
        }
        for folder in [Some(ensemble), project].into_iter().flatten() {
            self.scope.add_folder(folder);
        }
    }

    /// Returns the home folder of the user (`HOME`).
    pub(super) fn home_dir(&self) -> Option<&Path> {
        self.env.non_empty("HOME").map(Path::new)
    }

    /// Returns the texts read so far.
    pub fn sources(&self) -> &Sources {
        self.sources
    }

    /// Replaces secrets by asterisks in the texts that messages quote.
    pub fn hide(&mut self, secrets: &[Span]) {
        let mut of_sources: HashMap<SourceId, Vec<Span>> = HashMap::new();
        for span in secrets {
            of_sources.entry(span.source).or_default().push(*span);
        }
        for (source, mut spans) in of_sources {
            spans.sort_unstable_by_key(|span| span.start);
            self.sources.replace(source, |text| masked(text, &spans));
        }
    }

    /// Removes and returns the warnings about the files read so far.
    pub fn take_warnings(&mut self) -> Diagnostics {
        std::mem::take(&mut self.warnings)
    }

    /// Reads and parses a file. Later calls for the same file return the same source.
    pub fn read(
        &mut self,
        path: &Path,
        included_from: Option<Span>,
    ) -> Result<(SourceId, Node), Diagnostics> {
        let path = fs::normalize(path);
        if let Some((source, root)) = self.parsed.get(&path) {
            return Ok((*source, root.clone()));
        }
        if is_python(&path) {
            return self.read_python(path, included_from);
        }
        let text = self.read_content(&path, included_from)?;
        let source = self.sources.add(&path, text, included_from);
        self.check_total(source)?;
        let root = self.parse_source(source)?;
        self.declare_repositories_of(&root);
        self.parsed.insert(path, (source, root.clone()));
        Ok((source, root))
    }

    /// Returns the files that were read from a source on, in that order, with their documents.
    pub(super) fn files_from(&self, first: SourceId) -> Vec<(PathBuf, Node)> {
        let files = self.parsed.iter();
        let mut files: Vec<_> = files.filter(|(_, (source, _))| *source >= first).collect();
        files.sort_by_key(|(_, (source, _))| *source);
        let files = files.into_iter();
        files
            .map(|(path, (_, document))| (path.clone(), document.clone()))
            .collect()
    }

    /// Returns an error if the texts read so far are too large together.
    fn check_total(&self, source: SourceId) -> Result<(), Diagnostic> {
        let total = self.sources.total_bytes();
        if total <= self.limits.max_bytes {
            return Ok(());
        }
        let limit = format_size(self.limits.max_bytes as u64);
        let message = format!("the files have {total} bytes together, but the limit is {limit}");
        Err(Diagnostic::error(message)
            .label(Span::new(source, 0, 0), "")
            .help(TEXT_LIMIT_HINT))
    }

    fn read_content(
        &mut self,
        path: &Path,
        included_from: Option<Span>,
    ) -> Result<String, Diagnostics> {
        let span = included_from.unwrap_or(Span::NONE);
        let requested = |problem: Diagnostic| problem.label(span, "included here");
        Ok(self.content(path).map_err(requested)?)
    }

    /// Converts a file in Python and parses the result. The file runs at most once, also if it fails.
    fn read_python(
        &mut self,
        path: PathBuf,
        included_from: Option<Span>,
    ) -> Result<(SourceId, Node), Diagnostics> {
        if let Some(known) = self.converted.get(&path) {
            return known.clone();
        }
        let result = self.convert(&path, included_from);
        self.converted.insert(path, result.clone());
        result
    }

    fn convert(
        &mut self,
        path: &Path,
        included_from: Option<Span>,
    ) -> Result<(SourceId, Node), Diagnostics> {
        let requested = included_from.unwrap_or(Span::NONE);
        let text = self.read_content(path, included_from)?;
        let converted = match self.archive {
            Some(_) => PythonConverter::convert_in_archive(&text),
            None => self.python.convert(path, &text),
        };
        let ConvertedTemplate { yaml, warnings } = converted
            .map_err(|failure| failure_report(failure, path, &text, requested, self.sources))?;
        for warning in warnings {
            let message = format!("`{}`: {warning}", path.display());
            let warning = Diagnostic::warning(message);
            self.warnings
                .push(warning.label(requested, "included here"));
        }
        let source = self.sources.add(converted_name(path), yaml, included_from);
        self.from_python.insert(source);
        let root = self.parse_source(source)?;
        self.declare_repositories_of(&root);
        Ok((source, root))
    }

    fn declare_repositories_of(&mut self, document: &Node) {
        for warning in self.lookup.declare_all_of(document) {
            self.warnings.push(warning);
        }
    }

    /// Returns the folder of a text that was converted from Python. `None` for other texts.
    ///
    /// The imports of such a text are relative to this folder, even if it was included into another file.
    pub fn folder_of_python_source(&self, source: SourceId) -> Option<PathBuf> {
        let is_converted = self.from_python.contains(&source);
        is_converted.then(|| self.folder_of(source))
    }

    /// Returns the folder of a text, which its relative paths refer to.
    pub fn folder_of(&self, source: SourceId) -> PathBuf {
        let Some(source) = self.sources.get(source) else {
            return PathBuf::new();
        };
        match source.path.to_str().filter(|path| is_url(path)) {
            Some(url) => folder_of_url(url).into(),
            None => source.path.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// Returns the local folder of the repository that a request names.
    ///
    /// Returns `None` if the request names none, or one that nothing has declared yet.
    fn repository(&mut self, request: &IncludeRequest) -> Result<Option<PathBuf>, Diagnostics> {
        let here = self.folder_of(request.from);
        let found = self.lookup.find(request, &here)?;
        if let Some(found) = &found
            && found.is_clone
        {
            self.scope.add_folder(&found.folder);
        }
        Ok(found.map(|found| found.folder))
    }
}

impl FileLoader<'_> {
    /// Returns an error if an included file lies outside of the project.
    fn refuse_outside(&self, path: &Path, span: Span) -> Result<(), Diagnostics> {
        if self.archive.is_some() || embedded::path_within(path).is_some() {
            return Ok(());
        }
        let checked = self.scope.resolve(path);
        checked.map_err(|error| error.diagnostic(span, "included here"))?;
        Ok(())
    }
}

/// Whether to read a file of an archive as text. Of other files only the existence matters.
fn is_text(path: &Path) -> bool {
    let end = path.extension().unwrap_or_default();
    let known = ["yaml", "yml", "tosca", "json", "meta", "py"];
    known.iter().any(|known| end == *known)
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py")
}

/// Returns the name that messages use for the YAML converted from a Python file.
fn converted_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name} (converted from Python)"))
}

/// Returns the path of the Python file that can replace a missing YAML file.
fn python_counterpart(path: &Path) -> Option<PathBuf> {
    let is_yaml = path.extension().is_some_and(|end| end == "yaml");
    is_yaml.then(|| path.with_extension("py"))
}

/// Returns the error for a path that the repository `unfurl` does not have.
fn not_embedded(path: &Path, span: Span) -> Diagnostic {
    let message = format!("there is no file `{}`", path.display());
    let names: Vec<_> = embedded::file_names().collect();
    Diagnostic::error(message)
        .label(span, "included here")
        .help(format!(
            "the files of the repository `unfurl` are {}",
            names.join(", ")
        ))
}

impl Loader for FileLoader<'_> {
    fn load(&mut self, request: &IncludeRequest) -> Result<LoadResult, Diagnostics> {
        let unset = |name: &String| self.env.non_empty(name).is_none();
        if request.condition_variable.as_ref().is_some_and(unset) {
            return Ok(LoadResult::Skipped);
        }
        let file = request.file.as_str();
        let named = request.repository.is_some() || request.repository_url.is_some();
        let here = self.folder_of(request.from);
        let web_folder = here.to_str().filter(|folder| is_url(folder) && !named);
        if is_url(file) || web_folder.is_some() {
            let url = join_url(web_folder.unwrap_or_default(), file);
            let (source, root) = self.read_url(&url, request.span)?;
            return Ok(LoadResult::Found { source, root });
        }
        let folder = if named {
            match self.repository(request)? {
                Some(folder) => folder,
                None => return Ok(LoadResult::Deferred),
            }
        } else {
            here
        };
        let within = [Path::new(file), &folder.join(file)]
            .into_iter()
            .find_map(embedded::path_within);
        let mut path = within.unwrap_or_else(|| fs::absolute(Path::new(file), &folder));
        self.refuse_outside(&path, request.span)?;
        if request.optional && self.is_closed_copy(&path) {
            return Ok(LoadResult::Missing);
        }
        if !self.is_file(&path) {
            if !request.optional && embedded::path_within(&path).is_some() {
                return Err(not_embedded(&path, request.span).into());
            }
            path = match python_counterpart(&path).filter(|python| self.is_file(python)) {
                Some(python) => python,
                None => return Ok(LoadResult::Missing),
            };
        }
        let (source, root) = self.read(&path, Some(request.span))?;
        Ok(LoadResult::Found { source, root })
    }
}

/// Returns a text with asterisks in place of the spans, which are sorted. Lines and offsets stay.
fn masked(text: &str, spans: &[Span]) -> String {
    let mut hidden = String::with_capacity(text.len());
    for span in spans {
        let (start, end) = (span.start as usize, span.end as usize);
        let (Some(open), Some(secret)) = (text.get(hidden.len()..start), text.get(start..end))
        else {
            continue;
        };
        hidden.push_str(open);
        let mask = |byte| if byte == b'\n' { '\n' } else { '*' };
        hidden.extend(secret.bytes().map(mask));
    }
    hidden.push_str(text.get(hidden.len()..).unwrap_or_default());
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{NodeKind, parse};

    struct LoaderFixture {
        folder: tempfile::TempDir,
        sources: Sources,
        env: Env,
        from: SourceId,
    }

    impl LoaderFixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (path, text) in files {
                fs::write_plain(&folder.path().join(path), text.as_bytes(), None).unwrap();
            }
            let mut sources = Sources::default();
            let from = sources.add(folder.path().join("sub/main.yaml"), "+include: x\n", None);
            Self {
                folder,
                sources,
                env: Env::default(),
                from,
            }
        }

        fn request(&self, file: &str) -> IncludeRequest {
            IncludeRequest {
                file: file.into(),
                repository: None,
                repository_url: None,
                condition_variable: None,
                optional: false,
                span: Span::new(self.from, 0, 8),
                from: self.from,
                document: Node::new(NodeKind::Map(Mapping::default()), Span::NONE, None),
            }
        }

        fn load(&mut self, request: &IncludeRequest) -> Result<String, Diagnostics> {
            let mut loader = FileLoader::new(&mut self.sources, &self.env, Limits::default());
            loader.scope().add_folder(self.folder.path());
            Ok(match loader.load(request)? {
                LoadResult::Found { root, .. } => root.to_value().to_string(),
                LoadResult::Missing => "missing".into(),
                LoadResult::Skipped => "skipped".into(),
                LoadResult::Deferred => "later".into(),
            })
        }
    }

    #[test]
    fn a_path_starts_from_the_folder_of_the_text_that_asks() {
        let mut place = LoaderFixture::new(&[("sub/a.yaml", "a: 1"), ("b.json", r#"{"b": 2}"#)]);
        for (file, expected) in [
            ("a.yaml", "{'a': 1}"),
            ("../b.json", "{'b': 2}"),
            ("nowhere.yaml", "missing"),
            ("..", "missing"),
        ] {
            let request = place.request(file);
            assert_eq!(place.load(&request).unwrap(), expected, "{file}");
        }
        let source = place.sources.iter().last().unwrap().1;
        assert!(source.included_from.is_some());
    }

    #[test]
    fn a_repository_is_found_by_name_url_or_declaration() {
        let mut place = LoaderFixture::new(&[("repo/a.yaml", "a: 1")]);
        let mut request = place.request("a.yaml");
        request.repository = Some("r".into());
        assert_eq!(place.load(&request).unwrap(), "later");
        let mut sources = Sources::default();
        let id = sources.add(
            "x",
            "{spec: {service_template: {repositories: {r: {url: 'file:../repo'}}}}}",
            None,
        );
        request.document = parse(&sources, id, &Limits::default()).unwrap();
        assert_eq!(place.load(&request).unwrap(), "{'a': 1}");
        let path = place.folder.path().join("repo");
        request.repository_url = Some(format!("file://{}", path.display()));
        assert_eq!(place.load(&request).unwrap(), "{'a': 1}");
        request.repository_url = Some("https://example.com/x.git".into());
        let problems = place.load(&request).unwrap_err();
        let message = &problems.iter().next().unwrap().message;
        assert_eq!(
            message,
            "the repository `https://example.com/x.git` is not on this machine"
        );
        let mut loader = FileLoader::new(&mut place.sources, &place.env, Limits::default());
        loader.scope().add_folder(place.folder.path());
        loader.add_repository("r", &path);
        assert!(matches!(
            loader.load(&request),
            Ok(LoadResult::Found { .. })
        ));
    }

    #[test]
    fn the_repository_unfurl_is_in_the_binary() {
        let mut place = LoaderFixture::new(&[("mine/tosca_plugins/k8s.yaml", "a: 1")]);
        let mut request = place.request("tosca_plugins/k8s.yaml");
        request.repository = Some("unfurl".into());
        let mut loader = FileLoader::new(&mut place.sources, &place.env, Limits::default());
        loader.scope().add_folder(place.folder.path());
        let source = |loaded: Result<LoadResult, Diagnostics>| match loaded {
            Ok(LoadResult::Found { source, .. }) => source,
            other => panic!("{other:?}"),
        };
        let first = source(loader.load(&request));
        assert_eq!(loader.folder_of(first), Path::new("unfurl:tosca_plugins"));
        request.file = "configurators/../tosca_plugins/k8s.yaml".into();
        assert_eq!(source(loader.load(&request)), first);
        let mut beside = request.clone();
        (beside.repository, beside.from) = (None, first);
        beside.file = "../configurators/templates/helm.yaml".into();
        let helm = source(loader.load(&beside));
        let shown = loader.sources().get(helm).unwrap().path.clone();
        assert_eq!(shown, Path::new("unfurl:configurators/templates/helm.yaml"));

        let mine = place.folder.path().join("mine");
        let mut loader = FileLoader::new(&mut place.sources, &place.env, Limits::default());
        loader.scope().add_folder(place.folder.path());
        loader.add_repository("unfurl", &mine);
        let own = source(loader.load(&request));
        assert_eq!(loader.folder_of(own), mine.join("tosca_plugins"));
    }

    #[test]
    fn the_address_of_unfurl_means_the_files_in_the_binary() {
        let mut place = LoaderFixture::new(&[]);
        let mut request = place.request("tosca_plugins/localhost.yaml");
        request.repository = Some("there".into());
        request.repository_url = Some("https://github.com/onecommons/unfurl.git#v1.2.0".into());
        assert!(place.load(&request).unwrap().contains("Localhost"));
    }

    #[test]
    fn a_missing_file_of_the_repository_unfurl_is_reported_with_the_existing_ones() {
        let mut place = LoaderFixture::new(&[]);
        for file in [
            "tosca_plugins/aws.yaml",
            "../../etc/passwd",
            "tosca_plugins",
            "",
        ] {
            let mut request = place.request(file);
            request.repository = Some("unfurl".into());
            let problems = place.load(&request).unwrap_err();
            let problem = problems.iter().next().unwrap();
            let message = "there is no file `unfurl:";
            assert!(problem.message.starts_with(message), "{}", problem.message);
            let help = problem.help.as_deref().unwrap();
            assert!(help.contains("configurators/templates/dns.yaml"), "{help}");
            request.optional = true;
            assert_eq!(place.load(&request).unwrap(), "missing", "{file}");
        }
    }

    #[test]
    fn the_ensemble_and_its_project_are_repositories() {
        let mut place = LoaderFixture::new(&[
            ("x/self.yaml", "a: self"),
            ("self.yaml", "a: project"),
            ("sub/self.yaml", "a: here"),
        ]);
        let mut request = place.request("self.yaml");
        let root = place.folder.path().to_owned();
        let ensemble = root.join("x");
        for (project, name, expected) in [
            (Some(&*root), "self", "x"),
            (Some(&*root), "spec", ""),
            (Some(&*root), "project", ""),
            (None, "self", "x"),
            (None, "spec", "x"),
        ] {
            let mut loader = FileLoader::new(&mut place.sources, &place.env, Limits::default());
            loader.scope().add_folder(place.folder.path());
            loader.set_predefined_repositories(&ensemble, project);
            request.repository = Some(name.into());
            let Ok(LoadResult::Found { source, .. }) = loader.load(&request) else {
                panic!("{name}");
            };
            assert_eq!(
                loader.folder_of(source),
                fs::normalize(&root.join(expected))
            );
        }
        assert_eq!(place.load(&request).unwrap(), "{'a': 'here'}");
    }

    #[test]
    fn a_condition_asks_the_environment() {
        let mut place = LoaderFixture::new(&[("sub/a.yaml", "a: 1")]);
        let mut request = place.request("a.yaml");
        request.condition_variable = Some("DEV".into());
        assert_eq!(place.load(&request).unwrap(), "skipped");
        place.env.set("DEV", "1");
        assert_eq!(place.load(&request).unwrap(), "{'a': 1}");
    }

    #[test]
    fn a_program_in_python_is_refused_also_where_it_is_optional() {
        let mut place = LoaderFixture::new(&[("sub/a.py", "import tosca\nx = 1")]);
        let mut request = place.request("a.py");
        for optional in [false, true] {
            request.optional = optional;
            let problems = place.load(&request).unwrap_err();
            let message = &problems.iter().next().unwrap().message;
            assert!(
                message.ends_with("which is not allowed to run"),
                "{message}"
            );
        }
    }

    #[test]
    fn python_stands_for_a_yaml_file_that_is_not_there() {
        let mut place = LoaderFixture::new(&[("sub/a.py", "# nothing"), ("sub/b.py", "#")]);
        fs::write_plain(&place.folder.path().join("sub/b.yaml"), b"b: 1", None).unwrap();
        for (file, expected) in [
            (
                "a.py",
                "{'tosca_definitions_version': 'tosca_simple_unfurl_1_0_0', 'topology_template': {}}",
            ),
            (
                "a.yaml",
                "{'tosca_definitions_version': 'tosca_simple_unfurl_1_0_0', 'topology_template': {}}",
            ),
            ("b.yaml", "{'b': 1}"),
            ("a.yml", "missing"),
        ] {
            let request = place.request(file);
            assert_eq!(place.load(&request).unwrap(), expected, "{file}");
        }
    }

    #[test]
    fn a_file_that_is_not_yaml_is_reported() {
        let mut place = LoaderFixture::new(&[("sub/a.yaml", "a: [")]);
        let request = place.request("a.yaml");
        assert!(place.load(&request).unwrap_err().has_errors());
    }
}
