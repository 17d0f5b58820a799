//! A folder of Terraform files, read as one module.

use std::path::Path;

use super::interface::{FilePart, ModuleOutput, ModuleVariable};
use crate::ops::failure::{Failure, FailureKind};
use crate::system::fs;

/// The maximum size of a file of a module, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The maximum number of files of a module.
const MAX_FILES: usize = 2000;

/// The variables, outputs and backend of a module.
#[derive(Debug, Default)]
pub struct TerraformModule {
    pub variables: Vec<ModuleVariable>,
    pub outputs: Vec<ModuleOutput>,
    /// The type of the backend that the module configures. None for a state in a file of the folder.
    pub backend: Option<String>,
}

impl TerraformModule {
    /// Reads the files of a folder that Terraform reads: `*.tf`, `*.tofu`, and their forms in JSON.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or has no such file.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let mut module = Self::default();
        let mut names: Vec<_> = fs::list(folder)?
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        names.sort();
        let is_file = |name: &String| extension(name).is_some();
        let files: Vec<_> = names.into_iter().filter(is_file).take(MAX_FILES).collect();
        if files.is_empty() {
            let message = format!("`{}` has no Terraform files", folder.display());
            let help = "name a folder with files that end with `.tf`".to_owned();
            return Err(Failure::new(FailureKind::Refused, message, Some(help)));
        }
        for name in files {
            let path = folder.join(&name);
            let text =
                String::from_utf8_lossy(&fs::read_within(&path, MAX_FILE_BYTES)?).into_owned();
            let part = if extension(&name) == Some(Language::Json) {
                FilePart::of_json(&text).map_err(|error| {
                    let message = format!("`{}` is not JSON: {error}", path.display());
                    let help = "correct the file; `terraform validate` checks it".to_owned();
                    Failure::new(FailureKind::Refused, message, Some(help))
                })?
            } else {
                FilePart::of_hcl(&text)
            };
            module.variables.extend(part.variables);
            module.outputs.extend(part.outputs);
            module.backend = module.backend.or(part.backend);
        }
        Ok(module)
    }

    /// Returns a variable by its name.
    pub fn variable(&self, name: &str) -> Option<&ModuleVariable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}

/// The language of a file of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Hcl,
    Json,
}

fn extension(name: &str) -> Option<Language> {
    // Files of editors and hidden files are none of the module.
    if name.starts_with('.') || name.ends_with('~') {
        return None;
    }
    let json = name.strip_suffix(".json");
    let stem = json.unwrap_or(name);
    let is_module = [".tf", ".tofu"].iter().any(|end| stem.ends_with(end));
    let language = if json.is_some() {
        Language::Json
    } else {
        Language::Hcl
    };
    is_module.then_some(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_read_from_all_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::write_plain(&folder.path().join(name), text.as_bytes(), None).unwrap();
        };
        write(
            "main.tf",
            "variable \"region\" {\n  description = \"The place\"\n}\noutput \"ip\" {\n  value = 1\n}\n",
        );
        write(
            "more.tf.json",
            r#"{"variable": {"size": {"default": 1, "sensitive": true}}, "terraform": {"backend": {"s3": {}}}}"#,
        );
        write("notes.txt", "variable \"no\" {}");
        write(".#main.tf", "variable \"no\" {}");
        let module = TerraformModule::read(folder.path()).unwrap();
        let names: Vec<_> = module
            .variables
            .iter()
            .map(|it| (&*it.name, it.is_required))
            .collect();
        assert_eq!(names, [("region", true), ("size", false)]);
        assert_eq!(
            module.variable("region").unwrap().description.as_deref(),
            Some("The place")
        );
        assert!(module.variable("size").unwrap().is_sensitive);
        assert_eq!(module.outputs[0].name, "ip");
        assert_eq!(module.backend.as_deref(), Some("s3"));
    }

    #[test]
    fn a_folder_without_files_of_terraform_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = TerraformModule::read(folder.path()).unwrap_err();
        assert!(
            error.to_string().contains("has no Terraform files"),
            "{error}"
        );
    }
}
