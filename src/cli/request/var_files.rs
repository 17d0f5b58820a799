//! Reads the files of `--var-file`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::cli::output::Context;
use crate::ops::{Failure, FailureKind, VarFile};
use crate::system::{env, fs};

/// The name of the standard input, as an option and in messages.
const STANDARD_INPUT: (&str, &str) = ("-", "<stdin>");

/// Reads the files that the user named, in order. `-` is the standard input.
pub(in crate::cli) fn var_files(paths: &[PathBuf], cx: &Context) -> Result<Vec<VarFile>, Failure> {
    let is_input = |path: &&PathBuf| path.as_os_str() == STANDARD_INPUT.0;
    if paths.iter().filter(is_input).count() > 1 {
        return Err(Failure::usage("`--var-file -` is given twice"));
    }
    let max_bytes = cx.global.max_text as u64;
    let read = |path: &PathBuf| {
        if is_input(&path) {
            read_standard_input(max_bytes)
        } else {
            read_file(path, max_bytes)
        }
    };
    paths.iter().map(read).collect()
}

fn read_file(path: &Path, max_bytes: u64) -> Result<VarFile, Failure> {
    let folder = env::current_dir().unwrap_or_default();
    let path = fs::absolute(path, &folder);
    let bytes = fs::read_within(&path, max_bytes)
        .map_err(|error| Failure::new(FailureKind::Refused, &error, error.hint()))?;
    text_of(path, bytes)
}

fn read_standard_input(max_bytes: u64) -> Result<VarFile, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(max_bytes + 1)
        .read_to_end(&mut bytes);
    let problem = match read {
        Err(error) => format!("the standard input cannot be read: {error}"),
        Ok(read) if read as u64 > max_bytes => {
            "the standard input is too long for `--var-file -`; `--max-text` sets the limit"
                .to_owned()
        }
        Ok(_) => return text_of(PathBuf::from(STANDARD_INPUT.1), bytes),
    };
    Err(Failure::new(FailureKind::Refused, problem, None))
}

fn text_of(path: PathBuf, bytes: Vec<u8>) -> Result<VarFile, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(VarFile {
            path,
            text: text.into(),
        }),
        Err(_) => {
            let message = format!("`{}` is not text in UTF-8", path.display());
            Err(Failure::new(FailureKind::Refused, message, None))
        }
    }
}
