//! Lists of algorithms in the form of OpenSSH: a list replaces the defaults, and a sign before it changes them.

use crate::text::Glob;

/// Applies the value of an option such as `KexAlgorithms` to the defaults. `all` has the known names.
///
/// `+` adds to the defaults, `-` removes, `^` puts to the front, and a list without a sign replaces the defaults. Names
/// can be patterns. Unknown names are left out.
pub fn select_algorithms<'a>(
    setting: Option<&str>,
    all: &[&'a str],
    defaults: &[&'a str],
) -> Vec<&'a str> {
    let matching = |list: &str| {
        let mut found: Vec<&'a str> = Vec::new();
        for pattern in list.split(',').map(Glob::without_brackets) {
            let new = all.iter().filter(|name| pattern.matches(name));
            for name in new {
                if !found.contains(name) {
                    found.push(name);
                }
            }
        }
        found
    };
    let without = |list: &[&str]| {
        let rest = defaults.iter().filter(|name| !list.contains(name));
        rest.copied().collect::<Vec<_>>()
    };
    let Some(setting) = setting else {
        return defaults.to_vec();
    };
    match setting.split_at_checked(1) {
        Some(("+", list)) => {
            let mut chosen = defaults.to_vec();
            chosen.extend(
                matching(list)
                    .into_iter()
                    .filter(|it| !defaults.contains(it)),
            );
            chosen
        }
        Some(("-", list)) => without(&matching(list)),
        Some(("^", list)) => {
            let mut first = matching(list);
            first.extend(without(&first));
            first
        }
        _ => matching(setting),
    }
}

/// Returns true if the option decides the order of the algorithms.
pub fn has_own_order(setting: Option<&str>) -> bool {
    setting.is_some_and(|setting| !setting.starts_with(['+', '-']))
}
