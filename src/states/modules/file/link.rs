//! The states `file.symlink` and `file.hardlink`.
//!
//! Both compare the path with the target, clear the path if the state forces it, and create the link.
use super::plan::{
    FilePlan, PathOwners, file_name, is_folder, missing_folder_steps, name_as_path, normalize_path,
    parent, path_fact, probe_text, put_text, target_fact,
};
use super::presence::kind_name;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Domain, FileKind, FileStat};
use crate::states::modules::decision::{require_facts, single_change};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::force_quote_word;

/// Returns the owners of a link. Defaults: the login user on the machine, and that user's primary
/// group.
pub(super) fn link_owners(
    call: &StateCall<'_>,
    current: Option<&FileStat>,
    facts: &FactCache,
) -> Result<PathOwners, Halt> {
    let user = match call.non_empty_text("user")? {
        Some(user) => Some(user),
        None => call.text("owner")?,
    };
    let inherits = call.flag("inherit_user_and_group", false);
    let own = current.filter(|_| inherits);
    let user = match user.or_else(|| own.map(|entry| entry.user.clone())) {
        Some(user) => user,
        None => probe_text(facts, "id -un".to_owned(), Domain::Fixed)?,
    };
    let group = match call
        .text("group")?
        .or_else(|| own.map(|entry| entry.group.clone()))
    {
        Some(group) => Some(group),
        None if user == "root" => Some("root".to_owned()),
        None => Some(probe_text(
            facts,
            format!("id -gn -- {}", force_quote_word(&user)),
            Domain::Accounts,
        )?),
    };
    PathOwners::from_names(Some(user), group, facts)
}

/// Fails if an account is missing or a path is not absolute. Several problems are joined as in Salt.
pub(super) fn check_preconditions(owners: &PathOwners, paths: &[(&str, &str)]) -> Result<(), Halt> {
    let mut wrong = Vec::new();
    if let Some(user) = owners.user.as_ref().filter(|it| !it.exists) {
        wrong.push(format!("User {} does not exist", user.written));
    }
    if let Some(group) = owners.group.as_ref().filter(|it| !it.exists) {
        wrong.push(format!("Group {} does not exist", group.written));
    }
    for (role, path) in paths.iter().filter(|(_, path)| !path.starts_with('/')) {
        wrong.push(format!("Specified {role} {path} is not an absolute path"));
    }
    match wrong.len() {
        0 => Ok(()),
        1 => refuse(wrong.remove(0)),
        _ => refuse(format!("{}.", wrong.join(". "))),
    }
}

/// A symbolic link as described by the arguments of `file.symlink`.
struct SymlinkRequest<'a> {
    path: &'a str,
    target: &'a str,
    owners: PathOwners,
    force: bool,
}

/// Decides `file.symlink`: creates or changes a symbolic link.
pub(super) fn symlink(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = name_as_path(call, facts)?;
    let target = call.required("target")?;
    require_facts(
        facts,
        [
            path_fact(&path),
            target_fact(&path),
            target_fact(parent(&path)),
        ],
    )?;
    let current = facts.path(&path)?;
    let link = SymlinkRequest {
        path: &path,
        target: &target,
        owners: link_owners(call, current.filter(|it| read_link(it).is_some()), facts)?,
        force: call.flag("force", false),
    };
    check_preconditions(&link.owners, &[("file", &path)])?;
    let mut test = dry_run_outcome(&link, current);
    let mut steps = Vec::new();
    if !is_folder(parent(&path), facts)? {
        let folder = parent(&path);
        if call.flag("makedirs", false) {
            let like = link.owners.with_mode(call.mode("mode")?);
            steps = missing_folder_steps(folder, &like, facts)?;
            test.comment
                .push_str(&format!("\n{folder} will be created"));
        } else {
            let missing = format!("Directory {folder} for symlink is not present");
            if call.mode == Mode::Apply {
                return refuse(missing);
            }
            test.comment.push_str(&format!("\n{missing}"));
        }
    }
    let found = plan_symlink(call, &link, current, facts);
    if call.mode == Mode::Test {
        // A dry run reports the desired change even if the real run would refuse it.
        let steps = match found {
            Ok((_, more)) => steps.into_iter().chain(more).collect(),
            Err(Halt::Failed(_)) => Vec::new(),
            Err(needs) => return Err(needs),
        };
        let apply = test.clone();
        return Ok(FilePlan { test, apply, steps }.into_decision(call.mode));
    }
    let (apply, more) = found?;
    steps.extend(more);
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// Returns the target of a symbolic link; None for other entries.
fn read_link(entry: &FileStat) -> Option<&str> {
    match &entry.kind {
        FileKind::Link(destination) => Some(destination),
        _ => None,
    }
}

fn owner_names(owners: &PathOwners) -> (&str, &str) {
    (
        owners.user.as_ref().map_or("", |user| &user.written),
        owners.group.as_ref().map_or("", |group| &group.written),
    )
}

/// Returns the outcome of a dry run.
fn dry_run_outcome(link: &SymlinkRequest<'_>, current: Option<&FileStat>) -> StateOutcome {
    let SymlinkRequest { path, target, .. } = link;
    let Some(current) = current else {
        return StateOutcome::would_change(
            single_change("new", *path),
            format!("Symlink {path} to {target} is set for creation"),
        );
    };
    match read_link(current) {
        Some(destination) if destination != *target => StateOutcome::would_change(
            single_change("change", *path),
            format!("Link {path} target is set to be changed to {target}"),
        ),
        Some(_) => {
            let comment = format!("The symlink {path} is present");
            let (changes, _) = link.owners.differences(current, None);
            if changes.is_empty() {
                return StateOutcome::unchanged(comment);
            }
            let is = format!("{}:{}", current.user, current.group);
            let (user, group) = owner_names(&link.owners);
            StateOutcome::would_change(
                single_change("ownership", is.clone()),
                format!(
                    "{comment}, but the ownership of the symlink would be changed from {is} to \
                     {user}:{group}"
                ),
            )
        }
        None if link.force => StateOutcome::planned(format!(
            "The file or directory {path} is set for removal to make way for a new symlink \
                 targeting {target}"
        )),
        None => StateOutcome::failed(format!(
            "File or directory exists where the symlink {path} should be. Did you mean to use \
             force?"
        )),
    }
}

/// Plans the changes of a symbolic link, and the outcome of a real run.
fn plan_symlink(
    call: &StateCall<'_>,
    link: &SymlinkRequest<'_>,
    current: Option<&FileStat>,
    facts: &FactCache,
) -> Result<(StateOutcome, Vec<Change>), Halt> {
    let SymlinkRequest { path, target, .. } = link;
    let (user, group) = owner_names(&link.owners);
    let mut steps = Vec::new();
    if let Some((current, destination)) = current.and_then(|it| Some((it, read_link(it)?))) {
        if normalize_path(destination) == normalize_path(target) {
            let (changes, like) = link.owners.differences(current, None);
            if changes.is_empty() {
                let comment = format!("Symlink {path} is present and owned by {user}:{group}");
                return Ok((StateOutcome::unchanged(comment), steps));
            }
            steps.push(file_change::set_attributes(path, like, false));
            let owner = format!("{user}:{group}");
            let comment = format!("Set ownership of symlink {path} to {owner}");
            return Ok((
                StateOutcome::changed(single_change("ownership", owner), comment),
                steps,
            ));
        }
    } else if let Some(current) = current {
        clear_path(call, link, current, facts, &mut steps)?;
    }
    steps.push(Change::Link {
        path: (*path).to_owned(),
        target: (*target).to_owned(),
        hard: false,
        like: link.owners.with_mode(None),
    });
    let comment = format!("Created new symlink {path} -> {target}");
    Ok((
        StateOutcome::changed(single_change("new", *path), comment),
        steps,
    ))
}

/// Adds the changes that back up or remove an entry at the path of the link.
fn clear_path(
    call: &StateCall<'_>,
    link: &SymlinkRequest<'_>,
    current: &FileStat,
    facts: &FactCache,
    steps: &mut Vec<Change>,
) -> Result<(), Halt> {
    let SymlinkRequest { path, target, .. } = link;
    if let Some(backup) = call.text("backupname")? {
        let backup = if backup.starts_with('/') {
            backup
        } else if backup == file_name(&backup) {
            super::plan::join_path(parent(path), &backup)
        } else {
            return refuse(format!(
                "Backupname must be an absolute path or a file name: {backup}"
            ));
        };
        if facts.path(&backup)?.is_some() {
            if !link.force {
                return refuse(format!(
                    "Symlink & backup dest exists and Force not set. {path} -> {target} - \
                     backup: {backup}"
                ));
            }
            steps.push(file_change::remove(&backup));
        }
        steps.push(file_change::rename(path, &backup));
        return Ok(());
    }
    if !link.force && !call.flag("atomic", false) {
        let kind = kind_name(current);
        return refuse(format!("{kind} exists where the symlink {path} should be"));
    }
    if current.is_folder() {
        return refuse(format!(
            "Unable to create new symlink {path} -> {target}: [Errno 21] Is a directory: '{path}'"
        ));
    }
    Ok(())
}

/// Fails if the path or the target cannot be hard linked: folders, or a missing target.
fn check_hardlink(
    call: &StateCall<'_>,
    path: &str,
    target: &str,
    facts: &FactCache,
) -> Result<(), Halt> {
    let (is, led) = (facts.target(path)?, facts.target(target)?);
    let folder = |direction: &str, path: &str| {
        Halt::Failed(format!("Unable to hard link {direction} directory {path}"))
    };
    let Some(led) = led else {
        if is.is_some_and(FileStat::is_folder) && call.mode == Mode::Apply {
            return Err(folder("to", path));
        }
        return refuse(format!("Target {target} for hard link does not exist"));
    };
    match call.mode {
        Mode::Test if led.is_folder() => return Err(folder("from", target)),
        _ if is.is_some_and(FileStat::is_folder) => return Err(folder("to", path)),
        _ if led.is_folder() => return Err(folder("from", target)),
        _ => {}
    }
    Ok(())
}

/// Decides `file.hardlink`: makes a path a link to an existing file.
pub(super) fn hardlink(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = name_as_path(call, facts)?;
    let target = call.required("target")?;
    check_preconditions(
        &link_owners(call, None, facts)?,
        &[("file", &path), ("target", &target)],
    )?;
    require_facts(
        facts,
        [
            target_fact(&path),
            target_fact(&target),
            target_fact(parent(&path)),
        ],
    )?;
    check_hardlink(call, &path, &target, facts)?;
    let is = facts.target(&path)?;
    let names = hard_link_status(&path, &target, is.is_some(), facts)?;
    let steps = hardlink_steps(call, &path, &target, facts)?;
    let created =
        |comment: String| StateOutcome::changed(single_change("new", path.clone()), comment);
    let would = |key: &str, comment: String| {
        StateOutcome::would_change(single_change(key, path.clone()), comment)
    };
    let (test, apply) = match names {
        HardLinkStatus::SameFile => {
            let test = StateOutcome::unchanged(format!(
                "The hard link {path} is presently targetting {target}"
            ));
            let apply = StateOutcome::unchanged(format!(
                "Target of hard link {path} is already pointing to {target}"
            ));
            let steps = Vec::new();
            return Ok(FilePlan { test, apply, steps }.into_decision(call.mode));
        }
        HardLinkStatus::Missing => (
            would(
                "new",
                format!("Hard link {path} to {target} is set for creation"),
            ),
            created(format!("Created new hard link {path} -> {target}")),
        ),
        HardLinkStatus::LinkedElsewhere => (
            would(
                "change",
                format!("Link {path} target is set to be changed to {target}"),
            ),
            created(format!("Set target of hard link {path} -> {target}")),
        ),
        HardLinkStatus::SingleLink => return replace_with_hardlink(call, &path, &target, steps),
    };
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// Returns the changes that create a hard link and its missing parent folders.
fn hardlink_steps(
    call: &StateCall<'_>,
    path: &str,
    target: &str,
    facts: &FactCache,
) -> Result<Vec<Change>, Halt> {
    let folder = parent(path);
    let mut steps = Vec::new();
    if !is_folder(folder, facts)? {
        if call.flag("makedirs", false) {
            let like = link_owners(call, None, facts)?.with_mode(call.mode("dir_mode")?);
            steps = missing_folder_steps(folder, &like, facts)?;
        } else if call.mode == Mode::Apply {
            return refuse(format!("Directory {folder} for hard link is not present"));
        }
    }
    steps.push(Change::Link {
        path: path.to_owned(),
        target: target.to_owned(),
        hard: true,
        like: ModeAndOwner::default(),
    });
    Ok(steps)
}

/// Decides to replace a file that has no other link; needs `force`.
fn replace_with_hardlink(
    call: &StateCall<'_>,
    path: &str,
    target: &str,
    steps: Vec<Change>,
) -> Result<StateDecision, Halt> {
    if !call.flag("force", false) {
        return refuse(match call.mode {
            Mode::Test => format!(
                "File or directory exists where the hard link {path} should be. Did you mean to \
                 use force?"
            ),
            Mode::Apply => format!("File exists where the hard link {path} should be"),
        });
    }
    let mut changes = single_change("forced", "File for hard link was forcibly replaced");
    put_text(&mut changes, "new", path);
    let test = StateOutcome::planned(format!(
        "The file or directory {path} is set for removal to make way for a new hard link \
                 targeting {target}"
    ));
    let apply = StateOutcome::changed(changes, format!("Created new hard link {path} -> {target}"));
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// The relation of a path to the target of a desired hard link.
enum HardLinkStatus {
    Missing,
    /// The path is a link to the same file as the target.
    SameFile,
    /// The path is one of several links to another file.
    LinkedElsewhere,
    /// The path is the only link to another file.
    SingleLink,
}

fn hard_link_status(
    path: &str,
    target: &str,
    is_there: bool,
    facts: &FactCache,
) -> Result<HardLinkStatus, Halt> {
    if !is_there {
        return Ok(HardLinkStatus::Missing);
    }
    let (path_word, target_word) = (force_quote_word(path), force_quote_word(target));
    let text = format!(
        "if [ {path_word} -ef {target_word} ]; then echo same; \
         elif [ \"$(stat -c %h -- {path_word})\" -gt 1 ]; then echo others; else echo alone; fi"
    );
    Ok(match &*probe_text(facts, text, Domain::All)? {
        "same" => HardLinkStatus::SameFile,
        "others" => HardLinkStatus::LinkedElsewhere,
        _ => HardLinkStatus::SingleLink,
    })
}
