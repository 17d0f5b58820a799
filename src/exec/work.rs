//! Work that acts at once: a process, facts and changes of this machine, or a connection.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::elsewhere::Elsewhere;
use super::ends::{Echo, Ends};
use super::guard::Guard;
use super::limits::Limits;
use super::native::Native;
use super::running::Running;
use crate::host::{Action, ActionResult, Exit, Place, Pool, Request, RunOutput};

/// What performs actions.
#[derive(Clone)]
pub(super) struct Hands {
    pub(super) limits: Arc<Limits>,
    pub(super) echo: Echo,
    pub(super) guard: Option<Arc<Guard>>,
    pub(super) pool: Arc<Pool>,
}

impl Hands {
    /// Who performs an action: a process of this machine, or the connections to others.
    pub(super) fn work(&self, id: u64, request: Request) -> Work {
        let echo = self.echo.clone();
        match request {
            Request {
                place: Place::Here,
                action: Action::Run(command),
                ..
            } => Work::Here(Box::new(Running {
                id,
                echo: echo.filter(|_| command.echo),
                command,
                limits: Arc::clone(&self.limits),
                guard: self.guard.clone(),
            })),
            Request {
                place: Place::Here,
                action: action @ (Action::Read(_) | Action::Change(_)),
                ..
            } => Work::Native(Box::new(Native {
                id,
                action,
                limits: Arc::clone(&self.limits),
                guard: self.guard.clone(),
            })),
            request => Work::Elsewhere(Box::new(Elsewhere {
                id,
                echo: echo.filter(|_| request.is_echoed()),
                request,
                pool: Arc::clone(&self.pool),
            })),
        }
    }
}

/// An action on its way.
pub(super) enum Work {
    Here(Box<Running>),
    Native(Box<Native>),
    Elsewhere(Box<Elsewhere>),
}

impl Work {
    pub(super) async fn wait_turn(self, turns: &Semaphore, mut ends: Ends) -> ActionResult {
        let turn = tokio::select! {
            biased;
            _ = &mut ends.cancelled => return self.cancelled(),
            turn = turns.acquire() => turn,
        };
        let result = match self {
            Self::Here(running) => ActionResult::Run(running.run(ends).await),
            Self::Native(native) => native.perform(ends).await,
            Self::Elsewhere(elsewhere) => elsewhere.perform(ends).await,
        };
        drop(turn);
        result
    }

    fn cancelled(&self) -> ActionResult {
        match self {
            Self::Here(_) => ActionResult::Run(RunOutput::not_run(Exit::Cancelled)),
            Self::Native(it) => ActionResult::not_performed(&it.action, Exit::Cancelled),
            Self::Elsewhere(it) => ActionResult::not_performed(&it.request.action, Exit::Cancelled),
        }
    }
}
