//! The client for a git-lfs server's locks. It uses SSH or HTTP, whichever the server supports.

use super::Error;
use super::authenticate::authenticate;
use super::endpoint::{LfsEndpoint, SshEndpoint};
use super::http_api::HttpApi;
use super::lock::{FoundLock, LfsLock, LockOutcome};
use super::response::LockPage;
use super::settings::LfsSettings;
use super::ssh::{self, SshError};
use crate::git::Repository;
use crate::system::env::Env;

/// The maximum number of pages read from a list of locks.
const MAX_PAGES: usize = 1000;

/// The result of releasing a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseOutcome {
    Released,
    /// The server had no such lock any more.
    NotLocked,
    /// Another user holds a lock on the same path now.
    LockedByOther(LfsLock),
}

/// A client for the lock server of a repository.
#[derive(Debug)]
pub struct Client {
    settings: LfsSettings,
    transport: LfsTransport,
}

/// The protocol with which the server is reached.
#[derive(Debug)]
enum LfsTransport {
    Http(Box<HttpApi>),
    Ssh(SshEndpoint),
    /// HTTP with access headers obtained over SSH before each request, because they expire soon.
    SshAuthenticatedHttp(SshEndpoint),
}

impl Client {
    /// Creates a client for the server at `url`, which may be the name of a remote, or for the server that
    /// git-lfs would use. Reads settings only; does not connect.
    pub fn open(repository: &Repository, url: Option<&str>, env: &Env) -> Result<Self, Error> {
        let settings = LfsSettings::discover(repository, url, env)?;
        let way = match &settings.endpoint {
            LfsEndpoint::Http(http) => {
                LfsTransport::Http(Box::new(HttpApi::new(&settings, http.clone(), Vec::new())))
            }
            LfsEndpoint::Ssh(ssh) => LfsTransport::Ssh(ssh.clone()),
        };
        Ok(Self {
            settings,
            transport: way,
        })
    }

    /// Returns the server's address without user and password.
    pub fn server(&self) -> String {
        match &self.transport {
            LfsTransport::Http(api) => api.url().to_owned(),
            LfsTransport::Ssh(ssh) | LfsTransport::SshAuthenticatedHttp(ssh) => {
                ssh.display_address()
            }
        }
    }

    /// Locks a path, which need not exist. If another user holds the lock, finds out who.
    pub fn create(&mut self, path: &str) -> Result<LockOutcome, Error> {
        let created = self.request(
            |settings, ssh| ssh::create(settings, ssh, path),
            |api| api.create(path),
        )?;
        match created {
            LockOutcome::Acquired(lock) if lock.path != path => Ok(LockOutcome::OtherPath(lock)),
            // The other user may have released the lock in the meantime.
            LockOutcome::HeldByOther(None) => {
                Ok(LockOutcome::HeldByOther(self.find(path).ok().flatten()))
            }
            other => Ok(other),
        }
    }

    /// Looks up the lock on a path after the answer to its request was lost.
    pub fn find_own(&mut self, path: &str) -> Result<Option<FoundLock>, Error> {
        let found = self.find_page(path, HttpApi::verify)?;
        Ok(found.map(|(lock, page)| {
            let is_own = page.own_ids.contains(&lock.id);
            FoundLock::new(lock, is_own, page.server_time)
        }))
    }

    /// Returns the lock on a path, if there is one.
    pub fn find(&mut self, path: &str) -> Result<Option<LfsLock>, Error> {
        let found = self.find_page(path, |api, from| api.list(Some(path), from))?;
        Ok(found.map(|(lock, _)| lock))
    }

    /// Returns the lock on a path with the rest of its page.
    fn find_page(
        &mut self,
        path: &str,
        over_http: impl Fn(&mut HttpApi, Option<&str>) -> Result<LockPage, Error>,
    ) -> Result<Option<(LfsLock, LockPage)>, Error> {
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let from = cursor.as_deref();
            let mut page: LockPage = self.request(
                |settings, ssh| ssh::list(settings, ssh, Some(path), from),
                |api| over_http(api, from),
            )?;
            if let Some(found) = page.locks.iter().position(|lock| lock.path == path) {
                return Ok(Some((page.locks.swap_remove(found), page)));
            }
            match page.next {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(None),
            }
        }
        Err(Error::InvalidResponse {
            server: self.server(),
            reason: "its list of locks does not end".to_owned(),
        })
    }

    /// Releases a lock, but not a later lock of another user on the same path. On some servers both have the
    /// same id.
    pub fn release(&mut self, lock: &LfsLock) -> Result<ReleaseOutcome, Error> {
        match self.find(&lock.path)? {
            None => return Ok(ReleaseOutcome::NotLocked),
            Some(other) if !other.is_same(lock) => return Ok(ReleaseOutcome::LockedByOther(other)),
            Some(_) => {}
        }
        let freed = self.unlock(lock, false)?;
        Ok(if freed {
            ReleaseOutcome::Released
        } else {
            ReleaseOutcome::NotLocked
        })
    }

    /// Removes a lock; `force` also removes a lock of another user. Returns whether the lock existed.
    pub fn unlock(&mut self, lock: &LfsLock, force: bool) -> Result<bool, Error> {
        self.request(
            |settings, ssh| ssh::unlock(settings, ssh, lock, force),
            |api| api.unlock(lock, force),
        )
    }

    fn request<T>(
        &mut self,
        over_ssh: impl Fn(&LfsSettings, &SshEndpoint) -> Result<T, SshError>,
        over_http: impl Fn(&mut HttpApi) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let ssh = match &mut self.transport {
            LfsTransport::Http(api) => return over_http(api),
            LfsTransport::SshAuthenticatedHttp(ssh) => ssh.clone(),
            LfsTransport::Ssh(ssh) => match over_ssh(&self.settings, ssh) {
                Ok(result) => return Ok(result),
                Err(SshError::Error(error)) => return Err(error),
                Err(SshError::NoTransfer) => ssh.clone(),
            },
        };
        let granted = authenticate(&self.settings, &ssh)?;
        self.transport = LfsTransport::SshAuthenticatedHttp(ssh);
        let mut api = HttpApi::new(&self.settings, granted.endpoint, granted.headers);
        over_http(&mut api)
    }
}
