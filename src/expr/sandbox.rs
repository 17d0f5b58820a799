//! The machine of a sandboxed evaluation, in which untrusted expressions read nothing outside the model.

use std::sync::Arc;

use super::ports::{NullContext, SystemContext};

const PROBLEM: &str = "expressions here cannot read anything outside the model";

/// Returns a machine for untrusted expressions: the clock, the random source and the YAML parser of
/// `system`, and nothing else.
pub(super) fn sandbox_context(system: Arc<dyn SystemContext>) -> Arc<dyn SystemContext> {
    Arc::new(NullContext::new(PROBLEM, system))
}

#[cfg(test)]
mod tests {
    use super::super::context::Context;
    use super::super::evaluator::Evaluator;
    use super::super::fixture::{FakeSystem, topology, yaml};
    use super::*;

    #[test]
    fn what_nobody_trusts_reads_the_model_only() {
        let scope = topology();
        let disk = Arc::new(FakeSystem::default());
        disk.files
            .lock()
            .unwrap()
            .insert("/e/f".into(), b"hush".to_vec());
        let evaluator = Evaluator::sandboxed(scope.clone(), disk, Arc::default());
        let context = Context::new(scope.named("app"));
        let shown = |text: &str| match evaluator.evaluate(&yaml(text), &context) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        };
        let lines = [
            "{eval: '::host::ip'}",
            "{concat: [a, {get_property: [app, port]}]}",
            "'{{ SELF.port + 1 }}'",
            "{eval: {file: /e/f}}",
            "{get_env: HOME}",
            "'{{ __unfurl.get_env(\"HOME\") }}'",
            "'{{ lookup(\"file\", \"/e/f\") }}'",
            "'{{ lookup(\"env\", \"HOME\") }}'",
            "'{{ \"/e/f\" is exists }}'",
            "'{{ lookup(\"pipe\", \"ls\") }}'",
            "{eval: {lookup: {file: /e/f}}}",
            "{eval: {template: {path: /e/f}}}",
            "'{{ \"x\" | abspath }}'",
            "{eval: {python: x.py#f}}",
        ];
        let table: Vec<_> = lines
            .iter()
            .map(|line| format!("{line} => {}", shown(line)))
            .collect();
        insta::assert_snapshot!(table.join("\n"), @r#"
        {eval: '::host::ip'} => 10.0.0.1
        {concat: [a, {get_property: [app, port]}]} => a80
        '{{ SELF.port + 1 }}' => 81
        {eval: {file: /e/f}} => error: `file` cannot be used here: only functions that read nothing outside the model are allowed
        {get_env: HOME} => error: `get_env` cannot be used here: only functions that read nothing outside the model are allowed
        '{{ __unfurl.get_env("HOME") }}' => error: `get_env` cannot be used here: only functions that read nothing outside the model are allowed
        '{{ lookup("file", "/e/f") }}' => error: `lookup('file')`: cannot read `/e/f`: expressions here cannot read anything outside the model
        '{{ lookup("env", "HOME") }}' => 
        '{{ "/e/f" is exists }}' => False
        '{{ lookup("pipe", "ls") }}' => error: `pipe` runs a program while planning; allow it with `--allow pipe`
        {eval: {lookup: {file: /e/f}}} => error: `lookup` cannot be used here: only functions that read nothing outside the model are allowed
        {eval: {template: {path: /e/f}}} => error: `template`: cannot read `/e/f`: expressions here cannot read anything outside the model
        '{{ "x" | abspath }}' => error: `get_dir`: expressions here cannot read anything outside the model
        {eval: {python: x.py#f}} => error: `python` cannot be used here: only functions that read nothing outside the model are allowed
        "#);
    }
}
