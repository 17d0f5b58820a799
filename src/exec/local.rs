//! The runner: its own thread, many actions at a time, on this machine and elsewhere.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc as results;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use super::guard::Guard;
use super::limits::Limits;
use super::perform::Error;
use super::perform::{Heard, OutputSink, Perform};
use super::running::{Echo, Ends, Piece, over};
use super::session::Session;
use super::unread::{Teller, Unread};
use crate::host::{ActionResult, Exit, Pool, Request, RunOutput};
use crate::system::signals::{Interrupts, Listening};
use crate::system::survivors;

/// How many pieces of output wait for a sink before the commands that write them wait.
const PIECES_WAITING: usize = 64;

/// Performs actions on this machine and others. When it is dropped, all that runs is killed.
#[derive(Debug)]
pub struct Local {
    orders: mpsc::UnboundedSender<Order>,
    results: results::Receiver<Heard>,
    thread: Option<JoinHandle<()>>,
    unread: Option<Arc<Unread>>,
}

impl Local {
    /// Starts the runner's thread.
    pub fn start(limits: Limits, sink: Option<Box<dyn OutputSink>>) -> Result<Self, Error> {
        Self::start_on(limits, sink, results::channel())
    }

    /// Starts the runner's thread. What commands with `echo` write is heard with the results, and
    /// before the result of its command; who does not listen slows those commands down.
    pub fn start_telling(limits: Limits) -> Result<Self, Error> {
        let (result_sender, result_receiver) = results::channel();
        let unread = Arc::new(Unread::default());
        let teller = Teller {
            results: result_sender.clone(),
            unread: Arc::clone(&unread),
        };
        let channel = (result_sender, result_receiver);
        let mut local = Self::start_on(limits, Some(Box::new(teller)), channel)?;
        local.unread = Some(unread);
        Ok(local)
    }

    fn start_on(
        limits: Limits,
        sink: Option<Box<dyn OutputSink>>,
        (result_sender, result_receiver): (results::Sender<Heard>, results::Receiver<Heard>),
    ) -> Result<Self, Error> {
        let (order_sender, order_receiver) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let thread = std::thread::Builder::new()
            .name("runner".to_owned())
            .spawn(move || {
                runtime.block_on(serve(limits, sink, order_receiver, result_sender));
                // A name that is being looked up would hold the end.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            orders: order_sender,
            results: result_receiver,
            thread: Some(thread),
            unread: None,
        })
    }

    /// Begins an action. Its result comes with the same id, which no other action that runs has.
    pub fn submit(&self, id: u64, request: Request) {
        self.order(Order::Begin(id, Box::new(request)));
    }

    /// Ends all actions early; their results still come.
    pub fn cancel_all(&self) {
        self.order(Order::CancelAll);
    }

    /// Waits for the next result, or an interruption. Waits for ever if nothing was submitted.
    pub fn recv(&self) -> Result<Heard, Error> {
        let heard = self.results.recv().map_err(|_| Error::Gone)?;
        self.was_read(&heard);
        Ok(heard)
    }

    /// Waits for the next result, or an interruption, for so long at most; none if nothing came.
    pub fn recv_within(&self, time: Duration) -> Result<Option<Heard>, Error> {
        match self.results.recv_timeout(time) {
            Ok(heard) => {
                self.was_read(&heard);
                Ok(Some(heard))
            }
            Err(results::RecvTimeoutError::Timeout) => Ok(None),
            Err(results::RecvTimeoutError::Disconnected) => Err(Error::Gone),
        }
    }

    fn was_read(&self, heard: &Heard) {
        if let (Heard::Wrote(_, _, bytes), Some(unread)) = (heard, &self.unread) {
            unread.take(bytes.len());
        }
    }

    fn order(&self, order: Order) {
        // If the thread is gone, `recv` says so.
        self.orders.send(order).ok();
    }
}

impl Perform for Local {
    fn begin(&mut self, id: u64, request: Request) -> Result<(), Error> {
        self.submit(id, request);
        Ok(())
    }

    fn hear(&mut self, until: Option<Instant>) -> Result<Option<Heard>, Error> {
        match until {
            None => self.recv().map(Some),
            Some(end) => self.recv_within(end.saturating_duration_since(Instant::now())),
        }
    }

    fn cancel_all(&mut self) {
        Self::cancel_all(self);
    }

    /// What runs may go on for a while after the first signal, see [`Limits::patience`]. With the
    /// second one all is killed. Whoever waits for a result hears of each.
    fn listen(&self, interrupts: &Interrupts) -> Option<Listening> {
        let orders = self.orders.clone();
        Some(interrupts.listen(move |signal, nth| {
            // Where the runner has ended, nothing runs.
            orders.send(Order::Interrupt(signal, nth)).ok();
        }))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(unread) = &self.unread {
            unread.close();
        }
        // The thread kills what runs and ends.
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// What the thread is told.
enum Order {
    Begin(u64, Box<Request>),
    CancelAll,
    /// Somebody asks for an end by this signal, for the nth time.
    Interrupt(i32, usize),
    Stop,
}

/// Follows orders until it is to stop, then kills all that runs.
async fn serve(
    limits: Limits,
    sink: Option<Box<dyn OutputSink>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    results: results::Sender<Heard>,
) {
    let most = limits.running.clamp(1, Semaphore::MAX_PERMITS);
    let mut server = Server {
        session: Session {
            turns: Arc::new(Semaphore::new(most)),
            results,
            echo: sink.and_then(listen),
            guard: limits.guarding.clone().map(|it| Arc::new(Guard::start(it))),
            pool: Arc::new(Pool::new(limits.connections.clone())),
            limits: Arc::new(limits),
        },
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
            Some(Order::CancelAll) => cancel_all(&mut server.cancels),
            Some(Order::Interrupt(signal, nth)) => server.interrupt(signal, nth),
            Some(Order::Stop) | None => break,
        }
    }
    server.stop().await;
}

/// All that runs.
struct Server {
    session: Session,
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
        let session = self.session.clone();
        let task = self.running.spawn(async move {
            let result = session.perform(id, request, ends).await;
            // Nobody listens any more when the runner is being dropped.
            session.results.send(Heard::Ended(id, result)).ok();
            (id, count)
        });
        self.ids.insert(task.id(), id);
    }

    /// What runs may go on for a while. Who asks twice does not want to wait: all is killed.
    fn interrupt(&mut self, signal: i32, nth: usize) {
        if nth > 1 {
            self.hurry.send_replace(true);
            self.end_all();
        } else if !self.refuses {
            self.patience = Some(Instant::now() + self.session.limits.patience);
        }
        // Whoever waits for a result is to know.
        self.session.results.send(Heard::Interruption(signal)).ok();
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
        if let Some(guard) = &self.session.guard {
            if !tasks.is_empty() {
                let is_spared = |task| !tasks.contains(&task);
                survivors::end(guard.token(), &is_spared, Duration::ZERO);
            }
            guard.goodbye();
        }
        self.session.pool.close().await;
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
        self.session.results.send(Heard::Ended(id, result)).ok();
    }
}

fn cancel_all(cancels: &mut HashMap<u64, (u64, oneshot::Sender<()>)>) {
    for (_, (_, sender)) in cancels.drain() {
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
