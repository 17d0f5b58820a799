//! Checks that the documentation matches the files of the repository.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_deviation_is_explained() {
    let explained = read("docs/compatibility.md");
    for line in read("tests/data/deviations.tsv").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 3, "{line}");
        let row = format!("| `{}` | {} |", fields[0], fields[1].replace(',', ", "));
        assert!(
            explained.contains(&row),
            "docs/compatibility.md has no row `{row}`"
        );
    }
}

#[test]
fn every_tosca_file_answered_otherwise_is_explained() {
    let explained = read("docs/compatibility.md");
    for line in read("tests/data/tosca-deviations.tsv").lines() {
        if !line.starts_with('#') {
            let (path, reason) = line.split_once('\t').unwrap();
            let row = format!("| `{path}` | {reason} |");
            assert!(
                explained.contains(&row),
                "docs/compatibility.md has no row `{row}`"
            );
        }
    }
}

#[test]
fn every_dependency_is_in_the_table_of_the_readme() {
    let readme = read("README.md");
    let manifest = read("Cargo.toml");
    let mut section = "";
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((name, _)) = line.split_once(" = ")
            && matches!(section, "dependencies" | "dev-dependencies")
        {
            let mut cells = readme.lines().filter_map(|row| row.strip_prefix("| "));
            let named = cells.any(|row| {
                let cell = row.split(" |").next().unwrap_or("");
                cell.split(", ").any(|word| word == name)
            });
            assert!(named, "README.md does not say what `{name}` is for");
        }
    }
}

#[test]
fn the_changelog_has_a_place_for_what_comes() {
    assert!(read("CHANGELOG.md").contains("\n## [Unreleased]\n"));
}

/// The paths of files in a text, such as `src/ops/deploy.rs`. Names in capitals stand for any file.
fn paths(text: &str) -> Vec<&str> {
    let is_separator = |c: char| !c.is_alphanumeric() && !"/._-".contains(c);
    let folders = ["src/", "tests/", "docs/", "benches/", "fuzz/"];
    let words = text.split(is_separator);
    let words = words.map(|word| word.trim_end_matches('.'));
    words
        .filter(|word| folders.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| {
            Path::new(word)
                .file_stem()
                .is_some_and(|stem| stem.to_str() != Some(&*stem.to_string_lossy().to_uppercase()))
        })
        .collect()
}

#[test]
fn every_file_that_the_pages_for_contributors_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("docs/contributing");
    let pages = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let mut missing = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let named = paths(&text).into_iter();
        missing.extend(
            named
                .filter(|path| !root.join(path).exists())
                .map(|path| format!("{}: {path}", page.display())),
        );
    }
    assert_eq!(missing, [""; 0]);
}

/// A rule without a test is a claim, and a test that was renamed proves nothing any more.
#[test]
fn every_rule_of_the_security_page_has_a_row_with_tests_that_exist() {
    let page = read("docs/security.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| S"))
        .map(|line| line.trim_end_matches(" |").split(" | ").collect())
        .collect();
    let numbers: Vec<String> = rows.iter().map(|cells| cells[0].to_owned()).collect();
    let expected: Vec<String> = (1..=22).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected);
    let mut missing = Vec::new();
    for cells in rows {
        assert_eq!(cells.len(), 4, "{cells:?}");
        let named: Vec<_> = cells[3].split('`').skip(1).step_by(2).collect();
        assert!(
            !named.is_empty() || cells[2].contains("Not built"),
            "{cells:?}"
        );
        for test in named {
            let (path, name) = test.split_once("::").expect("a test is `PATH::NAME`");
            let function = format!("fn {name}(");
            if !Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists()
                || !read(path).contains(&function)
            {
                missing.push(test);
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}
