//! The state module `file`: files, folders and links, and what is in them.

mod accumulated;
mod contents;
mod fetch;
mod folder;
mod link;
mod managed;
mod pattern;
mod place;
mod presence;
mod recurse;
mod source;
mod text;
mod work;

use super::{Call, Function, Module, Reverse};
use crate::converge::{Facts, Halt, Verdict};

/// The module.
pub(super) static MODULE: Module = Module {
    name: "file",
    functions: FUNCTIONS,
    watch: Some(watch),
    aggregate: None,
};

/// What is called when something that a state watches has changed: the function itself again, as
/// Salt does (S23).
fn watch(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    match FUNCTIONS.iter().find(|function| function.name == call.fun) {
        Some(function) => (function.run)(call, facts),
        None => Err(Halt::Failed(format!(
            "file.{} cannot be watched for changes",
            call.fun
        ))),
    }
}

const OVERWRITTEN: Reverse = Reverse::Never("what was in the file before is not known");

/// What says who owns a file.
macro_rules! optional {
    ($($word:literal),* $(,)?) => { &[$($word),*] };
}

static FUNCTIONS: &[Function] = &[
    Function {
        name: "absent",
        run: presence::absent,
        required: &[],
        optional: &[],
        reverse: Reverse::Never("what was removed is not known"),
    },
    Function {
        name: "accumulated",
        run: accumulated::accumulated,
        required: &["filename", "text"],
        optional: &[],
        reverse: Reverse::Nothing,
    },
    Function {
        name: "directory",
        run: folder::directory,
        required: &[],
        optional: optional![
            "user",
            "owner",
            "group",
            "recurse",
            "max_depth",
            "dir_mode",
            "mode",
            "file_mode",
            "makedirs",
            "clean",
            "exclude_pat",
            "follow_symlinks",
            "force",
            "backupname",
            "allow_symlink",
            "children_only",
        ],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "exists",
        run: presence::exists,
        required: &[],
        optional: &[],
        reverse: Reverse::Nothing,
    },
    Function {
        name: "hardlink",
        run: link::hardlink,
        required: &["target"],
        optional: optional!["force", "makedirs", "user", "owner", "group", "dir_mode"],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "managed",
        run: managed::managed,
        required: &[],
        optional: optional![
            "source",
            "source_hash",
            "source_hash_name",
            "keep_source",
            "user",
            "owner",
            "group",
            "mode",
            "attrs",
            "template",
            "makedirs",
            "dir_mode",
            "context",
            "replace",
            "defaults",
            "backup",
            "show_changes",
            "create",
            "contents",
            "tmp_dir",
            "tmp_ext",
            "contents_pillar",
            "contents_grains",
            "contents_newline",
            "contents_delimiter",
            "encoding",
            "encoding_errors",
            "allow_empty",
            "follow_symlinks",
            "check_cmd",
            "skip_verify",
            "selinux",
            "verify_ssl",
            "use_etag",
            "signature",
            "source_hash_sig",
            "new_file_diff",
            "file_mode",
            "assume_present",
        ],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "missing",
        run: presence::missing,
        required: &[],
        optional: &[],
        reverse: Reverse::Nothing,
    },
    Function {
        name: "recurse",
        run: recurse::recurse,
        required: &["source"],
        optional: optional![
            "keep_source",
            "clean",
            "user",
            "owner",
            "group",
            "dir_mode",
            "file_mode",
            "template",
            "context",
            "replace",
            "defaults",
            "include_empty",
            "backup",
            "include_pat",
            "exclude_pat",
            "maxdepth",
            "show_changes",
            "follow_symlinks",
        ],
        reverse: Reverse::Never("what was in the folder before is not known"),
    },
    Function {
        name: "symlink",
        run: link::symlink,
        required: &["target"],
        optional: optional![
            "force",
            "backupname",
            "makedirs",
            "user",
            "owner",
            "group",
            "mode",
            "atomic",
            "disallow_copy_and_unlink",
            "inherit_user_and_group",
            "follow_symlinks",
        ],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "touch",
        run: presence::touch,
        required: &[],
        optional: optional!["atime", "mtime", "makedirs"],
        reverse: OVERWRITTEN,
    },
];
