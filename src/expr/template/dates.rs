//! Dates and times in templates: `now`, `to_datetime` and `strftime`, in UTC.
use std::fmt::Formatter;
use std::sync::Arc;

use jiff::civil::DateTime;
use minijinja::State;
use minijinja::value::{Kwargs, Object, ObjectRepr, Value as JinjaValue};

use crate::expr::reads::Read;

use super::arguments::{FilterArguments, FilterTable};
use super::error::{Result, filter_error};
use super::variables::Variables;

/// The filters on dates and times.
pub(super) const FILTERS: FilterTable = &[
    ("to_datetime", &["format"], to_datetime),
    ("strftime", &["second", "utc"], strftime),
];

/// A date and time, like Python's `datetime`.
#[derive(Debug)]
pub(super) struct Time(DateTime);

impl Object for Time {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        let time = self.0;
        Some(match key.as_str()? {
            "year" => i64::from(time.year()).into(),
            "month" => i64::from(time.month()).into(),
            "day" => i64::from(time.day()).into(),
            "hour" => i64::from(time.hour()).into(),
            "minute" => i64::from(time.minute()).into(),
            "second" => i64::from(time.second()).into(),
            "microsecond" => (i64::from(time.subsec_nanosecond()) / 1000).into(),
            _ => return None,
        })
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        let text = |place: usize| args.get(place).and_then(|arg| arg.as_str());
        let time = self.0;
        Ok(match method {
            "strftime" => format_time(text(0).unwrap_or_default(), time)?.into(),
            "isoformat" => {
                let separator = text(0).unwrap_or("T");
                time.to_string().replacen('T', separator, 1).into()
            }
            "timestamp" => seconds(time)?.into(),
            "date" => JinjaValue::from(time.date().to_string()),
            "time" => JinjaValue::from(time.time().to_string()),
            "weekday" => i64::from(time.weekday().to_monday_zero_offset()).into(),
            "isoweekday" => i64::from(time.weekday().to_monday_one_offset()).into(),
            _ => {
                let problem = format!("times have no method `{method}`");
                return Err(minijinja::Error::new(
                    minijinja::ErrorKind::UnknownMethod,
                    problem,
                ));
            }
        })
    }

    fn custom_cmp(
        self: &Arc<Self>,
        other: &minijinja::value::DynObject,
    ) -> Option<std::cmp::Ordering> {
        Some(self.0.cmp(&other.downcast_ref::<Self>()?.0))
    }

    fn render(self: &Arc<Self>, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_string().replacen('T', " ", 1))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a time in seconds, as Python gives it"
)]
fn seconds(time: DateTime) -> Result<f64> {
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC);
    let zoned = zoned.map_err(|error| filter_error(error.to_string()))?;
    Ok(zoned.timestamp().as_microsecond() as f64 / 1e6)
}

fn format_time(format: &str, time: DateTime) -> Result<String> {
    let problem = |error: jiff::Error| {
        filter_error(format!("`{format}` is not a valid time format: {error}"))
    };
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).map_err(problem)?;
    // Python's `%f` always has six digits.
    let format = format.replace("%f", "%6f");
    jiff::fmt::strtime::format(&format, &zoned).map_err(problem)
}

/// Implements `now(utc, fmt)`: the current time, or a text of it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
pub(super) fn now(state: &State, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    variables
        .evaluator
        .tracker()
        .record_read(Read::Volatile, None);
    let now = variables.evaluator.system().now();
    let now = now.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    // The time is in UTC whether or not the option asks for it.
    options.get::<Option<bool>>("utc")?;
    match options.get::<Option<String>>("fmt")? {
        Some(format) => Ok(format_time(&format, now)?.into()),
        None => Ok(JinjaValue::from_object(Time(now))),
    }
}

fn to_datetime(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let format = args.text("format")?;
    let format = format.as_deref().unwrap_or("%Y-%m-%d %H:%M:%S");
    let parsed = jiff::fmt::strtime::parse(format, &text)
        .and_then(|time| time.to_datetime().or_else(|_| Ok(time.to_date()?.into())));
    let time = parsed.map_err(|error: jiff::Error| {
        args.fail(format!(
            "`{text}` is not a time in the format `{format}`: {error}"
        ))
    })?;
    Ok(JinjaValue::from_object(Time(time)))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the next call rejects a time out of range"
)]
fn strftime(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let format = args.subject_text()?;
    let timestamp = match args.text("second")? {
        Some(second) => {
            let second: f64 = second
                .trim()
                .parse()
                .map_err(|_| args.fail(format!("`{second}` is not a number of seconds")))?;
            jiff::Timestamp::from_second(second as i64).map_err(|error| args.fail(error))?
        }
        None => {
            args.evaluator().tracker().record_read(Read::Volatile, None);
            args.evaluator().system().now()
        }
    };
    // The time is in UTC whether or not the option asks for it.
    args.flag("utc", false)?;
    let time = timestamp.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    Ok(format_time(&format, time)?.into())
}
