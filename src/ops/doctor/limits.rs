//! Checks the limits of this process that a shell sets with `ulimit`.

use std::path::Path;

use super::check::{Check, DoctorReport};
use super::subject::Subject;
use crate::system::fs;

/// The number of open files below which jobs with many tasks and hosts fail.
const MIN_FILES: u64 = 256;

pub(super) fn check(_subject: &Subject<'_>, report: &mut DoctorReport) {
    // Only Linux has the file. Elsewhere, nothing is known about the limits.
    let Ok(limits) = fs::read_to_string(Path::new("/proc/self/limits")) else {
        return;
    };
    let before = report.checks.len();
    if let Some(files) = soft_limit(&limits, "Max open files").filter(|it| *it < MIN_FILES) {
        let message = format!("a process can open only {files} files at the same time");
        report.push(Check::warning("limits", "limits", message).fix("ulimit -n 1024"));
    }
    if let Some(bytes) = soft_limit(&limits, "Max file size") {
        let message = format!("a file can have at most {bytes} bytes, which logs may exceed");
        report.push(Check::warning("limits", "limits", message).fix("ulimit -f unlimited"));
    }
    if report.checks.len() == before {
        let message = "open files and the size of files are not limited too much";
        report.push(Check::ok("limits", "limits", message));
    }
}

/// Returns the limit that applies; `None` if it is unlimited or unknown.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let values = lines.find_map(|line| line.strip_prefix(name))?;
    values.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_the_first_number() {
        let text = "Limit                     Soft Limit           Hard Limit           Units
Max file size             unlimited            unlimited            bytes
Max open files            1024                 524288               files
";
        assert_eq!(soft_limit(text, "Max open files"), Some(1024));
        assert_eq!(soft_limit(text, "Max file size"), None);
        assert_eq!(soft_limit(text, "Max other"), None);
    }
}
