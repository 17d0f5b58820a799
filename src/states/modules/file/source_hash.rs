//! The argument `source_hash`: the checksum that a download must have, perhaps from a signed file of checksums.

use super::plan::file_name;
use super::signature::{SignatureCheck, signed_content};
use super::source::{Checksum, SelectedSource, read_source};
use super::text_diff::decode;
use crate::states::{FactCache, Halt, StateCall, refuse};

/// Returns the checksum that a download must have; None if the state gives none.
///
/// `source_hash` is a checksum or the address of a file with checksums. `path` is the path that the file gets.
pub(in crate::states::modules) fn expected_checksum(
    call: &StateCall<'_>,
    picked: &SelectedSource,
    path: &str,
    facts: &FactCache,
) -> Result<Option<Checksum>, Halt> {
    let Some(hash) = &picked.hash else {
        return Ok(None);
    };
    if let Some(sum) = Checksum::parse(hash) {
        return Ok(Some(sum));
    }
    let Some(bytes) = read_hash_file(call, hash, facts)? else {
        return refuse(format!(
            "Source hash {hash} format is invalid. The supported formats \
             are: 1) a hash, 2) an expression in the format <hash_type>=<hash>, or 3) either a \
             path to a local file containing hashes, or a URI of a remote hash file."
        ));
    };
    let names: Vec<String> = [
        call.text("source_hash_name")?,
        Some(file_name(path).to_owned()),
        Some(file_name(&picked.written).to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    find_checksum(&decode(&bytes), &names)
        .map(Some)
        .ok_or_else(|| {
            Halt::Failed(format!(
                "Source hash file {hash} contains no checksum of {}",
                picked.written
            ))
        })
}

/// Reads a file with checksums; None if there is none. The argument `source_hash_sig` asks for its signature.
fn read_hash_file(
    call: &StateCall<'_>,
    hash: &str,
    facts: &FactCache,
) -> Result<Option<Vec<u8>>, Halt> {
    // As in Salt, a plain path needs no signature.
    if hash.contains("://")
        && let Some(check) = SignatureCheck::from_call(call, "source_hash_sig", "")?
    {
        return signed_content(call, hash, &check, facts).map(Some);
    }
    if !hash.starts_with('/') && !hash.contains("://") {
        return Ok(None);
    }
    Ok(read_source(call, hash, facts)?.map(|(bytes, _)| bytes.to_vec()))
}

/// Finds the checksum of one of the names in a hash file; a file with a single checksum needs no name.
fn find_checksum(text: &str, names: &[String]) -> Option<Checksum> {
    let mut all = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split([' ', '\t', '(', ')', '=', '*', ':']).collect();
        let Some(sum) = words.iter().find_map(|word| Checksum::parse(word)) else {
            continue;
        };
        let is_named = |word: &&str| {
            let word = word.trim_start_matches("./");
            names
                .iter()
                .any(|name| word == name || file_name(word) == name)
        };
        if words.iter().any(is_named) {
            return Some(sum);
        }
        all.push(sum);
    }
    (all.len() == 1).then(|| all.remove(0))
}
