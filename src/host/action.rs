//! Actions on a machine: run a command, transfer files, read facts, make changes.
//!
//! [`Action`] says what to do, [`Command`] how to run a program. The types are plain data: `exec`
//! performs them on the location that [`super::ActionRequest`] names. [`Debug`] output contains no
//! secrets.

use std::fmt::{Debug, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::fact::Fact;
use super::{
    CaptureBudget, CaptureBuffer, DEFAULT_CAPTURE_LIMIT, FunctionCall, GetSettings, PrivateWork,
    ProgramInput, PutSettings, Secret, Variables,
};
use crate::value::{REDACTED, Redactor, Secrets};

/// The shell of a [`Program::Shell`] that names none.
pub const DEFAULT_SHELL: &str = "/bin/sh";

/// The environment variable that carries a secret script to its shell.
const TEXT_VARIABLE: &str = "_UNFURL_TEXT";
/// Evaluates the script in [`TEXT_VARIABLE`]. The variable is unset first, so that child processes
/// do not inherit it.
const EVAL_TEXT_VARIABLE: &str = "_t=$_UNFURL_TEXT; unset _UNFURL_TEXT; eval \"$_t\"";

/// An operation to perform on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Run(Command),
    /// Uploads a local file or folder.
    Put(Put),
    /// Downloads a file or folder to the local machine.
    Get(Get),
    /// Reads facts without changing anything (P2).
    Read(Vec<Fact>),
    /// Makes changes in order and stops at the first failure (P2).
    Change(Vec<Change>),
    /// Works on private files of this machine.
    Private(PrivateWork),
    /// Calls a function that only an executor of the user's can perform (X9).
    Call(FunctionCall),
}

/// An upload of a file or folder.
///
/// Existing files are replaced one by one. Each replacement is atomic, so no reader sees half a
/// file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    pub source: Content,
    /// The target path; a relative one starts at the user's home.
    ///
    /// If it ends with `/` or is a folder, a file is put into it under its own name.
    pub target: String,
    /// The permission bits of the files. None keeps those of the source; [`Content::Bytes`] gets
    /// those of a new file.
    pub mode: Option<u32>,
    #[serde(default)]
    pub settings: PutSettings,
    pub time_limit: Option<Duration>,
}

/// The source of an upload. [`Debug`] shows no contents.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// A local file, or a folder with everything in it.
    Path(PathBuf),
    /// The contents of a single file.
    Bytes(Vec<u8>),
}

/// A download of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Get {
    /// The source path; a relative one starts at the user's home.
    pub source: String,
    /// The local target path. If it is a folder or ends with `/`, a file is put into it under its
    /// own name.
    pub target: PathBuf,
    /// The maximum number of bytes of all files together; 10 GiB if none.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    #[serde(default)]
    pub settings: GetSettings,
    pub time_limit: Option<Duration>,
}

/// A prompt that a command may print, and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptAnswer {
    /// The text at the end of the command's output that counts as the prompt.
    pub prompt: String,
    /// The answer without a line end. None ends the command with [`super::Exit::NeedsAnswer`].
    pub reply: Option<Secret>,
    /// The question to report when there is no reply or the command rejects it.
    pub question: Question,
    /// Whether the login ends here: from then on, this prompt and those before it are not answered. The
    /// command could print the prompt of `sudo` itself, and read the password.
    pub ends_login: bool,
}

impl PromptAnswer {
    /// Returns true if the prompt may come more than once, and is answered each time.
    pub fn may_repeat(&self) -> bool {
        self.reply.is_some() && matches!(self.question, Question::Settled(_))
    }
}

/// A command with everything needed to run it.
///
/// The command inherits nothing from the process that runs it. [`Debug`] shows no secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate option"
)]
pub struct Command {
    pub program: Program,
    /// The working directory. On another machine a relative or empty path starts at the user's
    /// home.
    pub cwd: PathBuf,
    /// The environment. On the local machine it is complete; elsewhere it extends the environment
    /// of the host.
    pub env: Variables,
    /// Texts to redact besides the secrets in `env`, for example those in `stdin`. Never
    /// serialized.
    #[serde(skip)]
    pub secrets: Secrets,
    /// The standard input; empty if none.
    pub stdin: Option<Vec<u8>>,
    /// The part in the input of this program, if the command reads that instead of [`Self::stdin`].
    #[serde(skip)]
    pub program_input: Option<ProgramInput>,
    /// True if the SSH server gets the text of the command as it is ([`super::Delivery::Raw`]).
    #[serde(default)]
    pub raw: bool,
    pub time_limit: Option<Duration>,
    /// Whether the output is shown while the command runs.
    pub echo: bool,
    /// The maximum number of bytes of stdout, and of stderr, that are kept in memory.
    #[serde(rename = "kept_bytes")]
    pub capture_limit: usize,
    /// The maximum size of all outputs longer than `capture_limit` together that are kept whole, in files. 0 keeps
    /// none.
    #[serde(skip)]
    pub total_capture_limit: u64,
    /// The treatment of processes that the command leaves behind.
    pub background: Background,
    /// The time that the program gets to end after SIGINT, if it is ended early. None ends it as other commands: with
    /// SIGINT and SIGTERM when it is cancelled, with SIGTERM when the job is killed.
    ///
    /// A program that keeps records of its own needs it, such as Terraform. Only supported on the local machine.
    #[serde(skip)]
    pub interrupt_grace: Option<Duration>,
    /// The new file that receives stdout, which is read from there. The program then outlives the end of a reader.
    /// Only supported on the local machine.
    #[serde(skip)]
    pub stdout_file: Option<PathBuf>,
    /// True if each line of stdout is passed on while the command runs, with secrets redacted. Only supported on the
    /// local machine.
    #[serde(skip)]
    pub reports_lines: bool,
    /// Whether the command gets a terminal. A terminal merges stdout and stderr.
    #[serde(default)]
    pub pty: bool,
    /// The prompts that the command may print. A prompt that appears again after its answer ends
    /// the command.
    #[serde(skip)]
    pub answers: Vec<PromptAnswer>,
}

/// The treatment of processes that a command leaves behind when it ends by itself.
///
/// A command that timed out or was cancelled never leaves processes behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Background {
    /// Ends them together with the command.
    #[default]
    Kill,
    /// Lets them live on, which an operation that starts a daemon needs.
    Keep,
}

/// The program of a command. [`Debug`] shows no secret text.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// A program with its arguments, run without a shell.
    Argv(Vec<String>),
    /// A script, which a shell interprets.
    Shell {
        text: String,
        /// The shell to use; [`DEFAULT_SHELL`] if none.
        shell: Option<String>,
        /// Whether the script contains a secret. If so, it stays off the command line, which every
        /// user of a machine can read.
        secret: bool,
    },
}

impl Program {
    /// A script for the default shell, without secrets.
    pub fn shell(text: impl Into<String>) -> Self {
        Self::Shell {
            text: text.into(),
            shell: None,
            secret: false,
        }
    }

    /// Returns the program and its arguments.
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

    /// Returns the variable that carries a secret script, with the script as its value.
    ///
    /// None if the script is not secret, or if the shell is not known to support `eval`.
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

    /// Returns the program without its arguments, for messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Argv(words) => words.first().map_or("", String::as_str),
            Self::Shell { shell, .. } => shell.as_deref().unwrap_or(DEFAULT_SHELL),
        }
    }
}

impl Command {
    /// Creates a command without input, time limit or echo.
    pub fn new(program: Program, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program,
            cwd: cwd.into(),
            env: Variables::default(),
            secrets: Secrets::default(),
            stdin: None,
            program_input: None,
            raw: false,
            time_limit: None,
            echo: false,
            capture_limit: DEFAULT_CAPTURE_LIMIT,
            total_capture_limit: 0,
            background: Background::default(),
            interrupt_grace: None,
            stdout_file: None,
            reports_lines: false,
            pty: false,
            answers: Vec::new(),
        }
    }

    /// Keeps long outputs whole if they have at most this many bytes together.
    pub fn keep_whole_output(&mut self, limit: u64) {
        self.total_capture_limit = limit;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.capture_limit = DEFAULT_CAPTURE_LIMIT.min(limit);
    }

    /// Returns true if the command has an input of its own: bytes, or the input of this program.
    pub fn has_input(&self) -> bool {
        self.stdin.is_some() || self.program_input.is_some()
    }

    /// Returns the buffers of stdout and stderr.
    pub(crate) fn capture_buffers(&self) -> (CaptureBuffer, CaptureBuffer) {
        let budget = CaptureBudget::new(self.total_capture_limit);
        let buffer = || CaptureBuffer::new(self.capture_limit, &budget);
        (buffer(), buffer())
    }

    /// Returns all texts to redact: the secrets of the environment and [`Self::secrets`].
    pub fn hidden(&self) -> Secrets {
        let mut hidden = self.env.hidden().clone();
        hidden.append(&self.secrets);
        hidden
    }

    /// Returns the redactors for stdout and stderr.
    ///
    /// They also remove the prompts of `sudo` and `su`, which carry a marker of Unfurl's own.
    pub fn redactors(&self) -> (Redactor, Redactor) {
        let marks = self.answers.iter().filter(|answer| {
            matches!(answer.question, Question::Become(_)) && !answer.prompt.is_empty()
        });
        Redactor::pair(&self.hidden(), marks.map(|answer| answer.prompt.clone()))
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
            .field("program_input", &self.program_input)
            .field("raw", &self.raw)
            .field("time_limit", &self.time_limit)
            .field("echo", &self.echo)
            .field("capture_limit", &self.capture_limit)
            .field("total_capture_limit", &self.total_capture_limit)
            .field("background", &self.background)
            .field("interrupt_grace", &self.interrupt_grace)
            .field("stdout_file", &self.stdout_file)
            .field("reports_lines", &self.reports_lines)
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

/// Bytes whose [`Debug`] shows only their number, as they may be secret.
struct HiddenBytes<'a>(&'a [u8]);

impl Debug for HiddenBytes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// A question that only a person or a password file can answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// The login password of a user, given as `user@host:port`.
    Login(String),
    /// The passphrase of a private key file.
    Passphrase(PathBuf),
    /// The `sudo` or `su` password of a user, given as `user@host:port`.
    Become(String),
    /// The text of a prompt that a command printed.
    Prompt(String),
    /// The text of a prompt whose answer is known, however often the command asks.
    Settled(String),
}

impl Question {
    /// Returns the option of the command line that asks the question in advance.
    pub fn option(&self) -> Option<&'static str> {
        match self {
            Self::Login(_) => Some("--ask-password"),
            Self::Passphrase(_) => Some("--ask-passphrase"),
            Self::Become(_) => Some("--ask-sudo-password"),
            Self::Prompt(_) | Self::Settled(_) => None,
        }
    }

    /// Returns true if the login counts refused answers, as the configuration of the host says.
    pub fn is_limited_by_login(&self) -> bool {
        matches!(self, Self::Login(_) | Self::Passphrase(_))
    }
}

impl Display for Question {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Login(address) => write!(f, "the login password of {address}"),
            Self::Passphrase(file) => write!(f, "the passphrase of `{}`", file.display()),
            Self::Become(address) => write!(f, "the sudo password of {address}"),
            Self::Prompt(text) | Self::Settled(text) => write!(f, "an answer to `{}`", text.trim()),
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
            ends_login: false,
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
            settings: PutSettings::default(),
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
