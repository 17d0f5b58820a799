//! The state module `file`: files, folders and links, and what is in them.

mod accumulated;
mod append;
mod block;
mod comment;
mod contents;
mod copying;
mod edit;
mod fetch;
mod folder;
mod json;
mod kept;
mod keyvalue;
mod line;
mod link;
mod managed;
mod pattern;
mod place;
mod presence;
mod recurse;
mod replace;
mod serialize;
mod source;
mod text;
mod work;

use crate::converge::{Call, Facts, Function, Halt, Module, Reverse, Verdict};

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
        name: "append",
        run: append::append,
        required: &[],
        optional: &[
            "text",
            "makedirs",
            "source",
            "source_hash",
            "template",
            "sources",
            "source_hashes",
            "defaults",
            "context",
            "ignore_whitespace",
            "show_changes",
        ],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "blockreplace",
        run: block::blockreplace,
        required: &[],
        optional: &[
            "marker_start",
            "marker_end",
            "source",
            "source_hash",
            "template",
            "sources",
            "source_hashes",
            "defaults",
            "context",
            "content",
            "append_if_not_found",
            "prepend_if_not_found",
            "backup",
            "show_changes",
            "append_newline",
            "insert_before_match",
            "insert_after_match",
        ],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "comment",
        run: comment::comment,
        required: &["regex"],
        optional: &["char", "backup", "ignore_missing"],
        reverse: Reverse::By("uncomment"),
    },
    Function {
        name: "copy",
        run: copying::copy,
        required: &["source"],
        optional: &[
            "force", "makedirs", "preserve", "user", "owner", "group", "mode", "dir_mode", "subdir",
        ],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "directory",
        run: folder::directory,
        required: &[],
        optional: &[
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
        optional: &["force", "makedirs", "user", "owner", "group", "dir_mode"],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "keyvalue",
        run: keyvalue::keyvalue,
        required: &[],
        optional: &[
            "key",
            "value",
            "key_values",
            "separator",
            "append_if_not_found",
            "prepend_if_not_found",
            "search_only",
            "show_changes",
            "ignore_if_missing",
            "count",
            "uncomment",
            "key_ignore_case",
            "value_ignore_case",
            "create_if_missing",
            "prune",
        ],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "line",
        run: line::line,
        required: &[],
        optional: &[
            "content",
            "match",
            "mode",
            "location",
            "before",
            "after",
            "show_changes",
            "backup",
            "quiet",
            "indent",
            "create",
            "user",
            "owner",
            "group",
            "file_mode",
        ],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "managed",
        run: managed::managed,
        required: &[],
        optional: &[
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
        name: "prepend",
        run: append::prepend,
        required: &[],
        optional: &[
            "text",
            "makedirs",
            "source",
            "source_hash",
            "template",
            "sources",
            "source_hashes",
            "defaults",
            "context",
            "header",
            "show_changes",
        ],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "recurse",
        run: recurse::recurse,
        required: &["source"],
        optional: &[
            "keep_source",
            "clean",
            "mode",
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
        name: "rename",
        run: copying::rename,
        required: &["source"],
        optional: &["force", "makedirs"],
        reverse: Reverse::Never("what was at the path before is not known"),
    },
    Function {
        name: "replace",
        run: replace::replace,
        required: &["pattern", "repl"],
        optional: &[
            "count",
            "flags",
            "bufsize",
            "append_if_not_found",
            "prepend_if_not_found",
            "not_found_content",
            "backup",
            "show_changes",
            "ignore_if_missing",
            "backslash_literal",
            "encoding",
        ],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "serialize",
        run: serialize::serialize,
        required: &[],
        optional: &[
            "dataset",
            "dataset_pillar",
            "user",
            "owner",
            "group",
            "mode",
            "backup",
            "makedirs",
            "show_changes",
            "create",
            "merge_if_exists",
            "encoding",
            "encoding_errors",
            "serializer",
            "serializer_opts",
            "deserializer_opts",
            "check_cmd",
            "tmp_dir",
            "tmp_ext",
            "formatter",
        ],
        reverse: Reverse::By("absent"),
    },
    Function {
        name: "symlink",
        run: link::symlink,
        required: &["target"],
        optional: &[
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
        optional: &["atime", "mtime", "makedirs"],
        reverse: OVERWRITTEN,
    },
    Function {
        name: "uncomment",
        run: comment::uncomment,
        required: &["regex"],
        optional: &["char", "backup"],
        reverse: Reverse::By("comment"),
    },
];
