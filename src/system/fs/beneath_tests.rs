//! Tests of [`Beneath`]: each runs with `openat2` and folder by folder.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::Command;

use super::super::mode_of;
use super::*;

/// A folder to work in, and one beside it that must stay as it is.
struct Stage {
    root: tempfile::TempDir,
    outside: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self {
            root: tempfile::tempdir().unwrap(),
            outside: tempfile::tempdir().unwrap(),
        };
        fs::write(stage.outside.path().join("kept"), "kept").unwrap();
        stage
    }

    fn both(&self) -> [Beneath; 2] {
        let kernel = Beneath::open(self.root.path()).unwrap();
        let mut steps = kernel.clone();
        steps.by_kernel = false;
        [kernel, steps]
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Fails if a file outside was written or removed.
    fn check_outside(&self) {
        let names: Vec<_> = fs::read_dir(self.outside.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
        let kept = fs::read_to_string(self.outside.path().join("kept")).unwrap();
        assert_eq!(kept, "kept");
    }
}

fn p(path: &str) -> &Path {
    Path::new(path)
}

#[test]
fn files_are_written_read_listed_moved_and_removed() {
    let stage = Stage::new();
    for beneath in stage.both() {
        beneath.write_plain(p("a/b/plain"), b"1", None).unwrap();
        beneath.write_atomic(p("a/atomic"), b"2", None).unwrap();
        beneath.append_durable(p("a/c/log"), b"3").unwrap();
        beneath.append_durable(p("a/c/log"), b"4").unwrap();
        assert_eq!(beneath.read(p("a/b/plain"), 9).unwrap(), b"1");
        assert_eq!(beneath.read(&stage.path("a/atomic"), 9).unwrap(), b"2");
        let inner = beneath.open_dir(p("a")).unwrap();
        assert_eq!(inner.read(p("c/log"), 9).unwrap(), b"34");
        let names: Vec<_> = inner.list(p("")).unwrap();
        let names: Vec<_> = names.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["atomic", "b", "c"]);
        inner.rename(p("atomic"), p("d/moved")).unwrap();
        assert!(inner.remove_file_if_exists(p("d/moved")).unwrap());
        assert!(!inner.remove_file_if_exists(p("d/moved")).unwrap());
        assert!(beneath.remove_dir_if_exists(p("a")).unwrap());
        assert!(!beneath.remove_dir_if_exists(p("a")).unwrap());
        assert!(!beneath.remove_file_if_exists(p("a/none")).unwrap());
        assert_eq!(beneath.info(p("a/none")).unwrap(), None);
    }
}

#[test]
fn a_link_on_the_way_is_refused_and_named() {
    let stage = Stage::new();
    let target = stage.outside.path().display().to_string();
    symlink(&target, stage.path("planned")).unwrap();
    fs::create_dir(stage.path("real")).unwrap();
    for beneath in stage.both() {
        let inside = p("planned/x/f");
        let errors = [
            beneath.write_plain(inside, b"", None).unwrap_err(),
            beneath.write_atomic(inside, b"", None).unwrap_err(),
            beneath.append_durable(inside, b"").unwrap_err(),
            beneath.create_dir_all(inside).unwrap_err(),
            beneath.create_dir_all(p("planned")).unwrap_err(),
            beneath.open_dir(p("planned")).unwrap_err(),
            beneath.list(p("planned")).unwrap_err(),
            beneath.info(p("planned/kept")).unwrap_err(),
            beneath.read(p("planned/kept"), 9).unwrap_err(),
            beneath.remove_file(p("planned/kept")).unwrap_err(),
            beneath.remove_dir_all(p("planned/kept")).unwrap_err(),
            beneath.rename(p("planned/kept"), p("k")).unwrap_err(),
            beneath.rename(p("real"), p("planned/real")).unwrap_err(),
            beneath.move_dir(p("real"), p("planned/real")).unwrap_err(),
            beneath.move_dir(p("real"), p("planned")).unwrap_err(),
            beneath.move_dir(p("planned"), p("other")).unwrap_err(),
            beneath
                .copy_dir(p("planned"), &beneath, p("other"))
                .unwrap_err(),
            beneath
                .copy_dir(p("real"), &beneath, p("planned"))
                .unwrap_err(),
            beneath.refuse_link(p("planned")).unwrap_err(),
            beneath.refuse_link(inside).unwrap_err(),
        ];
        for error in errors {
            let message = error.to_string();
            let refused = error.refused_link().unwrap_or_else(|| panic!("{message}"));
            assert_eq!(refused.link, stage.path("planned"), "{message}");
            assert_eq!(refused.target, stage.outside.path(), "{message}");
            assert!(message.contains(&target), "{message}");
            assert!(error.hint().unwrap().starts_with("remove the link"));
        }
        stage.check_outside();
    }
}

#[test]
fn a_link_as_the_last_name_is_not_written_through() {
    let stage = Stage::new();
    for target in [
        stage.outside.path().join("kept"),
        stage.outside.path().join("new"),
    ] {
        symlink(&target, stage.path("jobs.tsv")).unwrap();
        for beneath in stage.both() {
            for error in [
                beneath.write_plain(p("jobs.tsv"), b"", None).unwrap_err(),
                beneath.write_atomic(p("jobs.tsv"), b"", None).unwrap_err(),
                beneath.append_durable(p("jobs.tsv"), b"").unwrap_err(),
                beneath.read(p("jobs.tsv"), 9).unwrap_err(),
            ] {
                assert_eq!(error.refused_link().unwrap().target, target, "{error}");
            }
            assert_eq!(
                beneath.info(p("jobs.tsv")).unwrap().unwrap().kind,
                EntryKind::Link
            );
            stage.check_outside();
        }
        fs::remove_file(stage.path("jobs.tsv")).unwrap();
    }
}

#[test]
fn removing_and_copying_a_tree_never_follows_its_links() {
    let stage = Stage::new();
    for beneath in stage.both() {
        fs::create_dir_all(stage.path("a/b")).unwrap();
        symlink(stage.outside.path(), stage.path("a/b/out")).unwrap();
        fs::write(stage.path("a/b/f"), "f").unwrap();
        beneath.copy_dir(p("a"), &beneath, p("copy")).unwrap();
        assert!(stage.path("copy/b/out").is_symlink());
        assert_eq!(fs::read_to_string(stage.path("copy/b/f")).unwrap(), "f");
        beneath.remove_dir_all(p("copy")).unwrap();
        beneath.remove_dir_all(p("a")).unwrap();
        symlink(stage.outside.path(), stage.path("a")).unwrap();
        beneath.remove_dir_all(p("a")).unwrap();
        assert!(!stage.path("a").is_symlink());
        stage.check_outside();
    }
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let stage = Stage::new();
    let outside = stage.outside.path().join("kept");
    for beneath in stage.both() {
        for path in [p(".."), p("a/../../x"), p("/etc/hostname"), &outside, p("")] {
            assert!(beneath.write_plain(path, b"", None).is_err(), "{path:?}");
            assert!(beneath.remove_dir_all(path).is_err(), "{path:?}");
            assert!(beneath.read(path, 9).is_err(), "{path:?}");
        }
        assert!(beneath.open_dir(p("..")).is_err());
        stage.check_outside();
    }
}

#[test]
fn a_replaced_folder_stays_the_one_that_was_opened() {
    let stage = Stage::new();
    for beneath in stage.both() {
        fs::create_dir(stage.path("planned")).unwrap();
        let planned = beneath.open_dir(p("planned")).unwrap();
        fs::rename(stage.path("planned"), stage.path("aside")).unwrap();
        symlink(stage.outside.path(), stage.path("planned")).unwrap();
        planned.write_plain(p("f"), b"f", None).unwrap();
        assert!(stage.path("aside/f").exists());
        stage.check_outside();
        fs::remove_file(stage.path("planned")).unwrap();
        fs::remove_dir_all(stage.path("aside")).unwrap();
    }
}

#[test]
fn pipes_and_devices_are_neither_read_nor_written() {
    let stage = Stage::new();
    let made = Command::new("mkfifo").arg(stage.path("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(stage.path("socket")).unwrap();
    for beneath in stage.both() {
        for name in ["pipe", "socket"] {
            assert!(beneath.read(p(name), 9).is_err());
            assert!(beneath.append_durable(p(name), b"x").is_err());
            assert!(beneath.write_plain(p(name), b"x", None).is_err());
        }
        let error = beneath.read(p("pipe"), 9).unwrap_err();
        assert!(error.to_string().contains("named pipe"), "{error}");
    }
}

#[test]
fn new_files_and_folders_are_not_writable_for_others() {
    let stage = Stage::new();
    for beneath in stage.both() {
        beneath.write_plain(p("a/plain"), b"", None).unwrap();
        beneath.write_atomic(p("a/atomic"), b"", None).unwrap();
        beneath.append_durable(p("a/log"), b"").unwrap();
        for name in ["a", "a/plain", "a/atomic", "a/log"] {
            assert_eq!(mode_of(&stage.path(name)).unwrap() & 0o022, 0, "{name}");
        }
        beneath.write_plain(p("a/plain"), b"", Some(0o600)).unwrap();
        assert_eq!(beneath.info(p("a/plain")).unwrap().unwrap().mode, 0o600);
        beneath
            .write_atomic(p("a/atomic"), b"", Some(0o640))
            .unwrap();
        beneath.write_atomic(p("a/atomic"), b"", None).unwrap();
        assert_eq!(mode_of(&stage.path("a/atomic")).unwrap(), 0o640);
        beneath.remove_dir_all(p("a")).unwrap();
    }
}

#[test]
fn a_moved_folder_replaces_the_one_that_was_there() {
    let stage = Stage::new();
    for beneath in stage.both() {
        beneath.write_plain(p("from/new"), b"", None).unwrap();
        beneath.write_plain(p("x/to/old"), b"", None).unwrap();
        let inode = fs::metadata(stage.path("from")).unwrap().ino();
        beneath.move_dir(p("from"), p("x/to")).unwrap();
        assert_eq!(fs::metadata(stage.path("x/to")).unwrap().ino(), inode);
        assert!(stage.path("x/to/new").exists() && !stage.path("x/to/old").exists());
        assert!(beneath.info(p("from")).unwrap().is_none());
        assert!(beneath.move_dir(p("from"), p("x/to")).is_err());
        assert!(stage.path("x/to/new").exists());
        beneath.write_plain(p("from/newer"), b"", None).unwrap();
        let (from, to) = (
            beneath.entry(p("from")).unwrap(),
            beneath.entry(p("x/to")).unwrap(),
        );
        beneath.move_in_steps(&from, &to).unwrap();
        assert_eq!(beneath.list(p("x")).unwrap().len(), 1);
        assert!(stage.path("x/to/newer").exists());
        beneath.remove_dir_all(p("x")).unwrap();
    }
}

#[test]
fn a_write_that_fails_leaves_nothing_beside() {
    let stage = Stage::new();
    for beneath in stage.both() {
        beneath.create_dir_all(p("taken/inner")).unwrap();
        assert!(beneath.write_atomic(p("taken"), b"x", None).is_err());
        assert_eq!(beneath.list(p("")).unwrap().len(), 1);
    }
}
