//! Repositories are cloned once, made empty, or kept at a commit.

use super::latest::emptied;
use super::repository::{Access, Local, Question, git, name, submodules, target, without_password};
use super::wish::joined;
use crate::converge::module::command::{act, done, old_new, one, quoted};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::value::{Map, Value};

fn address(call: &Call<'_>) -> Result<String, Halt> {
    let url = call.name;
    if url.starts_with('-') || url.contains(['\n', '\0']) {
        return Err(Halt::Failed(format!(
            "'{url}' is no address of a repository"
        )));
    }
    Ok(url.to_owned())
}

/// Brings a repository to be there, whatever commit it is at.
#[expect(
    clippy::too_many_lines,
    reason = "one decision after the other, in their order"
)]
pub(super) fn cloned(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let url = address(call)?;
    let target = target(call, "target")?;
    let branch = name(call, "branch")?;
    let access = Access::of(call)?;
    let question = Question {
        target: &target,
        remote: "origin",
        branch: branch.as_deref(),
        rev: "HEAD",
        wanted: None,
    };
    let shown = without_password(&url);
    match question.ask(&access, facts)? {
        Local::File | Local::Other => done(Outcome::failed(format!(
            "{target} exists and is not a git repository"
        ))),
        Local::Nothing => {
            let with = branch.as_ref().map(|it| format!(" with branch '{it}'"));
            let with = with.unwrap_or_default();
            let option = branch
                .as_ref()
                .map(|it| format!(" --branch {}", quoted(it)));
            let text = format!(
                "git clone -q{} -- {} {}",
                option.unwrap_or_default(),
                quoted(&url),
                quoted(&target)
            );
            let changes = one("new", format!("{shown} => {target}"));
            let would = format!("{shown} would be cloned to {target}{with}");
            let steps = vec![access.run(text, &target)];
            act(
                Outcome::would(changes.clone(), would),
                steps,
                move |complaint, _| {
                    Ok(match complaint {
                        Some(why) => Outcome::failed(format!("Clone failed: {why}")),
                        None => Outcome::changed(
                            changes.clone(),
                            format!("{shown} cloned to {target}{with}"),
                        ),
                    })
                },
            )
        }
        Local::Repository(local) => {
            let Some(branch) = branch.filter(|it| local.branch.as_ref() != Some(it)) else {
                let at = local.branch.filter(|_| call.arg("branch").is_some());
                let at = at.map(|it| format!(" and is checked out to branch '{it}'"));
                let at = at.unwrap_or_default();
                return done(Outcome::same(format!(
                    "Repository already exists at {target}{at}"
                )));
            };
            let start = format!("origin/{branch}");
            let text = if local.branches.contains(&branch) {
                git(&target, ["checkout", "-q", &branch])
            } else {
                git(&target, ["checkout", "-q", "-b", &branch, &start])
            };
            let changes = one("branch", old_new(local.branch, branch.as_str()));
            let would = format!("Branch would be changed to '{branch}'");
            let steps = vec![access.run(text, &target)];
            act(
                Outcome::would(changes.clone(), would),
                steps,
                move |complaint, _| {
                    Ok(match complaint {
                        Some(why) => {
                            Outcome::failed(format!("Failed to change branch to '{branch}': {why}"))
                        }
                        None => Outcome::changed(
                            changes.clone(),
                            format!("Branch changed to '{branch}'"),
                        ),
                    })
                },
            )
        }
    }
}

/// Brings an empty repository to be there, or one that was.
pub(super) fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let target = target(call, "name")?;
    let bare = call.flag("bare", true);
    let access = Access::of(call)?;
    let question = Question {
        target: &target,
        remote: "origin",
        rev: "HEAD",
        ..Question::default()
    };
    let kind = if bare { "bare " } else { "" };
    let mut changes = Map::new();
    let mut steps = Vec::new();
    let mut would = format!("New {kind}repository would be created");
    match question.ask(&access, facts)? {
        Local::Repository(local) if local.is_bare == bare => return done(Outcome::same("")),
        Local::Nothing => {}
        Local::File => {
            return done(Outcome::failed(format!("{target} exists and is a file")));
        }
        _ if call.flag("force", false) => {
            would = format!(
                "Target directory {target} exists. Since force=True, the contents of {target} would be deleted, and a {kind}repository would be initialized in its place."
            );
            changes.extend(one("forced init", true));
            steps.push(access.run(emptied(&target), &target));
        }
        _ => {
            return done(Outcome::failed(format!(
                "Target '{target}' exists, is non-empty, and is not a git repository. Set the 'force' option to True to remove this directory's contents and proceed with initializing a repository"
            )));
        }
    }
    let mut text = String::from("git init -q");
    if bare {
        text.push_str(" --bare");
    }
    let mut actions = vec![format!("Initialized {kind}repository in {target}")];
    if let Some(template) = call.text("template")? {
        text = format!("{text} --template={}", quoted(&template));
        actions.push(format!("Template directory set to {template}"));
    }
    if let Some(folder) = call.text("separate_git_dir")? {
        text = format!("{text} --separate-git-dir={}", quoted(&folder));
        actions.push(format!("Gitdir set to {folder}"));
    }
    if let Some(shared) = call.text("shared")? {
        text = format!("{text} --shared={}", quoted(&shared.to_lowercase()));
    }
    steps.push(access.run(format!("{text} -- {}", quoted(&target)), &target));
    changes.extend(one("new", target));
    act(
        Outcome::would(changes.clone(), would),
        steps,
        move |complaint, _| {
            Ok(match complaint {
                Some(why) => Outcome::failed(why),
                None => Outcome::changed(changes.clone(), joined(&actions)),
            })
        },
    )
}

/// Brings a repository to be at a commit, at no branch.
#[expect(
    clippy::too_many_lines,
    reason = "one decision after the other, in their order"
)]
pub(super) fn detached(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let url = address(call)?;
    let target = target(call, "target")?;
    let Some(rev) = name(call, "rev")? else {
        return done(Outcome::failed(
            "'' is not a valid value for the 'rev' argument",
        ));
    };
    let remote = name(call, "remote")?.unwrap_or_else(|| "origin".to_owned());
    let access = Access::of(call)?;
    let is_commit = rev.len() <= 40 && rev.bytes().all(|sign| sign.is_ascii_hexdigit());
    let question = Question {
        target: &target,
        remote: &remote,
        branch: None,
        rev: &rev,
        wanted: is_commit.then_some(rev.as_str()),
    };
    let (mut commands, mut comments) = (Vec::new(), Vec::new());
    let mut old = None;
    let mut wanted = is_commit.then(|| rev.to_lowercase());
    let mut fetches = call.flag("fetch_remote", true);
    let mut changes = Map::new();
    let shown = without_password(&url);
    match question.ask(&access, facts)? {
        Local::File => {
            return done(Outcome::failed(format!(
                "Target '{target}' exists and is a regular file, cannot proceed"
            )));
        }
        Local::Other if !call.flag("force_clone", false) => {
            return done(Outcome::failed(format!(
                "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
            )));
        }
        local @ (Local::Other | Local::Nothing) => {
            if local == Local::Other {
                commands.push(emptied(&target));
                changes.extend(one("forced clone", true));
            }
            commands.push(format!(
                "git clone -q --no-checkout --origin {} -- {} {}",
                quoted(&remote),
                quoted(&url),
                quoted(&target)
            ));
            comments.push(format!("{shown} cloned to {target}"));
            fetches = false;
        }
        Local::Repository(local) => {
            if local.url.as_deref() != Some(url.as_str()) && !is_commit {
                let word = if local.url.is_some() {
                    "set-url"
                } else {
                    "add"
                };
                commands.push(git(&target, ["remote", word, &remote, &url]));
                let is = without_password(local.url.as_deref().unwrap_or("None"));
                comments.push(format!("Remote {remote} updated from '{is}' to '{shown}'"));
            }
            let theirs = local.tracked.clone().or_else(|| local.tag.clone());
            wanted = wanted.or(theirs);
            fetches &= !local.has_wanted;
            old = local.commit;
        }
    }
    // Whether a branch has moved, the other side tells; a commit that is there never does.
    if fetches && !is_commit && !has_moved(&access, facts, (&url, &rev), wanted.as_deref())? {
        fetches = false;
    }
    if fetches {
        commands.push(git(
            &target,
            [
                "fetch",
                "-q",
                "--force",
                &remote,
                &format!("+refs/heads/*:refs/remotes/{remote}/*"),
                "+refs/tags/*:refs/tags/*",
            ],
        ));
        comments.push(format!(
            "Remote {remote} was fetched, resulting in updated refs"
        ));
    }
    let is_there = !fetches
        && commands.is_empty()
        && old
            .as_ref()
            .zip(wanted.as_ref())
            .is_some_and(|(old, wanted)| old.starts_with(wanted));
    if is_there {
        return done(Outcome::same("Already checked out at correct revision"));
    }
    if call.flag("hard_reset", false) {
        commands.push(git(&target, ["reset", "-q", "--hard", "HEAD"]));
        comments.push("Repository was reset to HEAD before checking out revision".to_owned());
    }
    commands.push(checkout(
        &target,
        (&remote, &rev),
        call.flag("force_checkout", false),
    ));
    if call.flag("submodules", false) {
        commands.push(submodules(&target));
    }
    let new = wanted.unwrap_or_else(|| rev.clone());
    let mut expected = changes.clone();
    expected.extend(one("HEAD", old_new(old.clone(), new.as_str())));
    let would = if old.is_none() {
        format!("Repository {shown} would be cloned to {target}")
    } else {
        format!("Commit ID {new} would be checked out at {target}")
    };
    let steps = commands
        .into_iter()
        .map(|text| access.run(text, &target))
        .collect();
    act(
        Outcome::would(expected, would),
        steps,
        move |complaint, facts| {
            if let Some(why) = complaint {
                return Ok(Outcome::failed(why));
            }
            let question = Question {
                target: &target,
                remote: &remote,
                branch: None,
                rev: &rev,
                wanted: None,
            };
            let Local::Repository(local) = question.ask(&access, facts)? else {
                return Ok(Outcome::failed("Failed to update repository"));
            };
            let mut comments = comments.clone();
            let mut changes = changes.clone();
            if local.commit == old {
                comments.push("Already checked out at correct revision".to_owned());
            } else {
                let commit = local.commit.as_deref().unwrap_or_default();
                comments.push(format!("Commit ID {commit} was checked out at {target}"));
                changes.extend(one(
                    "HEAD",
                    old_new(old.clone(), local.commit.map_or(Value::Null, Value::from)),
                ));
            }
            Ok(Outcome::changed(changes, joined(&comments)))
        },
    )
}

/// Whether the branch or tag is elsewhere by now.
fn has_moved(
    access: &Access,
    facts: &Facts,
    (url, rev): (&str, &str),
    known: Option<&str>,
) -> Result<bool, Halt> {
    Ok(match super::repository::Remote::of(access, facts, url)? {
        Ok(remote) => {
            let wanted = remote.find(rev);
            wanted.map(|it| it.commit).as_deref() != known
        }
        // The fetch will say why.
        Err(_) => true,
    })
}

/// Checks out what the remote's branch, a tag or a commit of that name is, in this order.
fn checkout(target: &str, (remote, rev): (&str, &str), is_forced: bool) -> String {
    let force = if is_forced { "-f " } else { "" };
    let names = [
        format!("refs/remotes/{remote}/{rev}"),
        format!("refs/tags/{rev}"),
        rev.to_owned(),
    ];
    let names: Vec<String> = names
        .iter()
        .map(|name| quoted(&format!("{name}^{{commit}}")))
        .collect();
    let target = quoted(target);
    format!(
        "for n in {}; do c=$(git -C {target} rev-parse -q --verify \"$n\") && break; done; \
         if [ -z \"$c\" ]; then echo {} >&2; exit 1; fi; \
         git -C {target} checkout -q {force}--detach \"$c\"",
        names.join(" "),
        quoted(&format!("Revision '{rev}' does not exist"))
    )
}
