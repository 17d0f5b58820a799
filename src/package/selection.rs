//! Minimal version selection: of each package, the highest of the minimal versions that are asked for is used.

use indexmap::IndexMap;

use super::request::PackageRequest;
use super::version::Version;

/// The revision of a package that all requests agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The request that decides; the first one if none states a revision.
    pub decided_by: usize,
    /// The version, branch, tag or commit; `None` if no request states one.
    pub revision: Option<String>,
    /// Whether a request asks for the clone as it is.
    pub is_current: bool,
    /// A request for another version with the major number 0, which promises nothing.
    pub unreleased: Option<usize>,
}

/// Two requests for the same package that cannot both be fulfilled, by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    pub first: usize,
    pub second: usize,
}

/// Selects a revision for each package.
pub fn select(requests: &[PackageRequest]) -> (IndexMap<String, Selection>, Vec<Conflict>) {
    let mut selected: IndexMap<String, Selection> = IndexMap::new();
    let mut conflicts = Vec::new();
    for (position, request) in requests.iter().enumerate() {
        let own = Selection {
            decided_by: position,
            revision: request.revision.clone(),
            is_current: request.is_current,
            unreleased: None,
        };
        let Some(known) = selected.get_mut(&request.id) else {
            selected.insert(request.id.clone(), own);
            continue;
        };
        known.is_current |= request.is_current;
        match (&known.revision, &request.revision) {
            (_, None) => {}
            (None, Some(_)) => {
                *known = Selection {
                    is_current: known.is_current,
                    ..own
                }
            }
            (Some(before), Some(after)) => match compare(before, after) {
                Agreement::Keep => {}
                Agreement::Raise => {
                    *known = Selection {
                        is_current: known.is_current,
                        unreleased: known.unreleased,
                        ..own
                    }
                }
                Agreement::Conflict => conflicts.push(Conflict {
                    first: known.decided_by,
                    second: position,
                }),
            },
        }
    }
    for (position, request) in requests.iter().enumerate() {
        let Some(known) = selected.get_mut(&request.id) else {
            continue;
        };
        let chosen = known.revision.as_deref().and_then(Version::parse);
        if let (Some(version), Some(chosen)) = (request.version(), chosen)
            && version.major() == 0
            && version != chosen
        {
            known.unreleased.get_or_insert(position);
        }
    }
    (selected, conflicts)
}

/// The relation of a further revision to the one selected so far.
enum Agreement {
    Keep,
    Raise,
    Conflict,
}

fn compare(before: &str, after: &str) -> Agreement {
    match (Version::parse(before), Version::parse(after)) {
        (Some(before), Some(after)) if !before.shares_major_with(&after) => Agreement::Conflict,
        (Some(before), Some(after)) if after > before => Agreement::Raise,
        (Some(_), Some(_)) => Agreement::Keep,
        _ if before == after => Agreement::Keep,
        _ => Agreement::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests(urls: &[String]) -> Vec<PackageRequest> {
        let requests = urls
            .iter()
            .map(|url| PackageRequest::of(url, None).unwrap());
        requests.collect()
    }

    fn chosen(revisions: &[&str]) -> String {
        let urls: Vec<String> = revisions
            .iter()
            .map(|revision| format!("a.b/c#{revision}"))
            .collect();
        let (selected, conflicts) = select(&requests(&urls));
        if let Some(Conflict { first, second }) = conflicts.first() {
            return format!("{} and {} conflict", revisions[*first], revisions[*second]);
        }
        let selection = &selected["a.b/c"];
        let note = if selection.unreleased.is_some() {
            " unreleased"
        } else {
            ""
        };
        format!("{}{note}", selection.revision.as_deref().unwrap_or("any"))
    }

    #[test]
    fn the_highest_of_the_minimal_versions_is_selected() {
        for (revisions, expected) in [
            (&["v1.2.0", "", "v1.10.0", "1.3"][..], "v1.10.0"),
            (&["", ""], "any"),
            (&["", "main", "main"], "main"),
            (&["v1.0.0", "v2.0.0"], "v1.0.0 and v2.0.0 conflict"),
            (&["main", "v1.0.0"], "main and v1.0.0 conflict"),
            (&["main", "", "next"], "main and next conflict"),
            (&["v0.1.0", "v0.2.0"], "v0.2.0 unreleased"),
            (&["v0.9.0", "v1.0.0"], "v1.0.0 unreleased"),
            (&["v1.0.0-rc.1", "v1.0.0"], "v1.0.0"),
            (&["HEAD", "v1.0.0"], "v1.0.0"),
        ] {
            assert_eq!(chosen(revisions), expected, "{revisions:?}");
        }
    }

    proptest! {
        #[test]
        fn no_request_gets_less_than_it_asks_for_and_the_order_does_not_matter(
            mut urls in prop::collection::vec("[ab]\\.x/p#v1\\.[0-9]{1,2}\\.[0-9]", 1..20),
            swap in any::<prop::sample::Index>(),
        ) {
            let versions = |urls: &[String]| {
                let all = requests(urls);
                let (selected, conflicts) = select(&all);
                assert!(conflicts.is_empty());
                for request in &all {
                    let selection = &selected[&request.id];
                    let version = Version::parse(selection.revision.as_deref().unwrap()).unwrap();
                    assert!(version >= request.version().unwrap());
                    assert_eq!(all[selection.decided_by].version().unwrap(), version);
                }
                let mut found: Vec<_> = selected.into_iter().map(|(id, it)| {
                    let version = Version::parse(&it.revision.unwrap()).unwrap();
                    (id, version)
                }).collect();
                found.sort();
                found
            };
            let before = versions(&urls);
            let at = swap.index(urls.len());
            urls.rotate_left(at);
            prop_assert_eq!(before, versions(&urls));
        }
    }
}
