//! Ensembles that the real Terraform deploys, with its built-in resource `terraform_data` and provisioners.
//!
//! `UNFURL_LOOPS=full` makes the loops with kills long.

mod checks;
mod crash;
mod cycle;
mod hands;
mod modules;
mod plans;
mod problems;
mod secrets;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::drafts::nodes;
use crate::support::TestEnv;

/// A test environment with a runtime folder of its own in memory.
struct TerraformEnv {
    env: TestEnv,
    runtime: tempfile::TempDir,
}

impl std::ops::Deref for TerraformEnv {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

impl TerraformEnv {
    /// An ensemble with one node, `tf`, that this configuration implements. `inputs` are further inputs of all
    /// operations, as lines of YAML.
    fn new(main: &str, inputs: &str) -> Self {
        let text = nodes(
            "
            tf:
              type: tosca.nodes.Root
              interfaces:
                defaults:
                  implementation: Terraform
                  inputs:
                    <inputs>
                    main: |
                      <main>
                Install: {operations: {check: }}
                Standard:
                  operations:
                    configure:
                      inputs: {resultTemplate: {attributes: {o: '{{ outputs.o }}'}}}
                    delete:
            ",
        );
        Self::with_text(&text.with("inputs", inputs).with("main", main).build())
    }

    fn with_text(text: &str) -> Self {
        Self::of(TestEnv::with_ensemble(text))
    }

    fn of(env: TestEnv) -> Self {
        let runtime = tempfile::tempdir_in("/dev/shm").unwrap();
        fs::set_permissions(runtime.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let env = env
            .variable("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap())
            .variable("CHECKPOINT_DISABLE", "1")
            .without("TF_CLI_CONFIG_FILE");
        Self { env, runtime }
    }

    fn with_variable(self, name: &str, value: &str) -> Self {
        Self {
            env: self.env.variable(name, value),
            runtime: self.runtime,
        }
    }

    /// The private folders that exist.
    fn private_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.runtime.path().join("unfurl"));
        let entries = entries.into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Panics if a text occurs in a file of the working folder, of the home or of the folder for temporary files, git
    /// objects included, or in memory.
    #[track_caller]
    fn has_nowhere(&self, secret: &str) {
        let root = self.work();
        for folder in [root.parent().unwrap(), self.runtime.path()] {
            let found = files_with(folder, secret);
            assert!(found.is_empty(), "`{secret}` is in {found:?}");
        }
    }

    fn attribute(&self, name: &str) -> serde_json::Value {
        self.ensemble()["status"]["instances"]["tf"]["attributes"][name].clone()
    }

    fn status(&self) -> String {
        let status = &self.ensemble()["status"]["instances"]["tf"]["readyState"]["local"];
        status.as_str().unwrap_or_default().to_owned()
    }
}

/// Returns the files below a folder that contain a text.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                if bytes
                    .windows(text.len())
                    .any(|part| part == text.as_bytes())
                {
                    found.push(path);
                }
            }
        }
    }
    found
}

/// Returns the bytes of a YAML text of a state that this program encrypted for a vault.
fn opened(env: &TestEnv, path: &str, password: &str) -> serde_json::Value {
    let text = env.read(path);
    let sealed: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
    let sealed = unfurl::testing::secret::VaultText::parse(&sealed.join("\n")).unwrap();
    serde_json::from_slice(&sealed.open(password).unwrap()).unwrap()
}
