//! File name patterns as shells know them: `*`, `?`, `[a-z]`, `[!a-z]`; letters' case counts.

/// Whether a name matches a pattern. Takes time in proportion to the product of their lengths at
/// worst.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut place) = (0, 0);
    // Where to go on when what follows the last star does not fit: the star's next character.
    let mut retry = None;
    while place < name.len() {
        if pattern.get(at) == Some(&'*') {
            retry = Some((at + 1, place + 1));
            at += 1;
        } else if let Some(length) = one(&pattern[at..], name[place]) {
            at += length;
            place += 1;
        } else if let Some((after_star, next)) = retry {
            (at, place) = (after_star, next);
            retry = Some((after_star, next + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|character| *character == '*')
}

/// How long the part of the pattern is that matches one character.
fn one(pattern: &[char], character: char) -> Option<usize> {
    match *pattern.first()? {
        '?' => Some(1),
        '[' => match set(pattern) {
            Some((negated, members, length)) => {
                (contains(members, character) != negated).then_some(length)
            }
            None => (character == '[').then_some(1),
        },
        other => (other == character).then_some(1),
    }
}

/// The members of a set and how long it is; none if it has no end.
fn set(pattern: &[char]) -> Option<(bool, &[char], usize)> {
    let negated = pattern.get(1) == Some(&'!');
    let start = if negated { 2 } else { 1 };
    // A bracket that comes first is a member.
    let end = (start + 1..pattern.len()).find(|place| pattern[*place] == ']')?;
    Some((negated, &pattern[start..end], end + 1))
}

fn contains(members: &[char], character: char) -> bool {
    let mut rest = members;
    while let [first, others @ ..] = rest {
        if let ['-', last, others @ ..] = others {
            if (*first..=*last).contains(&character) {
                return true;
            }
            rest = others;
        } else {
            if *first == character {
                return true;
            }
            rest = others;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let matching = [
            ("*", ""),
            ("*", "A"),
            ("A*", "AWS"),
            ("*_KEY", "AWS_KEY_KEY"),
            ("A?S", "AWS"),
            ("[A-C]x", "Bx"),
            ("[!A-C]x", "Dx"),
            ("[]]", "]"),
            ("[a", "[a"),
            ("a*b*c", "aXbXbc"),
        ];
        for (pattern, name) in matching {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "A"),
            ("a", "A"),
            ("A?", "A"),
            ("[A-C]", "D"),
            ("a*b", "abc"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_is_quick() {
        assert!(!matches(
            &"*a".repeat(200),
            &"a".repeat(199).repeat(5).replace('a', "b")
        ));
        assert!(!matches(
            &format!("{}b", "*a".repeat(100)),
            &"a".repeat(5000)
        ));
    }
}
