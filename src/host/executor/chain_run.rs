//! The run of one action through an executor chain (X2, X20).
//!
//! [`ChainRun`] is a state machine without I/O: each [`ChainRun::step`] says what to wait for or to
//! perform, and takes the result of that. `exec` drives it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::command_wrapper::CommandWrapper;
use super::custom::{ExecutorReply, parse_reply, query_command};
use super::function_name::function_of;
use super::splay;
use crate::host::chain::{
    BecomeUser, ChainExecutor, CustomExecutor, Delegation, ExecutorChain, Spread,
};
use crate::host::{
    Action, ActionRequest, ActionResult, CapturedOutput, Command, Container, Delivery, Exit,
    HostParts, Location, Program, batch,
};
use crate::system::env::Env;
use crate::value::REDACTED;

/// The context of a chain run, besides the chain and the action.
#[derive(Debug, Clone, Default)]
pub struct ChainContext {
    /// The name of the host; the name of the location if empty.
    pub host: String,
    /// The rank of the host, counted from 0, and the number of hosts.
    pub rank: (u32, u32),
    /// A random text that marks the password prompts of `sudo` and `su`.
    pub token: String,
    pub environment: Env,
    /// The host name of the local machine.
    pub local_name: String,
}

/// The next thing that the driver of a chain has to do.
#[derive(Debug, PartialEq)]
pub enum ChainProgress {
    /// Wait, then call `step` without a result.
    Wait(Duration),
    /// Perform this request, which has no chain, then call `step` with its result.
    Perform(Box<ActionRequest>),
    Finished(Box<ActionResult>),
    /// The chain has ended, and no executor performed the action.
    Unhandled,
}

/// An action on its way through a chain.
#[derive(Debug)]
pub struct ChainRun {
    chain: Arc<ExecutorChain>,
    request: ActionRequest,
    context: ChainContext,
    next_index: usize,
    frames: Vec<ChainFrame>,
    state: ChainState,
    notes: Vec<ChainNote>,
}

/// An executor that stays active while those after it run.
#[derive(Debug, Clone, Copy)]
enum ChainFrame {
    Timeout {
        until: Instant,
    },
    Retry {
        at: usize,
        remaining: u32,
        interval: Duration,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChainState {
    Ready,
    /// The driver waits for the end of a `timeout`.
    AwaitingDeadline,
    Performing,
    QueryingProgram,
}

impl ExecutorChain {
    /// Starts an action. The chain that the request itself names is ignored.
    pub fn begin(self: &Arc<Self>, request: ActionRequest, context: ChainContext) -> ChainRun {
        ChainRun::new(Arc::clone(self), request, context)
    }
}

impl ChainRun {
    fn new(chain: Arc<ExecutorChain>, mut request: ActionRequest, start: ChainContext) -> Self {
        request.chain = None;
        Self {
            chain,
            request,
            context: start,
            next_index: 0,
            frames: Vec::new(),
            state: ChainState::Ready,
            notes: Vec::new(),
        }
    }

    /// Takes the notes collected since the last call. They contain no secrets.
    pub fn take_notes(&mut self) -> Vec<ChainNote> {
        std::mem::take(&mut self.notes)
    }

    /// Advances the chain.
    ///
    /// Pass no result at the start and after a wait, otherwise the result of the request that
    /// [`ChainProgress::Perform`] returned. A result that ends an action early, such as
    /// [`Exit::Cancelled`], ends the chain.
    pub fn step(&mut self, last: Option<ActionResult>, now: Instant) -> ChainProgress {
        match (std::mem::replace(&mut self.state, ChainState::Ready), last) {
            (ChainState::AwaitingDeadline, _) => self.finish_with(Exit::TimedOut, now),
            (ChainState::QueryingProgram, Some(result)) => self.handle_reply(&result, now),
            (_, Some(result)) => self.finish(result, now),
            (_, None) => self.advance(now),
        }
    }

    fn advance(&mut self, now: Instant) -> ChainProgress {
        let chain = Arc::clone(&self.chain);
        while let Some(executor) = chain.executors().get(self.next_index) {
            self.next_index += 1;
            match executor {
                ChainExecutor::Splay { seconds, spread } => {
                    let time = self.splay(*seconds, *spread);
                    self.add_notice(format!("`splay` waits {} s", time.as_secs_f64()));
                    if !time.is_zero() {
                        return self.wait_for(time, now);
                    }
                }
                ChainExecutor::Timeout(time) => {
                    self.frames.push(ChainFrame::Timeout { until: now + *time });
                }
                ChainExecutor::Retry { attempts, interval } => {
                    self.frames.push(ChainFrame::Retry {
                        at: self.next_index,
                        remaining: attempts.saturating_sub(1),
                        interval: *interval,
                    });
                }
                executor => return self.perform(executor, now),
            }
        }
        self.add_notice("no executor ran the function".to_owned());
        ChainProgress::Unhandled
    }

    fn perform(&mut self, executor: &ChainExecutor, now: Instant) -> ChainProgress {
        let mut request = self.request.clone();
        let action = match executor {
            ChainExecutor::DryRun => return self.report_dry_run(now),
            ChainExecutor::Custom(own) => return self.ask_program(own, now),
            ChainExecutor::Container { name, engine } => {
                request.location = Location::Container(Arc::new(Container {
                    name: name.clone(),
                    engine: engine.clone(),
                    location: request.location,
                }));
                self.add_detail(format!("`container` runs the action in `{name}`"));
                Ok(request.action)
            }
            ChainExecutor::Sudo(to) => {
                self.add_detail(format!("`sudo` runs the action as `{}`", to.user));
                let to = &self.with_known_password(to);
                if self.keeps_shell() {
                    let login = self.with_wrapper(|wrapper| wrapper.sudo_shell(to));
                    request.login = Some(Arc::new(login));
                    Ok(request.action)
                } else {
                    self.wrap_command(executor, |shift, command| shift.sudo(command, to))
                }
            }
            ChainExecutor::Su(to) => {
                self.add_detail(format!("`su` runs the action as `{}`", to.user));
                self.wrap_command(executor, |shift, command| shift.su(command, to))
            }
            ChainExecutor::TransactionalUpdate(delegation) => {
                self.transaction(executor, delegation)
            }
            ChainExecutor::Chroot(root) => {
                let root = root.to_string_lossy().into_owned();
                self.add_detail(format!("`chroot` runs the action in `{root}`"));
                self.wrap_command(executor, |_, command| {
                    Ok(CommandWrapper::chroot(command, &root))
                })
            }
            _ => Ok(request.action),
        };
        match action {
            Ok(action) => {
                self.state = ChainState::Performing;
                self.perform_request(ActionRequest { action, ..request }, now)
            }
            Err(why) => self.finish_with(Exit::Failed(why), now),
        }
    }

    /// Puts the action's command into a transaction, if its function is delegated to one (X17).
    fn transaction(
        &mut self,
        executor: &ChainExecutor,
        delegation: &Delegation,
    ) -> Result<Action, String> {
        let function = function_of(&self.request.action);
        if !delegation.has(function) {
            return Ok(self.request.action.clone());
        }
        self.add_detail(format!(
            "`transactional_update` runs `{function}` in a transaction"
        ));
        self.wrap_command(executor, |_, command| {
            Ok(CommandWrapper::transactional_update(command))
        })
    }

    /// Asks a program of the user's.
    fn ask_program(&mut self, own: &CustomExecutor, now: Instant) -> ChainProgress {
        self.add_detail(format!("asking the executor `{}`", own.name));
        let next = self
            .chain
            .executors()
            .get(self.next_index..)
            .unwrap_or_default();
        let next: Vec<&str> = next.iter().map(ChainExecutor::name).collect();
        let call = query_command(own, &self.host_name(), &next, &self.request);
        self.state = ChainState::QueryingProgram;
        self.perform_request(ActionRequest::local(Action::Run(call)), now)
    }

    /// Wraps the action's command for another user or root folder.
    ///
    /// Fails for file transfers and missing functions, as only commands can be wrapped.
    fn wrap_command(
        &self,
        executor: &ChainExecutor,
        wrap: impl FnOnce(CommandWrapper<'_>, Command) -> Result<Command, String>,
    ) -> Result<Action, String> {
        let name = executor.name();
        let (action, location) = (&self.request.action, &self.request.location);
        if let Action::Call(call) = action {
            return Err(call.unavailable());
        }
        if Delivery::of(action, location) == Delivery::Raw {
            return Err(format!(
                "`{name}` cannot run a raw command: it needs a POSIX shell on the host"
            ));
        }
        let Some(command) = self.action_command() else {
            return Err(format!(
                "`{name}` cannot transfer files, only run commands: transfer the file as the \
                 login user, then move it with a command"
            ));
        };
        self.with_wrapper(|wrapper| wrap(wrapper, command))
            .map(Action::Run)
    }

    fn with_wrapper<T>(&self, wrap: impl FnOnce(CommandWrapper<'_>) -> T) -> T {
        let account = self.account_name();
        wrap(CommandWrapper {
            token: &self.context.token,
            account: &account,
            local_env: self
                .request
                .location
                .is_local()
                .then_some(&self.context.environment),
        })
    }

    /// Returns the user with the `sudo` password of the host, unless the chain states one.
    fn with_known_password(&self, to: &BecomeUser) -> BecomeUser {
        let known = match &self.request.location {
            Location::Ssh(destination) => destination.sudo_password.clone(),
            Location::Local | Location::Container(_) => None,
        };
        BecomeUser {
            user: to.user.clone(),
            password: to.password.clone().or(known),
        }
    }

    /// Returns true if the action goes to a shell of its own: files, and facts and changes of another machine, unless the
    /// chain limits their time.
    fn keeps_shell(&self) -> bool {
        let has_shell = match self.request.action {
            Action::Run(_) | Action::Private(_) | Action::Call(_) => false,
            Action::Put(_) | Action::Get(_) => true,
            Action::Read(_) | Action::Change(_) => !self.request.location.is_local(),
        };
        has_shell && self.deadline().is_none()
    }

    /// Returns the command of the action, or the one that reads its facts or makes its changes.
    ///
    /// None for file transfers.
    fn action_command(&self) -> Option<Command> {
        let action = &self.request.action;
        if let Action::Run(command) = action {
            return Some(command.clone());
        }
        let mut command = batch::command(action)?;
        if self.request.location.is_local() {
            let variables = self.context.environment.all().iter();
            let variables = variables.map(|(name, value)| (name.clone(), value.clone()));
            command.env = variables.collect();
            command.cwd = "/".into();
        }
        Some(command)
    }

    /// Returns the account whose password is needed.
    fn account_name(&self) -> String {
        match &self.request.location {
            Location::Local => {
                let user = self.context.environment.get("USER").unwrap_or("root");
                format!("{user}@{}", self.context.local_name)
            }
            Location::Ssh(destination) => destination.address.to_string(),
            Location::Container(container) => container.name.clone(),
        }
    }

    /// Returns the name of the host that `splay` hashes.
    fn host_name(&self) -> String {
        if !self.context.host.is_empty() {
            return self.context.host.clone();
        }
        match &self.request.location {
            Location::Local => self.context.local_name.clone(),
            Location::Ssh(destination) => {
                let parts = HostParts::parse(&destination.name);
                parts.host.unwrap_or_else(|| destination.name.clone())
            }
            Location::Container(container) => container.name.clone(),
        }
    }

    fn splay(&self, seconds: u32, spread: Spread) -> Duration {
        let (rank, of) = self.context.rank;
        match spread {
            Spread::Hash => splay::delay_by_name(&self.host_name(), seconds),
            Spread::Rank => splay::delay_by_rank(rank, of, seconds),
        }
    }

    /// Returns the earliest deadline of the active `timeout` executors.
    fn deadline(&self) -> Option<Instant> {
        let ends = self.frames.iter().filter_map(|frame| match frame {
            ChainFrame::Timeout { until } => Some(*until),
            ChainFrame::Retry { .. } => None,
        });
        ends.min()
    }

    fn wait_for(&mut self, time: Duration, now: Instant) -> ChainProgress {
        match self
            .deadline()
            .map(|end| end.saturating_duration_since(now))
        {
            Some(remaining) if remaining < time => {
                self.state = ChainState::AwaitingDeadline;
                ChainProgress::Wait(remaining)
            }
            _ => ChainProgress::Wait(time),
        }
    }

    fn perform_request(&mut self, mut request: ActionRequest, now: Instant) -> ChainProgress {
        if let Some(end) = self.deadline() {
            let remaining = end.saturating_duration_since(now);
            if remaining.is_zero() {
                return self.finish_with(Exit::TimedOut, now);
            }
            let limit = match &mut request.action {
                Action::Run(command) => Some(&mut command.time_limit),
                Action::Put(put) => Some(&mut put.time_limit),
                Action::Get(get) => Some(&mut get.time_limit),
                // The commands within facts and changes have their own limits.
                Action::Read(_) | Action::Change(_) | Action::Private(_) | Action::Call(_) => None,
            };
            if let Some(limit) = limit {
                *limit = Some(limit.map_or(remaining, |limit| limit.min(remaining)));
            }
        }
        ChainProgress::Perform(Box::new(request))
    }

    fn handle_reply(&mut self, result: &ActionResult, now: Instant) -> ChainProgress {
        match parse_reply(result, &self.request.action) {
            ExecutorReply::Next => self.advance(now),
            ExecutorReply::Result(result) => {
                self.note_reply(&result);
                self.finish(result, now)
            }
        }
    }

    /// Notes the text with which a program of the user's ended the chain: nothing else shows it.
    fn note_reply(&mut self, result: &ActionResult) {
        let ActionResult::Run(output) = result else {
            return;
        };
        let asked = self.next_index.saturating_sub(1);
        let name = self.chain.executors().get(asked);
        let name = name.map_or_else(String::new, |executor| executor.name().to_owned());
        let text = [output.stdout.text(), output.stderr.text()].concat();
        let text = match &self.request.action {
            Action::Run(command) => command.hidden().redact(text.trim()),
            _ => text.trim().to_owned(),
        };
        if text.is_empty() {
            return;
        }
        self.add_notice(match &output.exit {
            Exit::Code(0) => format!("the executor `{name}` answers: {text}"),
            exit => format!("the executor `{name}` refuses with {exit}: {text}"),
        });
    }

    fn report_dry_run(&mut self, now: Instant) -> ChainProgress {
        let what = describe_action(&self.request.action);
        let rest = self
            .chain
            .executors()
            .get(self.next_index..)
            .unwrap_or_default();
        let by: Vec<String> = rest.iter().map(|it| format!("`{}`", it.name())).collect();
        let by = if by.is_empty() {
            String::new()
        } else {
            format!(" by {}", by.join(", "))
        };
        let text = format!("would {what} on {}{by}\n", self.request.location);
        self.add_notice(format!("`dryrun` {}", text.trim_end()));
        let mut result = ActionResult::not_performed(&self.request.action, Exit::Code(0));
        if let ActionResult::Run(output) = &mut result {
            output.stdout = CapturedOutput::from_bytes(text);
        }
        self.finish(result, now)
    }

    fn finish_with(&mut self, exit: Exit, now: Instant) -> ChainProgress {
        self.finish(ActionResult::not_performed(&self.request.action, exit), now)
    }

    /// Ends the chain, unless a `retry` starts another attempt.
    fn finish(&mut self, result: ActionResult, now: Instant) -> ChainProgress {
        let result = match (self.strip_marks(result), &self.request.action) {
            (ActionResult::Run(output), action @ (Action::Read(_) | Action::Change(_))) => {
                batch::result(action, &output)
            }
            (result, _) => result,
        };
        while let Some(frame) = self.frames.pop() {
            let ChainFrame::Retry {
                at,
                remaining,
                interval,
            } = frame
            else {
                continue;
            };
            let over = self.deadline().is_some_and(|end| end <= now);
            if remaining == 0 || over || !is_retryable(result.exit()) {
                continue;
            }
            self.add_notice(format!(
                "`retry` tries again in {} s: {}",
                interval.as_secs_f64(),
                result.exit()
            ));
            let remaining = remaining - 1;
            self.frames.push(ChainFrame::Retry {
                at,
                remaining,
                interval,
            });
            self.next_index = at;
            return self.wait_for(interval, now);
        }
        ChainProgress::Finished(Box::new(result))
    }

    /// Removes the password prompts that Unfurl itself asked `sudo` and `su` for.
    fn strip_marks(&self, mut result: ActionResult) -> ActionResult {
        let changes_user =
            |it: &ChainExecutor| matches!(it, ChainExecutor::Sudo(_) | ChainExecutor::Su(_));
        if let ActionResult::Run(output) = &mut result
            && self.chain.executors().iter().any(changes_user)
        {
            let shift = CommandWrapper {
                token: &self.context.token,
                account: "",
                local_env: None,
            };
            for mark in shift.marks() {
                output.stdout.remove(mark.as_bytes());
                output.stderr.remove(mark.as_bytes());
            }
        }
        result
    }

    fn add_notice(&mut self, text: String) {
        self.notes.push(ChainNote::Notice(text));
    }

    fn add_detail(&mut self, text: String) {
        self.notes.push(ChainNote::Detail(text));
    }
}

/// A message about what a chain does, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainNote {
    /// A message for everybody: the user has to wait, or nothing is done.
    Notice(String),
    /// A message that only verbose output shows.
    Detail(String),
}

/// Whether another attempt may succeed, so that `retry` continues.
fn is_retryable(exit: &Exit) -> bool {
    !exit.is_ok() && !matches!(exit, Exit::Cancelled | Exit::NeedsAnswer { .. })
}

/// Describes an action in words, without secrets.
fn describe_action(action: &Action) -> String {
    match action {
        Action::Run(command) => {
            let text = match &command.program {
                Program::Argv(words) => words.join(" "),
                Program::Shell { secret: true, .. } => REDACTED.to_owned(),
                Program::Shell { text, .. } => text.clone(),
            };
            format!("run `{}`", command.hidden().redact(&text))
        }
        Action::Put(put) => format!("put `{}`", put.target),
        Action::Get(get) => format!("get `{}`", get.source),
        Action::Read(facts) => describe_count("read", facts.len(), "fact"),
        Action::Change(changes) => describe_count("make", changes.len(), "change"),
        Action::Private(_) => "work on private files".to_owned(),
        Action::Call(call) => format!("call `{}`", call.function),
    }
}

fn describe_count(verb: &str, count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{verb} {count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::UnhandledPolicy;
    use crate::host::{Address, Destination, RunOutput, Secret};

    fn chain(executors: Vec<ChainExecutor>) -> Arc<ExecutorChain> {
        Arc::new(ExecutorChain::new(executors))
    }

    fn own(name: &str) -> ChainExecutor {
        ChainExecutor::Custom(Box::new(CustomExecutor {
            name: name.to_owned(),
            program: format!("/own/{name}").into(),
            folder: "/".into(),
            environment: Vec::new(),
            options: Secret::new("{}"),
            configuration: Secret::new("{}"),
        }))
    }

    fn request() -> ActionRequest {
        let program = Program::Argv(vec!["uptime".to_owned()]);
        ActionRequest::local(Action::Run(Command::new(program, "/")))
    }

    fn on(name: &str) -> ActionRequest {
        let address = Address::parse(name, "me", 22).unwrap();
        let place = Location::Ssh(Arc::new(Destination::new(name, address)));
        ActionRequest {
            location: place,
            ..request()
        }
    }

    fn start() -> ChainContext {
        ChainContext {
            token: "T".to_owned(),
            local_name: "here".to_owned(),
            ..ChainContext::default()
        }
    }

    fn printed(text: &str, code: i32) -> ActionResult {
        let mut output = RunOutput::not_run(Exit::Code(code));
        output.stdout = CapturedOutput::from_bytes(text);
        ActionResult::Run(output)
    }

    /// Runs a chain whose custom executors give the answers listed by name.
    ///
    /// Returns the names of the programs called, and the outcome.
    fn outcome(executors: Vec<ChainExecutor>, answers: &[(&str, &str)]) -> (Vec<String>, String) {
        let mut run = chain(executors).begin(request(), start());
        let (mut called, mut last) = (Vec::new(), None);
        loop {
            match run.step(last.take(), Instant::now()) {
                ChainProgress::Wait(_) => {}
                ChainProgress::Perform(request) => {
                    let Action::Run(command) = &request.action else {
                        panic!("it must be a command");
                    };
                    let name = command.program.name().trim_start_matches("/own/");
                    called.push(name.to_owned());
                    let answer = answers.iter().find(|(of, _)| *of == name);
                    last = Some(match answer {
                        Some((_, "raises")) => printed("", 2),
                        Some((_, answer)) => printed(answer, 0),
                        None => printed("up", 0),
                    });
                }
                ChainProgress::Finished(result) => {
                    let ActionResult::Run(output) = *result else {
                        panic!("it must be a command");
                    };
                    let text = output.stdout.text();
                    return (called, format!("{}: {text}", output.exit));
                }
                ChainProgress::Unhandled => return (called, "nothing".to_owned()),
            }
        }
    }

    #[test]
    fn a_chain_ends_with_the_first_result_whatever_it_is() {
        let abc = || vec![own("a"), own("b"), own("c")];
        let with = |b: &'static str| outcome(abc(), &[("a", "null"), ("b", b), ("c", "null")]);
        let ended = |text: &str| (vec!["a".to_owned(), "b".to_owned()], text.to_owned());
        assert_eq!(with(r#"{"result": 1}"#), ended("exit code 0: 1"));
        assert_eq!(with(r#"{"result": false}"#), ended("exit code 0: false"));
        assert_eq!(with(r#"{"result": 0}"#), ended("exit code 0: 0"));
        assert_eq!(with(r#"{"result": ""}"#), ended("exit code 0: "));
        assert_eq!(with(r#"{"result": {}}"#), ended("exit code 0: {}"));
        assert_eq!(
            with(r#"{"result": {"success": false}}"#),
            ended(r#"exit code 1: {"success":false}"#)
        );
        assert_eq!(
            with(r#"{"result": {"code": 3, "stdout": "x"}}"#),
            ended("exit code 3: x")
        );
        assert_eq!(with(r#"{"error": "no way"}"#), ended("no way: "));
        let (called, end) = with("{}");
        assert_eq!((called.len(), end.as_str()), (3, "nothing"));
    }

    #[test]
    fn an_executor_that_fails_ends_the_chain() {
        let (called, end) = outcome(vec![own("a"), own("b")], &[("a", "raises")]);
        assert_eq!(called, ["a"]);
        assert_eq!(end, "the executor failed with exit code 2: ");
        let (called, end) = outcome(vec![own("a"), own("b")], &[("a", "[1]")]);
        assert_eq!(called, ["a"]);
        assert_eq!(end, "the executor's reply is not a JSON object: ");
    }

    #[test]
    fn a_chain_of_which_nobody_performs_anything_has_no_result() {
        let splay = || ChainExecutor::Splay {
            seconds: 30,
            spread: Spread::Hash,
        };
        let mut run = chain(vec![splay()]).begin(on("web1"), start());
        let now = Instant::now();
        assert_eq!(
            run.step(None, now),
            ChainProgress::Wait(Duration::from_secs(23))
        );
        assert_eq!(run.step(None, now), ChainProgress::Unhandled);
        assert_eq!(
            run.take_notes(),
            ["`splay` waits 23 s", "no executor ran the function"]
                .map(|text| ChainNote::Notice(text.to_owned()))
        );
        assert!(chain(vec![splay()]).never_executes());
        assert_eq!(ExecutorChain::default().on_unhandled, UnhandledPolicy::Warn);
        let (called, end) = outcome(vec![splay(), ChainExecutor::Direct, own("a")], &[]);
        assert_eq!(
            (called, end.as_str()),
            (vec!["uptime".to_owned()], "exit code 0: up")
        );
    }

    #[test]
    fn the_time_of_a_host_counts_its_name_alone() {
        let splay = ChainExecutor::Splay {
            seconds: 300,
            spread: Spread::Hash,
        };
        let mut run = chain(vec![splay]).begin(on("deploy@web2:2222"), start());
        let wait = run.step(None, Instant::now());
        assert_eq!(wait, ChainProgress::Wait(Duration::from_secs(204)));
    }

    #[test]
    fn a_command_is_tried_again_until_it_succeeds_or_time_is_over() {
        let retry = ChainExecutor::Retry {
            attempts: 3,
            interval: Duration::from_secs(5),
        };
        let limit = ChainExecutor::Timeout(Duration::from_secs(8));
        let mut run = chain(vec![limit, retry, ChainExecutor::Direct]).begin(request(), start());
        let begin = Instant::now();
        let limit_of = |progress| match progress {
            ChainProgress::Perform(request) => match request.action {
                Action::Run(command) => command.time_limit.unwrap().as_secs(),
                _ => panic!("it must be a command"),
            },
            other => panic!("{other:?}"),
        };
        assert_eq!(limit_of(run.step(None, begin)), 8);
        let later = begin + Duration::from_secs(1);
        let wait = run.step(Some(printed("", 1)), later);
        assert_eq!(wait, ChainProgress::Wait(Duration::from_secs(5)));
        let later = begin + Duration::from_secs(6);
        assert_eq!(limit_of(run.step(None, later)), 2);
        let later = begin + Duration::from_secs(7);
        let wait = run.step(Some(printed("", 1)), later);
        assert_eq!(wait, ChainProgress::Wait(Duration::from_secs(1)));
        let later = begin + Duration::from_secs(8);
        let ChainProgress::Finished(result) = run.step(None, later) else {
            panic!("it must have ended");
        };
        assert_eq!(*result.exit(), Exit::TimedOut);
    }

    #[test]
    fn a_dry_run_tells_the_plan_without_secrets() {
        let mut request = on("web1");
        let Action::Run(command) = &mut request.action else {
            return;
        };
        command.program = Program::Argv(vec!["login".into(), "hunter2".into()]);
        command.secrets.add("hunter2");
        let to = BecomeUser {
            user: "root".to_owned(),
            password: None,
        };
        let executors = vec![ChainExecutor::DryRun, ChainExecutor::Sudo(to)];
        let mut run = chain(executors).begin(request, start());
        let ChainProgress::Finished(result) = run.step(None, Instant::now()) else {
            panic!("it must have ended");
        };
        let ActionResult::Run(output) = *result else {
            panic!("it must be a command");
        };
        insta::assert_snapshot!(output.stdout.text(), @"would run `login <<REDACTED>>` on web1 by `sudo`");
    }

    #[test]
    fn what_goes_to_another_user_by_the_input_stays_hidden() {
        let mut request = on("web1");
        let Action::Run(command) = &mut request.action else {
            return;
        };
        command.env.add("USER", "joe");
        command.env.add_secret("TOKEN", "hunter2");
        command.env.add("COPY", "it is hunter2");
        let to = BecomeUser {
            user: "root".to_owned(),
            password: None,
        };
        let mut run = chain(vec![ChainExecutor::Sudo(to)]).begin(request, start());
        let ChainProgress::Perform(request) = run.step(None, Instant::now()) else {
            panic!("it must be performed");
        };
        let Action::Run(command) = &request.action else {
            panic!("it must be a command");
        };
        let words = command.program.argv().join(" ");
        assert!(words.contains("USER=joe"), "{words}");
        assert!(!words.contains("hunter2"), "{words}");
        assert_eq!(command.hidden().redact("hunter2 came"), "<<REDACTED>> came");
    }

    #[test]
    fn files_are_not_taken_where_only_commands_go() {
        let put = crate::host::Put {
            source: crate::host::Content::Bytes(Vec::new()),
            target: "x".to_owned(),
            mode: None,
            settings: crate::host::PutSettings::default(),
            time_limit: None,
        };
        let request = ActionRequest::local(Action::Put(put));
        let mut run = chain(vec![ChainExecutor::Chroot("/srv".into())]).begin(request, start());
        let ChainProgress::Finished(result) = run.step(None, Instant::now()) else {
            panic!("it must have ended");
        };
        insta::assert_snapshot!(
            result.exit(),
            @"`chroot` cannot transfer files, only run commands: transfer the file as the login user, then move it with a command"
        );
    }
}
