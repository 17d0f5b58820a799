//! The Terraform configurator.

use sha2::{Digest as _, Sha256};

use super::module_files::ModuleFiles;
use super::rendered::RenderedRun;
use super::run::{LOCK_FILE, TerraformRun};
use super::settings::{
    EXCLUDED_FROM_DIGEST, Goal, OUTPUT_METADATA, PROGRAMS, StateLocation, WorkingFolder,
    read_in_order,
};
use crate::expr::{Error, LocalContext};
use crate::plan::CheckAbility;
use crate::task::{
    Configurator, OperationRun, RenderedFile, RenderedTask, TaskView, TaskWork, WorkInputs,
};
use crate::value::{Map, Value, hex};

/// Runs Terraform or OpenTofu on the configuration of the input `main`.
#[derive(Debug)]
pub(in crate::configurator) struct TerraformConfigurator;

impl Configurator for TerraformConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.terraform.TerraformConfigurator"
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        EXCLUDED_FROM_DIGEST
    }

    fn output_metadata(&self) -> Option<&'static str> {
        Some(OUTPUT_METADATA)
    }

    fn programs(&self) -> &'static [&'static str] {
        PROGRAMS
    }

    /// Lets the digest cover the files of a module: a plain path becomes the expression that stands for them.
    fn add_inputs(
        &self,
        inputs: &mut Map,
        local_context: &dyn LocalContext,
        base_dir: &std::path::Path,
    ) {
        let Some(Value::Str(main)) = inputs.get("main") else {
            return;
        };
        let is_plain = !main.trim().is_empty()
            && !main.contains('\n')
            && !main.contains("{{")
            && !main.contains("{%");
        if is_plain && local_context.exists(&base_dir.join(&**main)) {
            let path = Value::list([Value::from(&**main), Value::from("src")]);
            let expression = Value::map([("eval", Value::map([("abspath", path)]))]);
            inputs.insert("main".into(), expression);
        }
    }

    fn check_ability(&self, _inputs: &Map) -> CheckAbility {
        CheckAbility::Compares
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        read_in_order(task)?;
        Goal::of(task)?;
        let folder = WorkingFolder::of(task)?;
        let location = StateLocation::of(task)?;
        let cwd = folder.path(task);
        let made = ModuleFiles::of(task, &folder, &cwd)?;
        let mut files = made.rendered(&folder);
        let files_digest = files_digest(&files);
        files.extend(lock_file(task, &folder));
        let mut own_files = Vec::new();
        if !task.tool().facts().writes_files && folder.is_of_job() {
            // Such a job renders nothing into the folders of the ensemble.
            own_files = std::mem::take(&mut files);
        }
        if task.settings.dry_run {
            // An error in the input is one of the plan.
            task.input("dryrun_outputs")?;
        }
        let run = RenderedRun {
            cwd: cwd.display().to_string(),
            variables: made.variables.map(str::to_owned),
            secret: made.private.map(|(name, content)| {
                let content = Value::from(content).sensitive();
                (name.to_owned(), content)
            }),
            digest: made.digest,
            files_digest,
            location: location.as_str().to_owned(),
            may_have_resources: made.may_have_resources,
            own_files: own_files
                .into_iter()
                .map(|file| (file.path, String::from_utf8_lossy(&file.bytes).into_owned()))
                .collect(),
        };
        Ok(RenderedTask {
            files,
            data: run.to_value(),
        })
    }

    fn work(&self, inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        let main = inputs.get("main").map(Value::redacted);
        let folder = main.as_ref().and_then(Value::as_str);
        TaskWork::Module(match folder.map(str::trim) {
            Some(text) if !text.is_empty() && !text.contains('\n') => Value::from(text),
            _ => Value::Null,
        })
    }

    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun> {
        Box::new(TerraformRun::new(&rendered.data))
    }
}

fn files_digest(files: &[RenderedFile]) -> String {
    let mut digest = Sha256::new();
    for file in files {
        digest.update(Sha256::digest(&file.path));
        digest.update(Sha256::digest(&file.bytes));
    }
    hex(&digest.finalize())
}

/// Returns the file with the versions of providers of the last job, for the working folder.
fn lock_file(task: &TaskView<'_>, folder: &WorkingFolder) -> Option<RenderedFile> {
    let WorkingFolder::OfJob(folder) = folder else {
        return None;
    };
    let instance = task.tool().facts().instance;
    let path = task.settings.base_dir.join("active/artifacts");
    let path = path.join(instance).join(LOCK_FILE);
    let local = task.local_context();
    let bytes = local.exists(&path).then(|| local.read(&path).ok())??;
    Some(RenderedFile {
        folder: *folder,
        path: LOCK_FILE.to_owned(),
        bytes,
        sensitive: false,
    })
}
