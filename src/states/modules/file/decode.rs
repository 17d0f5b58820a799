//! The state `file.decode`: writes a file whose content is given in base64.

use super::contents::get_at_path;
use super::plan::{FilePlan, parent, resolve_links, target_fact};
use crate::host::change::ModeAndOwner;
use crate::host::fact::{Fact, FileStat};
use crate::states::modules::decision::{require_facts, unchanged};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::base64;
use crate::value::{Map, Value, hex_digest};

/// Decides `file.decode`.
pub(super) fn decode(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = call.name;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    let content = encoded_content(call)?;
    let is_secret = content.has_sensitive();
    let encoding = call.text_or("encoding_type", "base64")?;
    if encoding != "base64" {
        return refuse(format!(
            "`encoding_type: {encoding}` is not supported: only base64 is"
        ));
    }
    let text: String = content.reveal().to_string();
    let Some(bytes) = base64::decode(&text.split_whitespace().collect::<String>()) else {
        return refuse(format!("The encoded data of {path} is not base64"));
    };
    let algorithm = call.text_or("checksum", "md5")?;
    let digest = |bytes: &[u8]| hex_digest(&algorithm.to_ascii_lowercase(), bytes);
    let Some(new) = digest(&bytes) else {
        return refuse(format!("`checksum: {algorithm}` is not a known algorithm"));
    };
    let real = resolve_links(path, facts)?;
    require_facts(facts, [target_fact(&real), Fact::Content(real.clone())])?;
    let has_file = facts.target(&real)?.is_some_and(FileStat::is_file);
    let old = facts.content(&real)?.filter(|_| has_file);
    let old = old.and_then(digest);
    if old.as_ref() == Some(&new) {
        return unchanged("File is in the correct state.");
    }
    if call.mode == Mode::Apply && facts.target(parent(&real))?.is_none() {
        return refuse(format!("[Errno 2] No such file or directory: '{path}'"));
    }
    let known = old.is_some();
    let changes = Map::from_iter([
        ("old".into(), old.map_or(Value::Null, Value::from)),
        ("new".into(), new.into()),
    ]);
    // As in Salt, a dry run shows no digest of a file that does not exist.
    let predicted = if known { changes.clone() } else { Map::new() };
    let write = file_change::write_hidden(&real, bytes, ModeAndOwner::default(), is_secret);
    let plan = FilePlan {
        test: StateOutcome::would_change(predicted, "File is set to be updated."),
        apply: StateOutcome::changed(changes, "File was updated."),
        steps: vec![write],
    };
    Ok(plan.into_decision(call.mode))
}

/// Returns the encoded content: the argument `encoded_data`, or the value of the pillar at `contents_pillar`.
fn encoded_content(call: &StateCall<'_>) -> Result<Value, Halt> {
    let given = |key: &str| call.args.get(key).filter(|value| value.is_truthy());
    match (given("encoded_data"), given("contents_pillar")) {
        (Some(_), Some(_)) => {
            refuse("Specify only one 'encoded_data' or 'contents_pillar' argument.")
        }
        (Some(data), None) => Ok(data.clone()),
        (None, Some(key)) => {
            let key = key.reveal().to_string();
            let found = get_at_path(&call.context.pillar, &key, ":");
            found.ok_or_else(|| Halt::Failed("Pillar data not found.".to_owned()))
        }
        (None, None) => refuse("Specify either the 'encoded_data' or 'contents_pillar' argument."),
    }
}
