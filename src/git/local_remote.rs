//! Checks the addresses of remotes before git uses them: a push to a repository on this computer runs its hooks
//! here, and names of hosts and users reach the SSH program.

use std::path::Path;

use super::Error;
use super::isolation::local_folder;
use super::repository::Repository;
use super::settings::Settings;
use crate::system::fs;

/// The hooks that a repository runs when it receives a push.
const RECEIVING_HOOKS: [&str; 7] = [
    "pre-receive",
    "update",
    "proc-receive",
    "reference-transaction",
    "post-receive",
    "post-update",
    "push-to-checkout",
];

impl Repository {
    /// Refuses a push that would run programs of an untrusted repository, or leave out the objects of git-lfs.
    pub fn check_push(&self, remote: &str) -> Result<(), Error> {
        let addresses = self.check_addresses(remote, true)?;
        if self.is_trusted {
            return Ok(());
        }
        let hook = self.inner.commondir().join("hooks/pre-push");
        let text = fs::is_program(&hook).then(|| fs::read_within(&hook, 64 << 10));
        let text = text.and_then(Result::ok).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if text.contains("git lfs") || text.contains("git-lfs") {
            return Err(Error::UntrustedHook {
                path: self.root().to_owned(),
            });
        }
        for address in addresses {
            if let Some(folder) = local_folder(&address, self.root()) {
                check_receiver(&folder)?;
            }
        }
        Ok(())
    }

    /// Checks the addresses of a remote and returns them.
    pub(super) fn check_addresses(&self, remote: &str, push: bool) -> Result<Vec<String>, Error> {
        if let Some(key) = self.isolation()?.redirect() {
            return Err(Error::UntrustedRedirect {
                path: self.root().to_owned(),
                key: crate::text::without_logins(key).escape_debug().to_string(),
            });
        }
        let mut words = vec!["remote", "get-url", "--all"];
        words.extend(push.then_some("--push"));
        words.extend(["--", remote]);
        let output = self.git(words)?.run()?;
        // The name of a remote may be an address itself.
        let text = if output.is_ok() {
            output.text()
        } else {
            remote.to_owned()
        };
        let addresses: Vec<String> = text.lines().map(str::to_owned).collect();
        if addresses.iter().all(|address| is_safe(address)) {
            return Ok(addresses);
        }
        Err(Error::UnsafeAddress {
            path: self.root().to_owned(),
            remote: remote.escape_debug().to_string(),
        })
    }
}

/// Refuses a repository on this computer that would run programs when it receives a push.
fn check_receiver(folder: &Path) -> Result<(), Error> {
    // Git opens the folder itself, or the `.git` in it. Without a repository there, git reports the problem.
    let Ok(receiver) = git2::Repository::open(folder) else {
        return Ok(());
    };
    let refused = |subject: String| {
        Err(Error::UntrustedRemote {
            path: folder.to_owned(),
            subject,
        })
    };
    let hooks = receiver.commondir().join("hooks");
    let hook = RECEIVING_HOOKS
        .iter()
        .find(|name| fs::is_program(&hooks.join(name)));
    if let Some(name) = hook {
        return refused(format!("the hook `{name}`"));
    }
    let settings = Settings::read(&receiver)?;
    let setting = settings.ignored().next();
    match setting {
        Some(setting) => refused(format!("the setting `{}`", setting.key.escape_debug())),
        None => Ok(()),
    }
}

/// Whether host and user of an address of SSH have only characters of such names.
pub(super) fn is_safe(address: &str) -> bool {
    let authority = match address.split_once("://") {
        Some((scheme, rest)) if scheme.to_ascii_lowercase().contains("ssh") => {
            rest.split('/').next().unwrap_or_default()
        }
        Some(_) => return true,
        None => match address.split_once(':') {
            Some((authority, _)) if !authority.contains('/') => authority,
            _ => return true,
        },
    };
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "._-+%@:[]~".contains(c);
    !authority.starts_with('-') && authority.chars().all(is_usual) && !authority.contains("@-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_have_no_signs_of_a_shell() {
        for address in [
            "git@h.example:o/r",
            "ssh://git@h:22/r",
            "ssh://[::1]/r",
            "https://h/$(x)",
            "/srv/$(x)",
            "../r",
            "file:///srv/r",
        ] {
            assert!(is_safe(address), "{address}");
        }
        for address in [
            "ssh://$(touch x)/r",
            "ssh://a`x`@h/r",
            "git+ssh://h;x/r",
            "-oProxyCommand=x:r",
            "a@-oProxyCommand=x:r",
            "h|x:r",
        ] {
            assert!(!is_safe(address), "{address}");
        }
    }
}
