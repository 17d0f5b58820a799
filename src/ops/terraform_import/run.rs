//! Imports a folder of Terraform: reads its state, adds the node templates, copies the state, and records the instances.

use std::path::{Path, PathBuf};

use super::earlier::{EarlierImport, WantedFile};
use super::nodes::{PartNode, part_nodes};
use super::quiet_job::record_adopted;
use super::request::{ImportReport, ImportRequest};
use super::source::{read_state, read_variables};
use super::state::TerraformState;
use super::variables::imported_variables;
use super::wrapped::wrapped_state;
use crate::job::Adopted;
use crate::ops::add::{
    Insertion, NewTemplate, TerraformNode, check_free_name, check_name, check_readable,
    relative_path, save, terraform_template, with_templates,
};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::terraform_module::TerraformModule;
use crate::secret::StateKeys;
use crate::session::{self, Session};
use crate::system::fs::{self, Beneath};
use crate::value::{Map, Value};

/// The name of the file with the state of an instance.
const STATE_FILE: &str = "terraform.tfstate.yaml";

/// The file with the versions of the providers.
const LOCK_FILE: &str = ".terraform.lock.hcl";

/// Imports a folder. A dry run writes nothing. The files of the folder are only read.
///
/// # Errors
///
/// The folder has no state that can be imported, a value is missing, a name is taken, or the ensemble cannot be changed. Nothing
/// of the ensemble has changed then.
pub fn import(request: &ImportRequest) -> Result<ImportReport, Failure> {
    let location = session::find(&request.session)?;
    let session = session::load(location.clone(), &request.session)?;
    let draft = Draft::of(request, &session)?;
    let paths = draft.paths(&session);
    let earlier = draft.earlier_import(&session, &paths)?;
    if let Some(EarlierImport::Templates | EarlierImport::Record) = earlier {
        return go_on(request, &session, &draft, &paths, earlier);
    }
    draft.check_names(&session)?;
    let inserted = draft.inserted(&session)?;
    save(&location, &session, &inserted, true)?;
    let mut report = draft.report(&session, &inserted, &paths);
    if request.dry_run {
        return Ok(report);
    }
    report.dry_run = false;
    let files = draft.files(&session, paths, &mut report.notes)?;
    let written = write_all(
        request,
        &session,
        &draft,
        &inserted,
        &files,
        &mut report.notes,
    );
    match written {
        Ok(job) => report.job = Some(job),
        Err(failure) => return Err(undo(&session, &inserted, &files, failure)),
    }
    Ok(report)
}

/// Ends an import that was cut off after it had written the node templates.
fn go_on(
    request: &ImportRequest,
    session: &Session,
    draft: &Draft,
    paths: &[PathBuf],
    earlier: Option<EarlierImport>,
) -> Result<ImportReport, Failure> {
    let text = session.manifest.text();
    let is_own = |line: &str| line.trim_end() == format!("{}:", draft.name);
    let line = text.lines().position(|line| is_own(line.trim_start()));
    let present = Insertion {
        text: text.to_owned(),
        line: line.map_or(1, |line| line + 1),
        added: String::new(),
    };
    let mut report = draft.report(session, &present, paths);
    report.dry_run = request.dry_run;
    if earlier == Some(EarlierImport::Record) {
        report.notes.push(format!(
            "`{}` was imported before, so nothing was changed",
            draft.name
        ));
        return Ok(report);
    }
    if !request.dry_run {
        let job = record_adopted(request, draft.adopted(), &draft.parts, &mut report.notes)?;
        report.job = Some(job);
    }
    Ok(report)
}

/// A new file of the ensemble.
#[derive(Debug)]
struct NewFile {
    path: PathBuf,
    bytes: Vec<u8>,
    is_secret: bool,
}

/// Everything that an import adds.
struct Draft {
    name: String,
    origin: String,
    state: TerraformState,
    /// The lock file of the folder with the versions of its providers.
    provider_lock: Option<Vec<u8>>,
    outputs: Vec<(String, bool)>,
    root: NewTemplate,
    parts: Vec<PartNode>,
    notes: Vec<String>,
}

impl Draft {
    fn of(request: &ImportRequest, session: &Session) -> Result<Self, Failure> {
        let folder = existing_folder(&request.folder)?;
        check_readable(session, &folder)?;
        let module = TerraformModule::read(&folder)?;
        let name = match &request.name {
            Some(name) => name.clone(),
            None => name_of(&folder),
        };
        check_name(&name)?;
        let (text, origin) = read_state(&folder, &module, &request.program)?;
        let state = TerraformState::parse(&text, &origin)?;
        if state.managed().next().is_none() {
            let message = format!("the state of {origin} has no resources");
            let help = "use `unfurl add terraform --module` for a module that was not applied yet"
                .to_owned();
            return Err(Failure::new(FailureKind::Refused, message, Some(help)));
        }
        let from_files = read_variables(&folder, &request.variable_files)?;
        let secrets = &session.environment.secrets;
        let has_secret = |name: &str| secrets.contains_key(name);
        let variables = imported_variables(&module, &from_files, &request.variables, &has_secret)?;
        let parts = part_nodes(&state, &name, request.with_resources);
        let about = format!(
            "Imported from the state of the folder. Terraform changes this node on `unfurl deploy` and destroys it on `unfurl teardown`. \
             Do not run Terraform in the folder any more: {}.",
            "its own state is not kept up to date"
        );
        let body = terraform_template(&TerraformNode {
            folder: &relative_path(&folder, session.manifest.base_dir()),
            module: &module,
            variables: &variables.values,
            about: &about,
        });
        let mut notes = variables.notes;
        notes.extend(remarks(&state, &module));
        let lock = folder.join(LOCK_FILE);
        let provider_lock = fs::exists(&lock).then(|| fs::read(&lock)).transpose()?;
        let outputs = module
            .outputs
            .iter()
            .map(|it| (it.name.clone(), it.is_sensitive));
        Ok(Self {
            outputs: outputs.collect(),
            root: NewTemplate {
                name: name.clone(),
                body,
            },
            name,
            origin,
            state,
            provider_lock,
            parts,
            notes,
        })
    }

    fn check_names(&self, session: &Session) -> Result<(), Failure> {
        let parts = self.parts.iter().map(|part| &part.name);
        let mut names = std::iter::once(&self.name).chain(parts);
        names.try_for_each(|name| check_free_name(session, name))
    }

    /// Returns the state as the node template needs it, in clear text.
    fn clear_state(&self) -> zeroize::Zeroizing<Vec<u8>> {
        let names: Vec<String> = self.outputs.iter().map(|(name, _)| name.clone()).collect();
        zeroize::Zeroizing::new(wrapped_state(&self.state, &names))
    }

    /// Returns how far an earlier run of the same import came. None if there was none.
    fn earlier_import(
        &self,
        session: &Session,
        paths: &[PathBuf],
    ) -> Result<Option<EarlierImport>, Failure> {
        let clear = self.clear_state();
        let state = WantedFile {
            path: &paths[0],
            content: &clear,
        };
        let lock = paths.get(1).zip(self.provider_lock.as_ref());
        let lock = lock.map(|(path, content)| WantedFile { path, content });
        EarlierImport::find(session, &self.name, state, lock)
    }

    /// Returns the manifest with the new templates.
    fn inserted(&self, session: &Session) -> Result<Insertion, Failure> {
        let parts = self.parts.iter().map(|part| part.template(&self.name));
        let templates: Vec<_> = std::iter::once(self.root.clone()).chain(parts).collect();
        with_templates(session.manifest.path(), session.manifest.text(), &templates)
    }

    /// Returns the paths of the copy of the state and of the lock file.
    fn paths(&self, session: &Session) -> Vec<PathBuf> {
        let active = session.manifest.base_dir().join("active");
        let mut paths = vec![active.join("secrets").join(&self.name).join(STATE_FILE)];
        if self.provider_lock.is_some() {
            paths.push(active.join("artifacts").join(&self.name).join(LOCK_FILE));
        }
        paths
    }

    /// Returns the copy of the state, encrypted, and the lock file of the providers.
    fn files(
        &self,
        session: &Session,
        paths: Vec<PathBuf>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<NewFile>, Failure> {
        let clear = self.clear_state();
        let keys = StateKeys::new(session.location.keys.clone(), session.manifest.base_dir());
        let sealed = keys.seal(&clear).map_err(|reason| {
            let message = format!("the state cannot be encrypted: {reason}");
            Failure::new(FailureKind::Refused, message, None)
        })?;
        notes.extend(sealed.warning);
        let contents = std::iter::once(sealed.text.into_bytes()).chain(self.provider_lock.clone());
        let files = paths.into_iter().zip(contents).enumerate();
        Ok(files
            .map(|(index, (path, bytes))| NewFile {
                path,
                bytes,
                is_secret: index == 0,
            })
            .collect())
    }

    /// Returns what the job records about the node of the folder.
    fn adopted(&self) -> Adopted {
        let mut outputs = Map::new();
        for (name, output) in self.state.outputs() {
            let declared = self.outputs.iter().find(|(declared, _)| declared == name);
            let Some((_, is_sensitive)) = declared else {
                continue;
            };
            let is_sensitive = *is_sensitive || output["sensitive"] == true;
            let value = Value::from(output["value"].clone()).data();
            outputs.insert(name.as_str().into(), value.sensitive_if(is_sensitive));
        }
        let resources = i64::try_from(self.state.managed().count()).unwrap_or(i64::MAX);
        Adopted {
            instance: self.name.clone(),
            outputs,
            result: Value::map([
                ("imported", Value::from(self.origin.as_str())),
                ("resources", Value::Int(resources)),
            ]),
        }
    }

    fn report(&self, session: &Session, inserted: &Insertion, paths: &[PathBuf]) -> ImportReport {
        ImportReport {
            name: self.name.clone(),
            origin: self.origin.clone(),
            state_file: paths[0].clone(),
            manifest: session.manifest.path().to_owned(),
            line: inserted.line,
            text: inserted.added.clone(),
            resources: self.state.managed().count(),
            parts: self.parts.clone(),
            job: None,
            dry_run: true,
            notes: self.notes.clone(),
        }
    }
}

/// Returns what a user should know about a state.
fn remarks(state: &TerraformState, module: &TerraformModule) -> Vec<String> {
    let mut notes = Vec::new();
    for resource in state.managed().filter(|it| it.is_tainted) {
        notes.push(format!(
            "`{}` is tainted: the next deploy replaces it",
            resource.address.whole()
        ));
    }
    for resource in state.resources.iter().filter(|it| it.is_deposed) {
        notes.push(format!(
            "`{}` has a deposed object: the next deploy destroys it",
            resource.address.whole()
        ));
    }
    if let Some(backend) = &module.backend {
        notes.push(format!(
            "the backend `{backend}` of the module is not used any more, because another module calls it: Unfurl keeps the state"
        ));
    }
    notes
}

fn existing_folder(path: &Path) -> Result<PathBuf, Failure> {
    let full = fs::normalize(&fs::absolute(path, &session::current_dir()?));
    if fs::is_dir(&full) {
        return Ok(full);
    }
    let message = format!("the folder `{}` does not exist", path.display());
    let help = "name the folder with the `.tf` files".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

fn name_of(folder: &Path) -> String {
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let is_fit = |name: &String| check_name(name).is_ok();
    name.filter(is_fit)
        .unwrap_or_else(|| "terraform".to_owned())
}

/// Writes the files, then the manifest, then the record. Returns the id of the job.
///
/// After a crash between two of these steps, the next deploy finds the state and has nothing to create.
fn write_all(
    request: &ImportRequest,
    session: &Session,
    draft: &Draft,
    inserted: &Insertion,
    files: &[NewFile],
    notes: &mut Vec<String>,
) -> Result<String, Failure> {
    let base = Beneath::open(session.manifest.base_dir())?;
    for file in files {
        let path = file
            .path
            .strip_prefix(session.manifest.base_dir())
            .unwrap_or(&file.path);
        base.create_dir_all(fs::parent_of(path))?;
        base.write_atomic(path, &file.bytes, file.is_secret.then_some(0o600))?;
    }
    save(&session.location, session, inserted, false)?;
    record_adopted(request, draft.adopted(), &draft.parts, notes)
}

/// Takes back what was written, after a failure.
fn undo(session: &Session, inserted: &Insertion, files: &[NewFile], failure: Failure) -> Failure {
    let path = session.manifest.path();
    let name = Path::new(path.file_name().unwrap_or_default());
    let restored = Beneath::open(fs::parent_of(path)).and_then(|folder| {
        folder.replace_if_unchanged(
            name,
            session.manifest.text().as_bytes(),
            inserted.text.as_bytes(),
        )
    });
    // Another version of the manifest stays: its files are needed.
    if restored.is_ok()
        && fs::read_to_string(path).is_ok_and(|text| text == session.manifest.text())
        && let Ok(base) = Beneath::open(session.manifest.base_dir())
    {
        for file in files {
            let path = file
                .path
                .strip_prefix(session.manifest.base_dir())
                .unwrap_or(&file.path);
            base.remove_file_if_exists(path).ok();
            let folder = fs::parent_of(path);
            if base.list(folder).is_ok_and(|entries| entries.is_empty()) {
                base.remove_dir_if_exists(folder).ok();
            }
        }
    }
    failure
}
