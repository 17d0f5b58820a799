//! Puts node templates with comments into the text of a manifest. All other bytes stay as they are.

use std::path::Path;

use crate::ops::failure::{Failure, FailureKind};
use crate::value::Value;
use crate::yaml::{self, Node, Patch, Route, Schema};

/// A text that stands for a template while its place is found.
const PLACEHOLDER: &str = "unfurl-add-2f8a51c7";

/// The names of the section with the service template.
const SERVICE_TEMPLATES: [&str; 2] = ["service_template", "tosca"];

/// A node template as text.
#[derive(Debug, Clone)]
pub struct NewTemplate {
    pub name: String,
    /// The lines below the name, with indentation from 0 on.
    pub body: String,
}

/// A text with new templates in it.
#[derive(Debug)]
pub struct Insertion {
    pub text: String,
    /// The first line of the new templates, counted from 1.
    pub line: usize,
    /// The lines of the new templates.
    pub added: String,
}

/// Returns the text of a manifest with new node templates.
///
/// # Errors
///
/// The text cannot be edited in place.
pub fn with_templates(
    path: &Path,
    text: &str,
    templates: &[NewTemplate],
) -> Result<Insertion, Failure> {
    let refused = |reason: String, help: &str| {
        let message = format!("`{}` cannot be changed in place: {reason}", path.display());
        Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
    };
    let root = yaml::parse_text(Schema::Core, text).map_err(|reason| {
        refused(
            reason,
            "correct the file; `unfurl validate` lists its problems",
        )
    })?;
    let route = route_of_templates(&root);
    if let Some(taken) = templates
        .iter()
        .find(|it| route.clone().key(&*it.name).find(&root).is_some())
    {
        let message = format!(
            "`{}` has a node template `{}` already",
            path.display(),
            taken.name
        );
        let help = "choose another name with `--name`".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    let patches: Vec<Patch> = templates.iter().map(|it| placeholder(&route, it)).collect();
    let block_style =
        "write `node_templates` in block style, each template on lines of its own, without anchors";
    let patched = yaml::apply(text, &root, &patches)
        .map_err(|error| refused(error.to_string(), block_style))?;
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let inserted = replace_placeholders(&patched, templates, line_end)
        .ok_or_else(|| refused("its node templates are on one line".to_owned(), block_style))?;
    let is_intended = |root: &Node| templates.iter().all(|it| is_in(root, &route, it));
    match yaml::parse_text(Schema::Core, &inserted.text) {
        Ok(root) if is_intended(&root) => Ok(inserted),
        _ => Err(refused(
            "the new text would not mean the same".to_owned(),
            block_style,
        )),
    }
}

/// Returns the route of `node_templates`, which may not exist yet.
fn route_of_templates(root: &Node) -> Route {
    let spec = Route::keys(["spec"]);
    let routes = SERVICE_TEMPLATES.map(|name| spec.clone().key(name));
    let existing = routes.iter().find(|route| route.find(root).is_some());
    let service = existing.unwrap_or(&routes[0]).clone();
    service.key("topology_template").key("node_templates")
}

fn placeholder(route: &Route, template: &NewTemplate) -> Patch {
    let route = route.clone().key(&*template.name);
    Patch::set(route, Value::from(PLACEHOLDER))
}

fn replace_placeholders(
    patched: &str,
    templates: &[NewTemplate],
    line_end: &str,
) -> Option<Insertion> {
    let mut result = String::with_capacity(patched.len());
    let mut added = String::new();
    let mut first = None;
    let mut bodies = templates.iter();
    for (number, line) in (1..).zip(patched.split_inclusive('\n')) {
        let Some((key, rest)) = line.split_once(PLACEHOLDER) else {
            result.push_str(line);
            continue;
        };
        let indent = key.len() - key.trim_start().len();
        let key = key.trim_end().strip_suffix(':')?;
        // A flow mapping has other entries on the line, or a bracket before the key.
        if !rest.trim().is_empty() || key.trim_start().starts_with(['{', ',']) {
            return None;
        }
        first = first.or(Some(number));
        let mut block = format!("{key}:{line_end}");
        for line in bodies.next()?.body.lines() {
            if !line.is_empty() {
                block.push_str(&" ".repeat(indent + 2));
                block.push_str(line);
            }
            block.push_str(line_end);
        }
        added.push_str(&block);
        result.push_str(&block);
    }
    // A text without a line break at its end gets none.
    if !patched.ends_with('\n') {
        result.truncate(result.trim_end_matches(['\r', '\n']).len());
    }
    Some(Insertion {
        text: result,
        line: first?,
        added,
    })
}

/// Returns true if the tree has the template with the intended value.
fn is_in(root: &Node, route: &Route, template: &NewTemplate) -> bool {
    let found = route
        .clone()
        .key(&*template.name)
        .find(root)
        .map(Node::to_value);
    let wanted = yaml::parse_text(Schema::Core, &template.body).map(|node| node.to_value());
    wanted.is_ok_and(|wanted| found == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserted(text: &str, names: &[&str]) -> Result<Insertion, String> {
        let templates: Vec<_> = names
            .iter()
            .map(|name| NewTemplate {
                name: (*name).to_owned(),
                body: "# about\ntype: tosca.nodes.Root\nproperties:\n  a: |\n    x\n\n    y\n"
                    .to_owned(),
            })
            .collect();
        with_templates(Path::new("ensemble.yaml"), text, &templates).map_err(|it| it.to_string())
    }

    #[test]
    fn templates_follow_the_others_and_comments_stay() {
        let text = "kind: Ensemble # e\nspec:\n  service_template:\n    topology_template:\n      node_templates:\n        # first\n        a: {type: x} # a\n      # end\n      outputs: {}\n";
        let found = inserted(text, &["b", "c d"]).unwrap();
        insta::assert_snapshot!(found.text, @r"
        kind: Ensemble # e
        spec:
          service_template:
            topology_template:
              node_templates:
                # first
                a: {type: x} # a
                b:
                  # about
                  type: tosca.nodes.Root
                  properties:
                    a: |
                      x

                      y
                c d:
                  # about
                  type: tosca.nodes.Root
                  properties:
                    a: |
                      x

                      y
              # end
              outputs: {}
        ");
        assert_eq!(found.line, 8);
    }

    #[test]
    fn missing_sections_are_made_and_an_empty_map_is_filled() {
        for text in [
            "spec:\n  tosca:\n    topology_template:\n      # none yet\n      node_templates: {}\n",
            "kind: Ensemble\nspec: {}\n",
            "kind: Ensemble\n",
            "spec:\r\n  service_template:\r\n    topology_template:\r\n      node_templates:\r\n        a: 1\r\n",
            "spec:\n  service_template:\n    topology_template:\n      node_templates:\n        a: 1",
        ] {
            let found = inserted(text, &["b"]).unwrap();
            assert!(found.text.contains("# about"), "{}", found.text);
            let kept = text.lines().filter(|line| !line.contains("{}"));
            for line in kept {
                assert!(found.text.contains(line), "{line}\n{}", found.text);
            }
        }
    }

    #[test]
    fn a_text_that_cannot_take_comments_and_a_taken_name_are_refused() {
        let flow =
            "spec: {service_template: {topology_template: {node_templates: {a: {type: x}}}}}\n";
        let error = inserted(flow, &["b"]).unwrap_err();
        assert!(error.contains("cannot be changed in place"), "{error}");
        let block = "spec:\n  service_template:\n    topology_template:\n      node_templates:\n        a: {type: x}\n";
        let error = inserted(block, &["a"]).unwrap_err();
        assert!(error.contains("has a node template `a` already"), "{error}");
    }
}
