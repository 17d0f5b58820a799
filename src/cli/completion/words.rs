//! The words of an unfinished command line, and the answer in the form that a shell reads.

use super::scripts::Shell;

/// A candidate for the word that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) text: String,
    /// A line about the candidate; may be empty.
    pub(super) about: String,
}

/// Cuts a line into words as a shell does. Quotes may still be open. The last word is the one that is typed.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut has_word = false;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                has_word = true;
            }
            (None | Some('"'), '\\') => {
                word.extend(characters.next());
                has_word = true;
            }
            (None, c) if c.is_whitespace() => {
                if has_word {
                    words.push(std::mem::take(&mut word));
                }
                has_word = false;
            }
            (_, c) => {
                word.push(c);
                has_word = true;
            }
        }
    }
    words.push(word);
    words
}

/// Returns the words of the last command of a line: after `;`, `|` or `&&`, and without assignments before it.
pub(super) fn last_command(words: Vec<String>) -> Vec<String> {
    let count = words.len();
    let is_separator = |word: &String| matches!(word.as_str(), ";" | "|" | "||" | "&" | "&&");
    let start = words[..count - 1].iter().rposition(is_separator);
    let rest = words.into_iter().skip(start.map_or(0, |start| start + 1));
    let is_assignment = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    rest.skip_while(is_assignment).collect()
}

/// Writes the candidates for a shell, one in each line.
///
/// `word` is the word that is typed. bash replaces only its part after the last `:` or `=`, which is `part`.
pub(super) fn write(shell: Shell, candidates: &[Candidate], word: &str, part: &str) -> String {
    let mut text = String::new();
    for candidate in candidates.iter().filter(|it| !it.text.contains('\n')) {
        match shell {
            Shell::Bash => {
                let kept = word.strip_suffix(part).unwrap_or("");
                let rest = candidate.text.strip_prefix(kept);
                text.push_str(&escaped(rest.unwrap_or(&candidate.text)));
            }
            Shell::Zsh => {
                let value = candidate.text.replace('\\', "\\\\").replace(':', "\\:");
                text.push_str(&value);
            }
            Shell::Fish => text.push_str(&candidate.text),
        }
        if shell != Shell::Bash && !candidate.about.is_empty() {
            text.push('\t');
            text.push_str(&candidate.about);
        }
        text.push('\n');
    }
    text
}

/// Puts a backslash before characters that mean something to bash.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !(c.is_alphanumeric() || "_-./:=@,+%^~".contains(c)) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_as_the_shell_does() {
        for (line, words) in [
            ("unfurl", &["unfurl"][..]),
            ("unfurl ", &["unfurl", ""]),
            ("unfurl  explain we", &["unfurl", "explain", "we"]),
            ("unfurl -i 'a b' \"c", &["unfurl", "-i", "a b", "c"]),
            ("unfurl a\\ b --var x=", &["unfurl", "a b", "--var", "x="]),
            ("unfurl ''", &["unfurl", ""]),
            ("", &[""]),
        ] {
            assert_eq!(split(line), words, "{line}");
        }
    }

    #[test]
    fn only_the_last_command_of_a_line_counts() {
        let of = |line: &str| last_command(split(line)).join(" ");
        assert_eq!(of("cd x && unfurl pl"), "unfurl pl");
        assert_eq!(of("UNFURL_HOME= A=b unfurl pl"), "unfurl pl");
        assert_eq!(of("ls | unfurl "), "unfurl ");
    }

    #[test]
    fn bash_gets_the_part_that_it_replaces() {
        let candidate = |text: &str| Candidate {
            text: text.to_owned(),
            about: "about".to_owned(),
        };
        let all = [candidate("--instance=a b"), candidate("two\nlines")];
        assert_eq!(write(Shell::Bash, &all, "--instance=a", "a"), "a\\ b\n");
        assert_eq!(
            write(Shell::Fish, &all, "--instance=a", ""),
            "--instance=a b\tabout\n"
        );
        let all = [candidate("::a:b")];
        assert_eq!(write(Shell::Bash, &all, "::a:", ""), "b\n");
        assert_eq!(write(Shell::Zsh, &all, "::a:", ""), "\\:\\:a\\:b\tabout\n");
    }
}
