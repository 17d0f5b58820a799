//! The states `mount.unmounted`, `mount.swap`, `mount.fstab_present` and `mount.fstab_absent`.

use std::collections::HashMap;

use super::active::{ActiveMounts, block_device};
use super::fstab::{FstabEffect, FstabEntry, FstabFile, match_fields};
use super::mounted::{effect_words, mount_command};
use super::options::option_list;
use crate::host::RunOutput;
use crate::host::change::Change;
use crate::host::fact::{Domain, Fact, FileKind};
use crate::states::modules::decision::{
    StepsResult, act, act_on_outputs, done, failure, require_facts, run_change, run_probe,
    single_change, stdout_text, unchanged,
};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::force_quote_word;
use crate::value::Map;

/// Decides `mount.unmounted`: unmounts a file system; with `persist`, removes its entry from the fstab.
pub(super) fn unmounted(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    if name.is_empty() {
        return failure("Must provide name to mount.unmounted");
    }
    let device = call.non_empty_text("device")?;
    let fstab = FstabFile::read(call, facts)?;
    let is_mounted = ActiveMounts::read(facts)?.at(name).is_some();
    let mut steps = Vec::new();
    let mut predicted = StateOutcome::unchanged("Target was already unmounted");
    if is_mounted {
        let target = force_quote_word(device.as_deref().unwrap_or(name));
        let command = mount_command(format!("umount {target}"), name, call.text("user")?);
        steps.push(tolerant(command));
        predicted =
            StateOutcome::planned(format!("Mount point {name} is mounted but should not be"));
    }
    let (ending, change) = entry_removal(call, &fstab, device.as_deref());
    if !is_mounted {
        predicted.comment.push_str(&ending);
        if change.is_some() {
            predicted = planned_purge(name, &fstab);
        }
    }
    let is_purged = change.is_some();
    steps.extend(change);
    let judge = move |outputs: &[RunOutput]| {
        let failed = outputs
            .first()
            .filter(|run| is_mounted && !run.exit.is_ok());
        let mut outcome = match failed {
            Some(run) => StateOutcome::failed(run.stderr.text().trim()),
            None if is_mounted => StateOutcome::changed(
                single_change("umount", true),
                "Target was successfully unmounted",
            ),
            None => StateOutcome::unchanged("Target was already unmounted"),
        };
        if is_purged {
            outcome.changes.insert("persist".into(), "purged".into());
        }
        outcome.comment.push_str(&ending);
        outcome
    };
    if steps.is_empty() {
        return done(match call.mode {
            Mode::Test => predicted,
            Mode::Apply => judge(&[]),
        });
    }
    let tolerated = is_mounted.then_some(0);
    let count = steps.len();
    act_on_outputs(predicted, steps, move |ended, _| {
        Ok(match change_error(ended, count, tolerated) {
            Some(error) => StateOutcome::failed(error),
            None => judge(ended.outputs),
        })
    })
}

/// Predicts that the entry of a file system that is not mounted will be removed.
fn planned_purge(name: &str, fstab: &FstabFile) -> StateOutcome {
    StateOutcome::planned(format!(
        "Mount point {name} is unmounted but needs to be purged from {} to be made persistent",
        fstab.path()
    ))
}

/// Returns the end of the comment, and the change that removes the entry of an unmounted file system.
fn entry_removal(
    call: &StateCall<'_>,
    fstab: &FstabFile,
    device: Option<&str>,
) -> (String, Option<Change>) {
    if !call.flag("persist", false) {
        return (String::new(), None);
    }
    match (fstab.at(call.name), device) {
        (None, _) => (". fstab entry not found".to_owned(), None),
        (Some(entry), Some(device)) if entry.device != device => {
            (format!(". fstab entry for device {device} not found"), None)
        }
        (Some(_), _) => {
            let change = fstab.remove(call.name, device);
            (". Removed target from fstab".to_owned(), change)
        }
    }
}

/// Returns why one of `count` changes failed, apart from the tolerated one.
fn change_error(ended: &StepsResult<'_>, count: usize, tolerated: Option<usize>) -> Option<String> {
    let mut outputs = ended.outputs.iter().enumerate();
    let has_failed = outputs.any(|(index, run)| Some(index) != tolerated && !run.exit.is_ok());
    let is_broken = has_failed || ended.outputs.len() < count;
    ended.error.clone().filter(|_| is_broken)
}

/// Returns a command after whose failure the next change is made all the same.
fn tolerant(command: Change) -> Change {
    match command {
        Change::Run(mut run) => {
            run.good_codes = (1..=255).collect();
            Change::Run(run)
        }
        other => other,
    }
}

/// Returns the active swap spaces with their properties.
fn active_swaps(facts: &FactCache) -> Result<HashMap<String, Map>, Halt> {
    let path = Domain::Path("/proc/swaps".to_owned());
    let probed = run_probe(facts, "tail -n +2 /proc/swaps", path)?;
    let text = stdout_text(probed);
    let swaps = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let keys = ["type", "size", "used", "priority"];
        let pairs = keys.into_iter().zip(words);
        Some((
            name,
            pairs.map(|(key, word)| (key.into(), word.into())).collect(),
        ))
    });
    Ok(swaps.collect())
}

/// Returns the device of swap space as the kernel lists it.
fn swap_device(name: &str, facts: &FactCache) -> Result<String, Halt> {
    require_facts(facts, [Fact::Path(name.to_owned())])?;
    Ok(match facts.path(name)?.map(|entry| &entry.kind) {
        Some(FileKind::Link(target)) if target.starts_with('/') => target.clone(),
        Some(FileKind::Link(target)) => {
            format!("/dev/{}", target.rsplit('/').next().unwrap_or(target))
        }
        _ => name.to_owned(),
    })
}

/// Returns the entry of swap space.
fn swap_entry(name: &str) -> FstabEntry {
    FstabEntry {
        device: name.to_owned(),
        mount_point: "none".to_owned(),
        kind: "swap".to_owned(),
        options: "defaults".to_owned(),
        dump: "0".to_owned(),
        pass: "0".to_owned(),
    }
}

/// Returns the outcome of a real run.
fn judge_swap(
    name: &str,
    device: &str,
    was_active: bool,
    effect: FstabEffect,
    facts: &FactCache,
) -> Result<StateOutcome, Halt> {
    let mut outcome = match active_swaps(facts)?.remove(device) {
        Some(_) if was_active => StateOutcome::unchanged(format!("Swap {name} already active")),
        Some(swap) => StateOutcome::changed(swap, format!("Swap {name} activated")),
        None => StateOutcome::failed(format!("Swap {name} failed to activate")),
    };
    let (word, comment) = effect_words(effect);
    if !word.is_empty() {
        outcome.changes.insert("persist".into(), word.into());
        outcome.comment = format!("{}. {comment}", outcome.comment);
    }
    Ok(outcome)
}

/// Decides `mount.swap`: uses a device or file as swap space, and keeps it in the fstab.
pub(super) fn swap(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let fstab = FstabFile::read(call, facts)?;
    let device = swap_device(name, facts)?;
    let is_active = active_swaps(facts)?.contains_key(&device);
    let mut steps = Vec::new();
    let mut predicted = StateOutcome::unchanged(format!("Swap {name} already active"));
    if !is_active {
        let text = format!("swapon {}", force_quote_word(&device));
        let domain = Domain::Path("/proc/swaps".to_owned());
        steps.push(tolerant(run_change(text, [domain])));
        predicted = StateOutcome::planned(format!("Swap {name} is set to be activated"));
    }
    let mut effect = FstabEffect::Present;
    let other = fstab
        .at("none")
        .filter(|it| it.device == name && it.kind != "swap");
    if call.flag("persist", true) {
        let is_known = fstab
            .entries()
            .any(|entry| entry.device == name || entry.mount_point == name);
        if !is_known {
            predicted.result = None;
            if is_active && device == name {
                predicted.comment =
                    format!("Swap {name} is set to be added to the fstab and to be activated");
            }
        }
        if other.is_none() {
            if call.mode == Mode::Apply {
                fstab.require()?;
            }
            let entry = swap_entry(name);
            let (found, change) = fstab.set(&entry.checked()?, &["device".to_owned()], false);
            effect = found;
            steps.extend(change);
        }
    }
    let name = name.to_owned();
    let judge = move |facts: &FactCache| judge_swap(&name, &device, is_active, effect, facts);
    if steps.is_empty() {
        return done(match call.mode {
            Mode::Test => predicted,
            Mode::Apply => judge(facts)?,
        });
    }
    let tolerated = (!is_active).then_some(0);
    let count = steps.len();
    act_on_outputs(predicted, steps, move |ended, facts| {
        match change_error(ended, count, tolerated) {
            Some(error) => Ok(StateOutcome::failed(error)),
            None => judge(facts),
        }
    })
}

/// Returns the first field of an entry: the name of the state, or its UUID, label and so on with `mount_by`.
fn entry_device(call: &StateCall<'_>, facts: &FactCache) -> Result<Option<String>, Halt> {
    let name = call.name;
    let Some(kind) = call.non_empty_text("mount_by")? else {
        return Ok(Some(name.to_owned()));
    };
    let key = kind.to_uppercase();
    let is_device = kind == "device";
    if (is_device && name.starts_with('/')) || name.starts_with(&format!("{key}=")) {
        return Ok(Some(name.to_owned()));
    }
    let Some(device) = block_device(name, facts)? else {
        return Ok(None);
    };
    if is_device {
        return Ok(Some(device.path));
    }
    Ok(device.tag(&key).map(|value| format!("{key}={value}")))
}

/// Returns the mount point of an entry, without a slash at its end.
fn entry_point(call: &StateCall<'_>) -> Result<String, Halt> {
    let point = call.required("fs_file")?;
    Ok(match &*point {
        "/" => point,
        _ => point.trim_end_matches('/').to_owned(),
    })
}

/// Returns the decision of a state about a device that has no such name.
fn no_such_name(call: &StateCall<'_>) -> Result<StateDecision, Halt> {
    failure(format!(
        "Device {} cannot be converted to {}",
        call.name,
        call.text_or("mount_by", "")?
    ))
}

/// Returns the entry that a state describes.
fn desired_entry(
    call: &StateCall<'_>,
    device: String,
    kind: String,
    point: &str,
) -> Result<FstabEntry, Halt> {
    Ok(FstabEntry {
        device,
        mount_point: point.to_owned(),
        kind,
        options: option_list(call, "fs_mntops", "defaults")?.join(","),
        dump: call.text_or("fs_freq", "0")?,
        pass: call.text_or("fs_passno", "0")?,
    })
}

/// Decides `mount.fstab_present`: adds or changes an entry of the fstab, and mounts a new one.
pub(super) fn fstab_present(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let (name, point) = (call.name, entry_point(call)?);
    let Some(device) = entry_device(call, facts)? else {
        return no_such_name(call);
    };
    let kind = call.required("fs_vfstype")?;
    let fstab = FstabFile::read(call, facts)?;
    fstab.require()?;
    let path = fstab.path().to_owned();
    let fields = match_fields(call, &kind)?;
    let entry = desired_entry(call, device, kind, &point)?;
    let (effect, change) = fstab.set(&entry.checked()?, &fields, call.flag("not_change", false));
    let (word, comment, planned) = match effect {
        FstabEffect::Present => {
            let mut outcome = StateOutcome::planned(format!("{point} entry is already in {path}."));
            if call.mode == Mode::Apply {
                outcome = StateOutcome::unchanged(format!("{point} entry was already in {path}."));
            }
            return done(outcome);
        }
        FstabEffect::New => ("new", "added", "written"),
        FstabEffect::Changed => ("change", "updated", "updated"),
    };
    let comment = format!("{point} entry {comment} in {path}.");
    let mut planned = format!("{point} entry will be {planned} in {path}.");
    let mut steps: Vec<Change> = change.into_iter().collect();
    let mounts = effect == FstabEffect::New && call.flag("mount", true);
    if mounts {
        planned = format!("{planned}\nWill mount {name} on {point}");
        let text = format!("mount {}", force_quote_word(&point));
        steps.push(tolerant(mount_command(text, &point, None)));
    }
    let name = name.to_owned();
    let tolerated = mounts.then_some(1);
    let count = steps.len();
    act_on_outputs(StateOutcome::planned(planned), steps, move |ended, _| {
        if let Some(error) = change_error(ended, count, tolerated) {
            return Ok(StateOutcome::failed(format!(
                "{point} entry cannot be changed in {path}: {error}."
            )));
        }
        let changes = single_change("persist", word);
        let Some(run) = ended.outputs.last().filter(|_| mounts) else {
            return Ok(StateOutcome::changed(changes, comment.clone()));
        };
        Ok(if run.exit.is_ok() {
            StateOutcome::changed(changes, format!("{comment}\nMounted {name} on {point}"))
        } else {
            let complaint = run.stderr.text();
            let complaint = complaint.trim();
            let why = complaint.split_once(':').map_or(complaint, |(_, why)| why);
            let comment = format!("{comment}\nError while mounting {why}");
            StateOutcome::failed_with(changes, comment)
        })
    })
}

/// Decides `mount.fstab_absent`: removes an entry of the fstab.
pub(super) fn fstab_absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let point = entry_point(call)?;
    let Some(device) = entry_device(call, facts)? else {
        return no_such_name(call);
    };
    let fstab = FstabFile::read(call, facts)?;
    let path = fstab.path();
    if fstab.at(&point).is_none() {
        let comment = format!("{point} entry is already missing in {path}.");
        return match call.mode {
            Mode::Test => done(StateOutcome::planned(comment)),
            Mode::Apply => unchanged(comment),
        };
    }
    let comment = format!("{point} entry removed from {path}.");
    let outcome = StateOutcome::changed(single_change("persist", "removed"), comment);
    let planned = StateOutcome::planned(format!("{point} entry will be removed from {path}."));
    let steps: Vec<Change> = fstab.remove(&point, Some(&device)).into_iter().collect();
    if steps.is_empty() {
        return refuse(format!(
            "{path} has an entry for {point}, but of another device than {device}"
        ));
    }
    act(planned, steps, move |error, _| {
        Ok(error.map_or_else(|| outcome.clone(), StateOutcome::failed))
    })
}
