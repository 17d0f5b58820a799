//! `file.symlink` and `file.hardlink`.
use super::presence::kind_of;
use super::work::{
    Owners, Work, ask, at, base, folders, is_folder, named, normal, parent, put, to,
};
use crate::converge::module::command::{need, one};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::{Domain, Entry, EntryKind};
use crate::text::quoted_always;

/// Who a link is to belong to: who acts on the machine, and the first group of that user, unless
/// said otherwise.
pub(super) fn owners(
    call: &Call<'_>,
    current: Option<&Entry>,
    facts: &Facts,
) -> Result<Owners, Halt> {
    let user = match call.filled("user")? {
        Some(user) => Some(user),
        None => call.text("owner")?,
    };
    let inherits = call.flag("inherit_user_and_group", false);
    let own = current.filter(|_| inherits);
    let user = match user.or_else(|| own.map(|entry| entry.user.clone())) {
        Some(user) => user,
        None => ask(facts, "id -un".to_owned(), Domain::Fixed)?,
    };
    let group = match call
        .text("group")?
        .or_else(|| own.map(|entry| entry.group.clone()))
    {
        Some(group) => Some(group),
        None if user == "root" => Some("root".to_owned()),
        None => Some(ask(
            facts,
            format!("id -gn -- {}", quoted_always(&user)),
            Domain::Accounts,
        )?),
    };
    Owners::named(Some(user), group, facts)
}

/// What is wrong before anything is looked at, joined as Salt joins it.
pub(super) fn preflight(owners: &Owners, paths: &[(&str, &str)]) -> Result<(), Halt> {
    let mut wrong = Vec::new();
    if let Some(user) = owners.user.as_ref().filter(|it| !it.exists) {
        wrong.push(format!("User {} does not exist", user.written));
    }
    if let Some(group) = owners.group.as_ref().filter(|it| !it.exists) {
        wrong.push(format!("Group {} does not exist", group.written));
    }
    for (what, path) in paths.iter().filter(|(_, path)| !path.starts_with('/')) {
        wrong.push(format!("Specified {what} {path} is not an absolute path"));
    }
    match wrong.len() {
        0 => Ok(()),
        1 => refuse(wrong.remove(0)),
        _ => refuse(format!("{}.", wrong.join(". "))),
    }
}

struct Link<'a> {
    path: &'a str,
    target: &'a str,
    owners: Owners,
    force: bool,
}

/// Decides `file.symlink`.
pub(super) fn symlink(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = named(call, facts)?;
    let target = call.required("target")?;
    need(facts, [at(&path), to(&path), to(parent(&path))])?;
    let current = facts.path(&path)?;
    let link = Link {
        path: &path,
        target: &target,
        owners: owners(call, current.filter(|it| says(it).is_some()), facts)?,
        force: call.flag("force", false),
    };
    preflight(&link.owners, &[("file", &path)])?;
    let mut test = foretold(&link, current);
    let mut steps = Vec::new();
    if !is_folder(parent(&path), facts)? {
        let folder = parent(&path);
        if call.flag("makedirs", false) {
            let like = link.owners.like(call.mode("mode")?);
            steps = folders(folder, &like, facts)?;
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
    let found = make(call, &link, current, facts);
    if call.mode == Mode::Test {
        // A dry run says what is asked for even where applying would be refused.
        let steps = match found {
            Ok((_, more)) => steps.into_iter().chain(more).collect(),
            Err(Halt::Failed(_)) => Vec::new(),
            Err(needs) => return Err(needs),
        };
        let apply = test.clone();
        return Ok(Work { test, apply, steps }.verdict(call.mode));
    }
    let (apply, more) = found?;
    steps.extend(more);
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// What a link says.
fn says(entry: &Entry) -> Option<&str> {
    match &entry.kind {
        EntryKind::Link(says) => Some(says),
        _ => None,
    }
}

fn owned(owners: &Owners) -> (&str, &str) {
    (
        owners.user.as_ref().map_or("", |user| &user.written),
        owners.group.as_ref().map_or("", |group| &group.written),
    )
}

/// What a dry run says.
fn foretold(link: &Link<'_>, current: Option<&Entry>) -> Outcome {
    let Link { path, target, .. } = link;
    let Some(current) = current else {
        return Outcome::would(
            one("new", *path),
            format!("Symlink {path} to {target} is set for creation"),
        );
    };
    match says(current) {
        Some(says) if says != *target => Outcome::would(
            one("change", *path),
            format!("Link {path} target is set to be changed to {target}"),
        ),
        Some(_) => {
            let comment = format!("The symlink {path} is present");
            let (changes, _) = link.owners.differ(current, None);
            if changes.is_empty() {
                return Outcome::same(comment);
            }
            let is = format!("{}:{}", current.user, current.group);
            let (user, group) = owned(&link.owners);
            Outcome::would(
                one("ownership", is.clone()),
                format!(
                    "{comment}, but the ownership of the symlink would be changed from {is} to \
                     {user}:{group}"
                ),
            )
        }
        None if link.force => Outcome::planned(format!(
            "The file or directory {path} is set for removal to make way for a new symlink \
                 targeting {target}"
        )),
        None => Outcome::failed(format!(
            "File or directory exists where the symlink {path} should be. Did you mean to use \
             force?"
        )),
    }
}

/// What is done and what is said of it.
fn make(
    call: &Call<'_>,
    link: &Link<'_>,
    current: Option<&Entry>,
    facts: &Facts,
) -> Result<(Outcome, Vec<Change>), Halt> {
    let Link { path, target, .. } = link;
    let (user, group) = owned(&link.owners);
    let mut steps = Vec::new();
    if let Some((current, says)) = current.and_then(|it| Some((it, says(it)?))) {
        if normal(says) == normal(target) {
            let (changes, like) = link.owners.differ(current, None);
            if changes.is_empty() {
                let comment = format!("Symlink {path} is present and owned by {user}:{group}");
                return Ok((Outcome::same(comment), steps));
            }
            steps.push(step::set(path, like, false));
            let owner = format!("{user}:{group}");
            let comment = format!("Set ownership of symlink {path} to {owner}");
            return Ok((Outcome::changed(one("ownership", owner), comment), steps));
        }
    } else if let Some(current) = current {
        make_way(call, link, current, facts, &mut steps)?;
    }
    steps.push(Change::Link {
        path: (*path).to_owned(),
        target: (*target).to_owned(),
        hard: false,
        like: link.owners.like(None),
    });
    let comment = format!("Created new symlink {path} -> {target}");
    Ok((Outcome::changed(one("new", *path), comment), steps))
}

/// What stands in the way of a link is kept elsewhere or replaced.
fn make_way(
    call: &Call<'_>,
    link: &Link<'_>,
    current: &Entry,
    facts: &Facts,
    steps: &mut Vec<Change>,
) -> Result<(), Halt> {
    let Link { path, target, .. } = link;
    if let Some(backup) = call.text("backupname")? {
        let backup = if backup.starts_with('/') {
            backup
        } else if backup == base(&backup) {
            super::work::join(parent(path), &backup)
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
            steps.push(step::remove(&backup));
        }
        steps.push(step::rename(path, &backup));
        return Ok(());
    }
    if !link.force && !call.flag("atomic", false) {
        let kind = kind_of(current);
        return refuse(format!("{kind} exists where the symlink {path} should be"));
    }
    if current.is_folder() {
        return refuse(format!(
            "Unable to create new symlink {path} -> {target}: [Errno 21] Is a directory: '{path}'"
        ));
    }
    Ok(())
}

/// Fails if one of both cannot have another name.
fn check(call: &Call<'_>, path: &str, target: &str, facts: &Facts) -> Result<(), Halt> {
    let (is, led) = (facts.target(path)?, facts.target(target)?);
    let folder = |direction: &str, path: &str| {
        Halt::Failed(format!("Unable to hard link {direction} directory {path}"))
    };
    let Some(led) = led else {
        if is.is_some_and(Entry::is_folder) && call.mode == Mode::Apply {
            return Err(folder("to", path));
        }
        return refuse(format!("Target {target} for hard link does not exist"));
    };
    match call.mode {
        Mode::Test if led.is_folder() => return Err(folder("from", target)),
        _ if is.is_some_and(Entry::is_folder) => return Err(folder("to", path)),
        _ if led.is_folder() => return Err(folder("from", target)),
        _ => {}
    }
    Ok(())
}

/// Decides `file.hardlink`.
pub(super) fn hardlink(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = named(call, facts)?;
    let target = call.required("target")?;
    preflight(
        &owners(call, None, facts)?,
        &[("file", &path), ("target", &target)],
    )?;
    need(facts, [to(&path), to(&target), to(parent(&path))])?;
    check(call, &path, &target, facts)?;
    let is = facts.target(&path)?;
    let names = names(&path, &target, is.is_some(), facts)?;
    let mut steps = Vec::new();
    if !is_folder(parent(&path), facts)? {
        if call.flag("makedirs", false) {
            let like = owners(call, None, facts)?.like(call.mode("dir_mode")?);
            steps = folders(parent(&path), &like, facts)?;
        } else if call.mode == Mode::Apply {
            let folder = parent(&path);
            return refuse(format!("Directory {folder} for hard link is not present"));
        }
    }
    steps.push(Change::Link {
        path: path.clone(),
        target: target.clone(),
        hard: true,
        like: Like::default(),
    });
    let made = |comment: String| Outcome::changed(one("new", path.clone()), comment);
    let would = |key: &str, comment: String| Outcome::would(one(key, path.clone()), comment);
    let (test, apply) = match names {
        Names::Same => {
            let test = Outcome::same(format!(
                "The hard link {path} is presently targetting {target}"
            ));
            let apply = Outcome::same(format!(
                "Target of hard link {path} is already pointing to {target}"
            ));
            let steps = Vec::new();
            return Ok(Work { test, apply, steps }.verdict(call.mode));
        }
        Names::None => (
            would(
                "new",
                format!("Hard link {path} to {target} is set for creation"),
            ),
            made(format!("Created new hard link {path} -> {target}")),
        ),
        Names::Others => (
            would(
                "change",
                format!("Link {path} target is set to be changed to {target}"),
            ),
            made(format!("Set target of hard link {path} -> {target}")),
        ),
        Names::Alone => return forced(call, &path, &target, steps),
    };
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// A file with one name only stands where another name of the target is to be.
fn forced(call: &Call<'_>, path: &str, target: &str, steps: Vec<Change>) -> Result<Verdict, Halt> {
    if !call.flag("force", false) {
        return refuse(match call.mode {
            Mode::Test => format!(
                "File or directory exists where the hard link {path} should be. Did you mean to \
                 use force?"
            ),
            Mode::Apply => format!("File exists where the hard link {path} should be"),
        });
    }
    let mut changes = one("forced", "File for hard link was forcibly replaced");
    put(&mut changes, "new", path);
    let test = Outcome::planned(format!(
        "The file or directory {path} is set for removal to make way for a new hard link \
                 targeting {target}"
    ));
    let apply = Outcome::changed(changes, format!("Created new hard link {path} -> {target}"));
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// What a path is to another.
enum Names {
    /// Nothing is there.
    None,
    /// Another name of it.
    Same,
    /// Another name of something else.
    Others,
    /// A file with one name.
    Alone,
}

fn names(path: &str, target: &str, is_there: bool, facts: &Facts) -> Result<Names, Halt> {
    if !is_there {
        return Ok(Names::None);
    }
    let (path_word, target_word) = (quoted_always(path), quoted_always(target));
    let text = format!(
        "if [ {path_word} -ef {target_word} ]; then echo same; \
         elif [ \"$(stat -c %h -- {path_word})\" -gt 1 ]; then echo others; else echo alone; fi"
    );
    Ok(match &*ask(facts, text, Domain::All)? {
        "same" => Names::Same,
        "others" => Names::Others,
        _ => Names::Alone,
    })
}
