//! What can be asked of a machine.

use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::fact::Fact;
use super::{DEFAULT_KEPT_BYTES, Secret};
use crate::value::secret_lines;

/// The shell that runs a [`Program::Shell`] which names none.
pub const DEFAULT_SHELL: &str = "/bin/sh";

/// The variable that carries a secret text to its shell.
const TEXT_VARIABLE: &str = "_UNFURL_TEXT";
/// Runs the text in the variable, which what it starts does not see.
const FROM_VARIABLE: &str = "_t=$_UNFURL_TEXT; unset _UNFURL_TEXT; eval \"$_t\"";

/// One thing to do on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Runs a command.
    Run(Command),
    /// Takes a file or a folder of this machine there.
    Put(Put),
    /// Brings a file or a folder from there.
    Get(Get),
    /// Reads facts, and changes nothing (P2).
    Read(Vec<Fact>),
    /// Makes changes, one after the other, until one fails (P2).
    Change(Vec<Change>),
}

/// A file or folder that is taken to a machine. What is there is replaced file by file, each at
/// once: nobody sees half of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// What is taken there.
    pub source: Content,
    /// Where it goes; a relative path begins at the user's home. Where it ends with `/` or is a
    /// folder, a file goes into it under its own name.
    pub target: String,
    /// The permission bits of the files; those of the source, or of new files, if none.
    pub mode: Option<u32>,
    /// How long it may take.
    pub time_limit: Option<Duration>,
}

/// What is taken to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// A file, or a folder with all that is in it.
    Path(PathBuf),
    /// The bytes of a file.
    Bytes(Vec<u8>),
}

/// A file or folder that is brought from a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Get {
    /// What is brought; a relative path begins at the user's home.
    pub source: String,
    /// Where it goes. Where it is a folder, or ends with `/`, a file goes into it under its own
    /// name.
    pub target: PathBuf,
    /// How long it may take.
    pub time_limit: Option<Duration>,
}

/// A question that a command asks and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What the command's output ends with when it asks.
    pub prompt: String,
    /// What it is told, without the end of the line; none ends the command with
    /// [`super::Exit::Asked`].
    pub reply: Option<Secret>,
    /// What is asked for, where there is no reply or it was not taken.
    pub question: Question,
}

/// A command with all it needs: nothing is taken from whoever runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What to run.
    pub program: Program,
    /// The folder to run it in; on another machine a relative or empty path begins at the user's
    /// home.
    pub cwd: PathBuf,
    /// Its complete environment on this machine; elsewhere it is added to the one there.
    pub env: Vec<(String, String)>,
    /// Values in its environment and input that must not be shown. They are never serialized.
    #[serde(skip)]
    pub secrets: Vec<String>,
    /// What it reads; nothing if none.
    pub stdin: Option<Vec<u8>>,
    /// How long it may run.
    pub time_limit: Option<Duration>,
    /// Whether its output is shown while it runs.
    pub echo: bool,
    /// The most bytes kept of each of its outputs.
    pub kept_bytes: usize,
    /// What becomes of processes it leaves behind.
    pub background: Background,
    /// Whether it gets a terminal, which joins its two outputs.
    #[serde(default)]
    pub pty: bool,
    /// What it may ask. A question that comes again after its answer ends the command.
    #[serde(skip)]
    pub answers: Vec<Answer>,
}

/// What becomes of processes that a command leaves behind when it ends by itself. One that ran too
/// long or was cancelled leaves none in either case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Background {
    /// They are ended.
    #[default]
    Kill,
    /// They live on, as a daemon that an operation starts must.
    Keep,
}

/// What a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// A program and its arguments.
    Argv(Vec<String>),
    /// A text for a shell.
    Shell {
        /// The text.
        text: String,
        /// The shell, [`DEFAULT_SHELL`] if none.
        shell: Option<String>,
        /// Whether the text contains a secret. It is kept off the command line then, which all
        /// users of a machine can read.
        secret: bool,
    },
}

impl Program {
    /// A text for the default shell, without secrets.
    pub fn shell(text: impl Into<String>) -> Self {
        Self::Shell {
            text: text.into(),
            shell: None,
            secret: false,
        }
    }

    /// The words to run.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Argv(words) => words.clone(),
            Self::Shell { text, .. } => {
                let text = self
                    .variable()
                    .map_or_else(|| text.clone(), |_| FROM_VARIABLE.to_owned());
                vec![self.name().to_owned(), "-c".to_owned(), text]
            }
        }
    }

    /// The variable in which a secret text goes to its shell, if that can take it from there.
    pub fn variable(&self) -> Option<(&'static str, &str)> {
        let Self::Shell {
            text, secret: true, ..
        } = self
        else {
            return None;
        };
        let shell = self.name().rsplit('/').next().unwrap_or("");
        let knows_eval = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"].contains(&shell);
        knows_eval.then_some((TEXT_VARIABLE, text))
    }

    /// The program alone, as messages name it.
    pub fn name(&self) -> &str {
        match self {
            Self::Argv(words) => words.first().map_or("", String::as_str),
            Self::Shell { shell, .. } => shell.as_deref().unwrap_or(DEFAULT_SHELL),
        }
    }
}

impl Command {
    /// A command without input, time limit or echo.
    pub fn new(program: Program, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program,
            cwd: cwd.into(),
            env: Vec::new(),
            secrets: Vec::new(),
            stdin: None,
            time_limit: None,
            echo: false,
            kept_bytes: DEFAULT_KEPT_BYTES,
            background: Background::default(),
            pty: false,
            answers: Vec::new(),
        }
    }

    /// The secrets and their lines, as [`secret_lines`] gives them.
    pub fn secret_lines(&self) -> impl Iterator<Item = &str> {
        secret_lines(&self.secrets).into_iter()
    }

    /// The value of a variable of its environment; the last one counts.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.env.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Something that only a person knows, or another file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// The password of a user, to log in: `user@host:port`.
    Login(String),
    /// The passphrase of a key, by its file.
    Passphrase(PathBuf),
    /// The password that lets a user of a host act as another: `user@host:port`.
    Become(String),
    /// What a command asks, in its words.
    Prompt(String),
}

impl Display for Question {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Login(address) => write!(f, "the login password of {address}"),
            Self::Passphrase(file) => write!(f, "the passphrase of `{}`", file.display()),
            Self::Become(address) => write!(f, "the sudo password of {address}"),
            Self::Prompt(text) => write!(f, "an answer to `{}`", text.trim()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_to_a_shell() {
        let program = Program::shell("echo $X");
        assert_eq!(program.argv(), ["/bin/sh", "-c", "echo $X"]);
        assert_eq!(program.name(), "/bin/sh");
    }

    #[test]
    fn an_action_survives_a_trip_through_json() {
        let mut command = Command::new(Program::Argv(vec!["ls".into()]), "/tmp");
        command.time_limit = Some(Duration::from_millis(1500));
        command.stdin = Some(vec![0, 255]);
        let action = Action::Run(command);
        let json = serde_json::to_string(&action).unwrap();
        assert_eq!(serde_json::from_str::<Action>(&json).unwrap(), action);
    }
}
