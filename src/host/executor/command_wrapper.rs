//! Wraps a command to run as another user (`sudo`, `su`) or in another root folder (`chroot`).
//!
//! `sudo` drops the environment and reads the password from the command's stdin. Therefore a small
//! shell script runs under it, writes a ready marker to stderr, and only then receives the secrets
//! and the input. So neither can be taken for a password, and no secret is on a command line. Once the marker
//! is there, no prompt for the password is answered: the command line of `sudo` shows its prompt to every
//! user of the host, and the command itself could print it.

use crate::host::chain::BecomeUser;
use crate::host::script::START_ARGV;
use crate::host::{
    Command, DEFAULT_SHELL, Program, PromptAnswer, Question, Secret, ShellLogin, Variables,
};
use crate::system::env::Env;
use crate::text::{shlex_join, shlex_quote};

/// The context for wrapping one command.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandWrapper<'a> {
    /// A random text in the prompts, which no other program writes.
    pub(super) token: &'a str,
    /// The account whose password `sudo` or `su` needs: `user@host:port`.
    pub(super) account: &'a str,
    /// The environment of this process, if the command runs on the local machine.
    pub(super) local_env: Option<&'a Env>,
}

impl CommandWrapper<'_> {
    pub(super) fn prompt(&self) -> String {
        format!("[unfurl {} password] ", self.token)
    }

    fn ready_mark(&self) -> String {
        format!("[unfurl {} ready] ", self.token)
    }

    /// Returns the prompts that only Unfurl may see, which are removed from the output.
    pub(super) fn marks(&self) -> [String; 2] {
        [self.prompt(), self.ready_mark()]
    }

    /// Wraps a command with `sudo`.
    ///
    /// Fails if a secret or the input cannot be passed to the command safely.
    pub(super) fn sudo(&self, command: Command, to: &BecomeUser) -> Result<Command, String> {
        let (open, hidden) = self.split_environment(&command);
        if let Some((name, _)) = open.iter().find(|(name, _)| !is_env_operand(name)) {
            return Err(format!(
                "the variable `{name}` cannot be passed under `sudo`: its name is not valid"
            ));
        }
        let secret_text = command.program.variable().map(|(_, text)| text.to_owned());
        if secret_text.is_none() && is_secret_shell(&command.program) {
            let name = command.program.name();
            return Err(format!(
                "`{name}` cannot receive a secret script under `sudo`: use a POSIX shell such as `/bin/sh`"
            ));
        }
        let mut start = exports(&hidden)?;
        let mut words = Vec::new();
        let mut shell = DEFAULT_SHELL.to_owned();
        if let Some(text) = secret_text {
            start.push_str(&text);
            command.program.name().clone_into(&mut shell);
        } else {
            words = command.program.argv();
            if !start.is_empty() {
                start.push_str("exec \"$@\"");
            }
        }
        let input = input_of(&command)?;
        let is_plain = start.is_empty() && input.is_empty();
        let script = if is_plain {
            let stdin = if inherits_input(&command) {
                ""
            } else {
                " </dev/null"
            };
            format!("{}; exec \"$@\"{stdin}", self.announce_start())
        } else if command.program_input.is_some() {
            self.script_with_open_input(start.len())
        } else {
            self.script(start.len(), input.len())
        };
        let mut argv = self.sudo_words(to);
        if !open.is_empty() {
            argv.push("env".to_owned());
            argv.extend(open.iter().map(|(name, value)| format!("{name}={value}")));
        }
        argv.extend([shell, "-c".to_owned(), script, "sh".to_owned()]);
        argv.extend(words);
        let password = self.answer(self.prompt(), to.password.clone());
        let begin = if start.is_empty() && !is_plain {
            self.input_answer(&input)
        } else {
            self.start_answer(start + &input)
        };
        let answers = vec![password, begin];
        Ok(self.wrap(command, argv, answers))
    }

    /// Returns the login of a shell under `sudo`.
    ///
    /// The shell says that it is ready, and then reads its script from stdin.
    pub(super) fn sudo_shell(&self, to: &BecomeUser) -> ShellLogin {
        let mut argv = self.sudo_words(to);
        let [shell, option, read_script] = START_ARGV;
        let script = format!("{}; {read_script}", self.announce_start());
        argv.extend([shell.to_owned(), option.to_owned(), script]);
        let answers = vec![
            self.answer(self.prompt(), to.password.clone()),
            self.start_answer(String::new()),
        ];
        let command = Command::new(Program::Argv(Vec::new()), "");
        ShellLogin {
            user: to.user.clone(),
            command: self.wrap(command, argv, answers),
        }
    }

    /// Returns `sudo` with its options.
    fn sudo_words(&self, to: &BecomeUser) -> Vec<String> {
        let mut argv = ["sudo", "-S", "-p"].map(String::from).to_vec();
        argv.extend([self.prompt(), "-u".to_owned(), to.user.clone()]);
        argv.push("--".to_owned());
        argv
    }

    /// Wraps a command with `su`, which keeps the environment.
    pub(super) fn su(&self, command: Command, to: &BecomeUser) -> Result<Command, String> {
        let mut text = shlex_join(command.program.argv());
        let mut answers = Vec::new();
        if command.stdin.is_none() {
            if !inherits_input(&command) {
                text.push_str(" </dev/null");
            }
            text = format!("{}; exec {text}", self.announce_start());
            answers.push(self.answer("Password: ".to_owned(), to.password.clone()));
            answers.push(self.start_answer(String::new()));
        } else if to.password.is_some() {
            return self.su_with_input(command, to, &text);
        } else {
            text = format!("exec {text}");
        }
        let argv = ["su", "-s", DEFAULT_SHELL, "-c", &text, &to.user];
        let argv = argv.map(String::from).to_vec();
        let (stdin, env) = (command.stdin.clone(), environment_with_secret(&command));
        let mut command = self.wrap(command, argv, answers);
        (command.stdin, command.env) = (stdin, env);
        Ok(command)
    }

    /// Wraps a command that has input with `su`.
    ///
    /// The input is sent only after the command is ready, so that it is not taken for the password.
    fn su_with_input(
        &self,
        command: Command,
        to: &BecomeUser,
        text: &str,
    ) -> Result<Command, String> {
        let input = input_of(&command)?;
        let text = format!(
            "{}; head -c {} | {{ exec {text}; }}",
            self.announce_start(),
            input.len()
        );
        let answers = vec![
            self.answer("Password: ".to_owned(), to.password.clone()),
            self.input_answer(&input),
        ];
        let argv = ["su", "-s", DEFAULT_SHELL, "-c", &text, &to.user];
        let argv = argv.map(String::from).to_vec();
        let env = environment_with_secret(&command);
        let mut command = self.wrap(command, argv, answers);
        command.env = env;
        Ok(command)
    }

    /// Wraps a command with `chroot`.
    ///
    /// The command runs in its working directory within the new root, or in `/` if that does not
    /// exist.
    pub(super) fn chroot(command: Command, root: &str) -> Command {
        let enter = "cd \"$1\" 2>/dev/null || cd /; shift; exec \"$@\"";
        let cwd = command.cwd.to_string_lossy().into_owned();
        let cwd = if cwd.is_empty() { "/".to_owned() } else { cwd };
        let words = ["chroot", root, DEFAULT_SHELL, "-c", enter, "sh", &cwd];
        Command {
            cwd: "/".into(),
            ..behind(&words, command)
        }
    }

    /// Wraps a command with `transactional-update`, which runs it in a new snapshot on top of the last one.
    ///
    /// A command that is in a transaction already runs as it is (X17).
    pub(super) fn transactional_update(command: Command) -> Command {
        let begin = "[ -z \"$TRANSACTIONAL_UPDATE\" ] || exec \"$@\"; \
            command -v transactional-update >/dev/null || { \
            echo 'the executor `transactional_update` needs the program `transactional-update`, which this host does not have' >&2; \
            exit 127; }; \
            exec transactional-update --non-interactive --drop-if-no-change --no-selfupdate --continue --quiet run \"$@\"";
        behind(&[DEFAULT_SHELL, "-c", begin, "sh"], command)
    }

    fn wrap(&self, command: Command, argv: Vec<String>, answers: Vec<PromptAnswer>) -> Command {
        let outer = match self.local_env {
            // The local `PATH` is needed to find `sudo` itself.
            Some(_) => command.env.clone(),
            None => Variables::default(),
        };
        // Secrets that are no longer in the environment must still be redacted.
        let secrets = command.hidden();
        let mut all = answers;
        all.extend(command.answers);
        Command {
            program: Program::Argv(argv),
            env: outer,
            secrets,
            stdin: None,
            answers: all,
            ..command
        }
    }

    /// Splits the command's own variables into public and secret ones.
    ///
    /// On the local machine, the environment includes the variables of this process. They are left
    /// out, as another user must not inherit them.
    fn split_environment(&self, command: &Command) -> (Variables, Variables) {
        let hidden = command.hidden();
        let mut own = command.env.clone();
        own.retain(|name, value| {
            self.local_env
                .is_none_or(|ours| ours.get(name) != Some(value))
        });
        own.split(|value| hidden.may_occur_in(value))
    }

    /// Returns the script that runs under `sudo`.
    ///
    /// The script writes the ready marker, reads `start` bytes of setup (or an empty line) and runs them with the next
    /// `input` bytes as stdin. The line end after the answer stays unread.
    fn script(&self, start: usize, input: usize) -> String {
        let (begin, run) = if start == 0 {
            (self.announce_start(), "exec \"$@\"")
        } else {
            let announce = self.announce();
            let begin = format!("{announce}; _t=$(dd bs=1 count={start} 2>/dev/null)");
            (begin, "eval \"$_t\"")
        };
        if input == 0 {
            format!("{begin}; exec </dev/null; {run}")
        } else {
            format!("{begin}; head -c {input} | {{ {run}; }}")
        }
    }

    /// Returns the script that runs under `sudo` with `start` bytes of setup, if the input of the command follows them
    /// and has no known length. The line end after the setup is read, too.
    fn script_with_open_input(&self, start: usize) -> String {
        let announce = self.announce();
        format!("{announce}; _t=$(dd bs=1 count={start} 2>/dev/null); read -r _; eval \"$_t\"")
    }

    fn answer(&self, prompt: String, reply: Option<Secret>) -> PromptAnswer {
        PromptAnswer {
            prompt,
            reply,
            question: Question::Become(self.account.to_owned()),
            ends_login: false,
        }
    }

    /// Returns the answer to the ready marker: the bytes that the script reads.
    fn start_answer(&self, bytes: String) -> PromptAnswer {
        PromptAnswer {
            ends_login: true,
            ..self.answer(self.ready_mark(), Some(Secret::new(bytes)))
        }
    }

    /// Returns the answer that begins with the empty line for [`Self::announce_start`].
    fn input_answer(&self, input: &str) -> PromptAnswer {
        self.start_answer(format!("\n{input}"))
    }

    /// Returns a script that writes the ready marker.
    fn announce(&self) -> String {
        format!("printf %s {} >&2", shlex_quote(&self.ready_mark()))
    }

    /// Returns a script that writes the ready marker and waits for a line, which says that it was read.
    ///
    /// So the command prints nothing as long as an output can still be a prompt for the password.
    fn announce_start(&self) -> String {
        format!("{}; read -r _t", self.announce())
    }
}

/// Returns true if a command reads what follows the login: its terminal, or the input of this program.
fn inherits_input(command: &Command) -> bool {
    command.pty || command.program_input.is_some()
}

fn is_secret_shell(program: &Program) -> bool {
    matches!(program, Program::Shell { secret: true, .. })
}

/// Whether the program `env` takes `NAME=VALUE` for a variable, not for an option such as `-S`.
fn is_env_operand(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains('=')
}

/// Puts the words of a command line before a command.
fn behind(words: &[&str], command: Command) -> Command {
    let mut argv: Vec<String> = words.iter().map(ToString::to_string).collect();
    argv.extend(command.program.argv());
    let env = environment_with_secret(&command);
    Command {
        program: Program::Argv(argv),
        env,
        ..command
    }
}

/// Returns the environment, plus the variable that carries a secret script, if needed.
fn environment_with_secret(command: &Command) -> Variables {
    let mut env = command.env.clone();
    let variable = command.program.variable();
    if let Some((name, text)) = variable {
        env.add_with_secret(name, text);
    }
    env
}

fn exports(variables: &Variables) -> Result<String, String> {
    let mut text = String::new();
    for (name, value) in variables.iter() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || name.starts_with(char::is_numeric) {
            return Err(format!(
                "the secret variable `{name}` cannot be passed under `sudo`: its name is not valid in a shell"
            ));
        }
        let value = shlex_quote(value);
        for part in ["export ", name, "=", &value, "\n"] {
            text.push_str(part);
        }
    }
    Ok(text)
}

fn input_of(command: &Command) -> Result<String, String> {
    let input = command.stdin.clone().unwrap_or_default();
    String::from_utf8(input).map_err(|_| {
        "a command under `sudo` cannot receive binary input: only UTF-8 text is supported"
            .to_owned()
    })
}
