//! Salt's Jinja filters `strftime` and `date_format`.

use super::call::{CallResult, TemplateCall};
use super::machine_functions::{probe, text};
use crate::host::fact::Domain;
use crate::text::shlex_quote;
use crate::value::Value;

/// The implementation of a filter that needs the machine.
type DateFn = fn(&TemplateCall<'_>) -> CallResult;

/// The filters by name.
pub(super) const FILTERS: &[(&str, DateFn)] =
    &[("date_format", formatted), ("strftime", formatted)];

/// The format of dates that names none.
const USUAL_FORMAT: &str = "%Y-%m-%d";

/// Writes a date, a number of seconds, or the current time in a format.
fn formatted(call: &TemplateCall<'_>) -> CallResult {
    let format = call.text_or(1, "format", USUAL_FORMAT);
    let written = match call.arg(0, "date").map(Value::reveal) {
        None | Some(Value::Null) => "now".to_owned(),
        Some(Value::Int(seconds)) => format!("@{seconds}"),
        Some(Value::Float(seconds)) => format!("@{seconds}"),
        Some(other) => other.to_string(),
    };
    if let Some(date) = parse_date(&written) {
        let date = date.to_zoned(jiff::tz::TimeZone::UTC);
        let date = date.map_err(|error| call.fail(error))?;
        let formatted = jiff::fmt::strtime::format(&*format, &date);
        return Ok(formatted.map_err(|error| call.fail(error))?.into());
    }
    // All else depends on the clock or the time zone of the machine, which also knows names such as `tomorrow`.
    let is_number = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
    let written = if is_number {
        format!("@{written}")
    } else {
        written
    };
    let command = format!(
        "LC_ALL=C date -d {} {}",
        shlex_quote(&written),
        shlex_quote(&format!("+{format}"))
    );
    let found = probe(call, command, Domain::All)?;
    if found.code != 0 {
        return Err(call.fail(format_args!(
            "`{written}` is not a date such as 2002-12-25 or 2002-12-25 12:00:00"
        )));
    }
    Ok(text(&found.stdout))
}

/// Parses a date that means the same everywhere.
fn parse_date(text: &str) -> Option<jiff::civil::DateTime> {
    let written = text.trim().replace('/', "-").replace('T', " ");
    let known = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"];
    known.iter().find_map(|known| {
        let parsed = jiff::fmt::strtime::parse(known, &written).ok()?;
        let date = parsed.to_datetime();
        date.or_else(|_| parsed.to_date().map(Into::into)).ok()
    })
}
