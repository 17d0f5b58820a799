//! Finds the programs that a command line of the shell names, as far as they are known before it runs.

/// Words that the shell itself understands, so that no file is needed.
const BUILT_IN: [&str; 66] = [
    "!", ".", ":", "[", "[[", "]]", "alias", "bg", "break", "builtin", "case", "cd", "command",
    "continue", "declare", "do", "done", "echo", "elif", "else", "esac", "eval", "exec", "exit",
    "export", "false", "fc", "fg", "fi", "for", "function", "getopts", "hash", "if", "in", "jobs",
    "kill", "let", "local", "printf", "pwd", "read", "readonly", "return", "select", "set",
    "shift", "shopt", "source", "test", "then", "time", "times", "trap", "true", "type", "typeset",
    "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}",
];

/// Words after which another command begins.
const BEFORE_COMMAND: [&str; 10] = [
    "!", "do", "elif", "else", "exec", "if", "then", "until", "while", "{",
];

/// The state of the scan of a command line.
struct Scanner<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    found: Vec<String>,
    /// Whether the next word names a program.
    at_command: bool,
}

/// Returns the programs that a command line names. Words with expressions or variables are left out, and the scan
/// ends at syntax that it does not know, such as functions and here-documents.
pub(super) fn programs_of(command: &str) -> Vec<String> {
    let mut scanner = Scanner {
        rest: command.chars().peekable(),
        found: Vec::new(),
        at_command: true,
    };
    while scanner.step().is_some() {}
    scanner.found
}

impl Scanner<'_> {
    /// Reads the next word or separator. `None` at the end.
    fn step(&mut self) -> Option<()> {
        let next = *self.rest.peek()?;
        match next {
            ' ' | '\t' | ')' => {
                self.rest.next();
            }
            '\n' | ';' | '|' | '&' | '(' => {
                self.rest.next();
                self.at_command = true;
            }
            '#' => while self.rest.next().is_some_and(|c| c != '\n') {},
            '<' | '>' => self.redirection()?,
            _ => self.word()?,
        }
        Some(())
    }

    /// Skips a redirection with its file. The scan ends at a here-document.
    fn redirection(&mut self) -> Option<()> {
        let first = self.rest.next()?;
        if first == '<' && self.rest.peek() == Some(&'<') {
            return None;
        }
        while self
            .rest
            .next_if(|c| matches!(c, '>' | '&' | '|'))
            .is_some()
        {}
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        self.read_word().map(|_| ())
    }

    fn word(&mut self) -> Option<()> {
        let (word, is_static) = self.read_word()?;
        if !self.at_command {
            return Some(());
        }
        if self.rest.peek() == Some(&'(') || word == "function" || word == "case" {
            return None;
        }
        // A number before a redirection belongs to it.
        let is_descriptor = word.bytes().all(|byte| byte.is_ascii_digit());
        if is_assignment(&word) || (is_descriptor && matches!(self.rest.peek(), Some('<' | '>'))) {
            return Some(());
        }
        self.at_command = BEFORE_COMMAND.contains(&word.as_str());
        let is_known = self.found.contains(&word) || BUILT_IN.contains(&word.as_str());
        if is_static && !is_known {
            self.found.push(word);
        }
        Some(())
    }

    /// Reads a word up to a blank or separator. Returns whether nothing in it is replaced when it runs.
    ///
    /// `None` ends the scan: a quote is not closed, or the rest depends on an expression.
    fn read_word(&mut self) -> Option<(String, bool)> {
        let mut word = String::new();
        let mut is_static = true;
        while let Some(next) = self.rest.peek().copied() {
            if matches!(
                next,
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>'
            ) {
                break;
            }
            self.rest.next();
            match next {
                '\'' => loop {
                    match self.rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                },
                '"' => is_static &= self.double_quoted(&mut word)?,
                '\\' => word.extend(self.rest.next()),
                '$' | '`' if matches!(self.rest.peek(), Some('(')) || next == '`' => return None,
                '$' => is_static = false,
                '{' if self.starts_template() => is_static &= self.expression()?,
                '*' | '?' | '~' => {
                    is_static = false;
                    word.push(next);
                }
                _ => word.push(next),
            }
        }
        Some((word, is_static))
    }

    /// Whether the brace that was just read starts a tag of a template.
    fn starts_template(&mut self) -> bool {
        self.rest.peek().is_some_and(|c| matches!(c, '{' | '%'))
    }

    /// Skips `{{ … }}`, whose value is only known later. Other tags end the scan.
    fn expression(&mut self) -> Option<bool> {
        if self.rest.next()? != '{' {
            return None;
        }
        let mut last = ' ';
        loop {
            let next = self.rest.next()?;
            if (last, next) == ('}', '}') {
                return Some(false);
            }
            last = next;
        }
    }

    fn double_quoted(&mut self, word: &mut String) -> Option<bool> {
        let mut is_static = true;
        loop {
            match self.rest.next()? {
                '"' => return Some(is_static),
                '\\' => word.push(self.rest.next()?),
                '`' => return None,
                '$' if self.rest.peek() == Some(&'(') => return None,
                '$' => is_static = false,
                '{' if self.starts_template() => is_static &= self.expression()?,
                c => word.push(c),
            }
        }
    }
}

/// Whether a word sets a variable for the command after it.
fn is_assignment(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(is_part) && !name.as_bytes()[0].is_ascii_digit()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_of_a_command_line_are_found() {
        let table = [
            "echo hi | tee hello.txt",
            "terraform init",
            "FOO=1 make -j2 && ./run.sh || exit 1",
            "if test -f x; then kubectl apply -f x; fi",
            "cd /srv; tar -xf a.tar >log 2>&1",
            "curl 'http://x/?a=b&c' # comment; rsync",
            "exec nginx",
            "$TOOL run; ls",
            "'my tool' x",
            "(sleep 1; uptime) &",
            "2>/dev/null rm x",
            "echo {{ 'a' | quote }} | tee {{ SELF.path }}",
            "{{ SELF.tool }} run && ls",
        ]
        .map(|line| format!("{line} => {}", programs_of(line).join(", ")));
        insta::assert_snapshot!(table.join("\n"), @"
        echo hi | tee hello.txt => tee
        terraform init => terraform
        FOO=1 make -j2 && ./run.sh || exit 1 => make, ./run.sh
        if test -f x; then kubectl apply -f x; fi => kubectl
        cd /srv; tar -xf a.tar >log 2>&1 => tar
        curl 'http://x/?a=b&c' # comment; rsync => curl
        exec nginx => nginx
        $TOOL run; ls => ls
        'my tool' x => my tool
        (sleep 1; uptime) & => sleep, uptime
        2>/dev/null rm x => rm
        echo {{ 'a' | quote }} | tee {{ SELF.path }} => tee
        {{ SELF.tool }} run && ls => ls
        ");
    }

    #[test]
    fn the_scan_ends_at_text_that_is_known_only_when_it_runs() {
        for line in [
            "{{ SELF.tool; ls",
            "{% if x %}ls{% endif %}",
            "$(which ls); ls",
            "`ls`; ls",
            "cat() { ls; }; ls",
            "'unclosed; ls",
            "",
            "case x in a) ls;; esac",
        ] {
            assert_eq!(programs_of(line), [""; 0], "{line}");
        }
        assert_eq!(programs_of("cat <<END\nls\nEND"), ["cat"]);
    }
}
