//! Finds the Python interpreters that may have the packages for the conversion.

use std::path::PathBuf;

use crate::system::env::Env;
use crate::system::fs;

/// Returns the interpreters to try, in the order of preference.
///
/// First `python3` on the `PATH`, then the interpreter that the original Unfurl is installed with.
pub(super) fn find_interpreters(env: &Env) -> Vec<PathBuf> {
    let beside_unfurl = find_program(env, "unfurl").and_then(|unfurl| {
        let unfurl = fs::canonicalize(&unfurl).ok()?;
        Some(unfurl.with_file_name("python3")).filter(|python| fs::is_program(python))
    });
    let mut found: Vec<PathBuf> = find_program(env, "python3").into_iter().collect();
    found.extend(beside_unfurl.filter(|python| !found.contains(python)));
    found
}

/// Returns the first program with the name in an absolute folder of the `PATH`.
fn find_program(env: &Env, name: &str) -> Option<PathBuf> {
    let folders = env.non_empty("PATH")?.split(':');
    fs::find_program(name, folders.filter(|folder| folder.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_python_of_the_path_comes_before_that_of_unfurl() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let put = |path: &str, mode| {
            fs::write_plain(&root.join(path), b"", Some(mode)).unwrap();
        };
        put("a/python3", 0o600);
        put("b/python3", 0o700);
        put("venv/python3", 0o700);
        put("venv/unfurl", 0o700);
        let mut env = Env::default();
        let mut found = |folders: &[&str]| {
            let folders = folders.iter().map(|it| root.join(it).display().to_string());
            env.set("PATH", folders.collect::<Vec<_>>().join(":"));
            let found = find_interpreters(&env).into_iter();
            found
                .map(|it| it.strip_prefix(&root).unwrap().display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&["a", "b", "venv"]), ["b/python3", "venv/python3"]);
        assert_eq!(found(&["venv", "b"]), ["venv/python3"]);
        assert!(found(&["a"]).is_empty());
        assert!(find_interpreters(&Env::default()).is_empty());
    }
}
