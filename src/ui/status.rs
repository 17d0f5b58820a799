//! Renders the instances of an ensemble as an indented tree, as `unfurl status` prints it.
//!
//! The caller computes the lines and their depths.

use crate::name::{NodeState, Status};
use crate::value::Value;

use super::words;

/// A line of the tree, for one instance.
#[derive(Debug, Clone, Default)]
pub struct StatusLine {
    /// The depth in the tree, which sets the indent.
    pub depth: usize,
    /// The kind of the entity, such as `NodeInstance`.
    pub kind: &'static str,
    /// The name with those of the enclosing topologies.
    pub name: String,
    /// The node type, where it is shown.
    pub type_name: Option<String>,
    /// Additional words, such as `computed` or `virtual`.
    pub marks: Vec<&'static str>,
    /// The status of the instance itself.
    pub local: Option<Status>,
    /// The status as other instances see it.
    pub effective: Option<Status>,
    /// The state in the TOSCA life cycle.
    pub state: Option<NodeState>,
    /// The creator: a change id, an instance key, true or false; null if unknown.
    pub created: Value,
}

/// Renders the tree as text, one line per instance.
pub fn status_text(lines: &[StatusLine]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&" ".repeat(4 * line.depth));
        text.push_str(&line.words().join(" "));
        text.push('\n');
    }
    text
}

impl StatusLine {
    fn words(&self) -> Vec<String> {
        let mut label = format!("{}('{}')", self.kind, words::one_line(&self.name));
        if let Some(type_name) = &self.type_name {
            words::append(&mut label, format_args!("({type_name})"));
        }
        let marks = self.marks.iter().map(|mark| (*mark).to_owned());
        let status = match (self.local, self.effective) {
            (Some(local), Some(effective)) if local != effective => {
                Some(format!("{local}/{effective}"))
            }
            (local, effective) => effective.or(local).map(|status| status.to_string()),
        };
        let state = self.state.map(|state| state.to_string());
        let created = match self.created.as_str() {
            Some(key) if key.starts_with("::") => Some(format!("created by {key}")),
            Some(change) => Some(format!("created on {change}")),
            None => self.created.is_truthy().then(|| "managed".to_owned()),
        };
        std::iter::once(label)
            .chain(marks)
            .chain([status, state, created].into_iter().flatten())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_shows_status_state_and_origin() {
        let lines = [
            StatusLine {
                kind: "TopologyInstance",
                name: "root".to_owned(),
                marks: vec!["computed"],
                ..StatusLine::default()
            },
            StatusLine {
                depth: 1,
                kind: "NodeInstance",
                name: "web".to_owned(),
                local: Some(Status::Ok),
                effective: Some(Status::Degraded),
                state: Some(NodeState::Started),
                created: "A6BL7Jg00001".into(),
                ..StatusLine::default()
            },
            StatusLine {
                depth: 2,
                kind: "NodeInstance",
                name: "disk".to_owned(),
                type_name: Some("tosca.nodes.Root".to_owned()),
                local: Some(Status::Ok),
                effective: Some(Status::Ok),
                created: "::web".into(),
                ..StatusLine::default()
            },
        ];
        insta::assert_snapshot!(status_text(&lines), @"
        TopologyInstance('root') computed
            NodeInstance('web') ok/degraded started created on A6BL7Jg00001
                NodeInstance('disk')(tosca.nodes.Root) ok created by ::web
        ");
    }
}
