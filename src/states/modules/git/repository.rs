//! Readings of a git repository on a machine and of its remote, and the commands that change it.
//!
//! [`RepositoryQuery`] reads the local repository, [`RemoteRefs`] lists the remote's refs, and
//! [`GitAccess`] holds the user and the credentials that all commands use. All functions of the module
//! `git` build on this file.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::change::{Change, CommandRun};
use crate::host::fact::{CommandSetting, Domain, Probe};
use crate::states::{FactCache, Halt, StateCall, refuse};
use crate::text::{base64, quote_word, quote_words};
use crate::value::Value;

/// The user, environment and credentials with which git runs.
#[derive(Clone)]
pub(super) struct GitAccess {
    setting: CommandSetting,
}

impl GitAccess {
    /// Reads user, identities and password from a state's arguments.
    ///
    /// The password goes through the environment, so that no process list shows it and no repository stores
    /// it.
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let mut env = vec![
            ("LC_ALL".to_owned(), "C".to_owned()),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
        ];
        let mut ssh = String::from("ssh -o BatchMode=yes");
        let identities = call.texts("identity")?;
        for identity in &identities {
            if !identity.starts_with('/') && !identity.starts_with("~/") {
                return refuse(format!("identity '{identity}' is not an absolute path"));
            }
            let identity = identity.strip_prefix("~/").map_or_else(
                || quote_word(identity),
                |rest| format!("\"$HOME\"/{}", quote_word(rest)),
            );
            ssh = format!("{ssh} -i {identity}");
        }
        if !identities.is_empty() {
            ssh.push_str(" -o IdentitiesOnly=yes");
        }
        env.push(("GIT_SSH_COMMAND".to_owned(), ssh));
        if let Some(user) = call.text("https_user")? {
            let password = call.text("https_pass")?.unwrap_or_default();
            let secret = base64::encode(format!("{user}:{password}").as_bytes());
            for (key, value) in [
                ("GIT_CONFIG_COUNT", "1".to_owned()),
                ("GIT_CONFIG_KEY_0", "http.extraHeader".to_owned()),
                (
                    "GIT_CONFIG_VALUE_0",
                    format!("Authorization: Basic {secret}"),
                ),
            ] {
                env.push((key.to_owned(), value));
            }
        }
        let setting = CommandSetting {
            user: call.text("user")?,
            cwd: Some("/".to_owned()),
            env,
            ..CommandSetting::default()
        };
        Ok(Self { setting })
    }

    /// Runs a reading git command with this access.
    pub(super) fn probe(
        &self,
        facts: &FactCache,
        text: String,
        reads: Domain,
    ) -> Result<GitOutput, Halt> {
        let setting = self.setting.clone();
        let probed = facts.probe(Probe {
            text,
            setting,
            reads,
        })?;
        Ok(GitOutput {
            code: probed.code,
            text: String::from_utf8_lossy(&probed.stdout).into_owned(),
            error: String::from_utf8_lossy(&probed.stderr).trim().to_owned(),
        })
    }

    /// Returns the change that runs a git command with this access and touches the path.
    pub(super) fn change(&self, text: String, path: &str) -> Change {
        let mut run = CommandRun::new(text).touching([Domain::Path(path.to_owned())]);
        run.setting = self.setting.clone();
        Change::Run(run)
    }
}

/// The result of a reading git command.
pub(super) struct GitOutput {
    pub(super) code: i32,
    pub(super) text: String,
    pub(super) error: String,
}

/// The refs of a remote repository by name, with their commits.
#[derive(Debug, Clone, Default)]
pub(super) struct RemoteRefs {
    refs: BTreeMap<String, String>,
}

/// The kind of ref that a revision names in the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RevisionKind {
    Branch,
    Tag,
    Commit,
}

/// A revision resolved to a commit of the remote.
#[derive(Debug, Clone)]
pub(super) struct Revision {
    pub(super) commit: String,
    pub(super) kind: RevisionKind,
}

impl RemoteRefs {
    /// Lists the refs of a remote. The inner error is git's message.
    pub(super) fn probe(
        access: &GitAccess,
        facts: &FactCache,
        url: &str,
    ) -> Result<Result<Self, String>, Halt> {
        let text = format!("git ls-remote -- {}", quote_word(url));
        let path = url.strip_prefix("file://").unwrap_or(url);
        let answer = access.probe(facts, text, Domain::Path(path.to_owned()))?;
        if answer.code != 0 {
            return Ok(Err(answer.error));
        }
        let line = |line: &str| {
            let (commit, name) = line.split_once('\t')?;
            Some((name.to_owned(), commit.to_owned()))
        };
        let refs = answer.text.lines().filter_map(line).collect();
        Ok(Ok(Self { refs }))
    }

    /// Resolves a name to a revision: HEAD, a branch, a tag or a commit ID, in this order.
    pub(super) fn find_revision(&self, rev: &str) -> Option<Revision> {
        let get = |name: String, kind| {
            let commit = self.refs.get(&name)?.clone();
            Some(Revision { commit, kind })
        };
        if rev == "HEAD" {
            return get("HEAD".to_owned(), RevisionKind::Commit);
        }
        let is_commit = rev.len() <= 40 && rev.bytes().all(|sign| sign.is_ascii_hexdigit());
        get(format!("refs/heads/{rev}"), RevisionKind::Branch)
            .or_else(|| get(format!("refs/tags/{rev}^{{}}"), RevisionKind::Tag))
            .or_else(|| get(format!("refs/tags/{rev}"), RevisionKind::Tag))
            .or_else(|| {
                is_commit.then(|| Revision {
                    commit: rev.to_lowercase(),
                    kind: RevisionKind::Commit,
                })
            })
    }

    /// Returns the names of the remote's tags.
    pub(super) fn tags(&self) -> BTreeSet<String> {
        let tags = self
            .refs
            .keys()
            .filter_map(|name| name.strip_prefix("refs/tags/"));
        tags.filter(|name| !name.ends_with("^{}"))
            .map(str::to_owned)
            .collect()
    }

    /// Whether a local repository has all branches and tags of the remote at the same commits.
    pub(super) fn is_mirrored_in(&self, repository: &Repository, remote: &str) -> bool {
        let has = |name: String, commit: &String| repository.refs.contains(&(name, commit.clone()));
        self.refs.iter().all(|(name, commit)| {
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                has(name.clone(), commit) || has(format!("refs/remotes/{remote}/{branch}"), commit)
            } else if name.starts_with("refs/tags/") && !name.ends_with("^{}") {
                has(name.clone(), commit)
            } else {
                true
            }
        })
    }

    /// Returns the commit of the remote's `HEAD`.
    pub(super) fn head(&self) -> Option<&str> {
        self.refs.get("HEAD").map(String::as_str)
    }

    /// Returns the branch whose commit equals that of the remote's `HEAD`.
    pub(super) fn default_branch(&self) -> Option<&str> {
        let head = self.refs.get("HEAD")?;
        self.refs
            .iter()
            .find_map(|(name, commit)| name.strip_prefix("refs/heads/").filter(|_| commit == head))
    }
}

/// The state of the target path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LocalTarget {
    /// The path does not exist, or is an empty folder.
    Empty,
    /// A regular file exists at the path.
    File,
    /// A folder that is not empty and is no repository.
    OtherFolder,
    Repository(Box<Repository>),
}

/// A git repository on the machine, as one probe reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is an independent fact about the machine"
)]
pub(super) struct Repository {
    /// The commit of HEAD; None in an empty repository.
    pub(super) commit: Option<String>,
    /// The branch that is checked out; None if HEAD is detached.
    pub(super) branch: Option<String>,
    pub(super) branches: BTreeSet<String>,
    pub(super) tags: BTreeSet<String>,
    /// The URL of the queried remote; None if the repository lacks that remote.
    pub(super) url: Option<String>,
    /// Whether tracked files have uncommitted changes.
    pub(super) is_dirty: bool,
    pub(super) is_bare: bool,
    /// The upstream of the desired or else the current branch, such as `origin/main`.
    pub(super) upstream: Option<String>,
    /// The commit of the desired branch, or of HEAD if the state names none.
    pub(super) base: Option<String>,
    /// Whether the repository contains the desired commit.
    pub(super) has_desired_commit: bool,
    /// Whether the desired commit is a descendant of `base` or equal to it.
    pub(super) is_fast_forward: bool,
    /// The commit of the remote-tracking branch, as of the last fetch.
    pub(super) remote_branch_commit: Option<String>,
    /// The commit of the tag named like the desired revision.
    pub(super) tag_commit: Option<String>,
    /// Whether a submodule is not checked out at its recorded commit.
    pub(super) has_stale_submodules: bool,
    /// The names of all refs with their commits.
    pub(super) refs: BTreeSet<(String, String)>,
}

/// A query for the state of a local repository.
#[derive(Debug, Clone, Default)]
pub(super) struct RepositoryQuery<'a> {
    pub(super) target: &'a str,
    pub(super) remote: &'a str,
    pub(super) branch: Option<&'a str>,
    /// The name of the desired revision.
    pub(super) rev: &'a str,
    /// The desired commit, if it is known.
    pub(super) desired_commit: Option<&'a str>,
}

impl RepositoryQuery<'_> {
    /// Reads the target path and the repository in it; fails with git's message.
    pub(super) fn probe(&self, access: &GitAccess, facts: &FactCache) -> Result<LocalTarget, Halt> {
        let reads = Domain::Path(self.target.to_owned());
        let answer = access.probe(facts, self.script(), reads)?;
        if answer.code != 0 {
            return refuse(answer.error);
        }
        Ok(parse_target(&answer.text))
    }

    fn script(&self) -> String {
        let target = quote_word(self.target);
        let remote = quote_word(self.remote);
        let base = match self.branch {
            Some(branch) => quote_word(&format!("refs/heads/{branch}")),
            None => "HEAD".to_owned(),
        };
        let short = self.branch.map(quote_word).unwrap_or_default();
        let rev = self.rev;
        let tag = quote_word(&format!("refs/tags/{rev}^{{commit}}"));
        let tracked = quote_word(&format!("refs/remotes/{}/{rev}", self.remote));
        let desired_commit = match self.desired_commit {
            None => String::new(),
            Some(commit) => {
                let commit = quote_word(&format!("{commit}^{{commit}}"));
                format!(
                    "if g cat-file -e {commit} 2>/dev/null; then echo has_wanted; \
                     b=$(g rev-parse -q --verify {base}); [ -n \"$b\" ] || b=$(g rev-parse -q --verify HEAD); \
                     g merge-base --is-ancestor \"$b\" {commit} 2>/dev/null && echo is_ahead; fi; "
                )
            }
        };
        format!(
            "t={target}; if [ -f \"$t\" ]; then echo kind file; exit 0; fi; \
             if [ ! -e \"$t\" ]; then echo kind nothing; exit 0; fi; \
             command -v git >/dev/null || {{ echo 'git is not installed on this machine' >&2; exit 127; }}; \
             g() {{ git -C \"$t\" \"$@\"; }}; \
             if [ ! -e \"$t/.git\" ] && {{ [ ! -d \"$t/refs\" ] || [ ! -f \"$t/HEAD\" ]; }}; then \
             if [ -z \"$(ls -A \"$t\")\" ]; then echo kind nothing; else echo kind other; fi; exit 0; fi; \
             g rev-parse --git-dir >/dev/null || exit 1; echo kind repository; \
             [ \"$(g rev-parse --is-bare-repository)\" = true ] && echo is_bare; \
             h=$(g rev-parse -q --verify HEAD) && echo \"commit $h\"; \
             b=$(g symbolic-ref -q --short HEAD) && echo \"branch $b\"; \
             g for-each-ref --format='branches %(refname:short)' refs/heads; \
             g for-each-ref --format='tags %(refname:short)' refs/tags; \
             u=$(g config --get remote.{remote}.url) && echo \"url $u\"; \
             if [ -n \"$h\" ] && [ -e \"$t/.git\" ] && ! g diff --quiet HEAD -- 2>/dev/null; then echo is_dirty; fi; \
             u=$(g rev-parse -q --abbrev-ref {short}@{{upstream}} 2>/dev/null) && echo \"upstream $u\"; \
             b=$(g rev-parse -q --verify {base}) && echo \"base $b\"; \
             r=$(g rev-parse -q --verify {tracked}) && echo \"tracked $r\"; \
             r=$(g rev-parse -q --verify {tag}) && echo \"tag $r\"; \
             g for-each-ref --format='ref %(objectname) %(refname)'; \
             [ -f \"$t/.gitmodules\" ] && g submodule status --recursive | grep -q '^[-+]' && echo has_stale_modules; \
             {desired_commit}exit 0"
        )
    }
}

fn parse_target(text: &str) -> LocalTarget {
    let mut repository = Repository::default();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let some = || Some(value.to_owned());
        match key {
            "kind" => match value {
                "file" => return LocalTarget::File,
                "nothing" => return LocalTarget::Empty,
                "other" => return LocalTarget::OtherFolder,
                _ => {}
            },
            "commit" => repository.commit = some(),
            "branch" => repository.branch = some(),
            "url" => repository.url = some(),
            "upstream" => repository.upstream = some(),
            "base" => repository.base = some(),
            "tracked" => repository.remote_branch_commit = some(),
            "tag" => repository.tag_commit = some(),
            "is_bare" => repository.is_bare = true,
            "is_dirty" => repository.is_dirty = true,
            "has_wanted" => repository.has_desired_commit = true,
            "is_ahead" => repository.is_fast_forward = true,
            "has_stale_modules" => repository.has_stale_submodules = true,
            "ref" => {
                let (commit, name) = value.split_once(' ').unwrap_or((value, ""));
                repository.refs.insert((name.to_owned(), commit.to_owned()));
            }
            "branches" => {
                repository.branches.insert(value.to_owned());
            }
            "tags" => {
                repository.tags.insert(value.to_owned());
            }
            _ => {}
        }
    }
    LocalTarget::Repository(Box::new(repository))
}

/// Returns a git command that runs in a repository.
pub(super) fn git_command<'a>(target: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    format!("git -C {} {}", quote_word(target), quote_words(words))
}

/// Returns an argument that must be an absolute path other than `/`, without a trailing slash.
pub(super) fn target_path(call: &StateCall<'_>, key: &str) -> Result<String, Halt> {
    let path = if key == "name" {
        call.name.to_owned()
    } else {
        call.required(key)?
    };
    if !path.starts_with('/') {
        return refuse(format!("{key} '{path}' is not an absolute path"));
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return refuse("the root folder `/` cannot be a repository");
    }
    Ok(trimmed.to_owned())
}

/// Returns the URL of the repository, which is the name of the state.
pub(super) fn repository_url(call: &StateCall<'_>) -> Result<String, Halt> {
    let url = call.name;
    if url.starts_with('-') || url.contains(['\n', '\0']) {
        return refuse(format!("'{url}' is not the URL of a repository"));
    }
    Ok(url.to_owned())
}

/// Returns an argument that is a valid name of a ref and cannot be mistaken for an option.
///
/// A boolean counts as missing, as in Salt.
pub(super) fn ref_name(call: &StateCall<'_>, key: &str) -> Result<Option<String>, Halt> {
    let Some(value) = call
        .arg(key)
        .filter(|value| !matches!(value, Value::Bool(_)))
    else {
        return Ok(None);
    };
    let text = value.to_string();
    let is_invalid =
        |sign: char| sign.is_control() || sign.is_whitespace() || "~^:?*[\\".contains(sign);
    if text.is_empty() || text.starts_with('-') || text.contains(is_invalid) || text.contains("..")
    {
        return refuse(format!(
            "'{text}' is not a valid value for the '{key}' argument"
        ));
    }
    Ok(Some(text))
}

/// Returns the command that checks out all submodules at their recorded commits.
pub(super) fn update_submodules_command(target: &str) -> String {
    git_command(
        target,
        ["submodule", "update", "-q", "--init", "--recursive"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_a_branch_a_tag_or_a_commit() {
        let refs = [
            ("HEAD", "aa"),
            ("refs/heads/main", "aa"),
            ("refs/heads/dev", "bb"),
            ("refs/tags/v1", "t1"),
            ("refs/tags/v1^{}", "cc"),
            ("refs/tags/v2", "dd"),
        ];
        let remote = RemoteRefs {
            refs: refs
                .map(|(name, commit)| (name.into(), commit.into()))
                .into(),
        };
        let find = |rev: &str| remote.find_revision(rev).map(|it| (it.commit, it.kind));
        assert_eq!(find("HEAD"), Some(("aa".into(), RevisionKind::Commit)));
        assert_eq!(find("dev"), Some(("bb".into(), RevisionKind::Branch)));
        assert_eq!(find("v1"), Some(("cc".into(), RevisionKind::Tag)));
        assert_eq!(find("v2"), Some(("dd".into(), RevisionKind::Tag)));
        assert_eq!(
            find("ABC123"),
            Some(("abc123".into(), RevisionKind::Commit))
        );
        assert_eq!(find("nosuch"), None);
        assert_eq!(remote.default_branch(), Some("main"));
        assert_eq!(remote.tags().len(), 2);
    }
}
