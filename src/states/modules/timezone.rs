//! The state module `timezone`: the time zone of the machine and of its hardware clock.
//!
//! On a machine with a running systemd, `timedatectl` reads and sets both; elsewhere the files in `/etc` do.

use super::decision::{
    act_or_fail, failure, line_value, run_change, run_probe, stdout_text, unchanged,
};
use crate::host::fact::Domain;
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;
use crate::value::Map;

pub(super) static MODULE: StateModule = StateModule {
    name: "timezone",
    functions: &[StateFunction::new("system", system)
        .about("Sets the time zone of the system.")
        .options("utc")
        .irreversible("the previous time zone is not recorded")],
    watch: None,
    aggregate: None,
};

/// The script that prints the lines `zone`, `clock` and `known`. The zone is `$1`.
const STATUS: &str = r"if [ -d /run/systemd/system ] && command -v timedatectl >/dev/null; then echo systemd
  timedatectl show -p Timezone -p LocalRTC | sed -e 's/^Timezone=/zone /' -e 's/^LocalRTC=yes/clock localtime/' -e 's/^LocalRTC=no/clock UTC/'
else
  l=$(readlink /etc/localtime) || l=
  case $l in
  */zoneinfo/*) echo zone ${l##*/zoneinfo/} ;;
  *) [ -s /etc/timezone ] && echo zone $(cat /etc/timezone) ;;
  esac
  if [ -s /etc/adjtime ] && sed -n 3p /etc/adjtime | grep -q LOCAL; then echo clock localtime; else echo clock UTC; fi
fi";

/// The time zone of a machine.
struct ZoneStatus {
    has_systemd: bool,
    zone: String,
    is_utc: bool,
    /// True if the machine knows the desired zone.
    is_known: bool,
}

impl ZoneStatus {
    fn read(zone: &str, facts: &FactCache) -> Result<Self, Halt> {
        let file = quote_word(&format!("/usr/share/zoneinfo/{zone}"));
        let script = format!("{STATUS}\n[ -f {file} ] && echo known\n:");
        let probed = run_probe(facts, script, Domain::Path("/etc/localtime".to_owned()))?;
        let text = stdout_text(probed);
        Ok(Self {
            has_systemd: line_value(&text, "systemd").is_some(),
            zone: line_value(&text, "zone").unwrap_or_default().to_owned(),
            is_utc: line_value(&text, "clock") != Some("localtime"),
            is_known: line_value(&text, "known").is_some(),
        })
    }
}

/// Returns the script that sets the zone of a machine without systemd.
fn set_zone_script(zone: &str) -> String {
    let file = quote_word(&format!("/usr/share/zoneinfo/{zone}"));
    let zone = quote_word(zone);
    format!(
        "ln -sfn {file} /etc/localtime && if [ -e /etc/timezone ] || [ -e /etc/debian_version ]; then echo {zone} > /etc/timezone; fi"
    )
}

/// Returns the script that keeps the hardware clock in UTC on a machine without systemd.
const SET_UTC: &str = "if [ -e /etc/adjtime ]; then sed -i '3s/LOCAL/UTC/' /etc/adjtime; else printf '0.0 0 0.0\\n0\\nUTC\\n' > /etc/adjtime; fi";

/// Decides `timezone.system`: sets the time zone, and the hardware clock to UTC if `utc` is true.
fn system(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let zone = call.name.to_owned();
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    if !zone.split('/').all(is_part) || zone.contains(char::is_whitespace) {
        return refuse(format!(
            "`{zone}` is not the name of a time zone: write one such as Europe/Berlin"
        ));
    }
    let status = ZoneStatus::read(&zone, facts)?;
    let wants_utc = call.flag("utc", true);
    let (sets_zone, sets_utc) = (status.zone != zone, wants_utc && !status.is_utc);
    if !sets_zone && !sets_utc {
        let mut comment = format!("Timezone {zone} already set");
        if wants_utc {
            comment = format!("{comment}, UTC already set to {zone}");
        }
        return unchanged(comment);
    }
    if sets_zone && !status.is_known {
        return failure(format!(
            "Zone does not exist: /usr/share/zoneinfo/{zone}; the package `tzdata` has the zones"
        ));
    }
    let (mut steps, mut planned, mut comments) = (Vec::new(), Vec::new(), Vec::new());
    let mut changes = Map::new();
    let mut add = |text: String| {
        let files = ["/etc/localtime", "/etc/timezone", "/etc/adjtime"];
        steps.push(run_change(
            text,
            files.map(|path| Domain::Path(path.to_owned())),
        ));
    };
    if sets_zone {
        add(if status.has_systemd {
            format!("timedatectl set-timezone {}", quote_word(&zone))
        } else {
            set_zone_script(&zone)
        });
        planned.push(format!("Timezone {zone} needs to be set"));
        comments.push(format!("Set timezone {zone}"));
        changes.insert("timezone".into(), zone.as_str().into());
    }
    if sets_utc {
        add(if status.has_systemd {
            "timedatectl set-local-rtc false".to_owned()
        } else {
            SET_UTC.to_owned()
        });
        planned.push("UTC needs to be set to True".to_owned());
        comments.push("Set UTC to True".to_owned());
        changes.insert("utc".into(), true.into());
    }
    let predicted = StateOutcome::planned(planned.join(", "));
    let outcome = StateOutcome::changed(changes, comments.join(", "));
    act_or_fail(predicted, steps, outcome, "Failed to set timezone: ")
}
