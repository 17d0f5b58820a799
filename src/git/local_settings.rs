//! Decides which settings of a repository itself have an effect while the user does not trust the repository.
//!
//! A setting that runs a program, or that sends data elsewhere, is dangerous. The tables give the value that git
//! uses instead if the user has set none.

/// The effect of a setting in a repository that the user does not trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingEffect {
    /// The setting applies.
    Harmless,
    /// The user's value applies, or else this one.
    Replaced(&'static str),
    /// The list of credential helpers is that of the user.
    CredentialHelper,
    /// Git rewrites URLs, and no other setting can undo it: network operations are refused.
    Redirect,
    /// Git itself ignores the setting in a repository.
    IgnoredByGit,
}

use SettingEffect::{CredentialHelper, Harmless, IgnoredByGit, Redirect, Replaced};

/// Sections of git's settings, variables in them, and their neutral values.
const DANGEROUS: &[(&str, &str, &str)] = &[
    ("core", "alternaterefscommand", "true"),
    ("core", "askpass", ""),
    ("core", "editor", ":"),
    ("core", "fsmonitor", "false"),
    ("core", "gitproxy", "none"),
    ("core", "hookspath", "/dev/null"),
    ("core", "pager", "cat"),
    ("core", "sshcommand", "ssh"),
    ("credential", "protectprotocol", "true"),
    ("credential", "sanitizeprompt", "true"),
    ("diff", "command", "false"),
    ("diff", "external", "false"),
    ("diff", "textconv", "cat"),
    ("fetch", "recursesubmodules", "no"),
    ("filter", "clean", ""),
    ("filter", "process", ""),
    ("filter", "required", "false"),
    ("filter", "smudge", ""),
    ("gpg", "defaultkeycommand", ""),
    ("hook", "command", "true"),
    ("http", "cookiefile", ""),
    ("http", "curloptresolve", ""),
    ("http", "delegation", "none"),
    ("http", "followredirects", "initial"),
    ("http", "pinnedpubkey", ""),
    ("http", "proxy", ""),
    ("http", "proxyauthmethod", "anyauth"),
    ("http", "proxysslcainfo", ""),
    ("http", "proxysslcert", ""),
    ("http", "proxysslkey", ""),
    ("http", "savecookies", "false"),
    ("http", "sslcainfo", ""),
    ("http", "sslcapath", ""),
    ("http", "sslcert", ""),
    ("http", "sslkey", ""),
    ("http", "sslverify", "true"),
    ("imap", "tunnel", ""),
    ("init", "templatedir", ""),
    ("instaweb", "httpd", ""),
    ("interactive", "difffilter", "cat"),
    ("lfs", "args", ""),
    ("lfs", "clean", ""),
    ("lfs", "path", ""),
    ("lfs", "smudge", ""),
    ("lfs", "standalonetransferagent", ""),
    ("lfs", "storage", "lfs"),
    ("merge", "driver", "false"),
    ("push", "recursesubmodules", "no"),
    ("remote", "proxy", ""),
    ("remote", "proxyauthmethod", "anyauth"),
    ("remote", "receivepack", "git-receive-pack"),
    ("remote", "uploadpack", "git-upload-pack"),
    ("remote", "vcs", ""),
    ("sequence", "editor", ":"),
    ("ssh", "variant", "auto"),
    ("submodule", "recurse", "false"),
    ("web", "browser", ""),
];

/// Sections that only programs of the user's choice read: each value may name one.
const TOOLS: &[&str] = &["browser", "difftool", "guitool", "man", "mergetool"];

/// The ends of names of variables that hold a command, for sections that [`DANGEROUS`] does not know.
const COMMAND_NAMES: &[&str] = &[
    "askpass",
    "browser",
    "cmd",
    "command",
    "driver",
    "editor",
    "helper",
    "hook",
    "hookspath",
    "pager",
    "program",
    "proxy",
    "server",
    "textconv",
    "tunnel",
];

/// Returns the effect of a setting. `key` is in git's normal form: section and variable in lower case.
pub(super) fn effect_of(key: &str, value: &str) -> SettingEffect {
    let (section, _) = key.split_once('.').unwrap_or((key, ""));
    let (rest, name) = key.rsplit_once('.').unwrap_or(("", key));
    let has_part = rest.len() > section.len();
    match (section, name) {
        ("uploadpack", "packobjectshook") | ("safe" | "trace2", _) => IgnoredByGit,
        ("url", "insteadof" | "pushinsteadof") => Redirect,
        ("protocol", "allow") => Replaced("never"),
        ("credential", "helper") => CredentialHelper,
        ("gpg", "program") => Replaced(signing_program(rest)),
        ("alias", _) => Replaced(""),
        // A word that is true or false only turns the user's pager on or off.
        ("pager", _) if git2::Config::parse_bool(value).is_err() => Replaced("false"),
        ("submodule", "update") if value.trim_start().starts_with('!') => Replaced("checkout"),
        ("sendemail", _) if value.starts_with(['/', '!']) => Replaced(""),
        ("branch" | "user" | "author" | "committer" | "extensions", _)
        | ("credential", "username" | "usehttppath") => Harmless,
        _ if TOOLS.contains(&section) => Replaced(""),
        _ => listed(section, name, has_part),
    }
}

fn listed(section: &str, name: &str, has_part: bool) -> SettingEffect {
    let row = |row: &&(&str, &str, &str)| (row.0, row.1) == (section, name);
    if let Some((.., neutral)) = DANGEROUS.iter().find(row) {
        return Replaced(neutral);
    }
    if section == "credential" {
        return Replaced("");
    }
    // The names of remotes and the like are free, so only known variables of these sections count.
    let is_command = COMMAND_NAMES.iter().any(|end| name.ends_with(end));
    match section {
        "http" => Harmless,
        _ if is_command || (has_part && name == "cmd") => Replaced(""),
        _ => Harmless,
    }
}

/// Returns git's own program for signatures of a format; `section` is `gpg` or `gpg.FORMAT`.
fn signing_program(section: &str) -> &'static str {
    match section {
        "gpg.x509" => "gpgsm",
        "gpg.ssh" => "ssh-keygen",
        _ => "gpg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_replaced() {
        for (key, neutral) in [
            ("core.fsmonitor", "false"),
            ("core.hookspath", "/dev/null"),
            ("remote.a.b.uploadpack", "git-upload-pack"),
            ("gpg.program", "gpg"),
            ("gpg.openpgp.program", "gpg"),
            ("gpg.x509.program", "gpgsm"),
            ("gpg.ssh.program", "ssh-keygen"),
            ("filter.x.process", ""),
            ("diff.x.textconv", "cat"),
            ("merge.x.driver", "false"),
            ("alias.st", ""),
            ("trailer.x.command", ""),
            ("trailer.x.cmd", ""),
            ("tar.zip.command", ""),
            ("gc.recentobjectshook", ""),
            ("http.https://h/.proxy", ""),
            ("http.sslverify", "true"),
            ("lfs.customtransfer.x.path", ""),
            ("lfs.extension.x.clean", ""),
            ("lfs.https://h.standalonetransferagent", ""),
            ("protocol.ext.allow", "never"),
            ("mergetool.x.path", ""),
            ("credential.https://h.usestore", ""),
        ] {
            assert_eq!(effect_of(key, "x"), Replaced(neutral), "{key}");
        }
        assert_eq!(effect_of("submodule.s.update", "!x"), Replaced("checkout"));
        assert_eq!(effect_of("pager.status", "x"), Replaced("false"));
        assert_eq!(
            effect_of("credential.https://h.helper", "x"),
            CredentialHelper
        );
        assert_eq!(effect_of("url.https://h/.insteadof", "x"), Redirect);
    }

    #[test]
    fn usual_settings_of_a_clone_apply() {
        for key in [
            "core.repositoryformatversion",
            "core.bare",
            "core.autocrlf",
            "core.sparsecheckout",
            "remote.origin.url",
            "remote.origin.fetch",
            "remote.origin.gh-resolved",
            "branch.main.merge",
            "branch.main.vscode-merge-base",
            "user.email",
            "user.signingkey",
            "commit.gpgsign",
            "gpg.format",
            "merge.unfurl.name",
            "pull.rebase",
            "lfs.url",
            "lfs.repositoryformatversion",
            "lfs.https://h/info/lfs.access",
            "http.https://github.com/.extraheader",
            "submodule.s.url",
            "submodule.s.update",
            "pager.log",
        ] {
            assert_eq!(effect_of(key, "true"), Harmless, "{key}");
        }
    }
}
