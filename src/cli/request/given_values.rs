//! Reads the values of `--var` and the files of `--var-file`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::cli::output::Context;
use crate::ops::{Failure, FailureKind, GivenVariable, VarFile};
use crate::system::{env, fs};

/// The name of the standard input, as an option and in messages.
const STANDARD_INPUT: (&str, &str) = ("-", "<stdin>");

/// The first character of the value of `--var` that names a file. Two of them stand for one.
const FILE_SIGN: char = '@';

/// The values that the options of a command give.
pub(in crate::cli) struct GivenValues {
    /// The `--var` options.
    pub(in crate::cli) variables: Vec<GivenVariable>,
    /// The files of `--var-file`, in order.
    pub(in crate::cli) files: Vec<VarFile>,
}

impl GivenValues {
    /// Takes the words of `--var`, in pairs of name and value, and the paths of `--var-file`. `-` is the standard
    /// input, in one of them at most.
    pub(in crate::cli) fn read(
        words: &[String],
        paths: &[PathBuf],
        cx: &Context,
    ) -> Result<Self, Failure> {
        let mut reader = ValueReader { input_of: None };
        let mut variables: Vec<GivenVariable> = Vec::new();
        for pair in words.chunks_exact(2) {
            let (name, word) = (&pair[0], &pair[1]);
            if variables.iter().any(|given| given.name == *name) {
                return Err(Failure::usage(format!("`--var {name}` is given twice")));
            }
            variables.push(reader.variable(name, word, cx.global.max_value as u64)?);
        }
        let max_bytes = cx.global.max_text as u64;
        let files = paths.iter().map(|path| reader.var_file(path, max_bytes));
        let files = files.collect::<Result<_, _>>()?;
        Ok(Self { variables, files })
    }
}

/// Reads values from files and from the standard input.
struct ValueReader {
    /// The option that took the standard input.
    input_of: Option<String>,
}

/// The limit of a text, and the option that sets it.
#[derive(Clone, Copy)]
struct TextLimit {
    bytes: u64,
    option: &'static str,
}

impl ValueReader {
    fn variable(
        &mut self,
        name: &str,
        word: &str,
        max_bytes: u64,
    ) -> Result<GivenVariable, Failure> {
        let limit = TextLimit {
            bytes: max_bytes,
            option: "--max-value",
        };
        let given = |text: Zeroizing<String>, is_literal| GivenVariable {
            name: name.to_owned(),
            text,
            is_literal,
        };
        let text = match word.strip_prefix(FILE_SIGN) {
            Some(literal) if literal.starts_with(FILE_SIGN) => {
                // Such a text is no YAML.
                return Ok(given(literal.to_owned().into(), true));
            }
            Some("") => {
                let message = format!("`--var {name}` names no file after `@`");
                let help = "write `@FILE`, `-` for the standard input, or `@@…` for a text that begins with `@`";
                return Err(Failure::usage_with(message, help));
            }
            Some(path) => read_file(Path::new(path), limit)?.1,
            None if word == STANDARD_INPUT.0 => {
                self.standard_input(&format!("--var {name}"), limit)?
            }
            None => return Ok(given(word.to_owned().into(), false)),
        };
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        Ok(given(line.to_owned().into(), true))
    }

    fn var_file(&mut self, path: &Path, max_bytes: u64) -> Result<VarFile, Failure> {
        let limit = TextLimit {
            bytes: max_bytes,
            option: "--max-text",
        };
        let (path, text) = if path.as_os_str() == STANDARD_INPUT.0 {
            let text = self.standard_input("--var-file", limit)?;
            (PathBuf::from(STANDARD_INPUT.1), text)
        } else {
            read_file(path, limit)?
        };
        Ok(VarFile {
            path,
            text: text.as_str().into(),
        })
    }

    fn standard_input(
        &mut self,
        option: &str,
        limit: TextLimit,
    ) -> Result<Zeroizing<String>, Failure> {
        if let Some(other) = &self.input_of {
            let message = if other == option {
                format!("`{option} -` is given twice")
            } else {
                format!("`{other}` and `{option}` both take the standard input")
            };
            return Err(Failure::usage_with(
                message,
                "give all but one of them by a file",
            ));
        }
        self.input_of = Some(option.to_owned());
        let mut bytes = Zeroizing::new(Vec::new());
        let read = std::io::stdin()
            .lock()
            .take(limit.bytes + 1)
            .read_to_end(&mut bytes);
        let problem = match read {
            Err(error) => format!("the standard input cannot be read: {error}"),
            Ok(read) if read as u64 > limit.bytes => format!(
                "the standard input is too long for `{option} -`; `{}` sets the limit",
                limit.option
            ),
            Ok(_) => return text_of(Path::new(STANDARD_INPUT.1), &bytes),
        };
        Err(Failure::new(FailureKind::Refused, problem, None))
    }
}

/// Reads a regular file. Returns its absolute path, too.
fn read_file(path: &Path, limit: TextLimit) -> Result<(PathBuf, Zeroizing<String>), Failure> {
    let folder = env::current_dir().unwrap_or_default();
    let path = fs::absolute(path, &folder);
    let bytes = fs::read_within(&path, limit.bytes)
        .map_err(|error| Failure::new(FailureKind::Refused, &error, error.hint()))?;
    let text = text_of(&path, &Zeroizing::new(bytes))?;
    Ok((path, text))
}

fn text_of(path: &Path, bytes: &[u8]) -> Result<Zeroizing<String>, Failure> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(_) => {
            let message = format!("`{}` is not text in UTF-8", path.display());
            Err(Failure::new(FailureKind::Refused, message, None))
        }
    }
}
