//! The basis of a saved plan: everything that the tool makes a plan of, apart from what exists.

use sha2::{Digest as _, Sha256};

use super::run::TerraformRun;
use crate::expr::Error;
use crate::task::TaskView;
use crate::value::hex;

/// The beginning of the names of variables that the tool reads.
const TOOL_VARIABLES: [&str; 2] = ["TF_", "TOFU_"];

impl TerraformRun {
    /// Returns a digest of what a plan of this task is made of: the files, the values of variables, the tool and its
    /// settings.
    ///
    /// A plan is applied only by a task with the same basis, in the same folder, because a plan has paths that count from
    /// there.
    pub(super) fn plan_basis(&self, task: &TaskView<'_>) -> Result<String, Error> {
        let mut digest = Sha256::new();
        let mut add = |part: &str| {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        };
        add(&self.rendered.digest);
        add(&self.rendered.files_digest);
        add(&self.rendered.cwd);
        add(self.location.as_str());
        for word in &self.tool {
            add(word);
        }
        if let Some((_, content)) = &self.rendered.secret {
            add(&content.reveal().to_string());
        }
        let variables = task.environment()?;
        for (name, value) in variables.iter() {
            if TOOL_VARIABLES.iter().any(|start| name.starts_with(start)) {
                add(name);
                add(value);
            }
        }
        Ok(hex(&digest.finalize()))
    }
}
