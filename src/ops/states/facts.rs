//! Reads facts of machines, and changes nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::hands::{Hands, News, lost};
use super::hosts::StateHost;
use super::request::StatesView;
use crate::host::fact::{Fact, Reading};
use crate::host::{Action, ActionResult};
use crate::ops::failure::Failure;
use crate::system::signals::Interrupts;

/// Which facts of which machines.
#[derive(Debug, Clone)]
pub struct FactsRequest {
    /// The facts.
    pub facts: Vec<Fact>,
    /// The machines.
    pub hosts: Vec<StateHost>,
    /// The most machines at the same time.
    pub parallel: usize,
    /// The user to act as, if another one.
    pub sudo: Option<String>,
    /// Tells whether somebody asks for an end.
    pub interrupts: Interrupts,
}

/// What was read of a machine.
#[derive(Debug)]
pub struct FactsOf {
    /// How people call it.
    pub name: Arc<str>,
    /// A reading for each fact, or why the machine was lost.
    pub readings: Result<Vec<Reading>, String>,
}

/// Reads the facts of all machines, in their order.
pub fn read_facts(
    request: &FactsRequest,
    view: &mut dyn StatesView,
) -> Result<Vec<FactsOf>, Failure> {
    let mut hands: Hands<usize> = Hands::new(request.interrupts.clone(), request.sudo.clone());
    let mut waiting: VecDeque<usize> = (0..request.hosts.len()).collect();
    let not_reached = || Err("it was not come to".to_owned());
    let mut all: Vec<FactsOf> = request
        .hosts
        .iter()
        .map(|host| FactsOf {
            name: Arc::clone(&host.name),
            readings: not_reached(),
        })
        .collect();
    let mut running = 0;
    loop {
        while running < request.parallel.max(1)
            && let Some(at) = waiting.pop_front()
        {
            let action = Action::Read(request.facts.clone());
            hands.submit(&request.hosts[at], action, at)?;
            running += 1;
        }
        if hands.is_idle() {
            return Ok(all);
        }
        match hands.listen(None, view)? {
            News::Ended(at, result) => {
                running -= 1;
                all[at].readings = match (lost(result.exit()), result) {
                    (Some(reason), _) => Err(reason),
                    (None, ActionResult::Read(output)) => Ok(output.readings),
                    (None, other) => Err(other.exit().to_string()),
                };
            }
            News::Interrupted => {
                waiting.clear();
                hands.cancel_all();
            }
            News::Time | News::Nothing => {}
        }
    }
}
