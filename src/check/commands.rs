//! Checks the programs and files that operations run: commands, scripts, artifacts, and the hosts they run on.

use std::path::Path;
use std::sync::Arc;

use super::checker::Checker;
use super::machine::Machine;
use super::members::is_keyword;
use crate::diagnostic::Check;
use crate::expr::is_template;
use crate::text::most_similar;
use crate::tosca::{Artifact, Implementation, NodeTemplate, Operation, configurator_names};

impl Checker<'_> {
    /// Reports a command that does not exist: a script of the ensemble, or a misspelt configurator.
    pub(super) fn command(
        &mut self,
        operation: &Operation,
        implementation: &Implementation,
        command: &Arc<str>,
        subject: &dyn Fn() -> String,
    ) {
        let Some(machine) = self.machine else {
            return;
        };
        let words = command.split_whitespace();
        let Some(first) = words.clone().next().filter(|_| !is_template(command)) else {
            return;
        };
        let is_plain_sign = |at: char| at.is_alphanumeric() || matches!(at, '_' | '.' | '-' | '/');
        if !first.chars().all(is_plain_sign) {
            return;
        }
        if first.starts_with('/') {
            self.program(implementation, first, machine, subject);
        } else if first.contains('/') && !first.ends_with('/') {
            self.script(operation, implementation, first, subject);
        } else if self.names_no_file(operation)
            && most_similar(first, configurator_names()).is_none()
        {
            self.no_file(implementation, command, &subject());
        } else if words.count() == 1 {
            self.word(implementation, first, machine, subject);
        }
    }

    /// Reports an absolute path without a program.
    fn program(
        &mut self,
        implementation: &Implementation,
        path: &str,
        machine: &dyn Machine,
        subject: &dyn Fn() -> String,
    ) {
        if !implementation.is_local() || machine.has_program(path) || self.is_written(path) {
            return;
        }
        let message = format!(
            "`{path}`, which implements {}, is not a program on this computer",
            subject()
        );
        self.error(Check::MissingFile, message, implementation.span, path, None);
    }

    /// Reports a script that does not exist.
    fn script(
        &mut self,
        operation: &Operation,
        implementation: &Implementation,
        path: &str,
        subject: &dyn Fn() -> String,
    ) {
        let cwd = operation.inputs.get("cwd");
        if cwd.is_some_and(|cwd| !cwd.is_null()) || self.is_written(path) {
            return;
        }
        // Commands run in the folder of the ensemble.
        if let Some(hint) = self.missing_file(path, self.base_dir) {
            let message = format!("the script `{path}` of {} does not exist", subject());
            let span = implementation.span;
            self.error(Check::MissingFile, message, span, path, Some(hint));
        }
    }

    /// Reports a single word that is no program and resembles a configurator.
    fn word(
        &mut self,
        implementation: &Implementation,
        word: &str,
        machine: &dyn Machine,
        subject: &dyn Fn() -> String,
    ) {
        let is_here = machine.has_program(word)
            || machine.exists(&self.base_dir.join(word)) == Some(true)
            || !implementation.is_local();
        let similar = most_similar(word, configurator_names()).filter(|_| !is_here);
        if let Some(similar) = similar {
            let message = format!(
                "`{word}`, which implements {}, is neither a configurator nor a program on the `PATH`",
                subject()
            );
            let hint = Some(format!("did you mean `{similar}`?"));
            let span = implementation.span;
            self.error(Check::UnknownConfigurator, message, span, word, hint);
        }
    }

    fn no_file(&mut self, implementation: &Implementation, command: &str, subject: &str) {
        let message = format!(
            "`{command}`, the `primary` of {subject}, is no artifact, configurator or file, so nothing runs"
        );
        let hint = format!(
            "for a command, write `implementation: {command}`, or `primary: Cmd` with the input `cmd`"
        );
        let span = implementation.span;
        self.error(Check::MissingFile, message, span, command, Some(hint));
    }

    /// Returns true if the text of `primary` names nothing that can run.
    fn names_no_file(&self, operation: &Operation) -> bool {
        self.machine.is_some_and(|machine| {
            let exists = |path: &Path| machine.exists(path) != Some(false);
            let missing = self
                .service
                .missing_primary(operation, self.base_dir, &exists);
            missing.is_some()
        })
    }

    /// Reports the file of an executed artifact that does not exist.
    pub(super) fn artifact_file(&mut self, artifact: &Artifact, subject: &dyn Fn() -> String) {
        let Some(file) = artifact.file.as_str().filter(|file| !is_template(file)) else {
            return;
        };
        let types = &artifact.definition.info;
        // The configurator `Template` reads no file.
        let class = artifact.properties.get("className");
        let class = class.and_then(|class| class.value.as_str());
        let is_script = (types.is_derived_from("tosca.artifacts.Implementation")
            || types.is_derived_from("unfurl.artifacts.ShellExecutable"))
            && class.is_none_or(|class| !class.ends_with("TemplateConfigurator"));
        let is_plain =
            !file.is_empty() && !file.starts_with(['/', '~', '$']) && !file.contains(':');
        let has_contents = artifact.fields.contains_key("contents");
        if !is_script
            || !is_plain
            || artifact.repository.is_some()
            || has_contents
            || self.is_written(file)
        {
            return;
        }
        if let Some(hint) = self.missing_file(file, &artifact.base_dir) {
            let message = format!(
                "the file `{file}` of artifact `{}` for {} does not exist",
                artifact.name,
                subject()
            );
            let span = self.after(artifact.span, file);
            self.error(Check::MissingFile, message, span, file, Some(hint));
        }
    }

    /// Reports an `operation_host` that is neither a keyword nor a node.
    pub(super) fn operation_host(
        &mut self,
        implementation: &Implementation,
        node: Option<&NodeTemplate>,
        subject: &dyn Fn() -> String,
    ) {
        let Some(host) = implementation.operation_host.as_deref() else {
            return;
        };
        let within = node.filter(|node| node.nested_in.is_some());
        let is_known = host.is_empty()
            || host == "localhost"
            || is_keyword(host)
            || is_template(host)
            || host.contains(['.', ':'])
            || self.node_seen(host, within).is_some()
            || self.settable().contains(host);
        if !is_known {
            let message = format!(
                "the `operation_host` `{host}` of {} is not a node template",
                subject()
            );
            let hint = self.node_hint(host).unwrap_or_else(|| {
                "name a node template with an endpoint, or remove `operation_host` to run here"
                    .to_owned()
            });
            let span = self.after(implementation.span, host);
            self.error(Check::UnknownHost, message, span, host, Some(hint));
        }
    }
}
