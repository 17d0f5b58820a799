//! The state module `locale`: generated locales, and the locale of the system.

use super::decision::{
    act, act_or_fail, failure, line_value, run_change, run_probe, single_change, stdout_text,
    unchanged,
};
use crate::host::fact::Domain;
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;

pub(super) static MODULE: StateModule = StateModule {
    name: "locale",
    functions: &[
        StateFunction::new("present", present)
            .about("Generates a locale.")
            .irreversible("programs can still use the generated locale"),
        StateFunction::new("system", system)
            .about("Sets the locale of the system.")
            .irreversible("the previous locale of the system is not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// The script that prints `systemd`, `lang`, and the files that a machine has.
const STATUS: &str = r#"[ -d /run/systemd/system ] && command -v localectl >/dev/null && echo systemd
for file in /etc/default/locale /etc/locale.conf /etc/sysconfig/i18n; do
  [ -f $file ] || continue
  lang=$(sed -n 's/^LANG=//p' $file | tail -n 1 | tr -d "\"'")
  [ -n "$lang" ] && echo "lang $lang" && break
done
:"#;

/// Returns an error if a text is not the name of a locale.
fn check(name: &str) -> Result<(), Halt> {
    let is_valid = |sign: char| sign.is_ascii_alphanumeric() || "_.@- ".contains(sign);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_valid) {
        return refuse(format!(
            "`{name}` is not the name of a locale: write one such as en_US.UTF-8"
        ));
    }
    Ok(())
}

/// Returns a locale in the form that is compared: the character set without signs and in lower case, and no
/// character map after a space.
fn normalized(locale: &str) -> String {
    let locale = locale.split_whitespace().next().unwrap_or_default();
    let (base, modifier) = match locale.split_once('@') {
        Some((base, modifier)) => (base, format!("@{modifier}")),
        None => (locale, String::new()),
    };
    match base.split_once('.') {
        Some((language, set)) => {
            let set: String = set.chars().filter(char::is_ascii_alphanumeric).collect();
            format!("{language}.{}{modifier}", set.to_lowercase())
        }
        None => format!("{base}{modifier}"),
    }
}

fn is_available(name: &str, facts: &FactCache) -> Result<bool, Halt> {
    let probed = run_probe(facts, "locale -a", Domain::Path(LOCALES.to_owned()))?;
    let desired = normalized(name);
    Ok(stdout_text(probed)
        .lines()
        .any(|line| normalized(line) == desired))
}

/// The folder of generated locales, which the facts about them depend on.
const LOCALES: &str = "/usr/lib/locale";

/// Returns the script that generates a locale with the program of the machine.
fn generate_script(name: &str) -> String {
    let plain = name.split_whitespace().next().unwrap_or_default();
    let set = plain.split_once('.').map_or("UTF-8", |(_, set)| set);
    let set = set.split('@').next().unwrap_or(set);
    let charmap = name.split_whitespace().nth(1).unwrap_or(set);
    let line = format!("{plain} {charmap}");
    let language = plain.split(['.', '@']).next().unwrap_or(plain);
    let (name, language, set) = (quote_word(plain), quote_word(language), quote_word(set));
    let line = quote_word(&line);
    format!(
        "if [ -f /usr/share/i18n/SUPPORTED ] && command -v locale-gen >/dev/null; then
  grep -qxF -e {line} /usr/share/i18n/SUPPORTED || {{ echo {line} is not in /usr/share/i18n/SUPPORTED >&2; exit 1; }}
  touch /etc/locale.gen
  grep -qxF -e {line} /etc/locale.gen || echo {line} >> /etc/locale.gen
  locale-gen {name}
elif command -v localedef >/dev/null; then
  localedef --force -i {language} -f {set} {language}.{set}
else
  echo 'Command \"locale-gen\" or \"localedef\" was not found on this system.' >&2; exit 1
fi"
    )
}

/// Decides `locale.present`: generates a locale.
fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name.to_owned();
    check(&name)?;
    if is_available(&name, facts)? {
        return unchanged(format!("Locale {name} is already present"));
    }
    let touched = [LOCALES, "/etc/locale.gen"].map(|path| Domain::Path(path.to_owned()));
    let steps = vec![run_change(generate_script(&name), touched)];
    let predicted = StateOutcome::planned(format!("Locale {name} needs to be generated"));
    act(predicted, steps, move |complaint, facts| {
        if complaint.is_none() && is_available(&name, facts)? {
            return Ok(StateOutcome::changed(
                single_change("locale", name.as_str()),
                format!("Generated locale {name}"),
            ));
        }
        let why = complaint.map_or_else(String::new, |why| format!(": {why}"));
        Ok(StateOutcome::failed(format!(
            "Failed to generate locale {name}{why}"
        )))
    })
}

/// Decides `locale.system`: sets the locale of the system.
fn system(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name.to_owned();
    check(&name)?;
    let probed = run_probe(
        facts,
        STATUS,
        Domain::Path("/etc/default/locale".to_owned()),
    )?;
    let text = stdout_text(probed);
    if line_value(&text, "lang") == Some(&name) {
        return unchanged(format!("System locale {name} already set"));
    }
    if !is_available(&name, facts)? && !matches!(&*name, "C" | "POSIX") {
        return failure(format!(
            "Failed to set system locale to {name}: the locale does not exist; generate it with `locale.present`"
        ));
    }
    let quoted = quote_word(&name);
    let line = quote_word(&format!("LANG={name}"));
    let script = if line_value(&text, "systemd").is_some() {
        format!("localectl set-locale {line}")
    } else {
        format!(
            "if command -v update-locale >/dev/null; then update-locale {line}
elif [ -f /etc/sysconfig/i18n ]; then
  sed -i '/^LANG=/d' /etc/sysconfig/i18n && printf 'LANG=\"%s\"\\n' {quoted} >> /etc/sysconfig/i18n
else
  touch /etc/locale.conf && sed -i '/^LANG=/d' /etc/locale.conf && printf 'LANG=%s\\n' {quoted} >> /etc/locale.conf
fi"
        )
    };
    let files = [
        "/etc/default/locale",
        "/etc/locale.conf",
        "/etc/sysconfig/i18n",
    ];
    let steps = vec![run_change(
        script,
        files.map(|path| Domain::Path(path.to_owned())),
    )];
    let predicted = StateOutcome::planned(format!("System locale {name} needs to be set"));
    let outcome = StateOutcome::changed(
        single_change("locale", name.as_str()),
        format!("Set system locale {name}"),
    );
    act_or_fail(predicted, steps, outcome, "Failed to set system locale: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_are_compared_without_signs_of_the_character_set() {
        assert_eq!(normalized("en_US.UTF-8 UTF-8"), normalized("en_US.utf8"));
        assert_eq!(normalized("de_DE@euro"), "de_DE@euro");
        assert_ne!(normalized("en_US.ISO-8859-1"), normalized("en_US.utf8"));
    }
}
