//! The request and the result of `unfurl import terraform`.

use std::path::PathBuf;
use std::time::Duration;

use super::nodes::PartNode;
use crate::session::SessionOptions;
use crate::system::signals::Interrupts;

/// The options of `unfurl import terraform`.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    pub session: SessionOptions,
    /// The folder in which Terraform has run.
    pub folder: PathBuf,
    /// The name of the node template. By default, that of the folder.
    pub name: Option<String>,
    /// True for a node per resource, too.
    pub with_resources: bool,
    /// Values of variables, as texts.
    pub variables: Vec<(String, String)>,
    /// Files with variables.
    pub variable_files: Vec<PathBuf>,
    /// The program that reads the state from a backend.
    pub program: String,
    /// True if nothing is to be written.
    pub dry_run: bool,
    /// The command line, for the lock's owner file.
    pub command: String,
    pub lock_timeout: Duration,
    pub interrupts: Interrupts,
}

/// The result of `unfurl import terraform`.
#[derive(Debug, Clone)]
pub struct ImportReport {
    pub name: String,
    /// The source of the state, for messages.
    pub origin: String,
    /// The file with the copy of the state.
    pub state_file: PathBuf,
    pub manifest: PathBuf,
    /// The line of the new template in the manifest, counted from 1.
    pub line: usize,
    /// The lines of the new templates.
    pub text: String,
    /// The number of resources that Terraform manages.
    pub resources: usize,
    /// The nodes for the modules and resources.
    pub parts: Vec<PartNode>,
    /// The id of the job that recorded the instances. None for a dry run.
    pub job: Option<String>,
    pub dry_run: bool,
    pub notes: Vec<String>,
}
