//! One server and the way to it: over HTTP or over SSH.

use super::Error;
use super::authenticate::authenticate;
use super::endpoint::{LfsEndpoint, SshEndpoint};
use super::http_api::HttpApi;
use super::lock::{LfsLock, LockOutcome};
use super::response::LockPage;
use super::settings::LfsSettings;
use super::ssh::{self, SshError};
use crate::git::Repository;
use crate::system::env::Env;

/// The most parts of a list that are asked for.
const MAX_PAGES: usize = 1000;

/// What became of a lock that was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// It is free.
    Released,
    /// It was not there any more.
    NotLocked,
    /// Somebody else has it meanwhile.
    LockedByOther(LfsLock),
}

/// The server for the locks of a repository.
#[derive(Debug)]
pub struct Client {
    settings: LfsSettings,
    transport: LfsTransport,
}

#[derive(Debug)]
enum LfsTransport {
    Http(Box<HttpApi>),
    Ssh(SshEndpoint),
    /// Over HTTP, after each request was granted over SSH: what is granted ends soon.
    SshAuthenticatedHttp(SshEndpoint),
}

impl Client {
    /// The server at `url`, which may be a remote's name, else the one that git-lfs would take.
    /// Reads settings; connects to nothing.
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

    /// Where it is, without user and password.
    pub fn server(&self) -> String {
        match &self.transport {
            LfsTransport::Http(api) => api.url().to_owned(),
            LfsTransport::Ssh(ssh) | LfsTransport::SshAuthenticatedHttp(ssh) => {
                ssh.display_address()
            }
        }
    }

    /// Locks a path, which need not exist. If it is taken, finds out by whom.
    pub fn create(&mut self, path: &str) -> Result<LockOutcome, Error> {
        let created = self.request(
            |settings, ssh| ssh::create(settings, ssh, path),
            |api| api.create(path),
        )?;
        match created {
            LockOutcome::Acquired(lock) if lock.path != path => Err(Error::InvalidResponse {
                server: self.server(),
                reason: "it has locked another path".to_owned(),
            }),
            // Who has it may have gone meanwhile.
            LockOutcome::HeldByOther(None) => {
                Ok(LockOutcome::HeldByOther(self.find(path).ok().flatten()))
            }
            other => Ok(other),
        }
    }

    /// The lock of a path, if somebody holds it.
    pub fn find(&mut self, path: &str) -> Result<Option<LfsLock>, Error> {
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let from = cursor.as_deref();
            let page: LockPage = self.request(
                |settings, ssh| ssh::list(settings, ssh, Some(path), from),
                |api| api.list(Some(path), from),
            )?;
            if let Some(lock) = page.locks.into_iter().find(|lock| lock.path == path) {
                return Ok(Some(lock));
            }
            match page.next {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(None),
            }
        }
        Err(Error::InvalidResponse {
            server: self.server(),
            reason: "its list of locks has no end".to_owned(),
        })
    }

    /// Gives a lock back, unless the path is locked by another lock meanwhile: on some servers
    /// that has the same id.
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

    /// Removes a lock, with `force` also that of somebody else; says whether it was there.
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
