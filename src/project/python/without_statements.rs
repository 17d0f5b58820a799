//! Recognizes Python files that declare nothing, so that no interpreter has to run.

/// The packages whose imports have no effect of their own.
const HARMLESS_PACKAGES: [&str; 2] = ["tosca", "unfurl"];

/// Whether a file has only comments, texts and imports of the packages `tosca` and `unfurl`, as the file of every new
/// project. Anything that is not understood counts as a statement.
pub(super) fn has_no_statements(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    // Python ends a line at a carriage return too, also within a comment.
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{c}'], "\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let line = rest.split('\n').next().unwrap_or_default();
        let after = if is_blank(line) {
            Some(&rest[line.len()..])
        } else {
            after_text(rest).or_else(|| after_import(rest))
        };
        let Some(after) = after else {
            return false;
        };
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    true
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    line.is_empty() || line.starts_with('#')
}

/// Returns the rest behind a literal text at the start, such as a documentation text; `None` if there is another
/// statement on its lines.
fn after_text(code: &str) -> Option<&str> {
    let body = code.strip_prefix(['r', 'R', 'u', 'U']).unwrap_or(code);
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| body.starts_with(quote))?;
    let mut rest = &body[quote.len()..];
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return end_of_statement(after);
        }
        let mut characters = rest.chars();
        match characters.next()? {
            '\\' => drop(characters.next()?),
            '\n' if quote.len() == 1 => return None,
            _ => {}
        }
        rest = characters.as_str();
    }
}

/// Returns the rest behind an import of a harmless package at the start.
fn after_import(code: &str) -> Option<&str> {
    let line = code.split('\n').next()?;
    let statement = line.split('#').next()?;
    let words: Vec<&str> = statement.split_ascii_whitespace().collect();
    match *words.first()? {
        "import" if line.starts_with("import ") => {
            let names = statement["import".len()..].split(',');
            names
                .map(str::trim)
                .all(is_import_of_package)
                .then(|| &code[line.len()..])
        }
        "from" if line.starts_with("from ") && words.get(2) == Some(&"import") => {
            if !is_harmless_module(words[1]) {
                return None;
            }
            let names = &code[code.find(" import")? + " import".len()..];
            after_names(names)
        }
        _ => None,
    }
}

fn is_import_of_package(name: &str) -> bool {
    match *name.split_ascii_whitespace().collect::<Vec<_>>() {
        [module] => is_harmless_module(module),
        [module, "as", alias] => is_harmless_module(module) && is_name(alias),
        _ => false,
    }
}

fn is_harmless_module(module: &str) -> bool {
    let package = module.split('.').next().unwrap_or_default();
    HARMLESS_PACKAGES.contains(&package) && module.split('.').all(is_name)
}

fn is_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_first) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns the rest behind the names of a `from` import, which may stand in parentheses over several lines.
fn after_names(code: &str) -> Option<&str> {
    let start = code.trim_start_matches([' ', '\t']);
    let (names, rest) = match start.strip_prefix('(') {
        Some(inner) => {
            let end = inner.find([')', '(', ';', '\\', '\'', '"'])?;
            let rest = inner[end..].strip_prefix(')')?;
            (&inner[..end], end_of_statement(rest)?)
        }
        None => {
            let line = start.split('\n').next()?;
            (line, &start[line.len()..])
        }
    };
    let lines = names
        .split('\n')
        .map(|line| line.split('#').next().unwrap_or_default());
    let names: Vec<&str> = lines
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .collect();
    let is_valid = |name: &str| match *name.split_ascii_whitespace().collect::<Vec<_>>() {
        ["*"] => true,
        [name] => is_name(name),
        [name, "as", alias] => is_name(name) && is_name(alias),
        _ => false,
    };
    let mut named = names.into_iter().filter(|name| !name.is_empty()).peekable();
    (named.peek().is_some() && named.all(is_valid)).then_some(rest)
}

/// Returns the rest of the code if nothing but a comment is on this line.
fn end_of_statement(code: &str) -> Option<&str> {
    let line = code.split('\n').next()?;
    is_blank(line).then(|| &code[line.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_imports_of_the_language_declare_nothing() {
        for text in [
            "",
            "\u{feff}# a\n\n   # b\n",
            "import tosca",
            "import tosca, unfurl as u  # both\r\nimport unfurl.configurators.shell\r\n",
            "from tosca import *",
            "from unfurl.tosca_plugins import expr as e, k8s",
            "from tosca import (  # several\n    Namespace,\n    nodes as n,\n)  # end\n",
            "'''What\n\\''' \" \nx = 1\n'''\n",
            "\"one\" # a\nr'two\\n'\n",
        ] {
            assert!(has_no_statements(text), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_a_statement() {
        for text in [
            "x = 1",
            "import os",
            "import tosca, os",
            "import tosca; x()",
            "import tosca\\\n; x()",
            "import toscaparser",
            "import tosca as os.x",
            "from os import tosca",
            "from . import tosca",
            "from tosca_repositories import std",
            "from tosca import a; x()",
            "from tosca import (a); x()",
            "from tosca import (a\n)\nx()",
            "from tosca import a as b.c",
            "from tosca import",
            "from tosca import (\"\"\")\"\"\")",
            "# a\rx()",
            "# a\u{c}x()",
            "'a' + x()",
            "'a'; x()",
            "'a'\\\n+ x()",
            "'''a'''.format(x())",
            "f'{x()}'",
            "b'a'",
            "'''open",
            "'a\n'",
            "@x\n",
            "  import tosca",
            "\tx()",
            "if True: import tosca",
            "import\ttosca",
        ] {
            assert!(!has_no_statements(text), "{text:?}");
        }
    }
}
