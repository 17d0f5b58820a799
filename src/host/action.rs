//! What can be asked of a machine.

use std::fmt::{Debug, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::fact::Fact;
use super::{DEFAULT_CAPTURE_LIMIT, Secret, Variables};
use crate::value::{REDACTED, Redactor, Secrets};

/// The shell that runs a [`Program::Shell`] which names none.
pub const DEFAULT_SHELL: &str = "/bin/sh";

/// The variable that carries a secret text to its shell.
const TEXT_VARIABLE: &str = "_UNFURL_TEXT";
/// Runs the text in the variable, which what it starts does not see.
const EVAL_TEXT_VARIABLE: &str = "_t=$_UNFURL_TEXT; unset _UNFURL_TEXT; eval \"$_t\"";

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

/// What is taken to a machine. [`Debug`] shows no contents.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct PromptAnswer {
    /// What the command's output ends with when it asks.
    pub prompt: String,
    /// What it is told, without the end of the line; none ends the command with
    /// [`super::Exit::Asked`].
    pub reply: Option<Secret>,
    /// What is asked for, where there is no reply or it was not taken.
    pub question: Question,
}

/// A command with all it needs: nothing is taken from whoever runs it. [`Debug`] shows no secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What to run.
    pub program: Program,
    /// The folder to run it in; on another machine a relative or empty path begins at the user's
    /// home.
    pub cwd: PathBuf,
    /// Its complete environment on this machine; elsewhere it is added to the one there.
    pub env: Variables,
    /// Texts that must not be shown besides the secrets of its environment, such as those of its
    /// input.
    /// They are never serialized.
    #[serde(skip)]
    pub secrets: Secrets,
    /// What it reads; nothing if none.
    pub stdin: Option<Vec<u8>>,
    /// How long it may run.
    pub time_limit: Option<Duration>,
    /// Whether its output is shown while it runs.
    pub echo: bool,
    /// The most bytes kept of each of its outputs.
    #[serde(rename = "kept_bytes")]
    pub capture_limit: usize,
    /// What becomes of processes it leaves behind.
    pub background: Background,
    /// Whether it gets a terminal, which joins its two outputs.
    #[serde(default)]
    pub pty: bool,
    /// What it may ask. A question that comes again after its answer ends the command.
    #[serde(skip)]
    pub answers: Vec<PromptAnswer>,
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

/// What a command runs. [`Debug`] shows no secret text.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
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
                    .map_or_else(|| text.clone(), |_| EVAL_TEXT_VARIABLE.to_owned());
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
        let supports_eval = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"].contains(&shell);
        supports_eval.then_some((TEXT_VARIABLE, text))
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
            env: Variables::default(),
            secrets: Secrets::default(),
            stdin: None,
            time_limit: None,
            echo: false,
            capture_limit: DEFAULT_CAPTURE_LIMIT,
            background: Background::default(),
            pty: false,
            answers: Vec::new(),
        }
    }

    /// All that must not be shown: the secrets of its environment, and the others.
    pub fn hidden(&self) -> Secrets {
        let mut hidden = self.env.hidden().clone();
        hidden.append(&self.secrets);
        hidden
    }

    /// The redactor of one of its outputs. The questions that let it begin are for us alone and
    /// go, too.
    pub fn redactor(&self) -> Redactor {
        let marks = self.answers.iter().filter(|answer| {
            matches!(answer.question, Question::Become(_)) && !answer.prompt.is_empty()
        });
        Redactor::new(&self.hidden(), marks.map(|answer| answer.prompt.clone()))
    }
}

impl Debug for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let hidden = self.hidden();
        let program = hidden.redact(&format!("{:?}", self.program));
        f.debug_struct("Command")
            .field("program", &format_args!("{program}"))
            .field("cwd", &self.cwd)
            .field("env", &self.env)
            .field("stdin", &self.stdin.as_deref().map(HiddenBytes))
            .field("time_limit", &self.time_limit)
            .field("echo", &self.echo)
            .field("kept_bytes", &self.capture_limit)
            .field("background", &self.background)
            .field("pty", &self.pty)
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}

impl Debug for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argv(words) => f.debug_tuple("Argv").field(words).finish(),
            Self::Shell {
                text,
                shell,
                secret,
            } => f
                .debug_struct("Shell")
                .field("text", if *secret { &REDACTED } else { text })
                .field("shell", shell)
                .finish_non_exhaustive(),
        }
    }
}

impl Debug for Content {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(&HiddenBytes(bytes)).finish(),
        }
    }
}

/// Bytes that may be secret, and of which only the number is shown.
struct HiddenBytes<'a>(&'a [u8]);

impl Debug for HiddenBytes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
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
    use crate::host::ActionRequest;

    #[test]
    fn a_text_goes_to_a_shell() {
        let program = Program::shell("echo $X");
        assert_eq!(program.argv(), ["/bin/sh", "-c", "echo $X"]);
        assert_eq!(program.name(), "/bin/sh");
    }

    #[test]
    fn debug_shows_no_secret_of_a_request() {
        let mut command = Command::new(Program::Argv(vec!["login".into(), "argued".into()]), "/");
        command.env.add("USER", "joe");
        command.env.add_secret("TOKEN", "hunter2");
        command.env.add_with_secret("PATH", "sesame:/bin");
        command.stdin = Some(b"typed".to_vec());
        command.secrets.add("argued");
        command.answers.push(PromptAnswer {
            prompt: "Password: ".to_owned(),
            reply: Some(Secret::new("answered")),
            question: Question::Prompt("Password: ".to_owned()),
        });
        let mut text = command.clone();
        text.program = Program::Shell {
            text: "login scripted".to_owned(),
            shell: None,
            secret: true,
        };
        let put = Put {
            source: Content::Bytes(b"written".to_vec()),
            target: "x".to_owned(),
            mode: None,
            time_limit: None,
        };
        let secrets = [
            "hunter2", "sesame", "typed", "argued", "answered", "scripted", "written",
        ];
        let actions = [Action::Run(command), Action::Run(text), Action::Put(put)];
        for request in actions.map(ActionRequest::local) {
            let shown = format!("{request:?} {request:#?}");
            for secret in secrets {
                let bytes = format!("{:?}", secret.as_bytes());
                let bytes = bytes.trim_matches(['[', ']']);
                assert!(!shown.contains(secret), "{secret}: {shown}");
                assert!(!shown.contains(bytes), "{secret}: {shown}");
            }
        }
    }

    #[test]
    fn an_action_survives_a_trip_through_json() {
        let mut command = Command::new(Program::Argv(vec!["ls".into()]), "/tmp");
        command.env.add("USER", "joe");
        command.time_limit = Some(Duration::from_millis(1500));
        command.stdin = Some(vec![0, 255]);
        let action = Action::Run(command);
        let json = serde_json::to_string(&action).unwrap();
        assert_eq!(serde_json::from_str::<Action>(&json).unwrap(), action);
    }
}
