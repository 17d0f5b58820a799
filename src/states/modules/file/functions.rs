//! The table of the state functions of the module `file`, with their arguments and reversals.
//!
//! The functions are defined in the sibling files; the engine finds them by name through [`MODULE`].

use super::{
    append, block, cached, copy, decode, directory, edit, keyvalue, line, link, managed, node,
    patch, presence, recurse, retention, serialize, tidied,
};
use crate::states::{StateFunction, StateModule};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "file",
    functions: FUNCTIONS,
    watch: None,
    aggregate: None,
};

static FUNCTIONS: &[StateFunction] = &[
    StateFunction::new("absent", presence::absent)
        .about("Removes a file, a link or a folder with its contents.")
        .accepts_more()
        .irreversible("the removed content is not recorded"),
    StateFunction::new("accumulated", append::accumulated)
        .about("Collects texts for the template of a `file.managed`.")
        .accepts_more()
        .requires("filename text"),
    StateFunction::new("append", append::append)
        .about("Adds lines to the end of a file unless it has them.")
        .options(
            "text makedirs source source_hash template sources source_hashes defaults context \
             ignore_whitespace show_changes",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("blockreplace", block::blockreplace)
        .about("Keeps the text between two marker lines of a file.")
        .options(
            "marker_start marker_end source source_hash template sources source_hashes defaults \
             context content append_if_not_found prepend_if_not_found backup show_changes \
             append_newline insert_before_match insert_after_match",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("cached", cached::cached)
        .about("Keeps a copy of a file of the state tree or of a download on the host.")
        .options(
            "source_hash source_hash_name skip_verify saltenv use_etag source_hash_sig \
             signed_by_any signed_by_all keyring gnupghome sig_backend",
        )
        .reversed_by("not_cached"),
    StateFunction::new("comment", edit::comment)
        .about("Comments out the lines of a file that match a pattern.")
        .requires("regex")
        .options("char backup ignore_missing")
        .reversed_by("uncomment"),
    StateFunction::new("copy", copy::copy)
        .about("Copies a file or folder of the host.")
        .accepts_more()
        .requires("source")
        .options("force makedirs preserve user owner group mode dir_mode subdir")
        .reversed_by("absent"),
    StateFunction::new("decode", decode::decode)
        .about("Decodes a text into a file.")
        .options("encoded_data contents_pillar encoding_type checksum")
        .reversed_by("absent"),
    StateFunction::new("directory", directory::directory)
        .about("Creates a folder with owner and mode, for its contents too if wanted.")
        .accepts_more()
        .options(
            "user owner group recurse max_depth dir_mode mode file_mode makedirs clean \
             exclude_pat follow_symlinks force backupname allow_symlink children_only \
             win_owner win_perms win_deny_perms win_inheritance win_perms_reset",
        )
        .reversed_by("absent"),
    StateFunction::new("exists", presence::exists)
        .about("Fails unless the path exists.")
        .accepts_more(),
    StateFunction::new("hardlink", link::hardlink)
        .about("Creates a hard link.")
        .accepts_more()
        .requires("target")
        .options("force makedirs user owner group dir_mode")
        .reversed_by("absent"),
    StateFunction::new("keyvalue", keyvalue::keyvalue)
        .about("Sets values in a file of lines such as `key = value`.")
        .options(
            "key value key_values separator append_if_not_found prepend_if_not_found search_only \
             show_changes ignore_if_missing count uncomment key_ignore_case value_ignore_case \
             create_if_missing prune",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("line", line::line)
        .about("Inserts, replaces or deletes a line of a file.")
        .options(
            "content match mode location before after show_changes backup quiet indent create \
             user owner group file_mode",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("managed", managed::managed)
        .about("Writes a file with contents, owner and mode.")
        .accepts_more()
        .options(
            "source source_hash source_hash_name keep_source user owner group mode template \
             makedirs dir_mode context replace defaults backup show_changes create contents \
             tmp_dir tmp_ext contents_pillar contents_grains contents_newline contents_delimiter \
             encoding encoding_errors allow_empty follow_symlinks check_cmd skip_verify verify_ssl \
             use_etag new_file_diff file_mode assume_present attrs signature source_hash_sig \
             signed_by_any signed_by_all keyring gnupghome sig_backend win_owner win_perms \
             win_deny_perms win_inheritance win_perms_reset",
        )
        .unsupported("selinux ignore_ordering ignore_whitespace ignore_comment_characters")
        .reversed_by("absent"),
    StateFunction::new("missing", presence::missing)
        .about("Fails if the path exists.")
        .accepts_more(),
    StateFunction::new("mknod", node::mknod)
        .about("Creates a device or a named pipe.")
        .requires("ntype")
        .options("major minor user group mode")
        .reversed_by("absent"),
    StateFunction::new("not_cached", cached::not_cached)
        .about("Removes the copy that `file.cached` keeps.")
        .options("saltenv")
        .reversed_by("cached"),
    StateFunction::new("patch", patch::patch)
        .about("Applies a patch to a file or a folder.")
        .accepts_more()
        .options(
            "source source_hash source_hash_name skip_verify template context defaults options \
             reject_file strip",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("prepend", append::prepend)
        .about("Adds lines to the beginning of a file unless it has them.")
        .options(
            "text makedirs source source_hash template sources source_hashes defaults context \
             header show_changes",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("recurse", recurse::recurse)
        .about("Copies a folder of the state tree.")
        .accepts_more()
        .requires("source")
        .options(
            "keep_source clean mode user owner group dir_mode file_mode template context replace \
             defaults include_empty backup include_pat exclude_pat maxdepth show_changes \
             follow_symlinks sym_mode force_symlinks win_owner win_perms win_deny_perms \
             win_inheritance keep_symlinks",
        )
        .without_effect("include_empty force_symlinks")
        .unsupported("merge")
        .irreversible("the previous content of the folder is not recorded"),
    StateFunction::new("rename", copy::rename)
        .about("Renames a file or folder of the host.")
        .accepts_more()
        .requires("source")
        .options("force makedirs")
        .irreversible("the previous entry at the path is not recorded"),
    StateFunction::new("replace", edit::replace)
        .about("Replaces the matches of a pattern in a file.")
        .requires("pattern repl")
        .options(
            "count flags bufsize append_if_not_found prepend_if_not_found not_found_content \
             backup show_changes ignore_if_missing backslash_literal encoding",
        )
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("retention_schedule", retention::retention_schedule)
        .about("Keeps some of the backups in a folder, and removes the others.")
        .requires("retain")
        .options("strptime_format")
        .unsupported("timezone")
        .irreversible("the removed backups are not recorded"),
    StateFunction::new("serialize", serialize::serialize)
        .about("Writes data as YAML, JSON and similar formats into a file.")
        .accepts_more()
        .options(
            "dataset dataset_pillar user owner group mode backup makedirs show_changes create \
             merge_if_exists encoding encoding_errors serializer serializer_opts \
             deserializer_opts check_cmd tmp_dir tmp_ext formatter",
        )
        .reversed_by("absent"),
    StateFunction::new("symlink", link::symlink)
        .about("Creates a symbolic link.")
        .accepts_more()
        .requires("target")
        .options(
            "force backupname makedirs user owner group mode atomic disallow_copy_and_unlink \
             inherit_user_and_group follow_symlinks win_owner win_perms win_deny_perms \
             win_inheritance",
        )
        .reversed_by("absent"),
    StateFunction::new("tidied", tidied::tidied)
        .accepts_more()
        .about("Removes old or large files of a folder.")
        .options(
            "age matches rmdirs size exclude full_path_match followlinks time_comparison \
             age_size_logical_operator age_size_only rmlinks",
        )
        .irreversible("the removed entries are not recorded"),
    StateFunction::new("touch", presence::touch)
        .about("Creates an empty file, or sets the times of a file.")
        .options("atime mtime makedirs")
        .irreversible(IRREVERSIBLE_REASON),
    StateFunction::new("uncomment", edit::uncomment)
        .about("Removes the comment character from lines that match a pattern.")
        .requires("regex")
        .options("char backup")
        .reversed_by("comment"),
];

const IRREVERSIBLE_REASON: &str = "the previous content of the file is not recorded";
