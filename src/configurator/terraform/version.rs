//! The version of the tool, which is asked for only if a run failed and did not say it.

use std::time::Duration;

use super::command_line::{RunFiles, command};
use crate::expr::Error;
use crate::host::{Command, Exit, RunOutput};
use crate::task::TaskView;

/// The time limit for asking the version.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The products, each with its oldest version that prints what this program reads.
const PRODUCTS: [(&str, (u32, u32)); 2] = [("Terraform", (1, 4)), ("OpenTofu", (1, 6))];

/// The answer to the question for the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolVersion {
    Known {
        product: &'static str,
        version: String,
    },
    /// The reason why the version is not known.
    Unknown(String),
}

/// Returns the command that asks the tool for its version.
pub(super) fn version_command(
    task: &TaskView<'_>,
    files: &RunFiles,
    tool: &[String],
) -> Result<Command, Error> {
    let words = [tool, &["version".to_owned()]].concat();
    let mut command = command(task, files, words)?;
    command.time_limit = Some(TIME_LIMIT);
    Ok(command)
}

impl ToolVersion {
    /// Reads the answer of the tool.
    pub(super) fn of(run: &RunOutput) -> Self {
        let text = run.stdout.text();
        for line in text.lines() {
            for (product, _) in PRODUCTS {
                let version = line.strip_prefix(product).map(str::trim_start);
                let version = version.and_then(|version| version.strip_prefix('v'));
                if let Some(version) = version.filter(|it| numbers(it).is_some()) {
                    let version = version.trim_end().to_owned();
                    return Self::Known { product, version };
                }
            }
        }
        Self::Unknown(match &run.exit {
            Exit::TimedOut => format!("`version` did not end within {} s", TIME_LIMIT.as_secs()),
            Exit::Code(0) => "`version` names neither Terraform nor OpenTofu".to_owned(),
            exit => format!("`version` failed with {exit}"),
        })
    }

    /// Returns the version for the message about a failure.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Known { version, .. } => format!("version {version}"),
            Self::Unknown(reason) => format!("version unknown, because {reason}"),
        }
    }

    /// Returns what to do about a version that is too old.
    pub(super) fn hint(&self) -> Option<String> {
        let Self::Known { product, version } = self else {
            return None;
        };
        let (_, oldest) = PRODUCTS.into_iter().find(|(name, _)| name == product)?;
        let is_old = numbers(version)? < oldest;
        let (major, minor) = oldest;
        is_old.then(|| {
            format!("this version is too old; install {product} {major}.{minor} or a later version")
        })
    }
}

/// Returns the first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, exit: Exit) -> ToolVersion {
        let mut run = RunOutput::failed(text);
        std::mem::swap(&mut run.stdout, &mut run.stderr);
        run.exit = exit;
        ToolVersion::of(&run)
    }

    #[test]
    fn the_version_is_found_among_warnings_and_compared_with_the_oldest() {
        let text = "There are some problems\nTerraform v0.12.31\non linux_amd64\n";
        let version = answer(text, Exit::Code(0));
        assert_eq!(version.text(), "version 0.12.31");
        assert!(version.hint().unwrap().contains("Terraform 1.4"));
        assert_eq!(answer("OpenTofu v1.6.0-beta1", Exit::Code(0)).hint(), None);
        assert_eq!(answer("Terraform v1.11.4", Exit::Code(0)).hint(), None);
    }

    #[test]
    fn an_answer_that_is_none_says_why() {
        let unknown = |exit| answer("Terraform is great\nv1.2\n", exit).text();
        assert!(unknown(Exit::Code(0)).contains("neither Terraform nor OpenTofu"));
        assert!(unknown(Exit::TimedOut).contains("within 5 s"));
        assert!(unknown(Exit::Signal(11)).contains("signal 11"));
    }
}
