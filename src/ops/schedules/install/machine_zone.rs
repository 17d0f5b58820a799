//! The time zone of this machine, which cron follows. The variable `TZ` of this process does not count.

use std::path::Path;

use jiff::tz::TimeZone;

use crate::system::fs;

/// The file with the rules of the zone. A machine without that file has UTC.
const LOCALTIME: &str = "/etc/localtime";

/// The folder in the paths of the files of all zones.
const ZONES: &str = "/zoneinfo/";

/// Returns the zone of this machine; None if its name is unknown.
pub(super) fn machine_zone() -> Option<TimeZone> {
    let path = Path::new(LOCALTIME);
    if !fs::exists(path) {
        return Some(TimeZone::UTC);
    }
    let target = fs::canonicalize(path).ok()?;
    let name = target.to_str()?.split_once(ZONES)?.1.to_owned();
    TimeZone::get(&name).ok()
}
