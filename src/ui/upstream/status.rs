//! Renders the status of an ensemble with the words of Unfurl.

use super::super::status::StatusLine;
use super::super::words;
use crate::name::Status;

/// Renders the instances of an ensemble as Unfurl does: one line each, indented by their host.
///
/// The line of the topology itself comes first. `verbose` adds the types, and the status of instances
/// that are virtual or computed.
pub fn status_text(lines: &[StatusLine], verbose: bool) -> String {
    let mut text = "TopologyInstance('root')  computed \n".to_owned();
    for line in lines {
        let indent = 4 * (line.depth + 1);
        words::append(&mut text, format_args!("{:indent$}", ""));
        text.push_str(&instance(line, verbose));
        text.push('\n');
    }
    text
}

fn instance(line: &StatusLine, verbose: bool) -> String {
    let mut label = format!("NodeInstance('{}')", words::one_line(&line.name));
    if verbose {
        let type_name = words::one_line(&line.type_name);
        words::append(&mut label, format_args!("({type_name})"));
    }
    let marks = [
        if line.is_virtual { " virtual" } else { "" },
        if line.is_computed { " computed " } else { "" },
    ]
    .concat();
    if marks.is_empty() || verbose {
        let state = line.state.map_or("", |state| state.as_str());
        format!("{label}{marks} {} {state} {}", status(line), origin(line))
    } else {
        format!("{label} {marks}")
    }
}

fn status(line: &StatusLine) -> String {
    match line.local {
        Some(local) if local != line.effective => format!("{local}/{}", line.effective),
        _ => Status::as_str(line.effective).to_owned(),
    }
}

fn origin(line: &StatusLine) -> String {
    match line.created.as_str() {
        Some(key) if key.starts_with("::") => format!("created by {key}"),
        Some(change) => format!("created on {change}"),
        None if line.created.is_truthy() => "managed".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::NodeState;
    use crate::value::Value;

    fn line(depth: usize, name: &str, created: Value) -> StatusLine {
        StatusLine {
            depth,
            name: name.to_owned(),
            type_name: "tosca.nodes.Root".to_owned(),
            local: Some(Status::Ok),
            effective: Status::Ok,
            state: Some(NodeState::Started),
            is_virtual: false,
            is_computed: false,
            created,
            age: None,
            problem: None,
            drift: None,
        }
    }

    #[test]
    fn the_tree_shows_status_state_and_origin() {
        let mut lines = [
            line(0, "web", "A6BL7Jg00001".into()),
            line(1, "disk", "::web".into()),
            line(0, "left", Value::Null),
            line(0, "network", Value::from(true)),
        ];
        lines[0].effective = Status::Degraded;
        lines[2].is_virtual = true;
        insta::assert_snapshot!(status_text(&lines, false).replace(" \n", ".\n"), @"
        TopologyInstance('root')  computed.
            NodeInstance('web') ok/degraded started created on A6BL7Jg00001
                NodeInstance('disk') ok started created by ::web
            NodeInstance('left')  virtual
            NodeInstance('network') ok started managed
        ");
        insta::assert_snapshot!(status_text(&lines, true).replace(" \n", ".\n"), @"
        TopologyInstance('root')  computed.
            NodeInstance('web')(tosca.nodes.Root) ok/degraded started created on A6BL7Jg00001
                NodeInstance('disk')(tosca.nodes.Root) ok started created by ::web
            NodeInstance('left')(tosca.nodes.Root) virtual ok started.
            NodeInstance('network')(tosca.nodes.Root) ok started managed
        ");
    }
}
