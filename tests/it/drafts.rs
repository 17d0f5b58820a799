//! Builders for the texts of test ensembles. A draft omits the constant head, may be indented like the code
//! around it, and has a placeholder `<name>` for each value that the test fills in.

use std::fmt::Display;

use super::support::TestEnv;

/// The head of every ensemble, above the draft's own text.
const HEAD: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
";

/// A text with placeholders that are not filled in yet.
#[derive(Debug, Clone)]
#[must_use]
pub(crate) struct Draft(String);

pub(crate) fn ensemble(service_template: &str) -> Draft {
    Draft(format!("{HEAD}{}", indented(service_template, "    ")))
}

pub(crate) fn topology(topology: &str) -> Draft {
    let topology = indented(topology, "  ");
    ensemble(&format!("topology_template:\n{topology}"))
}

pub(crate) fn nodes(node_templates: &str) -> Draft {
    let nodes = indented(node_templates, "  ");
    topology(&format!("node_templates:\n{nodes}"))
}

/// A text that is not an ensemble, without its common indentation.
pub(crate) fn text(text: &str) -> Draft {
    Draft(indented(text, ""))
}

impl Draft {
    /// Replaces the placeholder `<name>`. A value of several lines whose placeholder has its own line is
    /// indented like the placeholder.
    #[track_caller]
    pub(crate) fn with(self, name: &str, value: impl Display) -> Self {
        let (marker, value) = (format!("<{name}>"), value.to_string());
        assert!(self.0.contains(&marker), "no {marker} in\n{}", self.0);
        let mut text = String::new();
        for line in self.0.split_inclusive('\n') {
            let indentation = line.trim_end().strip_suffix(&marker);
            match indentation.filter(|before| before.trim().is_empty()) {
                Some(indentation) => text.push_str(&indented(&value, indentation)),
                None => text.push_str(&line.replace(&marker, &value)),
            }
        }
        Self(text)
    }

    /// Returns the text. Panics if a placeholder is not filled in.
    #[track_caller]
    pub(crate) fn build(self) -> String {
        let missing = self.0.split('<').skip(1).find_map(|after| {
            let (name, _) = after.split_once('>')?;
            let is_name = |it: char| it.is_ascii_lowercase() || it == '_';
            (!name.is_empty() && name.chars().all(is_name)).then_some(name)
        });
        assert_eq!(missing, None, "has no value in\n{}", self.0);
        self.0
    }

    /// Creates an environment with the text as its only ensemble.
    #[track_caller]
    pub(crate) fn env(self) -> TestEnv {
        TestEnv::with_ensemble(&self.build())
    }
}

/// Replaces the common indentation of all lines by this one.
fn indented(text: &str, indentation: &str) -> String {
    let lines = || text.lines().skip_while(|line| line.trim().is_empty());
    let written = lines().filter(|line| !line.trim().is_empty());
    let common = written.map(|line| line.len() - line.trim_start_matches(' ').len());
    let common = common.min().unwrap_or(0);
    let mut result = String::new();
    for line in lines() {
        if let Some(rest) = line.get(common..).filter(|rest| !rest.trim().is_empty()) {
            result.push_str(indentation);
            result.push_str(rest);
        }
        result.push('\n');
    }
    result.truncate(result.trim_end().len());
    result + "\n"
}

#[test]
fn a_draft_is_indented_and_has_its_values() {
    let others = "
        a: {type: <type>}
        b:

          type: tosca.nodes.Root
    ";
    let draft = topology(
        "
        node_templates:
          <nodes>
          c: {type: <type>}
        ",
    );
    let built = draft.with("nodes", others).with("type", "T").build();
    let expected = "    topology_template:
      node_templates:
        a: {type: T}
        b:

          type: tosca.nodes.Root
        c: {type: T}
";
    assert_eq!(built, format!("{HEAD}{expected}"));
    let node = "        a: {type: T}\n";
    let expected = topology("node_templates: {a: {type: T}}").build();
    let built = nodes(node).build();
    assert_eq!(
        built,
        expected.replace(" {a: {type: T}}", "\n        a: {type: T}")
    );
    assert_eq!(text("echo <a b> > c").build(), "echo <a b> > c\n");
}

#[test]
#[should_panic(expected = "no <b> in")]
fn a_value_without_a_place_is_an_error() {
    drop(text("a: <a>").with("b", 1));
}

#[test]
#[should_panic(expected = "has no value in")]
fn a_place_without_a_value_is_an_error() {
    text("a: <a>").build();
}
