//! Joins the engine to the runner of this machine and to the face that shows what happens.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crate::exec::{Guarding, Heard, Limits, Local};
use crate::host::{Action, Chain, Note, Question, Request, Secret};
use crate::ops::failure::{Failure, FailureKind};
use crate::project::Trust;
use crate::runbook::{
    Book, Call, Deed, Do, Event, Helpers, HostEnd, How, NoCall, Options, Roles, Runbook, State,
    Task, TaskName, Tasks,
};
use crate::session::RealWorld;
use crate::session::current_dir;
use crate::system::env::Env;
use crate::system::signals::{Interrupts, Listening};
use crate::value::Map;

/// Shows what happens on hosts, and asks people.
pub trait HostsView {
    /// Takes the next thing that happened.
    fn event(&mut self, event: &Event);

    /// Asks for a secret; none if nobody answers.
    fn ask(&mut self, question: &Question) -> Option<Secret>;

    /// Asks something; what is `secret` is not shown while it is typed. None if nobody answers.
    fn prompt(&mut self, text: &str, default: Option<&str>, secret: bool) -> Option<String>;
}

/// What runs after the tasks, without being one of them (F28).
#[derive(Debug, Clone)]
pub enum AdHoc {
    /// A command.
    Command {
        /// The text, for the shell of each host.
        text: String,
        /// The user that it runs as, if another one.
        sudo: Option<String>,
    },
    /// A step.
    Step {
        /// Its name for people.
        name: &'static str,
        /// What it does.
        deed: Deed,
        /// How.
        how: Box<How>,
    },
}

impl AdHoc {
    fn task(&self, folder: &Path) -> Arc<Task> {
        match self {
            Self::Command { text, sudo } => Tasks::of_command(text, sudo.as_deref(), folder).0,
            Self::Step { name, deed, how } => {
                Tasks::of_step(name, deed.clone(), How::clone(how), folder)
            }
        }
    }
}

/// What is to run over hosts.
#[derive(Debug)]
pub struct RunbookRequest {
    /// The tasks that there are.
    pub tasks: Tasks,
    /// What is called of them, in order.
    pub calls: Vec<Call>,
    /// What runs after them.
    pub command: Option<AdHoc>,
    /// How they run. Folder, variables and user of this machine are those of this process where
    /// they are empty.
    pub options: Options,
    /// How hosts are reached.
    pub book: Rc<dyn Book>,
    /// The roles beyond those of the tasks.
    pub roles: Rc<dyn Roles>,
    /// What each action on a host goes through, if it says nothing else.
    pub chain: Option<Arc<Chain>>,
    /// What templates may use, by name (`--allow`).
    pub allowed: Vec<String>,
    /// Tells whether somebody asks for an end.
    pub interrupts: Interrupts,
}

/// What came of it.
#[derive(Debug)]
pub struct RunbookReport {
    /// How each task went on each host, in the order in which they ended.
    pub ends: Vec<HostEnd>,
    /// How it ended in all.
    pub state: State,
    /// The calls that were not come to.
    pub not_reached: Vec<TaskName>,
    /// The exit code: 0, 1 if a host failed, or that of the signal that asked for an end.
    pub exit_code: u8,
}

/// Runs the calls and the command of a request; shows what happens.
pub fn perform(
    request: &RunbookRequest,
    view: &mut dyn HostsView,
) -> Result<RunbookReport, Failure> {
    let env = Env::of_this_process();
    let options = completed(&request.options, &env)?;
    let folder = options.folder.clone();
    let mut drive = Drive {
        runbook: prepared(request, options, &env)?,
        view,
        variables: env.all().clone(),
        folder,
        request,
        listening: None,
        local: None,
        hosts: HashMap::new(),
        begun: HashMap::new(),
        ranks: HashMap::new(),
        ends: Vec::new(),
    };
    let state = drive.run()?;
    let exit_code = match (state, request.interrupts.first()) {
        (State::Interrupted, Some(signal)) => u8::try_from(128 + signal).unwrap_or(130),
        (State::Done, _) => 0,
        _ => 1,
    };
    Ok(RunbookReport {
        not_reached: drive.runbook.not_reached(),
        ends: drive.ends,
        state,
        exit_code,
    })
}

/// The options with what this process has where they are empty.
fn completed(options: &Options, env: &Env) -> Result<Options, Failure> {
    let mut options = options.clone();
    if options.folder.as_os_str().is_empty() {
        options.folder = current_dir()?;
    }
    if options.local_user.is_empty() {
        options.local_user = local_user(env);
    }
    if options.variables.is_empty() {
        let all = env.all().iter();
        options.variables = all
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
    }
    Ok(options)
}

/// The engine, with all that it has to know of this machine.
fn prepared(request: &RunbookRequest, options: Options, env: &Env) -> Result<Runbook, Failure> {
    let folder = options.folder.clone();
    let helpers = Helpers {
        book: Rc::clone(&request.book),
        roles: Rc::clone(&request.roles),
        world: Arc::new(world(folder.clone(), env, &request.allowed)),
    };
    let made = Runbook::new(request.tasks.clone(), &request.calls, options, helpers);
    let mut runbook = made.map_err(|problems| refused(&problems, &request.tasks))?;
    if let Some(command) = &request.command {
        runbook.add(command.task(&folder));
    }
    Ok(runbook)
}

/// What templates may read of this machine.
fn world(base: PathBuf, env: &Env, allowed: &[String]) -> RealWorld {
    RealWorld {
        project: base.clone(),
        planned: base.clone(),
        base,
        variables: env.all().clone(),
        locals: Map::new(),
        secrets: Map::new(),
        metadata: Map::new(),
        trust: Trust::new(allowed.iter().cloned(), false),
    }
}

/// Who runs this program.
pub(super) fn local_user(env: &Env) -> String {
    let said = ["LOGNAME", "USER"]
        .iter()
        .find_map(|name| env.non_empty(name));
    said.map_or_else(crate::system::user::name, str::to_owned)
}

/// Why nothing runs: all of it at once.
fn refused(problems: &[NoCall], tasks: &Tasks) -> Failure {
    let is_unknown = |problem: &NoCall| matches!(problem, NoCall::Unknown { .. });
    let kind = match problems {
        [NoCall::Env(_), ..] => FailureKind::Load,
        _ if problems.iter().any(is_unknown) => FailureKind::Refused,
        _ => FailureKind::Usage,
    };
    let names: Vec<String> = tasks
        .iter()
        .map(|task| format!("`{}`", task.name))
        .collect();
    let there_are = if names.is_empty() {
        "there is no `tasks.yaml` here or above, and `--file` names none".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    let diagnostics = problems.iter().map(|problem| {
        let diagnostic = crate::diagnostic::Diagnostic::error(problem);
        match problem {
            NoCall::Unknown { hint, .. } => {
                diagnostic.help(hint.clone().unwrap_or_else(|| there_are.clone()))
            }
            NoCall::Arguments(_) | NoCall::Env(_) => diagnostic,
        }
    });
    let diagnostics: crate::diagnostic::Diagnostics = diagnostics.collect();
    Failure::with_places(kind, diagnostics, crate::diagnostic::Sources::default())
}

struct Drive<'a> {
    runbook: Runbook,
    view: &'a mut dyn HostsView,
    variables: BTreeMap<String, String>,
    /// Where commands of this machine run that say nothing else.
    folder: PathBuf,
    request: &'a RunbookRequest,
    listening: Option<Listening>,
    local: Option<Local>,
    /// For which host each action runs.
    hosts: HashMap<u64, Option<Arc<str>>>,
    /// Since when a task runs on a host.
    begun: HashMap<(TaskName, Option<Arc<str>>), Instant>,
    /// Which of how many hosts of its task a host is.
    ranks: HashMap<Arc<str>, (u32, u32)>,
    ends: Vec<HostEnd>,
}

impl Drive<'_> {
    /// Runs until the engine has nothing left to do.
    fn run(&mut self) -> Result<State, Failure> {
        loop {
            if self.request.interrupts.heed().is_some() {
                self.runbook.interrupt();
            }
            let todo = self.runbook.next();
            self.tell();
            if todo.is_empty() {
                match self.runbook.state() {
                    State::Running if !self.hosts.is_empty() => self.listen()?,
                    State::Running => {
                        let message = "tasks wait for something that nobody does";
                        return Err(Failure::new(FailureKind::Internal, message, None));
                    }
                    state => return Ok(state),
                }
            }
            for one in todo {
                self.begin(one)?;
            }
        }
    }

    fn begin(&mut self, one: Do) -> Result<(), Failure> {
        match one {
            Do::Perform { id, host, request } => {
                let request = self.complete(*request, host.as_ref());
                self.hosts.insert(id, host);
                self.local()?.submit(id, request);
            }
            Do::Ask { id, question } => {
                let answer = self.view.ask(&question);
                self.runbook.answered(id, answer.as_ref());
            }
            Do::Prompt {
                id,
                host,
                text,
                default,
                secret,
            } => {
                let text = match host {
                    Some(host) => format!("[{host}] {text}"),
                    None => text,
                };
                let answer = self.view.prompt(&text, default.as_deref(), secret);
                self.runbook.prompted(id, answer.as_deref());
            }
        }
        Ok(())
    }

    /// A command of this machine gets what it needs of its environment, one on a host its chain
    /// of executors.
    fn complete(&self, mut request: Request, host: Option<&Arc<str>>) -> Request {
        if let Some(host) = host.filter(|host| !request.place.is_here() || host.starts_with('@')) {
            request.chain = request.chain.or_else(|| self.request.chain.clone());
            request.host = Some(host.to_string());
            request.rank = self.ranks.get(host).copied().unwrap_or((0, 1));
        }
        if request.place.is_here()
            && let Action::Run(command) = &mut request.action
        {
            if command.cwd.as_os_str().is_empty() {
                command.cwd.clone_from(&self.folder);
            }
            // What acts as another user may put its variables on a command line.
            let is_plain = request.chain.is_none();
            let missing = self.variables.iter().filter(|(name, _)| {
                command.variable(name).is_none() && (is_plain || *name == "PATH")
            });
            let missing: Vec<(String, String)> = missing
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            command.env.extend(missing);
        }
        request
    }

    /// Waits for what is heard next.
    fn listen(&mut self) -> Result<(), Failure> {
        match self.local()?.recv().map_err(internal)? {
            Heard::Ended(id, result) => {
                self.hosts.remove(&id);
                self.runbook.heard(id, &result);
            }
            Heard::Interruption => {
                self.runbook.interrupt();
                // Who asks for an end does not wait for what may take hours.
                self.local()?.cancel_all();
            }
            Heard::Note(id, note) => {
                let host = self.hosts.get(&id).cloned().flatten();
                self.view.event(&match note {
                    Note::Told(text) => {
                        let host = host.map_or(String::new(), |host| format!("[{host}] "));
                        Event::Warning(format!("{host}{text}"))
                    }
                    Note::Routine(text) => Event::Step { host, text },
                });
            }
            Heard::Wrote(id, stream, bytes) => {
                let host = self.hosts.get(&id).cloned().flatten();
                self.view.event(&Event::Output {
                    host,
                    stream,
                    bytes,
                });
            }
        }
        Ok(())
    }

    /// The runner, started with the first action.
    fn local(&mut self) -> Result<&Local, Failure> {
        if self.local.is_none() {
            let token = ulid::Ulid::generate().to_string();
            let limits = Limits {
                guarding: Some(Guarding::by_this_program(&token)),
                ..Limits::default()
            };
            let local = Local::start_telling(limits).map_err(internal)?;
            let bell = local.bell();
            self.request.interrupts.starts();
            let listening = self.request.interrupts.listen(move |_, nth| bell.ring(nth));
            self.listening = Some(listening);
            self.local = Some(local);
        }
        let local = self.local.as_ref();
        local.ok_or_else(|| internal("the runner did not start"))
    }

    /// Shows what has happened.
    fn tell(&mut self) {
        for mut event in self.runbook.take_events() {
            self.time(&mut event);
            self.view.event(&event);
            match event {
                Event::HostEnds(end) => self.ends.push(end),
                Event::TaskBegins { hosts, .. } => {
                    let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
                    self.ranks = (0..count)
                        .zip(hosts)
                        .map(|(rank, host)| (host, (rank, count)))
                        .collect();
                }
                _ => {}
            }
        }
    }

    /// Sets the time that a task took on a host, with that of connecting to it.
    fn time(&mut self, event: &mut Event) {
        match event {
            Event::HostBegins { task, host } => {
                let key = (Arc::clone(task), host.clone());
                self.begun.insert(key, Instant::now());
            }
            Event::HostEnds(end) => {
                let key = (Arc::clone(&end.task), end.host.clone());
                if let Some(begun) = self.begun.remove(&key) {
                    end.elapsed = begun.elapsed();
                }
            }
            _ => {}
        }
    }
}

fn internal(error: impl ToString) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}
