//! The state and the variables of a folder that Terraform has applied.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tfvars::parse_tfvars;
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::terraform_module::TerraformModule;
use crate::system::fs;
use crate::system::process::{self, Helper};
use crate::value::{Map, Value};
use crate::yaml::{self, Schema};

/// The maximum size of a state, in bytes.
const MAX_STATE_BYTES: usize = 512 << 20;

/// The maximum size of a file with variables, in bytes.
const MAX_VARIABLES_BYTES: u64 = 4 << 20;

/// The time for `terraform state pull`.
const PULL_LIMIT: Duration = Duration::from_mins(5);

/// The number of last lines of a failed program that a message shows.
const SHOWN_LINES: usize = 8;

/// Returns the state of a folder: from its file, or from the backend that the module configures.
///
/// # Errors
///
/// There is no state, Terraform is working on it, or `program` cannot get it.
pub(super) fn read_state(
    folder: &Path,
    module: &TerraformModule,
    program: &str,
) -> Result<(Vec<u8>, String), Failure> {
    if module.backend.is_some() {
        return pull(folder, program);
    }
    let path = state_file(folder)?;
    let lock = path.with_file_name(format!(".{}.lock.info", file_name(&path)));
    if fs::exists(&lock) {
        let message = format!(
            "the state of `{}` is locked: `{}` exists",
            folder.display(),
            lock.display()
        );
        let help = "wait for the end of Terraform there, or run `terraform force-unlock` if it has been killed";
        return Err(refused(message, help));
    }
    if !fs::exists(&path) {
        let message = format!(
            "`{}` has no state: `{}` does not exist",
            folder.display(),
            path.display()
        );
        let help = "name the folder in which `terraform apply` has run; `unfurl add terraform --module` adds a module that was not \
                    applied yet";
        return Err(refused(message, help));
    }
    let text = fs::read_within(&path, MAX_STATE_BYTES as u64)?;
    Ok((text, format!("`{}`", path.display())))
}

fn refused(message: String, help: &str) -> Failure {
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the file of the state of the workspace that is selected in a folder.
fn state_file(folder: &Path) -> Result<PathBuf, Failure> {
    let selected = folder.join(".terraform/environment");
    if fs::exists(&selected) {
        let name = fs::read_to_string(&selected)?;
        let name = name.trim();
        if !name.is_empty() && name != "default" && !name.contains('/') {
            return Ok(folder
                .join("terraform.tfstate.d")
                .join(name)
                .join("terraform.tfstate"));
        }
    }
    Ok(folder.join("terraform.tfstate"))
}

fn pull(folder: &Path, program: &str) -> Result<(Vec<u8>, String), Failure> {
    let command = format!("{program} state pull");
    let origin = format!("`{}` (`{command}`)", folder.display());
    let variables = [
        ("TF_IN_AUTOMATION", "1"),
        ("TF_INPUT", "0"),
        ("TF_CLI_ARGS", ""),
    ];
    let helper = Helper {
        cwd: Some(folder.to_owned()),
        extra_env: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        time_limit: PULL_LIMIT,
        max_output: MAX_STATE_BYTES,
        is_remote: true,
        end_grace: Duration::from_secs(10),
        ..Helper::new([program, "state", "pull"])
    };
    let failed = |reason: String, help: &str| {
        refused(
            format!("the state of {origin} cannot be read: {reason}"),
            help,
        )
    };
    let output = process::run(&helper).map_err(|error| {
        let help = "install Terraform or OpenTofu, or name the program with `--command`";
        failed(error.to_string(), help)
    })?;
    if !output.is_ok() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n  ");
        let reason = format!("it ended with {}\n  {last}", output.code);
        return Err(failed(
            reason,
            &format!("run `{program} init` in the folder, then try again"),
        ));
    }
    if output.truncated {
        return Err(failed(
            "it is too large".to_owned(),
            "move resources to another state",
        ));
    }
    Ok((output.stdout, origin))
}

/// Returns the values of the variables that Terraform reads by itself in a folder.
///
/// # Errors
///
/// A file cannot be read. The message says where.
pub(super) fn read_variables(folder: &Path, files: &[PathBuf]) -> Result<Map, Failure> {
    let mut own = Vec::new();
    for name in ["terraform.tfvars", "terraform.tfvars.json"] {
        own.push(folder.join(name));
    }
    let entries = fs::list(folder)?;
    let is_automatic =
        |name: &str| name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json");
    own.extend(
        entries
            .into_iter()
            .filter(|it| is_automatic(&it.name))
            .map(|it| it.path),
    );
    own.retain(|path| fs::exists(path));
    let mut values = Map::new();
    for path in own.iter().chain(files) {
        let text =
            String::from_utf8_lossy(&fs::read_within(path, MAX_VARIABLES_BYTES)?).into_owned();
        let found = if path.extension().is_some_and(|it| it == "json") {
            parse_json(&text)
        } else {
            parse_tfvars(&text)
        };
        values.extend(found.map_err(|reason| {
            let message = format!(
                "the variables in `{}` cannot be read: {reason}",
                path.display()
            );
            refused(message, "write values without expressions")
        })?);
    }
    Ok(values)
}

fn parse_json(text: &str) -> Result<Map, String> {
    serde_json::from_str::<serde_json::Value>(text).map_err(|error| error.to_string())?;
    match yaml::parse_text(Schema::Core, text)?.to_value() {
        Value::Map(map) => Ok(map.as_ref().clone()),
        _ => Err("it is no JSON object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write_plain(&path, text.as_bytes(), None).unwrap();
    }

    #[test]
    fn the_state_of_the_selected_workspace_is_read_unless_it_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let module = TerraformModule::default();
        let error = read_state(folder, &module, "terraform").unwrap_err();
        assert!(error.to_string().contains("has no state"), "{error}");
        write(folder, "terraform.tfstate", "default");
        assert_eq!(
            read_state(folder, &module, "terraform").unwrap().0,
            b"default"
        );
        write(folder, ".terraform/environment", "blue\n");
        write(folder, "terraform.tfstate.d/blue/terraform.tfstate", "blue");
        assert_eq!(read_state(folder, &module, "terraform").unwrap().0, b"blue");
        write(
            folder,
            "terraform.tfstate.d/blue/.terraform.tfstate.lock.info",
            "{}",
        );
        let error = read_state(folder, &module, "terraform").unwrap_err();
        assert!(error.to_string().contains("is locked"), "{error}");
    }

    #[test]
    fn a_missing_program_and_a_failing_one_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let module = TerraformModule {
            backend: Some("s3".to_owned()),
            ..TerraformModule::default()
        };
        let error = read_state(folder.path(), &module, "no-such-terraform").unwrap_err();
        assert!(
            error.to_string().contains("no-such-terraform state pull"),
            "{error}"
        );
        let error = read_state(folder.path(), &module, "false").unwrap_err();
        assert!(error.to_string().contains("it ended with 1"), "{error}");
    }

    #[test]
    fn files_with_variables_are_read_in_the_order_of_terraform() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "terraform.tfvars", "a = 1\nb = 1\nc = 1\n");
        write(
            folder.path(),
            "b.auto.tfvars.json",
            r#"{"b": 3, "c": [1.5]}"#,
        );
        write(folder.path(), "a.auto.tfvars", "b = 2\n");
        write(folder.path(), "more.tfvars", "d = 4");
        let values = read_variables(folder.path(), &[folder.path().join("more.tfvars")]).unwrap();
        assert_eq!(
            yaml::emit(&Value::from(values), 0),
            "a: 1\nb: 3\nc:\n- 1.5\nd: 4\n"
        );
    }
}
