//! Command settings under Salt's names: reads `cwd`, `runas`, `env`, `umask` and `timeout` from arguments,
//! builds the probes that run such commands, and turns their output into text.
//!
//! Used by execution functions, by the conditions of states (`onlyif`, `unless`, `check_cmd`) and by state
//! modules. Runs no command itself.

use std::time::Duration;

use super::{Halt, refuse};
use crate::host::fact::{CommandSetting, Domain, Probe};
use crate::value::{Map, Value};

/// Reads the settings of a command from arguments with Salt's names: `cwd`, `runas`, `shell`, `env`, `umask`
/// and `timeout`.
///
/// A null or empty argument counts as absent. A `timeout` of zero means no time limit.
pub(crate) fn parse_setting<'a>(
    get: impl Fn(&str) -> Option<&'a Value>,
) -> Result<CommandSetting, Halt> {
    let argument = |key: &str| get(key).map(Value::reveal).filter(|it| !it.is_null());
    let text = |key: &str| {
        argument(key)
            .map(Value::to_string)
            .filter(|it| !it.is_empty())
    };
    let umask = match argument("umask") {
        None => None,
        Some(written) => Some(octal(written)?),
    };
    Ok(CommandSetting {
        shell: text("shell"),
        user: text("runas"),
        cwd: text("cwd"),
        env: environment(argument("env"))?,
        umask,
        time_limit: time_limit(argument("timeout"))?,
    })
}

/// Parses permission bits written as octal digits, as a number, a string or with the prefix `0o`.
pub(crate) fn octal(written: &Value) -> Result<u32, Halt> {
    let text = written.reveal().to_string();
    let digits = text.trim().trim_start_matches("0o");
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|bits| *bits <= 0o7777)
        .ok_or_else(|| Halt::Failed(format!("Invalid umask: {text}")))
}

fn time_limit(written: Option<&Value>) -> Result<Option<Duration>, Halt> {
    let Some(written) = written else {
        return Ok(None);
    };
    let seconds = match written {
        Value::Int(seconds) => {
            Duration::try_from_secs_f64(f64::from(i32::try_from(*seconds).unwrap_or(i32::MAX))).ok()
        }
        Value::Float(seconds) => Duration::try_from_secs_f64(*seconds).ok(),
        Value::Str(text) => text
            .trim()
            .parse()
            .ok()
            .and_then(|it| Duration::try_from_secs_f64(it).ok()),
        _ => None,
    };
    match seconds {
        Some(time) if time.is_zero() => Ok(None),
        Some(time) => Ok(Some(time)),
        None => refuse(format!(
            "`timeout: {written}` is not a number of seconds: write a number such as `timeout: 30`"
        )),
    }
}

/// Reads environment variables from a map, a list of maps, or a list of `NAME=value` strings.
fn environment(written: Option<&Value>) -> Result<Vec<(String, String)>, Halt> {
    let mut variables = Vec::new();
    let wrong = || Halt::Failed("Invalidly-formatted 'env' parameter. See documentation.".into());
    let mut add = |map: &Map| {
        for (key, value) in map {
            let value = match value.reveal() {
                Value::Null => String::new(),
                other => other.to_string(),
            };
            variables.push((key.to_string(), value));
        }
    };
    match written {
        None => {}
        Some(Value::Map(map)) => add(map),
        Some(Value::List(items)) => {
            for item in items.iter() {
                match item.reveal() {
                    Value::Map(map) => add(map),
                    Value::Str(text) => {
                        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
                        add(&Map::from_iter([(key.into(), value.into())]));
                    }
                    _ => return Err(wrong()),
                }
            }
        }
        Some(_) => return Err(wrong()),
    }
    Ok(variables)
}

/// A probe that runs a command whose output may depend on anything on the host, so that every change
/// invalidates its cached result.
pub(crate) fn volatile_probe(text: impl Into<String>, setting: CommandSetting) -> Probe {
    Probe {
        text: text.into(),
        setting,
        reads: Domain::All,
    }
}

/// Decodes a command's output without trailing white space, as Salt's `cmd.run` returns it.
pub(crate) fn trimmed_output(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_with_the_names_of_salt() {
        let args = Map::from_iter([
            ("cwd".into(), "/srv".into()),
            ("runas".into(), "web".into()),
            ("umask".into(), Value::str("027")),
            ("timeout".into(), 5.into()),
            (
                "env".into(),
                Value::list(["A=1".into(), Value::map([("B", 2.into())])]),
            ),
        ]);
        let setting = parse_setting(|key| args.get(key)).unwrap();
        assert_eq!(setting.cwd.as_deref(), Some("/srv"));
        assert_eq!(setting.user.as_deref(), Some("web"));
        assert_eq!(setting.umask, Some(0o27));
        assert_eq!(setting.time_limit, Some(Duration::from_secs(5)));
        let env = [
            ("A".to_owned(), "1".to_owned()),
            ("B".to_owned(), "2".to_owned()),
        ];
        assert_eq!(setting.env, env);
    }
}
