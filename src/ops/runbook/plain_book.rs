//! Host strings as they are: nothing is looked up.

use std::sync::Arc;

use crate::host::{Address, DEFAULT_PORT, Destination, Place};
use crate::runbook::Book;

/// Leads to what host strings say, with what nobody says filled in.
#[derive(Debug, Clone)]
pub struct PlainBook {
    /// The user where neither the host string nor the run names one.
    pub user: String,
    /// The port where the host string names none.
    pub port: Option<u16>,
}

impl Book for PlainBook {
    fn place(&self, host: &str, user: Option<&str>) -> Result<Place, String> {
        let user = user.unwrap_or(&self.user);
        let port = self.port.unwrap_or(DEFAULT_PORT);
        let address = Address::parse(host, user, port).map_err(|error| error.to_string())?;
        Ok(Place::Ssh(Arc::new(Destination::new(host, address))))
    }
}
