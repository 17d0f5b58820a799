//! The ports of a running job: files, the journal, and those who hear events.

use super::engine::Engine;
use super::error::Error;
use super::event::{Journal, Sink};
use super::world::Folders;

/// The ports that a running job works with.
pub struct Ports<'a> {
    /// Keeps files.
    pub folders: &'a mut dyn Folders,
    /// Makes events durable.
    pub journal: &'a mut dyn Journal,
    /// Hear events.
    pub sinks: Vec<&'a mut dyn Sink>,
}

impl std::fmt::Debug for Ports<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

impl Ports<'_> {
    /// Makes the events of a job durable, then lets the sinks hear them.
    pub fn publish(&mut self, engine: &mut Engine) -> Result<(), Error> {
        let events = engine.take_events();
        if events.is_empty() {
            return Ok(());
        }
        self.journal.append(&events)?;
        self.journal.sync()?;
        for event in &events {
            for sink in &mut self.sinks {
                sink.event(event);
            }
        }
        Ok(())
    }
}
