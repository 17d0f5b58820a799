//! The imports between the files of a service template: which prefixes lead to which file.
//!
//! Files that import each other with prefixes give a type one name per path through the imports, and the
//! number of paths grows exponentially. So names are never listed: a prefix is followed when somebody asks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::value::{FoldMap, FoldSet};

/// The maximum number of prefixes in a name that this program makes up for a type.
const MAX_PREFIXES: usize = 8;

/// The imported files of each file, with the prefixes of the imports.
#[derive(Debug, Default)]
pub(super) struct ImportGraph {
    /// The file of the service template.
    root: u32,
    imports: Vec<Vec<(u32, Option<Arc<str>>)>>,
    /// The shortest prefix of each file, with its final dot. `None` for a file without one.
    prefixes: Vec<Option<Arc<str>>>,
    has_prefixes: bool,
    /// The files that the service template's file imports without a prefix, directly or not.
    unprefixed: FoldSet<u32>,
    /// A cache: the files that a prefix leads to.
    reached: Mutex<FoldMap<Arc<str>, Arc<FoldSet<u32>>>>,
}

impl ImportGraph {
    pub(super) fn new(root: u32, imports: Vec<Vec<(u32, Option<Arc<str>>)>>) -> Self {
        let mut graph = Self {
            root,
            prefixes: vec![None; imports.len()],
            imports,
            ..Self::default()
        };
        graph.walk();
        graph.has_prefixes = graph.prefixes.iter().any(Option::is_some);
        graph
    }

    /// Walks the imports breadth first, the last import of a file first, and visits each file at most twice:
    /// without a prefix and with its shortest one.
    fn walk(&mut self) {
        let mut queue = VecDeque::from([(self.root, Arc::<str>::from(""), 0)]);
        while let Some((file, prefix, depth)) = queue.pop_front() {
            if prefix.is_empty() {
                if !self.unprefixed.insert(file) {
                    continue;
                }
            } else {
                let known = &mut self.prefixes[file as usize];
                if known.is_some() {
                    continue;
                }
                *known = Some(Arc::clone(&prefix));
            }
            for (imported, own) in self.imports[file as usize].iter().rev() {
                let next = match own {
                    None => (*imported, Arc::clone(&prefix), depth),
                    Some(_) if depth == MAX_PREFIXES => continue,
                    Some(own) => (*imported, format!("{prefix}{own}.").into(), depth + 1),
                };
                queue.push_back(next);
            }
        }
    }

    /// Whether any import has a prefix.
    pub(super) fn has_prefixes(&self) -> bool {
        self.has_prefixes
    }

    /// Returns the shortest prefix that leads from the service template's file to another one.
    pub(super) fn shortest_prefix(&self, file: u32) -> Option<&Arc<str>> {
        self.prefixes.get(file as usize)?.as_ref()
    }

    /// Whether the service template's file imports the file without a prefix, directly or not.
    pub(super) fn is_unprefixed(&self, file: u32) -> bool {
        self.unprefixed.contains(&file)
    }

    /// Whether a prefix, with its final separator, leads from the service template's file to another one.
    pub(super) fn leads_to(&self, prefix: &str, file: u32) -> bool {
        let mut cache = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reached) = cache.get(prefix) {
            return reached.contains(&file);
        }
        let reached = Arc::new(self.follow(prefix));
        let found = reached.contains(&file);
        cache.insert(prefix.into(), reached);
        found
    }

    fn follow(&self, prefix: &str) -> FoldSet<u32> {
        let mut found = FoldSet::default();
        let mut seen = FoldSet::default();
        let mut stack = vec![(self.root, prefix)];
        while let Some((file, rest)) = stack.pop() {
            if !seen.insert((file, rest.len())) {
                continue;
            }
            if rest.is_empty() {
                found.insert(file);
            }
            for (imported, own) in &self.imports[file as usize] {
                let rest = match own {
                    None => Some(rest),
                    Some(own) => without_prefix(rest, own),
                };
                stack.extend(rest.map(|rest| (*imported, rest)));
            }
        }
        found
    }
}

/// Returns the part of a name after the prefix of an import and a separator.
pub(super) fn without_prefix<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    name.strip_prefix(prefix)?.strip_prefix(['.', ':'])
}

/// The files and local names of a type and its ancestors, to recognize prefixed names of them.
#[derive(Debug, Clone)]
pub(super) struct PrefixedNames {
    pub(super) graph: Arc<ImportGraph>,
    /// The file and the local name of each ancestor that a file declares.
    pub(super) declared: Vec<(u32, Arc<str>)>,
}

impl PrefixedNames {
    /// Whether a name with prefixes stands for one of the types.
    pub(super) fn contain(&self, name: &str) -> bool {
        self.declared.iter().any(|(file, local)| {
            let prefix = name.strip_suffix(&**local);
            let prefix = prefix.filter(|prefix| prefix.ends_with(['.', ':']));
            prefix.is_some_and(|prefix| self.graph.leads_to(prefix, *file))
        })
    }
}
