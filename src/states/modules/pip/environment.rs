//! The program pip of a machine or of a virtual environment, and the packages that it lists.

use indexmap::IndexMap;

use super::requirement::normal_name;
use crate::host::fact::{CommandSetting, Domain, Probe};
use crate::states::{FactCache, Halt, StateCall, refuse};
use crate::text::force_quote_word;
use crate::value::Value;

/// The program pip with the user and folder in which it runs.
#[derive(Clone)]
pub(super) struct PipProgram {
    /// The words that call the program, quoted for a shell.
    pub(super) words: String,
    pub(super) setting: CommandSetting,
    /// The part of the machine that the packages are in.
    pub(super) domain: Domain,
}

/// The packages of an environment: their versions by name.
#[derive(Clone, Default)]
pub(super) struct PipPackages(pub(super) IndexMap<String, String>);

impl PipPackages {
    /// Returns the version of a package, whose name may be spelled in another way.
    pub(super) fn version(&self, name: &str) -> Option<&str> {
        let wanted = normal_name(name);
        let mut packages = self.0.iter();
        let found = packages.find(|(name, _)| normal_name(name) == wanted);
        found.map(|(_, version)| version.as_str())
    }
}

impl PipProgram {
    /// Finds the program. Fails with a message that begins with `failure`.
    pub(super) fn find(
        call: &StateCall<'_>,
        failure: &str,
        facts: &FactCache,
    ) -> Result<Self, Halt> {
        let mut env = call.non_empty_text("bin_env")?;
        if env.is_none() && call.fun == "installed" {
            env = call.non_empty_text("pip_bin")?;
        }
        let mut setting = CommandSetting {
            user: call.non_empty_text("user")?,
            cwd: call.non_empty_text("cwd")?,
            env: environment_variables(call)?,
            ..CommandSetting::default()
        };
        let domain = match &env {
            Some(path) if path.starts_with('/') => Domain::Path(environment_folder(path)),
            _ => Domain::All,
        };
        let probed = facts.probe(Probe {
            text: find_script(env.as_deref()),
            setting: setting.clone(),
            reads: domain.clone(),
        })?;
        let text = String::from_utf8_lossy(&probed.stdout).into_owned();
        let mut lines = text.lines();
        let words = lines.next().unwrap_or_default();
        if probed.code != 0 {
            let why = if words.is_empty() {
                "Could not find a `pip` binary"
            } else {
                words
            };
            return refuse(format!("{failure}: {why}"));
        }
        if lines.next() == Some("folder") {
            let folder = env.clone().unwrap_or_default();
            setting.env.push(("VIRTUAL_ENV".to_owned(), folder));
        }
        Ok(Self {
            words: words.to_owned(),
            setting,
            domain,
        })
    }

    /// Runs pip with these options, and returns its standard output; fails with its error output.
    pub(super) fn ask(&self, options: &str, facts: &FactCache) -> Result<String, Halt> {
        let probed = facts.probe(Probe {
            text: format!("{} {options}", self.words),
            setting: self.setting.clone(),
            reads: self.domain.clone(),
        })?;
        if probed.code != 0 {
            let why = String::from_utf8_lossy(&probed.stderr);
            return refuse(format!("pip failed: {}", why.trim()));
        }
        Ok(String::from_utf8_lossy(&probed.stdout).into_owned())
    }

    /// Lists the packages.
    pub(super) fn packages(&self, facts: &FactCache) -> Result<PipPackages, Halt> {
        let text = self.ask("list --format=json --disable-pip-version-check", facts)?;
        Ok(PipPackages(json_rows(&text, |row| {
            row.get("version")?.as_str().map(str::to_owned)
        })?))
    }
}

/// Reads the list that pip prints as JSON: a value of each row, by the name of its package.
pub(super) fn json_rows(
    text: &str,
    value: impl Fn(&serde_json::Value) -> Option<String>,
) -> Result<IndexMap<String, String>, Halt> {
    let Ok(rows) = serde_json::from_str::<Vec<serde_json::Value>>(text.trim()) else {
        return refuse("pip printed no list in JSON");
    };
    let rows = rows.iter().filter_map(|row| {
        let name = row.get("name")?.as_str()?;
        Some((name.to_owned(), value(row)?))
    });
    Ok(rows.collect())
}

/// Returns the folder of a virtual environment, which may be named by a program in it.
fn environment_folder(path: &str) -> String {
    let bare = path.trim_end_matches('/');
    bare.split_once("/bin/")
        .map_or(bare, |(folder, _)| folder)
        .to_owned()
}

/// Returns the script that prints the words to call pip, and `folder` if the environment is one.
fn find_script(env: Option<&str>) -> String {
    let Some(env) = env else {
        return "for p in python3 python; do command -v $p >/dev/null && $p -m pip --version >/dev/null 2>&1 && { echo \"$p -m pip\"; exit; }; done; exit 1"
            .to_owned();
    };
    let word = force_quote_word(env);
    // The words are quoted with `'`, so a path with that sign is refused.
    format!(
        "e={word}; case $e in *\\'*) echo \"The path $e has a quote\"; exit 1;; esac\n\
         run() {{ echo \"'$1' $2\"; echo \"$3\"; }}\n\
         if [ -d \"$e\" ]; then for p in \"$e/python\" \"$e/bin/python\"; do [ -f \"$p\" ] && [ -x \"$p\" ] && {{ run \"$p\" '-m pip' folder; exit; }}; done\n\
         echo \"Could not find a pip binary in virtualenv $e\"; exit 1\n\
         elif [ -f \"$e\" ] && [ -x \"$e\" ]; then case ${{e##*/}} in *python*) run \"$e\" '-m pip' '';; *) run \"$e\" '' '';; esac\n\
         else echo \"Access denied to $e, could not find a pip binary\"; exit 1; fi"
    )
}

/// Returns the variables of the argument `env_vars`.
fn environment_variables(call: &StateCall<'_>) -> Result<Vec<(String, String)>, Halt> {
    match call.arg("env_vars") {
        None => Ok(Vec::new()),
        Some(Value::Map(map)) => Ok(map
            .iter()
            .map(|(key, value)| ((**key).to_owned(), value.reveal().to_string()))
            .collect()),
        Some(other) => refuse(format!("env_vars {other} is not a dictionary")),
    }
}
