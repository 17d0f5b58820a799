//! A repository is kept at a commit, at no branch.

use super::desired::joined;
use super::latest::emptied;
use super::repository::{Access, Local, Question, Remote, address, git, name, submodules, target};
use crate::converge::module::command::{act, failure, old_new, one, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::text::{quoted, with_login_redacted};
use crate::value::{Map, Value};

/// The commit that a repository is kept at, and where it comes from.
struct Pin {
    url: String,
    target: String,
    remote: String,
    /// The commit, or a branch or tag.
    rev: String,
    is_commit: bool,
}

/// The way to the commit.
struct Course {
    commands: Vec<String>,
    comments: Vec<String>,
    changes: Map,
    /// The commit that it is at.
    old: Option<String>,
    /// The commit that it is to be at, as far as that is known.
    wanted: Option<String>,
    fetches: bool,
}

impl Course {
    /// Whether there is nothing to do.
    fn is_done(&self) -> bool {
        !self.fetches
            && self.commands.is_empty()
            && self
                .old
                .as_ref()
                .zip(self.wanted.as_ref())
                .is_some_and(|(old, wanted)| old.starts_with(wanted))
    }
}

impl Pin {
    /// Reads the arguments of a state; none if the revision has no name.
    fn of(call: &Call<'_>) -> Result<Option<Self>, Halt> {
        let url = address(call)?;
        let target = target(call, "target")?;
        let Some(rev) = name(call, "rev")? else {
            return Ok(None);
        };
        let remote = name(call, "remote")?.unwrap_or_else(|| "origin".to_owned());
        let is_commit = rev.len() <= 40 && rev.bytes().all(|sign| sign.is_ascii_hexdigit());
        Ok(Some(Self {
            url,
            target,
            remote,
            rev,
            is_commit,
        }))
    }

    fn question<'a>(&'a self, wanted: Option<&'a str>) -> Question<'a> {
        Question {
            target: &self.target,
            remote: &self.remote,
            branch: None,
            rev: &self.rev,
            wanted,
        }
    }

    /// Brings the repository to be there, with the address of its remote; or says why not.
    fn begin(&self, call: &Call<'_>, local: Local) -> Result<Course, String> {
        let target = &self.target;
        let mut course = Course {
            commands: Vec::new(),
            comments: Vec::new(),
            changes: Map::new(),
            old: None,
            wanted: self.is_commit.then(|| self.rev.to_lowercase()),
            fetches: call.flag("fetch_remote", true),
        };
        match local {
            Local::File => {
                return Err(format!(
                    "Target '{target}' exists and is a regular file, cannot proceed"
                ));
            }
            Local::Other if !call.flag("force_clone", false) => {
                return Err(format!(
                    "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
                ));
            }
            local @ (Local::Other | Local::Nothing) => {
                if local == Local::Other {
                    course.commands.push(emptied(target));
                    course.changes.extend(one("forced clone", true));
                }
                self.clone_into(&mut course);
            }
            Local::Repository(local) => {
                if local.url.as_deref() != Some(self.url.as_str()) && !self.is_commit {
                    self.readdress(local.url.as_deref(), &mut course);
                }
                let theirs = local.tracked.clone().or_else(|| local.tag.clone());
                course.wanted = course.wanted.or(theirs);
                course.fetches &= !local.has_wanted;
                course.old = local.commit;
            }
        }
        Ok(course)
    }

    /// Clones it, which fetches all.
    fn clone_into(&self, course: &mut Course) {
        course.commands.push(format!(
            "git clone -q --no-checkout --origin {} -- {} {}",
            quoted(&self.remote),
            quoted(&self.url),
            quoted(&self.target)
        ));
        let shown = with_login_redacted(&self.url);
        course
            .comments
            .push(format!("{shown} cloned to {}", self.target));
        course.fetches = false;
    }

    /// Gives the remote its address.
    fn readdress(&self, is: Option<&str>, course: &mut Course) {
        let (target, remote) = (&self.target, &self.remote);
        let word = if is.is_some() { "set-url" } else { "add" };
        course
            .commands
            .push(git(target, ["remote", word, remote, &self.url]));
        let is = with_login_redacted(is.unwrap_or("None"));
        let shown = with_login_redacted(&self.url);
        course
            .comments
            .push(format!("Remote {remote} updated from '{is}' to '{shown}'"));
    }

    /// Fetches all branches and tags.
    fn fetch(&self, course: &mut Course) {
        let (target, remote) = (&self.target, &self.remote);
        let heads = format!("+refs/heads/*:refs/remotes/{remote}/*");
        let words = ["fetch", "-q", "--force", remote, &heads];
        let words = words.into_iter().chain(["+refs/tags/*:refs/tags/*"]);
        course.commands.push(git(target, words));
        course.comments.push(format!(
            "Remote {remote} was fetched, resulting in updated refs"
        ));
    }

    /// Checks the commit out.
    fn check_out(&self, call: &Call<'_>, course: &mut Course) {
        let target = &self.target;
        if call.flag("hard_reset", false) {
            course
                .commands
                .push(git(target, ["reset", "-q", "--hard", "HEAD"]));
            let comment = "Repository was reset to HEAD before checking out revision";
            course.comments.push(comment.to_owned());
        }
        let is_forced = call.flag("force_checkout", false);
        course
            .commands
            .push(checkout(target, &self.remote, &self.rev, is_forced));
        if call.flag("submodules", false) {
            course.commands.push(submodules(target));
        }
    }

    /// What a dry run says.
    fn predicted(&self, course: &Course) -> Outcome {
        let target = &self.target;
        let new = course.wanted.as_ref().unwrap_or(&self.rev);
        let mut expected = course.changes.clone();
        expected.extend(one("HEAD", old_new(course.old.clone(), new.as_str())));
        let would = if course.old.is_none() {
            let shown = with_login_redacted(&self.url);
            format!("Repository {shown} would be cloned to {target}")
        } else {
            format!("Commit ID {new} would be checked out at {target}")
        };
        Outcome::would(expected, would)
    }

    /// What came of it.
    fn judge(&self, course: &Course, access: &Access, facts: &Facts) -> Result<Outcome, Halt> {
        let Local::Repository(local) = self.question(None).ask(access, facts)? else {
            return Ok(Outcome::failed("Failed to update repository"));
        };
        let mut comments = course.comments.clone();
        let mut changes = course.changes.clone();
        if local.commit == course.old {
            comments.push("Already checked out at correct revision".to_owned());
        } else {
            let commit = local.commit.as_deref().unwrap_or_default();
            let target = &self.target;
            comments.push(format!("Commit ID {commit} was checked out at {target}"));
            changes.extend(one(
                "HEAD",
                old_new(
                    course.old.clone(),
                    local.commit.map_or(Value::Null, Value::from),
                ),
            ));
        }
        Ok(Outcome::changed(changes, joined(&comments)))
    }
}

/// Brings a repository to be at a commit, at no branch.
pub(super) fn detached(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let Some(pin) = Pin::of(call)? else {
        return failure("'' is not a valid value for the 'rev' argument");
    };
    let access = Access::of(call)?;
    let question = pin.question(pin.is_commit.then_some(pin.rev.as_str()));
    let mut course = match pin.begin(call, question.ask(&access, facts)?) {
        Ok(course) => course,
        Err(why) => return failure(why),
    };
    // Whether a branch has moved, the other side tells; a commit that is there never does.
    if course.fetches && !pin.is_commit {
        let known = course.wanted.as_deref();
        course.fetches = has_moved(&access, facts, &pin, known)?;
    }
    if course.fetches {
        pin.fetch(&mut course);
    }
    if course.is_done() {
        return unchanged("Already checked out at correct revision");
    }
    pin.check_out(call, &mut course);
    let predicted = pin.predicted(&course);
    let commands = std::mem::take(&mut course.commands).into_iter();
    let steps = commands.map(|text| access.run(text, &pin.target)).collect();
    act(predicted, steps, move |complaint, facts| match complaint {
        Some(why) => Ok(Outcome::failed(why)),
        None => pin.judge(&course, &access, facts),
    })
}

/// Whether the branch or tag is elsewhere by now.
fn has_moved(access: &Access, facts: &Facts, pin: &Pin, known: Option<&str>) -> Result<bool, Halt> {
    Ok(match Remote::of(access, facts, &pin.url)? {
        Ok(remote) => {
            let wanted = remote.find(&pin.rev);
            wanted.map(|it| it.commit).as_deref() != known
        }
        // The fetch will say why.
        Err(_) => true,
    })
}

/// Checks out what the remote's branch, a tag or a commit of that name is, in this order.
fn checkout(target: &str, remote: &str, rev: &str, is_forced: bool) -> String {
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
