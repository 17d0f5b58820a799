//! The state `mount.mounted`, and mounting again after a watched change.

use super::active::{ActiveMount, ActiveMounts, MOUNTS, block_device};
use super::fstab::{FstabEffect, FstabEntry, FstabFile, match_fields};
use super::options::{changed_options, option_list};
use crate::host::change::{Change, CommandRun, ModeAndOwner};
use crate::host::fact::{CommandSetting, Domain};
use crate::states::modules::decision::{
    act_or_fail, done, failure, run_probe, stdout_text, unchanged,
};
use crate::states::modules::file::{Flags, compile};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::{force_quote_word, quote_word};
use crate::value::Map;

/// A mount as a state describes it.
struct DesiredMount<'a> {
    call: &'a StateCall<'a>,
    point: String,
    /// The mount point without links.
    real_point: String,
    device: String,
    kind: String,
    options: Vec<String>,
    user: Option<String>,
}

impl<'a> DesiredMount<'a> {
    fn from_call(call: &'a StateCall<'a>, facts: &FactCache) -> Result<Self, Halt> {
        let point = match call.name {
            "/" => "/",
            name => name.trim_end_matches('/'),
        };
        if !point.starts_with('/') {
            return refuse(format!("`{}` is not an absolute path", call.name));
        }
        Ok(Self {
            call,
            point: point.to_owned(),
            real_point: real_path(point, facts)?,
            device: call.required("device")?,
            kind: call.required("fstype")?,
            options: option_list(call, "opts", "defaults")?,
            user: call.non_empty_text("user")?,
        })
    }

    /// Returns the command that mounts the file system, with an extra option.
    fn mount(&self, extra: Option<&str>) -> Change {
        let mut options = self.options.clone();
        if let Some(extra) = extra.filter(|extra| !options.iter().any(|it| it == extra)) {
            options.push(extra.to_owned());
        }
        let options = quote_word(&options.join(","));
        let (kind, device) = (quote_word(&self.kind), force_quote_word(&self.device));
        let point = force_quote_word(&self.point);
        self.run(format!("mount -o {options} -t {kind} {device} {point}"))
    }

    fn unmount(&self) -> Change {
        self.run(format!("umount {}", force_quote_word(&self.real_point)))
    }

    fn run(&self, text: String) -> Change {
        mount_command(text, &self.point, self.user.clone())
    }

    /// Returns true if a change of options needs a new mount, because the kernel cannot change the old one.
    fn is_mounted_anew(&self) -> bool {
        matches!(&*self.kind, "nfs" | "cvfs") || self.kind.starts_with("fuse")
    }

    /// Returns the name that the device has in the list of mounts.
    fn real_device(&mut self, mounts: &ActiveMounts, facts: &FactCache) -> Result<String, Halt> {
        let device = self.device.clone();
        let upper = device.to_uppercase();
        if upper.starts_with("UUID=") {
            return Ok(device[5..].trim_matches('"').to_lowercase());
        }
        if upper.starts_with("LABEL=") {
            let label = &device[6..];
            return match block_device(&format!("LABEL={label}"), facts)? {
                Some(found) => Ok(found.path),
                None => refuse(format!("Unable to find device with label {label}.")),
            };
        }
        if let Some((kind, rest)) = device.split_once('#')
            && !kind.is_empty()
            && kind
                .chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_')
        {
            return Ok(rest.to_owned());
        }
        if !device.starts_with('/') {
            return Ok(device);
        }
        let active = mounts.at(&self.real_point);
        if let Some(active) = active.filter(|_| self.options.iter().any(|it| it == "bind")) {
            return Ok(self.bound_device(active, mounts));
        }
        real_device_path(&device, facts)
    }

    /// Returns the device that a bind mount shows, and takes over the options of the mount that it repeats.
    fn bound_device(&mut self, active: &ActiveMount, mounts: &ActiveMounts) -> String {
        let mut folder = self.device.trim_end_matches('/');
        let is_path = active.device.starts_with('/');
        let source = loop {
            let path = if folder.is_empty() { "/" } else { folder };
            match mounts.at(path) {
                Some(source) => break Some(source),
                None if path == "/" || !is_path => break None,
                None => folder = file_change::parent(folder).trim_end_matches('/'),
            }
        };
        if let Some(source) = source
            && self.call.flag("bind_mount_copy_active_opts", true)
        {
            self.options.extend(source.options.iter().cloned());
            self.options.extend(source.super_options.iter().cloned());
            self.options.sort();
            self.options.dedup();
        }
        match source {
            Some(source) if is_path => source.device.clone(),
            _ => active.device.clone(),
        }
    }
}

/// Returns the change that runs a program which mounts something at a path.
pub(super) fn mount_command(text: String, point: &str, user: Option<String>) -> Change {
    let setting = CommandSetting {
        user,
        env: vec![("LC_ALL".to_owned(), "C".to_owned())],
        ..CommandSetting::default()
    };
    let domains = [MOUNTS, point].map(|path| Domain::Path(path.to_owned()));
    let run = CommandRun {
        setting,
        ..CommandRun::new(text)
    };
    Change::Run(run.touching(domains))
}

/// Returns a path without links; parts that do not exist stay as they are.
fn real_path(path: &str, facts: &FactCache) -> Result<String, Halt> {
    let script = format!("readlink -m {}", force_quote_word(path));
    let probed = run_probe(facts, script, Domain::Path(path.to_owned()))?;
    let text = stdout_text(probed);
    let found = text.trim_end_matches('\n');
    Ok(if found.is_empty() { path } else { found }.to_owned())
}

/// Returns the path of a device without links, or its path below `/dev/mapper` if it is a logical volume.
fn real_device_path(device: &str, facts: &FactCache) -> Result<String, Halt> {
    if let Some((group, volume)) = device
        .strip_prefix("/dev/")
        .and_then(|rest| rest.split_once('/'))
        .filter(|(_, volume)| !volume.contains('/'))
    {
        let double = |text: &str| text.replace('-', "--");
        let mapper = format!("/dev/mapper/{}-{}", double(group), double(volume));
        if facts.target(&mapper)?.is_some() {
            return Ok(mapper);
        }
    }
    real_path(device, facts)
}

/// The steps and the comment of a state about a mount, before the fstab.
struct MountPlan {
    steps: Vec<Change>,
    changes: Map,
    comment: String,
    predicted: StateOutcome,
    /// True if a dry run ends here and says nothing about the fstab.
    is_final: bool,
}

impl MountPlan {
    fn unchanged(comment: impl Into<String>) -> Self {
        let comment = comment.into();
        Self {
            steps: Vec::new(),
            changes: Map::new(),
            predicted: StateOutcome::unchanged(comment.clone()),
            comment,
            is_final: false,
        }
    }

    /// Sets the comment with which a dry run ends.
    fn predict(&mut self, comment: String) {
        if !self.is_final {
            self.predicted = StateOutcome::planned(comment);
            self.is_final = true;
        }
    }
}

/// Decides `mount.mounted`: mounts a file system, and keeps it in the fstab.
pub(super) fn mounted(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    for key in ["device", "fstype"] {
        if !call.flag(key, false) {
            return failure(format!("Must provide {key} to mount.mounted"));
        }
    }
    let mut desired = DesiredMount::from_call(call, facts)?;
    let fstab = FstabFile::read(call, facts)?;
    let persists = call.flag("persist", true);
    let mounts = ActiveMounts::read(facts)?;
    let real_device = desired.real_device(&mounts, facts)?;
    let is_mounting = call.flag("mount", true);
    let plan = match mounts.at(&desired.real_point) {
        Some(active) if is_mounting => plan_active(&desired, active, &real_device, facts)?,
        Some(_) => MountPlan::unchanged(""),
        None if is_mounting => plan_new(&desired, facts)?,
        None => plan_folder(&desired, facts)?,
    };
    if persists && (call.mode == Mode::Apply || !plan.is_final) {
        fstab.require()?;
    }
    decide(&desired, plan, persists.then_some(&fstab))
}

/// Compares an active mount with the desired one.
fn plan_active(
    desired: &DesiredMount<'_>,
    active: &ActiveMount,
    real_device: &str,
    facts: &FactCache,
) -> Result<MountPlan, Halt> {
    let DesiredMount {
        call,
        kind,
        options,
        ..
    } = desired;
    let mut plan = MountPlan::unchanged("Target was already mounted");
    let changed = changed_options(call, kind, options, active, facts)?.join(",");
    if !changed.is_empty() {
        let words = if desired.is_mounted_anew() {
            plan.steps = vec![desired.unmount(), desired.mount(None)];
            "unmount and mount"
        } else {
            plan.steps = vec![desired.mount(Some("remount"))];
            "remount"
        };
        let text = format!("Forced {words} because options ({changed}) changed");
        plan.changes.insert("umount".into(), text.into());
        plan.predict(format!(
            "Remount would be forced because options ({changed}) changed"
        ));
    }
    if active.has_name(real_device) {
        return Ok(plan);
    }
    for pattern in call.texts("device_name_regex")? {
        let regex = compile(&format!("\\A(?:{pattern})"), Flags::NONE)?;
        for name in active.names() {
            if regex.is_match(name.as_bytes())? {
                plan.comment = format!(
                    "An umount will not be forced because device matched device_name_regex: {name}"
                );
                if !plan.is_final {
                    plan.predicted = StateOutcome::unchanged(plan.comment.clone());
                }
                return Ok(plan);
            }
        }
    }
    plan_other_device(desired, active, real_device, &mut plan);
    Ok(plan)
}

/// Plans to replace the mount of another device.
fn plan_other_device(
    desired: &DesiredMount<'_>,
    active: &ActiveMount,
    real_device: &str,
    plan: &mut MountPlan,
) {
    let device = &desired.device;
    if !plan.is_final {
        plan.predicted = StateOutcome::planned(format!(
            "An umount would have been forced because devices do not match.  Watched: {device}"
        ));
    }
    let wanted = if real_device == device {
        device.clone()
    } else {
        format!("{device} ({real_device})")
    };
    let names: Vec<&str> = active.names().collect();
    let text = format!(
        "Forced unmount because devices don't match. Wanted: {wanted}, current: {}",
        names.join(", ")
    );
    plan.changes.insert("umount".into(), text.into());
    plan.changes.insert("mount".into(), true.into());
    plan.steps = vec![desired.unmount(), desired.mount(None)];
    "Target was successfully mounted".clone_into(&mut plan.comment);
}

/// Plans the mount of a file system that is not mounted.
fn plan_new(desired: &DesiredMount<'_>, facts: &FactCache) -> Result<MountPlan, Halt> {
    let DesiredMount { call, point, .. } = desired;
    let exists = facts.target(point)?.is_some();
    let makes = call.flag("mkmnt", false);
    let planned = match (exists, makes) {
        (true, _) => format!("{point} would be mounted"),
        (false, true) => format!("{point} would be created and mounted"),
        (false, false) => format!("{point} does not exist and would not be created"),
    };
    let mut plan = MountPlan::unchanged("Target was successfully mounted");
    if !exists && !makes {
        if call.mode == Mode::Apply {
            return refuse("Mount directory is not present");
        }
        plan.predict(planned);
        return Ok(plan);
    }
    if !exists {
        plan.steps.push(new_folder(desired));
    }
    plan.steps.push(desired.mount(None));
    plan.changes.insert("mount".into(), true.into());
    plan.predict(planned);
    Ok(plan)
}

/// Plans a mount point without a mount.
fn plan_folder(desired: &DesiredMount<'_>, facts: &FactCache) -> Result<MountPlan, Halt> {
    let DesiredMount { call, point, .. } = desired;
    let exists = facts.target(point)?.is_some();
    let mut plan = MountPlan::unchanged("");
    let (comment, idle) = match (exists, call.flag("mkmnt", false)) {
        (true, _) => ("not mounted", "would not be mounted"),
        (false, true) => {
            plan.steps.push(new_folder(desired));
            (
                "was created, not mounted",
                "would be created, but not mounted",
            )
        }
        (false, false) => (
            "not present and not mounted",
            "does not exist and would neither be created nor mounted",
        ),
    };
    plan.comment = format!("{point} {comment}");
    let idle = format!("{point} {idle}");
    plan.predicted = if exists {
        StateOutcome::unchanged(idle)
    } else {
        StateOutcome::planned(idle)
    };
    Ok(plan)
}

fn new_folder(desired: &DesiredMount<'_>) -> Change {
    let like = ModeAndOwner {
        user: desired.user.clone(),
        ..ModeAndOwner::default()
    };
    file_change::folders(&desired.point, like)
}

/// Adds the entry of the fstab to a plan, and returns the decision.
fn decide(
    desired: &DesiredMount<'_>,
    mut plan: MountPlan,
    fstab: Option<&FstabFile>,
) -> Result<StateDecision, Halt> {
    let DesiredMount { call, point, .. } = desired;
    let mut predicted = plan.predicted;
    if let Some(fstab) = fstab {
        let entry = FstabEntry {
            device: desired.device.clone(),
            mount_point: point.clone(),
            kind: desired.kind.clone(),
            options: desired.options.join(","),
            dump: call.text_or("dump", "0")?,
            pass: call.text_or("pass_num", "0")?,
        };
        let fields = match_fields(call, &desired.kind)?;
        let (effect, change) = fstab.set(&entry.checked()?, &fields, false);
        plan.steps.extend(change);
        let is_mounting = call.flag("mount", true);
        let (word, comment) = effect_words(effect);
        let planned = planned_entry(effect, point, is_mounting);
        if !word.is_empty() {
            plan.changes.insert("persist".into(), word.into());
            if !plan.is_final {
                predicted = StateOutcome::planned(format!("{}. {planned}", predicted.comment));
            }
        }
        plan.comment = format!("{}. {comment}", plan.comment);
    }
    if plan.steps.is_empty() {
        return done(match call.mode {
            Mode::Test => predicted,
            Mode::Apply => StateOutcome::changed(plan.changes, plan.comment),
        });
    }
    act_or_fail(
        predicted,
        plan.steps,
        StateOutcome::changed(plan.changes, plan.comment),
        "",
    )
}

/// Returns the word in the changes and the comment about an entry.
pub(super) fn effect_words(effect: FstabEffect) -> (&'static str, &'static str) {
    match effect {
        FstabEffect::Present => ("", "Entry already exists in the fstab."),
        FstabEffect::New => ("new", "Added new entry to the fstab."),
        FstabEffect::Changed => ("update", "Updated the entry in the fstab."),
    }
}

/// Returns the comment of a dry run about an entry.
fn planned_entry(effect: FstabEffect, point: &str, is_mounting: bool) -> String {
    let text = match (effect, is_mounting) {
        (FstabEffect::Present, _) => "",
        (FstabEffect::New, true) => {
            "{} is mounted, but needs to be written to the fstab in order to be made persistent."
        }
        (FstabEffect::New, false) => {
            "{} needs to be written to the fstab in order to be made persistent."
        }
        (FstabEffect::Changed, true) => "{} is mounted, but its fstab entry must be updated.",
        (FstabEffect::Changed, false) => "The {} fstab entry must be updated.",
    };
    text.replace("{}", point)
}

/// Mounts the file system again after a watched change, as the function `mod_watch` of Salt.
pub(super) fn watch(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    if call.fun != "mounted" {
        return unchanged(format!("Watch not supported in {} at this time", call.fun));
    }
    let desired = DesiredMount::from_call(call, facts)?;
    let outcome = StateOutcome::unchanged(format!("{name} remounted"));
    if call.mode == Mode::Test {
        return done(outcome);
    }
    let is_mounted = ActiveMounts::read(facts)?.at(&desired.point).is_some();
    let step = desired.mount(is_mounted.then_some("remount"));
    let complaint = format!("{name} failed to remount: ");
    act_or_fail(outcome.clone(), vec![step], outcome, complaint)
}
