//! Finds circles of imports between the files of a module, and between its folders.
//!
//! A file imports another where it names something that the other defines, whatever the way on which
//! the name reaches it: re-exports are followed to the file of the definition, and count as no import
//! of the file that re-exports. Calls of methods are not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{code_of, tests_begin};

/// How many re-exports lead from a name to its definition at most.
const MAX_HOPS: usize = 16;

/// The imports between the files below `src`, by their paths.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// A path of names from the root of the crate.
type Names = Vec<String>;

/// A module: a file, with the names that lead elsewhere.
#[derive(Debug, Default)]
struct Module {
    file: String,
    /// Names that stand for something elsewhere, as paths from the root of the crate.
    uses: HashMap<String, Names>,
    /// Paths that the file names outside of re-exports.
    named: Vec<Names>,
}

/// One `use` declaration or path of a file, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    path: Vec<String>,
    /// The name that it has in the file; none for a path in the code.
    local: Option<String>,
    exported: bool,
}

/// The words and double colons of a text, other signs one by one.
fn words(code: &str) -> Vec<&str> {
    code.lines().flat_map(super::tokens).collect()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The code of a file without its tests.
fn without_tests(source: &str) -> String {
    let code = code_of(source);
    match tests_begin(source) {
        Some(begin) => code.lines().take(begin).collect::<Vec<_>>().join("\n"),
        None => code,
    }
}

/// All `use` declarations and paths of a file.
fn uses(code: &str) -> Vec<Use> {
    let tokens = words(code);
    let mut found = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let captures = tokens.get(place + 1) == Some(&"<");
        if tokens[place] == "use" && !captures && (place == 0 || tokens[place - 1] != "::") {
            let before = &tokens[..place];
            let exported = matches!(before.last(), Some(&"pub"))
                || before.last() == Some(&")") && is_restricted_pub(before);
            place = tree(&tokens, place + 1, &mut Vec::new(), exported, &mut found);
        } else if is_word(tokens[place]) && (place == 0 || tokens[place - 1] != "::") {
            let mut path = vec![tokens[place].to_owned()];
            while tokens.get(place + 1) == Some(&"::")
                && tokens.get(place + 2).is_some_and(|next| is_word(next))
            {
                path.push(tokens[place + 2].to_owned());
                place += 2;
            }
            if path.len() > 1 {
                let (local, exported) = (None, false);
                found.push(Use {
                    path,
                    local,
                    exported,
                });
            }
            place += 1;
        } else {
            place += 1;
        }
    }
    found
}

/// Whether tokens end in `pub(…)`.
fn is_restricted_pub(before: &[&str]) -> bool {
    let open = before.iter().rposition(|token| *token == "(");
    open.is_some_and(|open| open > 0 && before[open - 1] == "pub")
}

/// Reads one tree of a `use` declaration; gives the place behind it.
fn tree(
    tokens: &[&str],
    mut place: usize,
    prefix: &mut Vec<String>,
    exported: bool,
    found: &mut Vec<Use>,
) -> usize {
    let depth = prefix.len();
    while let Some(token) = tokens.get(place) {
        match *token {
            "::" => place += 1,
            "{" => {
                place += 1;
                let within = prefix.len();
                while tokens.get(place).is_some_and(|next| *next != "}") {
                    place = tree(tokens, place, prefix, exported, found);
                    prefix.truncate(within);
                    // A comma, or what no declaration has here.
                    if tokens.get(place).is_some_and(|next| *next != "}") {
                        place += 1;
                    }
                }
                prefix.truncate(depth);
                return place + 1;
            }
            "*" | "," | ";" | "}" | "as" => break,
            word => {
                prefix.push(word.to_owned());
                place += 1;
            }
        }
    }
    let mut local = prefix.last().cloned();
    if tokens.get(place) == Some(&"as") {
        local = tokens.get(place + 1).map(|name| (*name).to_owned());
        place += 2;
    }
    if tokens.get(place) == Some(&"*") {
        place += 1;
    }
    let mut path = prefix.clone();
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
        if local.as_deref() == Some("self") {
            local = path.last().cloned();
        }
    }
    found.push(Use {
        path,
        local,
        exported,
    });
    prefix.truncate(depth);
    place
}

/// The module that a file is, as names from the root of the crate.
fn names_of(path: &str) -> Names {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

/// The path that a written one means from the root of the crate, if it stays in the crate.
fn absolute(
    written: &[String],
    own: &[String],
    modules: &HashMap<Names, Module>,
    uses: &HashMap<String, Names>,
) -> Option<Names> {
    let mut own = own.to_vec();
    let mut rest = written;
    match rest.first()?.as_str() {
        "crate" => return Some(rest[1..].to_vec()),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|first| first == "super") {
                own.pop()?;
                rest = &rest[1..];
            }
        }
        name => {
            if let Some(meant) = uses.get(name) {
                return Some(meant.iter().chain(&rest[1..]).cloned().collect());
            }
            let mut child = own.clone();
            child.push(name.to_owned());
            modules.contains_key(&child).then_some(())?;
        }
    }
    own.extend_from_slice(rest);
    Some(own)
}

/// The file that defines what a path means.
fn definition(path: &[String], modules: &HashMap<Names, Module>, hops: usize) -> Option<String> {
    let mut at: Names = Vec::new();
    for (place, name) in path.iter().enumerate() {
        let mut child = at.clone();
        child.push(name.clone());
        if modules.contains_key(&child) {
            at = child;
            continue;
        }
        let module = modules.get(&at)?;
        if let Some(meant) = module.uses.get(name)
            && hops > 0
        {
            let whole: Names = meant.iter().chain(&path[place + 1..]).cloned().collect();
            return definition(&whole, modules, hops - 1).or_else(|| Some(module.file.clone()));
        }
        break;
    }
    modules.get(&at).map(|module| module.file.clone())
}

/// The imports between files, those of tests apart.
pub(super) fn imports(files: &BTreeMap<String, String>) -> Imports {
    let is_code = |path: &str| {
        !path.ends_with("tests.rs")
            && !path.contains("/tests/")
            && !matches!(path, "main.rs" | "lib.rs")
    };
    let files: Vec<(&String, Vec<Use>)> = files
        .iter()
        .filter(|(path, _)| is_code(path))
        .map(|(path, source)| (path, uses(&without_tests(source))))
        .collect();
    let mut modules: HashMap<Names, Module> = HashMap::new();
    for (path, _) in &files {
        let file = (*path).clone();
        modules.insert(
            names_of(path),
            Module {
                file,
                ..Module::default()
            },
        );
    }
    for (path, written) in &files {
        let own = names_of(path);
        let (mut uses, mut named) = (HashMap::new(), Vec::new());
        for one in written.iter().filter(|one| one.local.is_some()) {
            let Some(meant) = absolute(&one.path, &own, &modules, &HashMap::new()) else {
                continue;
            };
            if !one.exported {
                named.push(meant.clone());
            }
            if let Some(local) = &one.local {
                uses.insert(local.clone(), meant);
            }
        }
        for one in written.iter().filter(|one| one.local.is_none()) {
            named.extend(absolute(&one.path, &own, &modules, &uses));
        }
        let module = modules.get_mut(&own).expect("it was inserted above");
        (module.uses, module.named) = (uses, named);
    }
    let mut imports = Imports::new();
    for module in modules.values() {
        let others = module.named.iter();
        let others = others.filter_map(|path| definition(path, &modules, MAX_HOPS));
        let others: BTreeSet<String> = others.filter(|other| *other != module.file).collect();
        imports.insert(module.file.clone(), others);
    }
    imports
}

/// The circles among what imports each other, each with all that it holds, the largest first.
pub(super) fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let mut search = Search {
        imports,
        order: HashMap::new(),
        low: HashMap::new(),
        stack: Vec::new(),
        found: Vec::new(),
    };
    for file in imports.keys() {
        if !search.order.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    let mut found = search.found;
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// Tarjan's search for what is strongly connected.
struct Search<'a> {
    imports: &'a Imports,
    order: HashMap<&'a str, usize>,
    low: HashMap<&'a str, usize>,
    stack: Vec<&'a str>,
    found: Vec<BTreeSet<String>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a str) {
        let number = self.order.len();
        self.order.insert(file, number);
        self.low.insert(file, number);
        self.stack.push(file);
        for other in self.imports.get(file).into_iter().flatten() {
            let low = if self.order.contains_key(other.as_str()) {
                let is_open = self.stack.contains(&other.as_str());
                is_open.then(|| self.order[other.as_str()])
            } else {
                self.visit(other);
                Some(self.low[other.as_str()])
            };
            if let Some(low) = low {
                let own = self.low[file].min(low);
                self.low.insert(file, own);
            }
        }
        if self.low[file] == number {
            let begin = self.stack.iter().position(|open| *open == file);
            let circle = self.stack.split_off(begin.expect("it was pushed above"));
            if circle.len() > 1 {
                self.found
                    .push(circle.into_iter().map(str::to_owned).collect());
            }
        }
    }
}

/// The imports between the folders of each module; a file directly in a module is its own folder.
pub(super) fn of_folders(imports: &Imports) -> Imports {
    let mut folders = Imports::new();
    for (file, others) in imports {
        let own = folder_of(file);
        let all = folders.entry(own.clone()).or_default();
        all.extend(
            others
                .iter()
                .map(|other| folder_of(other))
                .filter(|other| *other != own),
        );
    }
    folders
}

fn folder_of(file: &str) -> String {
    let mut parts = file.split('/');
    let (module, below) = (parts.next().unwrap_or_default(), parts.next());
    match below {
        Some("mod.rs") | None => module.to_owned(),
        Some(below) => format!("{module}/{below}"),
    }
}
