//! What the runner's thread does: begins actions, tells their results, ends them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use super::ends::{Echo, Ends, Piece};
use super::guard::Guard;
use super::heard::{Heard, OutputSink};
use super::limits::Limits;
use super::performer::Performer;
use super::restart::Restart;
use super::work::Hands;
use crate::host::{ActionResult, Exit, Pool, Request, RunOutput};
use crate::system::survivors;

/// How many pieces of output wait for a sink before the commands that write them wait.
const PIECES_WAITING: usize = 64;

/// What the thread is told.
pub(super) enum Order {
    Begin(u64, Box<Request>),
    Cancel(u64),
    CancelAll,
    /// Somebody asks for an end, for the nth time.
    Interrupt(usize),
    Stop,
}

/// Follows orders until it is to stop, then kills all that runs.
pub(super) async fn serve(
    limits: Limits,
    sink: Option<Box<dyn OutputSink>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    results: results::Sender<Heard>,
) {
    let most = limits.running.clamp(1, Semaphore::MAX_PERMITS);
    let mut server = Server {
        turns: Arc::new(Semaphore::new(most)),
        hands: Hands {
            echo: sink.and_then(listen),
            guard: limits.guarding.clone().map(|it| Arc::new(Guard::start(it))),
            pool: Arc::new(Pool::new(limits.connections.clone())),
            limits: Arc::new(limits),
        },
        results,
        patience: None,
        refuses: false,
        hurry: watch::channel(false).0,
        running: JoinSet::new(),
        ids: HashMap::new(),
        cancels: HashMap::new(),
        begun: 0,
    };
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            () = over(server.patience) => {
                server.end_all();
                continue;
            }
            Some(ended) = server.running.join_next_with_id() => {
                server.ended(ended);
                continue;
            }
        };
        match order {
            Some(Order::Begin(id, request)) => server.begin(id, *request),
            Some(Order::Cancel(id)) => cancel(server.cancels.remove(&id)),
            Some(Order::CancelAll) => cancel_all(&mut server.cancels),
            Some(Order::Interrupt(nth)) => server.interrupt(nth),
            Some(Order::Stop) | None => break,
        }
    }
    server.stop().await;
}

/// Waits until a time is over; for ever if there is none.
async fn over(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// All that runs.
struct Server {
    hands: Hands,
    turns: Arc<Semaphore>,
    results: results::Sender<Heard>,
    /// Until when commands may go on after somebody asked for an end.
    patience: Option<Instant>,
    /// Whether no command begins any more.
    refuses: bool,
    /// Whether commands are to be killed without grace.
    hurry: watch::Sender<bool>,
    running: JoinSet<(u64, u64)>,
    /// The effects of the tasks.
    ids: HashMap<tokio::task::Id, u64>,
    /// An id may come again as soon as its result was told, before its task is seen to have ended.
    cancels: HashMap<u64, (u64, oneshot::Sender<()>)>,
    begun: u64,
}

impl Server {
    fn begin(&mut self, id: u64, request: Request) {
        if self.refuses {
            self.tell(
                id,
                ActionResult::not_performed(&request.action, Exit::Cancelled),
            );
            return;
        }
        let (cancel, cancelled) = oneshot::channel();
        let ends = Ends {
            cancelled,
            hurried: self.hurry.subscribe(),
        };
        self.begun += 1;
        let count = self.begun;
        self.cancels.insert(id, (count, cancel));
        let turns = Arc::clone(&self.turns);
        let results = self.results.clone();
        let work = self.work(id, request);
        let task = self.running.spawn(async move {
            let result = match work {
                Begun::Restart(restart) => restart.perform(ends).await,
                Begun::Action(performer) => performer.perform(&turns, ends).await,
            };
            // Nobody listens any more when the runner is being dropped.
            results.send(Heard::Ended(id, result)).ok();
            (id, count)
        });
        self.ids.insert(task.id(), id);
    }

    /// Who performs an action, or restarts a host with it.
    fn work(&self, id: u64, mut request: Request) -> Begun {
        let hands = self.hands.clone();
        if let Some(wait) = request.restart.take() {
            return Begun::Restart(Box::new(Restart {
                id,
                request,
                wait,
                hands,
                results: self.results.clone(),
                turns: Arc::clone(&self.turns),
            }));
        }
        Begun::Action(hands.performer(id, request, &self.results))
    }

    /// What runs may go on for a while. Who asks twice does not want to wait: all is killed.
    fn interrupt(&mut self, nth: usize) {
        if nth > 1 {
            self.hurry.send_replace(true);
            self.end_all();
        } else if !self.refuses {
            self.patience = Some(Instant::now() + self.hands.limits.patience);
        }
        // Whoever waits for a result is to know.
        self.results.send(Heard::Interruption).ok();
    }

    fn end_all(&mut self) {
        self.patience = None;
        self.refuses = true;
        cancel_all(&mut self.cancels);
    }

    /// Kills what runs, wherever it went, and closes all connections.
    async fn stop(mut self) {
        while let Some(ended) = self.running.try_join_next_with_id() {
            // What it left behind on purpose may live.
            self.ended(ended);
        }
        let tasks: Vec<u64> = self.ids.values().copied().collect();
        // Dropping the tasks drops their groups, which kills them.
        self.running = JoinSet::new();
        if let Some(guard) = &self.hands.guard {
            if !tasks.is_empty() {
                let is_spared = |task| !tasks.contains(&task);
                survivors::end(guard.token(), &is_spared, Duration::ZERO);
            }
            guard.goodbye();
        }
        self.hands.pool.close().await;
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, (u64, u64)), JoinError>) {
        match ended {
            Ok((task, (id, count))) => {
                self.ids.remove(&task);
                if self
                    .cancels
                    .get(&id)
                    .is_some_and(|(latest, _)| *latest == count)
                {
                    self.cancels.remove(&id);
                }
            }
            Err(error) => {
                // Whoever waits for the result must not wait for ever.
                if let Some(id) = self.ids.remove(&error.id()) {
                    let why = "the runner could not go on with it".to_owned();
                    self.tell(id, ActionResult::Run(RunOutput::not_run(Exit::Failed(why))));
                }
            }
        }
    }

    /// Answers for an action that did not run to its end.
    fn tell(&self, id: u64, result: ActionResult) {
        self.results.send(Heard::Ended(id, result)).ok();
    }
}

fn cancel_all(cancels: &mut HashMap<u64, (u64, oneshot::Sender<()>)>) {
    for (_, each) in cancels.drain() {
        cancel(Some(each));
    }
}

/// What begins with an action.
enum Begun {
    Restart(Box<Restart>),
    Action(Performer),
}

fn cancel(sender: Option<(u64, oneshot::Sender<()>)>) {
    if let Some((_, sender)) = sender {
        // It may have ended meanwhile.
        sender.send(()).ok();
    }
}

/// Starts the thread in which the sink hears.
fn listen(mut sink: Box<dyn OutputSink>) -> Echo {
    let (sender, mut pieces) = mpsc::channel(PIECES_WAITING);
    let thread = std::thread::Builder::new().name("echo".to_owned());
    let started = thread.spawn(move || {
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Output(id, stream, bytes) => sink.output(id, stream, &bytes),
                Piece::Heard(tell) => drop(tell.send(())),
            }
        }
    });
    started.is_ok().then_some(sender)
}
