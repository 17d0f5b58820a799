//! The options of a mount: those that the active mount lacks, so that it must be mounted again.

use super::active::ActiveMount;
use crate::host::fact::Domain;
use crate::states::modules::decision::{run_probe, stdout_text};
use crate::states::{FactCache, Halt, StateCall};
use crate::text::quote_word;
use crate::value::Value;

/// The options that the kernel does not show.
const INVISIBLE: [&str; 23] = [
    "_netdev",
    "actimeo",
    "bg",
    "comment",
    "defaults",
    "delay_connect",
    "direct-io-mode",
    "intr",
    "loop",
    "nointr",
    "nobootwait",
    "nofail",
    "password",
    "reconnect",
    "retry",
    "soft",
    "auto",
    "users",
    "bind",
    "nonempty",
    "transform_symlinks",
    "port",
    "backup-volfile-servers",
];

/// The options with values that the kernel does not show.
const INVISIBLE_KEYS: [&str; 8] = [
    "actimeo",
    "comment",
    "credentials",
    "direct-io-mode",
    "password",
    "port",
    "retry",
    "secretfile",
];

/// The names of options in the kernel.
const TRANSLATED: [(&str, &str); 2] = [("tcp", "proto=tcp"), ("udp", "proto=udp")];

/// Returns a list of texts, which may be written as one text with commas; `otherwise` if it is missing.
pub(super) fn option_list(
    call: &StateCall<'_>,
    key: &str,
    otherwise: &str,
) -> Result<Vec<String>, Halt> {
    let split = |text: &str| text.split(',').map(str::to_owned).collect();
    match call.arg(key) {
        Some(Value::List(_)) => call.texts(key),
        Some(_) => Ok(split(&call.text_or(key, otherwise)?)),
        None if otherwise.is_empty() => Ok(Vec::new()),
        None => Ok(split(otherwise)),
    }
}

/// The options that do not count for a state, and the names of options in the kernel.
struct OptionRules<'a> {
    call: &'a StateCall<'a>,
    kind: &'a str,
    invisible: Vec<String>,
    invisible_keys: Vec<String>,
    /// The options of this kind of file system that do not count.
    ignored: Vec<String>,
}

impl<'a> OptionRules<'a> {
    fn from_call(call: &'a StateCall<'a>, kind: &'a str) -> Result<Self, Halt> {
        let mut invisible = call.texts("extra_mount_invisible_options")?;
        invisible.extend(option_list(call, "hidden_opts", "")?);
        let own = call.arg("extra_mount_ignore_fs_keys");
        let ignored = match own.and_then(|map| map.get(kind)) {
            Some(list) => {
                let items = list.reveal().as_list().cloned().unwrap_or_default();
                items.iter().map(|it| it.reveal().to_string()).collect()
            }
            None if kind == "ramfs" => vec!["size".to_owned()],
            None => Vec::new(),
        };
        Ok(Self {
            call,
            kind,
            invisible,
            invisible_keys: call.texts("extra_mount_invisible_keys")?,
            ignored,
        })
    }

    fn is_invisible(&self, option: &str) -> bool {
        INVISIBLE.contains(&option) || self.invisible.iter().any(|it| it == option)
    }

    fn is_invisible_key(&self, key: &str) -> bool {
        INVISIBLE_KEYS.contains(&key) || self.invisible_keys.iter().any(|it| it == key)
    }

    fn is_ignored(&self, key: &str) -> bool {
        self.ignored.iter().any(|it| it == key)
    }

    /// Returns an option as the kernel shows it.
    fn translated(&self, option: &str, facts: &FactCache) -> Result<String, Halt> {
        let extra = self.call.arg("extra_mount_translate_options");
        let own = extra.and_then(|map| map.get(option));
        let known = TRANSLATED.iter().find(|(name, _)| *name == option);
        let option = match (own, known) {
            (Some(own), _) => own.reveal().to_string(),
            (None, Some((_, name))) => (*name).to_owned(),
            (None, None) => option.to_owned(),
        };
        let (key, value) = option.split_once('=').unwrap_or((&option, ""));
        if self.is_invisible_key(key) || self.is_ignored(key) {
            return Ok(key.to_owned());
        }
        Ok(match key {
            "size" => kernel_size(value).map_or(option.clone(), |size| format!("size={size}k")),
            "user" if self.kind == "cifs" => format!("username={value}"),
            "uid" | "gid" if !value.is_empty() => format!("{key}={}", numeric(key, value, facts)?),
            _ => option,
        })
    }
}

/// Returns the number of a user or group; the name itself if it is unknown.
fn numeric(key: &str, name: &str, facts: &FactCache) -> Result<String, Halt> {
    if name.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(name.to_owned());
    }
    let table = if key == "uid" { "passwd" } else { "group" };
    let script = format!("getent {table} {} | cut -d: -f3", quote_word(name));
    let probed = run_probe(facts, script, Domain::Accounts)?;
    let id = stdout_text(probed).trim().to_owned();
    Ok(if id.is_empty() { name.to_owned() } else { id })
}

/// Returns a size such as `1m` in kibibytes.
fn kernel_size(text: &str) -> Option<u64> {
    let digits = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let number: u64 = text[..text.len() - digits.len()].parse().ok()?;
    match digits.chars().next()? {
        'k' => Some(number),
        'm' => number.checked_mul(1 << 10),
        'g' => number.checked_mul(1 << 20),
        _ => None,
    }
}

/// Returns the options that the active mount lacks, sorted.
pub(super) fn changed_options(
    call: &StateCall<'_>,
    kind: &str,
    options: &[String],
    active: &ActiveMount,
    facts: &FactCache,
) -> Result<Vec<String>, Halt> {
    let rules = OptionRules::from_call(call, kind)?;
    let shown = active.options.iter().chain(&active.super_options);
    let shown: std::collections::HashSet<String> = shown
        .map(
            |option| match option.strip_prefix("size=").map(kernel_size) {
                Some(Some(size)) => format!("size={size}k"),
                _ => option.clone(),
            },
        )
        .collect();
    let mut changed = Vec::new();
    for option in options {
        let option = rules.translated(option, facts)?;
        let is_hidden = rules.is_invisible(&option)
            || rules.is_ignored(&option)
            || rules.is_invisible_key(&option);
        if !shown.contains(&option) && !is_hidden {
            changed.push(option);
        }
    }
    changed.sort();
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::kernel_size;

    #[test]
    fn sizes_are_compared_in_kibibytes() {
        assert_eq!(kernel_size("2m"), Some(2048));
        assert_eq!(kernel_size("1g"), Some(1 << 20));
        assert_eq!(kernel_size("7k"), Some(7));
        assert_eq!(kernel_size("50%"), None);
        assert_eq!(kernel_size("m"), None);
    }
}
