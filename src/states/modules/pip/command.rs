//! The options of `pip install`, of the arguments of a state.

use super::environment::PipProgram;
use crate::host::change::{Change, CommandRun};
use crate::states::{Halt, StateCall, refuse};
use crate::text::quote_words;
use crate::value::Value;

/// The arguments with a value, and their options.
const VALUES: [(&str, &str); 9] = [
    ("log", "--log"),
    ("timeout", "--timeout"),
    ("build", "--build"),
    ("target", "--target"),
    ("download", "--download"),
    ("source", "--source"),
    ("exists_action", "--exists-action"),
    ("cert", "--cert"),
    ("trusted_host", "--trusted-host"),
];

/// The arguments with a list, or with a text with commas, and the option of each item.
const LISTS: [(&str, &str); 6] = [
    ("find_links", "--find-links"),
    ("global_options", "--global-option"),
    ("install_options", "--install-option"),
    ("editable", "--editable"),
    ("allow_external", "--allow-external"),
    ("allow_unverified", "--allow-unverified"),
];

/// The arguments that are true or false, and their options.
const FLAGS: [(&str, &str); 10] = [
    ("no_index", "--no-index"),
    ("upgrade", "--upgrade"),
    ("force_reinstall", "--force-reinstall"),
    ("ignore_installed", "--ignore-installed"),
    ("no_deps", "--no-deps"),
    ("no_install", "--no-install"),
    ("no_download", "--no-download"),
    ("no_cache_dir", "--no-cache-dir"),
    ("pre_releases", "--pre"),
    ("allow_all_external", "--allow-all-external"),
];

/// The addresses, which may hold a password, with their options and variables.
const ADDRESSES: [(&str, &str, &str); 3] = [
    ("proxy", "--proxy", "PIP_PROXY"),
    ("index_url", "--index-url", "PIP_INDEX_URL"),
    (
        "extra_index_url",
        "--extra-index-url",
        "PIP_EXTRA_INDEX_URL",
    ),
];

/// The options of a command: words, and variables for those that nobody may see.
#[derive(Default)]
pub(super) struct PipOptions {
    pub(super) words: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
}

impl PipOptions {
    fn push(&mut self, words: impl IntoIterator<Item = impl Into<String>>) {
        self.words.extend(words.into_iter().map(Into::into));
    }

    /// Adds the addresses among some arguments. A sensitive one becomes a variable.
    pub(super) fn addresses(&mut self, call: &StateCall<'_>, keys: &[&str]) -> Result<(), Halt> {
        for (key, option, variable) in ADDRESSES {
            if !keys.contains(&key) {
                continue;
            }
            match call.non_empty_text(key)? {
                Some(value) if call.is_sensitive(key) => {
                    self.variables.push((variable.to_owned(), value));
                }
                Some(value) => self.push([option, &value]),
                None => {}
            }
        }
        Ok(())
    }
}

/// Returns a list of texts, which may be written as one text with commas.
pub(super) fn comma_list(call: &StateCall<'_>, key: &str) -> Result<Vec<String>, Halt> {
    match call.arg(key) {
        Some(Value::Str(text)) => Ok(text.split(',').map(|part| part.trim().to_owned()).collect()),
        _ => call.texts(key),
    }
}

/// Refuses the arguments that pip no longer has.
fn check_removed_options(call: &StateCall<'_>) -> Result<(), Halt> {
    for key in ["use_wheel", "no_use_wheel"] {
        if call.flag(key, false) {
            return refuse(format!(
                "The '{key}' option is only supported in pip between 1.4 and 9.0.3."
            ));
        }
    }
    if call.flag("mirrors", false) {
        return refuse(
            "pip >= 7.0.0 does not support mirror argument: use index_url and/or extra_index_url instead",
        );
    }
    let has_index = call.flag("index_url", false) || call.flag("extra_index_url", false);
    if call.flag("no_index", false) && has_index {
        return refuse("'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.");
    }
    let known = [ADDRESSES.map(|(key, ..)| key).as_slice(), &["env_vars"]].concat();
    let secret = call
        .args
        .keys()
        .find(|key| call.is_sensitive(key) && !known.contains(&&***key));
    match secret {
        Some(key) => refuse(format!(
            "the secret in `{key}` would be seen in the list of processes: write it into index_url, extra_index_url, proxy or env_vars"
        )),
        None => Ok(()),
    }
}

/// Returns the options of `pip install`.
pub(super) fn install_options(
    call: &StateCall<'_>,
    packages: &[String],
) -> Result<PipOptions, Halt> {
    check_removed_options(call)?;
    let mut options = PipOptions::default();
    options.push(["install"]);
    for file in comma_list(call, "requirements")? {
        let file = if file.starts_with("salt://") {
            "/dev/stdin".to_owned()
        } else {
            file
        };
        options.push(["--requirement", &file]);
    }
    let no_binary = comma_list(call, "no_binary")?;
    if !no_binary.is_empty() {
        options.push(["--no-binary", &no_binary.join(",")]);
    }
    options.addresses(call, &["proxy", "index_url", "extra_index_url"])?;
    options.push(["--disable-pip-version-check"]);
    for (key, option) in VALUES {
        if let Some(value) = call.non_empty_text(key)? {
            options.push([option, &value]);
        }
    }
    let cache = call.non_empty_text("download_cache")?;
    if let Some(folder) = cache.or(call.non_empty_text("cache_dir")?) {
        options.push(["--cache-dir", &folder]);
    }
    for (key, option) in FLAGS {
        if call.flag(key, false) {
            options.push([option]);
        }
    }
    for (key, option) in LISTS {
        for value in comma_list(call, key)? {
            options.push([option, &value]);
        }
    }
    if call.flag("process_dependency_links", false) {
        options.push(["--process-dependency-links"]);
    }
    options.push(extra_arguments(call)?);
    options.push(packages.iter().map(String::as_str));
    Ok(options)
}

/// Returns the words of the argument `extra_args`: texts, and maps of an option and its value.
fn extra_arguments(call: &StateCall<'_>) -> Result<Vec<String>, Halt> {
    let mut words = Vec::new();
    let list = call.arg("extra_args").and_then(Value::as_list);
    for item in list.into_iter().flatten() {
        match item.reveal() {
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    if matches!(value.reveal(), Value::Map(_) | Value::List(_)) {
                        return refuse(format!("Too many levels in: {key}"));
                    }
                    words.extend([(**key).to_owned(), value.reveal().to_string()]);
                }
            }
            other => words.push(other.to_string()),
        }
    }
    Ok(words)
}

/// Returns the change that runs pip with these options.
pub(super) fn pip_change(program: &PipProgram, options: PipOptions) -> Change {
    let text = format!("{} {}", program.words, quote_words(&options.words));
    let mut run = CommandRun::new(text.clone());
    run.setting = program.setting.clone();
    run.touches = vec![program.domain.clone()];
    if !options.variables.is_empty() {
        run.shown = Some(text);
    }
    run.setting.env.extend(options.variables);
    // A state judges the exit code itself.
    run.good_codes = (1..=255).collect();
    Change::Run(run)
}
