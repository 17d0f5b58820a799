//! Reads the steps `put`, `template` and `get` of a task.

use super::field_reader::FieldReader;
use super::keys::{GET_KEYS, PUT_KEYS};
use super::{Download, StepAction, TemplateText, Transfer};
use crate::host::{GetSettings, Mirror, PutSettings, check_owner};
use crate::yaml::Node;

/// The value of `mirror` that only names what would be deleted.
const DRY_RUN: &str = "dryrun";

/// Reads a copy of a file or folder to a host.
pub(super) fn read_transfer(fields: &mut FieldReader, node: &Node) -> Option<Transfer> {
    if !fields.check_map(node, &PUT_KEYS) {
        return None;
    }
    let mode = fields.mode(node, "mode");
    let settings = PutSettings {
        owner: read_owner(fields, node),
        verify: fields.is_set(node, "verify"),
        resume: fields.is_set(node, "resume"),
        mirror: read_mirror(fields, node),
    };
    let sudo = read_sudo(fields, node);
    Some(Transfer {
        source: fields.text(node, "src")?,
        target: fields.text(node, "dest")?,
        mode,
        settings,
        sudo,
    })
}

/// Reads a copy of a file or folder from a host.
pub(super) fn read_get(fields: &mut FieldReader, node: &Node) -> Option<StepAction> {
    if let Some(source) = node.as_str() {
        return Some(StepAction::Get(Download {
            source: TemplateText::new(source),
            target: None,
            max_bytes: None,
            settings: GetSettings::default(),
            sudo: None,
        }));
    }
    if !fields.check_map(node, &GET_KEYS) {
        return None;
    }
    let target = fields.text(node, "dest");
    let max_bytes = fields.size(node, "max_size");
    let settings = GetSettings {
        verify: fields.is_set(node, "verify"),
        resume: fields.is_set(node, "resume"),
    };
    let sudo = read_sudo(fields, node);
    Some(StepAction::Get(Download {
        source: fields.text(node, "src")?,
        target,
        max_bytes,
        settings,
        sudo,
    }))
}

/// Reads the user of a transfer: a name, or true for root.
fn read_sudo(fields: &mut FieldReader, node: &Node) -> Option<TemplateText> {
    let value = node.get("sudo")?;
    match (value.as_bool(), value.as_str()) {
        (Some(is_root), _) => is_root.then(|| TemplateText::plain("root")),
        (None, Some(user)) => Some(TemplateText::new(user)),
        (None, None) => {
            fields.report_mismatch(value, "`sudo`", "true or the name of a user");
            None
        }
    }
}

fn read_owner(fields: &mut FieldReader, node: &Node) -> Option<String> {
    let owner = fields.string(node, "owner")?.to_owned();
    if let Err(problem) = check_owner(&owner) {
        let span = node.get("owner").map_or(node.span(), Node::span);
        let message = format!("`owner` is not `user`, `user:group` or `:group`: {problem}");
        fields.report(&message, span, None);
        return None;
    }
    Some(owner)
}

fn read_mirror(fields: &mut FieldReader, node: &Node) -> Option<Mirror> {
    let value = node.get("mirror")?;
    match (value.as_bool(), value.as_str()) {
        (Some(is_on), _) => is_on.then_some(Mirror::Delete),
        (None, Some(DRY_RUN)) => Some(Mirror::DryRun),
        _ => {
            let expected = format!("true, false or `{DRY_RUN}`");
            fields.report_mismatch(value, "`mirror`", &expected);
            None
        }
    }
}
