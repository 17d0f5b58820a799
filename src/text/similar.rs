//! Spelling suggestions: finds the known name that resembles a misspelled one.

use strsim::osa_distance;

/// The maximum number of candidates to compare, so that many mistakes among many names stay cheap.
const MAX_CANDIDATES: usize = 2_000;

/// Returns the candidate most similar to `name`, if any is similar enough. Among equals, the first in
/// alphabetical order wins.
pub fn most_similar<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = name.chars().count();
    if length < 2 {
        return None;
    }
    let allowed = (length / 3).max(1);
    let own = name;
    let name = name.to_lowercase();
    let close = candidates
        .into_iter()
        // A name is no suggestion for itself.
        .filter(|candidate| *candidate != own)
        .take(MAX_CANDIDATES)
        .filter_map(|candidate| {
            // The edit distance of texts with very different lengths is large anyway.
            let is_near = candidate.chars().count().abs_diff(length) <= 2 * allowed;
            let distance = is_near.then(|| osa_distance(&name, &candidate.to_lowercase()))?;
            (distance <= allowed).then_some((distance, candidate))
        });
    close.min().map(|(_, candidate)| candidate)
}

/// Whether two names differ in at most `edits` letters: replaced, added, removed, or swapped with the next one.
pub fn is_close(name: &str, other: &str, edits: usize) -> bool {
    osa_distance(name, other) <= edits
}

/// Returns the hint `did you mean …?` with the most similar candidate, if any.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    most_similar(name, candidates).map(|found| format!("did you mean `{found}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let names = ["properties", "requirements", "capabilities"];
        assert_eq!(most_similar("propertes", names), Some("properties"));
        assert_eq!(most_similar("requirment", names), Some("requirements"));
        assert_eq!(most_similar("capabilites", names), Some("capabilities"));
        assert_eq!(most_similar("nothing", names), None);
        assert_eq!(most_similar("dbs", ["bds", "x"]), Some("bds"));
        assert_eq!(most_similar("WEBB", ["Web", "w"]), Some("Web"));
        assert_eq!(most_similar("d", ["db"]), None);
    }

    #[test]
    fn the_order_of_the_candidates_does_not_count() {
        let names = ["Webc", "Weba", "Webs", "Web1"];
        for first in 0..names.len() {
            let mut turned = names;
            turned.rotate_left(first);
            assert_eq!(most_similar("Webx", turned), Some("Web1"));
        }
        assert_eq!(most_similar("Webx", ["Wb", "Weba", "webX"]), Some("webX"));
    }
}
