//! The requirements of tests: programs, privileges and data that a machine may not have.
//!
//! A test that begins with `requires!("root", "ip")` is skipped if one of these is missing. It prints the
//! reason and adds a line to the file named by `UNFURL_TESTS_LEFT_OUT`, which `sh tests/run.sh` prints at its
//! end. With `CI=true` the test fails instead, unless the requirement is Terraform, which no package has. `UNFURL_TESTS_WITHOUT` lists requirements, separated by
//! spaces, that count as missing in any case.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::geteuid;

/// Skips the test unless all its requirements are met: `root`, programs, folders with recorded answers below
/// [`shared`], the scripts known to [`made`], or the real Unfurl (`target/unfurl-py`).
macro_rules! requires {
    ($($name:literal),+) => {
        if let Some(reason) = [$($name),+].into_iter().find_map($crate::requires::missing_reason) {
            left_out!(&reason);
        }
    };
}

/// Skips the test for a reason.
macro_rules! left_out {
    ($reason:expr) => {{
        // The closure's type name begins with the path of the test.
        let name = std::any::type_name_of_val(&|| ());
        $crate::requires::leave_out(name, $reason);
        return;
    }};
}

/// Reports that a test is skipped, and why. Panics with `CI=true`.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test says why it is left out")]
pub(crate) fn leave_out(name: &str, reason: &str) {
    use std::io::Write as _;
    let is_ci = std::env::var("CI").as_deref() == Ok("true");
    // No package of the system has Terraform, so its tests may be left out in CI, too.
    assert!(!is_ci || reason.contains("`terraform`"), "{reason}");
    eprintln!("left out: {reason}");
    let Some(list) = std::env::var_os("UNFURL_TESTS_LEFT_OUT") else {
        return;
    };
    let name = name.trim_start_matches("it::");
    let name = name.trim_end_matches("::{{closure}}");
    let list = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(list);
    let line = format!("{name}: {reason}\n");
    list.unwrap().write_all(line.as_bytes()).unwrap();
}

/// Returns why a requirement is not met, or None if it is met.
pub(crate) fn missing_reason(name: &str) -> Option<String> {
    let without = std::env::var("UNFURL_TESTS_WITHOUT").unwrap_or_default();
    if without.split_whitespace().any(|it| it == name) {
        return Some(format!("`{name}` is missing"));
    }
    match name {
        "root" => (!geteuid().is_root()).then(|| "only root may do this".to_owned()),
        "tests/python.sh" | "tests/lfs.sh" | "tests/debian.sh" => prepared_folder(name).err(),
        "target/unfurl-py" => (!target().join("unfurl-py/complete").exists()).then(|| {
            "the real Unfurl is missing: sh tests/python.sh target/unfurl-py \
             tests/data/unfurl-packages.txt"
                .to_owned()
        }),
        _ if name.starts_with("corpus/") => {
            let folder = recorded_answers().join(name);
            (!folder.is_dir()).then(|| format!("there is no {}", folder.display()))
        }
        _ => program(name)
            .is_none()
            .then(|| format!("the program `{name}` is missing")),
    }
}

/// Finds a program in `PATH` or in the folders for administrators.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(administrators)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Returns the folder that a script prepares for tests. Runs the script if the folder does not exist; an
/// error is the output of the script.
pub(crate) fn prepared_folder(script: &str) -> Result<PathBuf, String> {
    let folder = match script {
        "tests/python.sh" => "py",
        "tests/lfs.sh" => "lfs-tools",
        "tests/debian.sh" => "debian",
        other => panic!("{other} makes nothing"),
    };
    let folder = target().join(folder);
    let output = Command::new("sh")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
        .arg(&folder)
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(folder);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`sh {script}` failed: {}", said.trim()))
}

/// Cargo's target folder, which also holds the folders that scripts prepare for tests.
pub(crate) fn target() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap()
}

/// The folder with the recorded answers of peer programs.
pub(crate) fn recorded_answers() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    std::env::var_os("SHARED").map_or_else(beside, PathBuf::from)
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(missing_reason("sh"), None);
    assert_eq!(
        missing_reason("no-such-program").unwrap(),
        "the program `no-such-program` is missing"
    );
    let corpus = missing_reason("corpus/no-such-folder").unwrap();
    assert!(corpus.ends_with("/corpus/no-such-folder"), "{corpus}");
}
