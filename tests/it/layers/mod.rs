//! Reads the sources and fails where they break the rules of the house.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

mod circles;
mod documented;
mod functions;
mod once;
mod words;

use circles::{Imports, circles, imports, of_folders};
use functions::{MAX_FUNCTION_LINES, long_functions};

/// The layers from the bottom up. A module imports modules of lower layers only.
const LAYERS: &[&[&str]] = &[
    &["name", "diagnostic", "dag", "text"],
    &["value", "package"],
    &["yaml", "expr", "system"],
    &["tosca", "git", "secret", "skeleton", "drift"],
    &["host", "lock", "schedule"],
    &["topology", "project"],
    &["plan", "states", "tasks"],
    &["task"],
    &["job", "configurator"],
    &["ensemble", "exec"],
    &["check", "fleet"],
    &["session", "export"],
    &["ops", "ui"],
    &["web"],
    &["cli"],
    &["testing"],
];

/// Imports of lower modules that are refused all the same: what is needed comes another way.
const REFUSED: &[(&str, &str)] = &[
    ("cli", "exec"),
    ("ensemble", "project"),
    ("fleet", "ensemble"),
    ("job", "tasks"),
    ("task", "tasks"),
];

/// The modules that may know the async runtime.
const ASYNC_MODULES: &[&str] = &["exec", "host", "web"];

/// How many files of a module import each other in its largest circle, where there is one. These
/// numbers only ever become smaller.
const CIRCLES: &[(&str, usize)] = &[("expr", 2), ("job", 2), ("topology", 2), ("yaml", 2)];

/// The folders inside modules that import something which imports them. No folder is ever added.
const FOLDERS_IN_CIRCLES: &[&str] = &[];

/// How long a file may be, tests apart.
const MAX_LINES: usize = 600;

/// How long the binary's own file may be.
const MAX_MAIN_LINES: usize = 20;

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The source without comments and without what stands in quotes; line breaks stay.
fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => quoted(rest),
            'r' if !ends_in_word(&code) => raw_string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let lines = rest[..skipped].matches('\n').count();
            code.extend(std::iter::repeat_n('\n', lines));
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

fn ends_in_word(code: &str) -> bool {
    code.ends_with(|last: char| last.is_alphanumeric() || last == '_')
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut place = 0;
    while place < rest.len() {
        let here = &rest[place..];
        if here.starts_with("/*") {
            depth += 1;
            place += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            place += 2;
            if depth == 0 {
                return place;
            }
        } else {
            place += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (place, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a raw string, 0 if this is none.
fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].chars().take_while(|hash| *hash == '#').count();
    if !rest[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = 2 + hashes;
    rest[body..]
        .find(&end)
        .map_or(rest.len(), |place| body + place + end.len())
}

/// The length of a character literal, 0 if this is a lifetime.
fn character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            let escaped = characters
                .next()
                .map_or(0, |(place, c)| place + c.len_utf8());
            rest[escaped..]
                .find('\'')
                .map_or(0, |end| escaped + end + 1)
        }
        Some((place, c)) if rest[place + c.len_utf8()..].starts_with('\'') => {
            place + c.len_utf8() + 1
        }
        _ => 0,
    }
}

/// The words and signs of a line.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() {
            tokens.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    tokens
}

/// The module a file belongs to: the first part of its path under `src`.
fn module_of(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Where the tests of a file begin: at `#[cfg(test)]` before a module.
fn tests_begin(source: &str) -> Option<usize> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    lines.windows(2).position(|pair| {
        let module = pair[1].trim_start_matches("pub(super) ");
        pair[0] == "#[cfg(test)]" && (module.starts_with("mod ") || module.starts_with("#["))
    })
}

/// What is wrong with one file of `src`, named by its path under it.
fn problems(path: &str, source: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let at_root = matches!(path, "lib.rs" | "main.rs");
    let module = module_of(path);
    let own = layer(module);
    if own.is_none() && !at_root {
        problems.push(format!("{path}: `{module}` has no layer"));
    }
    let tests = tests_begin(source);
    let lines = tests.unwrap_or_else(|| source.lines().count());
    let is_tests = path.ends_with("tests.rs") || path.contains("/tests/");
    if lines > MAX_LINES && !is_tests {
        problems.push(format!("{path}: {lines} lines, {MAX_LINES} are allowed"));
    }
    problems.extend(logic(path, source));
    let code = code_of(source);
    for (place, length) in long_functions(&code) {
        if !is_tests && tests.is_none_or(|begin| place <= begin) {
            problems.push(format!(
                "{path}:{place}: {length} lines in a function, {MAX_FUNCTION_LINES} are allowed"
            ));
        }
    }
    for (place, line) in code.lines().enumerate() {
        let here = format!("{path}:{}", place + 1);
        let in_tests = is_tests || tests.is_some_and(|begin| place >= begin);
        let tokens = tokens(line);
        for pair in tokens.windows(3) {
            match *pair {
                ["crate", "::", "{"] => problems.push(format!("{here}: a group of imports")),
                ["crate", "::", other] if !at_root && other != module => {
                    let lower = layer(other) < own && layer(other).is_some();
                    if !lower || REFUSED.contains(&(module, other)) {
                        problems.push(format!("{here}: {module} → {other}"));
                    }
                }
                ["tokio", "::", _] if !may_be_async(path) => {
                    problems.push(format!("{here}: {module} knows tokio"));
                }
                [_, "::", "*"] if tokens.contains(&"use") && !in_tests => {
                    problems.push(format!("{here}: a glob import"));
                }
                _ => {}
            }
        }
    }
    problems
}

/// The lines of a `mod.rs` that hold more than documentation, attributes, modules and imports.
fn logic(path: &str, source: &str) -> Vec<String> {
    if Path::new(path)
        .file_name()
        .is_none_or(|name| name != "mod.rs")
    {
        return Vec::new();
    }
    let code = code_of(source);
    let (mut in_import, mut in_attribute) = (false, false);
    let mut logic = Vec::new();
    for (place, line) in code.lines().enumerate() {
        let line = line.trim();
        let item = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => {
                rest.split_once(')').map_or(line, |(_, item)| item).trim()
            }
            Some(rest) => rest.trim(),
            None => line,
        };
        if in_import {
            in_import = !line.ends_with(';');
        } else if in_attribute {
            in_attribute = !line.ends_with(']');
        } else if item.starts_with("use ") {
            in_import = !line.ends_with(';');
        } else if line.starts_with("#[") || line.starts_with("#![") {
            in_attribute = !line.ends_with(']');
        } else {
            let names_module = item.starts_with("mod ") && line.ends_with(';');
            if !line.is_empty() && !names_module {
                logic.push(format!("{path}:{}: logic in a mod.rs", place + 1));
            }
        }
    }
    logic
}

fn may_be_async(path: &str) -> bool {
    ASYNC_MODULES.contains(&module_of(path))
}

/// The files of `folder` that `main` names in no `mod` line.
fn forgotten(files: &[PathBuf], main: &str) -> Vec<String> {
    let code = code_of(main);
    let named: Vec<&str> = code
        .lines()
        .filter_map(|line| line.trim().strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let stem = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let stems = files.iter().map(|path| stem(path));
    stems
        .filter(|stem| stem != "main" && !named.contains(&stem.as_str()))
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder with its text, by its path below it.
fn rust_files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path
                    .strip_prefix(folder)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn sources_keep_the_rules_of_the_house() {
    let files = rust_files(&root().join("src"));
    assert!(files.len() > 10, "no sources found");
    let broken: Vec<String> = files
        .iter()
        .flat_map(|(path, source)| problems(path, source))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The size of the largest circle of each module that has one.
fn largest_circles(imports: &Imports) -> BTreeMap<String, usize> {
    let mut largest = BTreeMap::new();
    for circle in circles(imports) {
        let first = circle.first().expect("a circle has members");
        let largest = largest.entry(module_of(first).to_owned()).or_default();
        *largest = circle.len().max(*largest);
    }
    largest
}

/// What differs between circles and the numbers that are kept of them.
fn circles_besides(imports: &Imports, kept: &[(&str, usize)]) -> Vec<String> {
    let found = largest_circles(imports);
    let kept: BTreeMap<&str, usize> = kept.iter().copied().collect();
    let modules = found.keys().map(String::as_str).chain(kept.keys().copied());
    let modules: std::collections::BTreeSet<&str> = modules.collect();
    let mut problems = Vec::new();
    for module in modules {
        let now = found.get(module).copied().unwrap_or_default();
        let before = kept.get(module).copied().unwrap_or_default();
        if now > before {
            let all = circles(imports);
            let is_own = |circle: &&std::collections::BTreeSet<String>| {
                circle.iter().any(|file| module_of(file) == module)
            };
            let circle = all.iter().find(is_own);
            problems.push(format!(
                "{module}: {now} import each other, {before} are kept: {circle:?}"
            ));
        } else if now < before {
            problems.push(format!(
                "{module}: {now} import each other now, so write {now} for {before}"
            ));
        }
    }
    problems
}

/// Whether this is a folder inside a module: neither a file nor a module itself.
fn is_folder(name: &str) -> bool {
    name.contains('/') && Path::new(name).extension().is_none()
}

#[test]
fn the_circles_of_imports_within_modules_only_become_smaller() {
    let imports = imports(&rust_files(&root().join("src")));
    let problems = circles_besides(&imports, CIRCLES);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let folders = circles(&of_folders(&imports)).into_iter().flatten();
    let mut folders: Vec<String> = folders.filter(|it| is_folder(it)).collect();
    folders.sort_unstable();
    assert_eq!(folders, FOLDERS_IN_CIRCLES, "folders in circles");
}

#[test]
fn every_module_of_the_library_has_a_layer() {
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let code = code_of(&library);
    let modules: Vec<&str> = code
        .lines()
        .filter_map(|line| {
            line.trim_start_matches("pub ")
                .strip_prefix("mod ")?
                .strip_suffix(';')
        })
        .collect();
    assert!(modules.len() > 10, "{modules:?}");
    let without: Vec<_> = modules
        .iter()
        .filter(|module| layer(module).is_none())
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn the_binary_only_parses_runs_and_exits() {
    let main = fs::read_to_string(root().join("src/main.rs")).unwrap();
    let lines = main.lines().count();
    assert!(lines < MAX_MAIN_LINES, "src/main.rs has {lines} lines");
}

#[test]
fn no_test_file_is_forgotten() {
    let folder = root().join("tests/it");
    let entries = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = entries
        .filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "rs"))
        .collect();
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    let forgotten = forgotten(&files, &main);
    assert!(forgotten.is_empty(), "main.rs does not name {forgotten:?}");
}

mod parser {
    use super::*;

    #[test]
    fn an_import_from_above_or_beside_is_found() {
        let source = "use crate::tosca::Type;\nfn f() { crate::yaml::g() }\nuse crate::git;\n";
        let expected = ["tosca/a.rs:3: tosca → git"];
        assert_eq!(problems("tosca/a.rs", source), expected);
        let expected = ["yaml/a.rs:1: yaml → tosca", "yaml/a.rs:3: yaml → git"];
        assert_eq!(problems("yaml/a.rs", source), expected);
        assert!(problems("cli/a.rs", source).is_empty());
        let expected = ["cli/mod.rs:1: cli → exec"];
        assert_eq!(problems("cli/mod.rs", "use crate::exec::X;"), expected);
    }

    #[test]
    fn an_unknown_module_is_found() {
        assert_eq!(
            problems("cli/a.rs", "use crate::nowhere::X;"),
            ["cli/a.rs:1: cli → nowhere"]
        );
        assert_eq!(problems("odd/a.rs", ""), ["odd/a.rs: `odd` has no layer"]);
    }

    #[test]
    fn a_mod_file_holds_modules_and_imports_only() {
        let source = "//! Docs.\n#![expect(\n    lint,\n)]\n\nmod a;\n/// More.\npub(crate) mod b;\n\n\
            pub use a::A;\npub(in super::x) use b::{\n    B, C,\n};\n\n#[cfg(test)]\nmod tests;\n";
        assert!(problems("ui/mod.rs", source).is_empty());
        let source = "mod a;\nfn f() {}\nmod b {\n}\npub const C: u8 = 1;\n";
        let at = |line: usize| format!("ui/mod.rs:{line}: logic in a mod.rs");
        assert_eq!(problems("ui/mod.rs", source), [2, 3, 4, 5].map(at));
        assert!(problems("ui/a.rs", source).is_empty());
    }

    #[test]
    fn a_long_function_is_found_and_tests_do_not_count() {
        let lines = |count: usize| "        let x = 1;\n".repeat(count);
        let method = |count: usize| {
            let body = lines(count);
            format!(
                "impl X {{\n    pub(in crate::ui) const fn f(\n        &self,\n    ) -> u8 {{\n{body}    }}\n}}\n"
            )
        };
        assert!(problems("ui/a.rs", &method(56)).is_empty());
        let expected = ["ui/a.rs:2: 61 lines in a function, 60 are allowed"];
        assert_eq!(problems("ui/a.rs", &method(57)), expected);
        assert!(problems("ui/tests.rs", &method(57)).is_empty());
        let test = format!(
            "#[test]\n#[expect(\n    a,\n)]\nfn f() {{\n{}}}\n",
            lines(70)
        );
        assert!(problems("ui/a.rs", &test).is_empty());
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", method(57));
        assert!(problems("ui/a.rs", &tests).is_empty());
        let others = format!(
            "trait T {{\n    fn g(&self);\n    fn h() {{}}\n    const F: fn(u8) = g;\n{}}}\n",
            lines(70)
        );
        assert!(problems("ui/a.rs", &others).is_empty());
    }

    #[test]
    fn comments_and_strings_import_nothing() {
        let source = r##"
            //! See [`crate::cli`].
            /* crate::cli /* and */ crate::ui */
            const A: &str = "crate::cli \" crate::ui";
            const B: &str = r#"crate::cli " crate::ui"#;
            const C: char = '"'; // crate::cli
            const D: [char; 2] = ['\'', '\u{22}'];
            fn f<'a>(x: &'a str) {}
        "##;
        assert_eq!(problems("name/a.rs", source), Vec::<String>::new());
        let after = format!("{source}\nuse crate::cli::X;");
        assert_eq!(problems("name/a.rs", &after), ["name/a.rs:10: name → cli"]);
    }

    #[test]
    fn groups_and_globs_are_found() {
        let source = "use crate::{name::A, value::B};\nuse crate::name::*;\n";
        let expected = ["ui/a.rs:1: a group of imports", "ui/a.rs:2: a glob import"];
        assert_eq!(problems("ui/a.rs", source), expected);
        let tests = "#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
        assert!(problems("ui/a.rs", tests).is_empty());
    }

    #[test]
    fn the_async_runtime_stays_where_it_belongs() {
        let source = "use tokio::sync::mpsc;\n";
        for path in ["host/a.rs", "exec/local.rs", "web/mod.rs"] {
            assert!(problems(path, source).is_empty(), "{path}");
        }
        assert_eq!(
            problems("ops/deploy.rs", source),
            ["ops/deploy.rs:1: ops knows tokio"]
        );
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let code = "fn f() {}\n".repeat(MAX_LINES);
        let tests = format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}\n");
        assert!(problems("ui/a.rs", &tests).is_empty());
        let long = format!("{code}fn g() {{}}\n");
        let expected = ["ui/a.rs: 601 lines, 600 are allowed"];
        assert_eq!(problems("ui/a.rs", &long), expected);
    }

    fn files(sources: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(path, source): &(&str, &str)| ((*path).to_owned(), (*source).to_owned());
        sources.iter().map(owned).collect()
    }

    #[test]
    fn imports_lead_to_the_file_of_the_definition() {
        let sources = files(&[
            (
                "a/mod.rs",
                "mod x;\nmod y;\nmod z;\npub use x::X;\npub use z::{Z as Other, self};",
            ),
            ("a/x.rs", "use super::Other;\npub struct X;"),
            (
                "a/y.rs",
                "use crate::a::{X, z};\nfn f() -> impl Fn() + use<> { z::g(); super::h() }",
            ),
            (
                "a/z.rs",
                "pub struct Z;\n#[cfg(test)]\nmod tests { use super::super::X; }",
            ),
            ("b.rs", "use crate::a;\nfn f(x: a::X) {}"),
        ]);
        let imports = imports(&sources);
        let of = |file: &str| imports[file].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(of("a/x.rs"), ["a/z.rs"]);
        assert_eq!(of("a/y.rs"), ["a/mod.rs", "a/x.rs", "a/z.rs"]);
        assert_eq!(of("a/z.rs"), [""; 0]);
        assert_eq!(of("a/mod.rs"), [""; 0]);
        assert_eq!(of("b.rs"), ["a/mod.rs", "a/x.rs"]);
    }

    #[test]
    fn a_circle_that_grows_or_shrinks_is_reported() {
        let sources = files(&[
            ("a/mod.rs", "mod x;\nmod y;\nmod z;"),
            ("a/x.rs", "use super::y::Y;\npub struct X;"),
            ("a/y.rs", "use super::z::Z;\npub struct Y;"),
            ("a/z.rs", "use super::x::X;\npub struct Z;"),
            ("a/alone.rs", "use super::x::X;"),
        ]);
        let imports = imports(&sources);
        assert!(circles_besides(&imports, &[("a", 3)]).is_empty());
        assert_eq!(
            circles_besides(&imports, &[("a", 4), ("b", 2)]),
            [
                "a: 3 import each other now, so write 3 for 4",
                "b: 0 import each other now, so write 0 for 2"
            ]
        );
        assert_eq!(circles_besides(&imports, &[]).len(), 1);
    }

    #[test]
    fn a_folder_in_a_circle_is_found() {
        let sources = files(&[
            ("a/mod.rs", "mod x;\nmod f;"),
            ("a/x.rs", "use super::f::y::Y;\npub struct X;"),
            ("a/f/mod.rs", "pub mod y;\nmod z;"),
            ("a/f/y.rs", "pub struct Y;"),
            ("a/f/z.rs", "use crate::a::x::X;"),
        ]);
        let folders = of_folders(&imports(&sources));
        let found = circles(&folders);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a/f") && is_folder("a/f") && !is_folder("a/x.rs"));
        assert!(circles(&imports(&sources)).is_empty());
    }

    #[test]
    fn a_test_file_that_main_does_not_name_is_found() {
        let files = ["it/main.rs", "it/a.rs", "it/b.rs", "it/c"].map(PathBuf::from);
        assert_eq!(forgotten(&files, "mod a;\n// mod b;\n mod c;\n"), ["b"]);
    }
}
