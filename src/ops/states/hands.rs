//! Performs actions on machines, as another user where that is asked, and asks people for
//! passwords on the way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::asking::Asking;
use super::hosts::StateHost;
use super::request::StatesView;
use crate::exec::{Guarding, Heard, Limits, Local};
use crate::host::{Action, ActionResult, Become, Chain, Executor, Exit, Place, Request};
use crate::ops::failure::{Failure, FailureKind};
use crate::system::signals::{Interrupts, Listening};

/// Performs actions; each has a tag by which it is known again.
pub(super) struct Hands<T> {
    interrupts: Interrupts,
    sudo: Option<String>,
    listening: Option<Listening>,
    local: Option<Local>,
    flights: HashMap<u64, Flight<T>>,
    next_id: u64,
    asking: Asking,
}

/// An action that runs on a machine.
struct Flight<T> {
    tag: T,
    host: StateHost,
    action: Action,
    /// How many answers were known when it began.
    since: usize,
}

/// What was heard.
pub(super) enum News<T> {
    /// An action has ended.
    Ended(T, ActionResult),
    /// Somebody asks for an end of all.
    Interrupted,
    /// The time has come.
    Time,
    /// Nothing that matters.
    Nothing,
}

impl<T> Hands<T> {
    pub(super) fn new(interrupts: Interrupts, sudo: Option<String>) -> Self {
        Self {
            interrupts,
            sudo,
            listening: None,
            local: None,
            flights: HashMap::new(),
            next_id: 0,
            asking: Asking::default(),
        }
    }

    /// Whether nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// Begins an action on a machine.
    pub(super) fn submit(
        &mut self,
        host: &StateHost,
        action: Action,
        tag: T,
    ) -> Result<(), Failure> {
        let host = host.clone();
        let since = self.asking.answers();
        self.begin(Flight {
            tag,
            host,
            action,
            since,
        })
    }

    fn begin(&mut self, flight: Flight<T>) -> Result<(), Failure> {
        let id = self.next_id;
        self.next_id += 1;
        let place = match &flight.host.place {
            Place::Ssh(destination) => {
                Place::Ssh(Arc::new(self.asking.passwords.apply(destination)))
            }
            place => place.clone(),
        };
        let mut request = Request::at(place, flight.action.clone());
        request.host = Some(flight.host.name.to_string());
        request.chain = self.chain(&request.place);
        self.flights.insert(id, flight);
        self.local()?.submit(id, request);
        Ok(())
    }

    /// What performs actions as another user.
    fn chain(&self, place: &Place) -> Option<Arc<Chain>> {
        let user = self.sudo.clone()?;
        let password = match place {
            Place::Ssh(destination) => self.asking.passwords.sudo(&destination.address).cloned(),
            Place::Here | Place::Container(_) => None,
        };
        let sudo = Executor::Sudo(Become { user, password });
        Some(Arc::new(Chain::new(vec![sudo])))
    }

    /// Waits for what is heard next, until a time if there is one. An action that needs a password
    /// begins again once somebody has given it.
    pub(super) fn listen(
        &mut self,
        until: Option<Instant>,
        view: &mut dyn StatesView,
    ) -> Result<News<T>, Failure> {
        let heard = match until {
            None => Some(self.local()?.recv().map_err(internal)?),
            Some(end) => {
                let time = end.saturating_duration_since(Instant::now());
                self.local()?.recv_within(time).map_err(internal)?
            }
        };
        let (id, result) = match heard {
            None => return Ok(News::Time),
            Some(Heard::Interruption) => return Ok(News::Interrupted),
            Some(Heard::Note(_, _) | Heard::Wrote(..)) => return Ok(News::Nothing),
            Some(Heard::Ended(id, result)) => (id, result),
        };
        let Some(mut flight) = self.flights.remove(&id) else {
            return Ok(News::Nothing);
        };
        if let Exit::Asked { question, .. } = result.exit()
            && self.asking.answered(question, flight.since, view)
        {
            flight.since = self.asking.answers();
            self.begin(flight)?;
            return Ok(News::Nothing);
        }
        Ok(News::Ended(flight.tag, result))
    }

    /// Ends all actions early.
    pub(super) fn cancel_all(&self) {
        if let Some(local) = &self.local {
            local.cancel_all();
        }
    }

    /// The runner, started with the first action.
    fn local(&mut self) -> Result<&Local, Failure> {
        if self.local.is_none() {
            let token = ulid::Ulid::generate().to_string();
            let limits = Limits {
                guarding: Some(Guarding::by_this_program(&token)),
                ..Limits::default()
            };
            let local = Local::start(limits, None).map_err(internal)?;
            let bell = local.bell();
            self.interrupts.starts();
            let listening = self.interrupts.listen(move |_, nth| bell.ring(nth));
            self.listening = Some(listening);
            self.local = Some(local);
        }
        let local = self.local.as_ref();
        local.ok_or_else(|| internal("the runner did not start"))
    }
}

/// Why a machine is lost, if it is.
pub(super) fn lost(exit: &Exit) -> Option<String> {
    match exit {
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotFound(_) => None,
        Exit::Cancelled => Some("interrupted".to_owned()),
        Exit::Unreachable(_) | Exit::Failed(_) | Exit::Asked { .. } => Some(exit.to_string()),
    }
}

pub(super) fn internal(error: impl ToString) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}
