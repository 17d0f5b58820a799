//! Names that resemble a misspelt one.

/// How many candidates are looked at, so that many mistakes among many names stay cheap.
const MOST: usize = 2_000;

/// The candidate that is most like `name`, if one is like it at all.
fn most_similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length < 2 {
        return None;
    }
    let allowed = (length / 3).max(1);
    candidates
        .into_iter()
        .take(MOST)
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed * 4)
        .map(|candidate| (distance(name, candidate, allowed), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The words `did you mean` with the most similar candidate.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    most_similar(name, candidates).map(|found| format!("did you mean `{found}`?"))
}

/// How many characters must be put in, taken out, replaced or swapped; more than `most` may be
/// any larger number.
fn distance(left: &str, right: &str, most: usize) -> usize {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(from != to);
            let mut best = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            let swapped =
                row > 0 && column > 0 && *from == right[column - 1] && left[row - 1] == *to;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            next.push(best);
        }
        if next.iter().min().is_some_and(|least| *least > most) {
            return most + 1;
        }
        before = std::mem::replace(&mut last, next);
    }
    last[right.len()]
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
    }
}
