//! One server and the way to it: over HTTP or over SSH.

use super::Error;
use super::authenticate::authenticate;
use super::endpoint::{Endpoint, SshEndpoint};
use super::http_api::HttpApi;
use super::lock::{Created, LfsLock};
use super::reply::Page;
use super::settings::Settings;
use super::ssh::{self, Failed};
use crate::git::Repository;
use crate::system::env::Env;

/// The most parts of a list that are asked for.
const MOST_PAGES: usize = 1000;

/// What became of a lock that was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// It is free.
    Freed,
    /// It was not there any more.
    WasFree,
    /// Somebody else has it meanwhile.
    Taken(LfsLock),
}

/// The server for the locks of a repository.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Http(Box<HttpApi>),
    Ssh(SshEndpoint),
    /// Over HTTP, after each request was granted over SSH: what is granted ends soon.
    Granted(SshEndpoint),
}

impl Client {
    /// The server at `url`, which may be a remote's name, else the one that git-lfs would take.
    /// Reads settings; connects to nothing.
    pub fn open(repository: &Repository, url: Option<&str>, env: &Env) -> Result<Self, Error> {
        let settings = Settings::of(repository, url, env)?;
        let way = match &settings.endpoint {
            Endpoint::Http(http) => {
                Way::Http(Box::new(HttpApi::new(&settings, http.clone(), Vec::new())))
            }
            Endpoint::Ssh(ssh) => Way::Ssh(ssh.clone()),
        };
        Ok(Self { settings, way })
    }

    /// Where it is, without user and password.
    pub fn server(&self) -> String {
        match &self.way {
            Way::Http(api) => api.url().to_owned(),
            Way::Ssh(ssh) | Way::Granted(ssh) => ssh.shown(),
        }
    }

    /// Locks a path, which need not exist. If it is taken, finds out by whom.
    pub fn create(&mut self, path: &str) -> Result<Created, Error> {
        let created = self.by(
            |settings, ssh| ssh::create(settings, ssh, path),
            |api| api.create(path),
        )?;
        match created {
            Created::Ours(lock) if lock.path != path => Err(Error::Garbled {
                server: self.server(),
                reason: "it has locked another path".to_owned(),
            }),
            // Who has it may have gone meanwhile.
            Created::Taken(None) => Ok(Created::Taken(self.find(path).ok().flatten())),
            other => Ok(other),
        }
    }

    /// The lock of a path, if somebody holds it.
    pub fn find(&mut self, path: &str) -> Result<Option<LfsLock>, Error> {
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let from = cursor.as_deref();
            let page: Page = self.by(
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
        Err(Error::Garbled {
            server: self.server(),
            reason: "its list of locks has no end".to_owned(),
        })
    }

    /// Gives a lock back, unless the path is locked by another lock meanwhile: on some servers
    /// that has the same id.
    pub fn release(&mut self, lock: &LfsLock) -> Result<Released, Error> {
        match self.find(&lock.path)? {
            None => return Ok(Released::WasFree),
            Some(other) if !other.is_same(lock) => return Ok(Released::Taken(other)),
            Some(_) => {}
        }
        let freed = self.unlock(lock, false)?;
        Ok(if freed {
            Released::Freed
        } else {
            Released::WasFree
        })
    }

    /// Removes a lock, with `force` also that of somebody else; says whether it was there.
    pub fn unlock(&mut self, lock: &LfsLock, force: bool) -> Result<bool, Error> {
        self.by(
            |settings, ssh| ssh::unlock(settings, ssh, lock, force),
            |api| api.unlock(lock, force),
        )
    }

    fn by<T>(
        &mut self,
        over_ssh: impl Fn(&Settings, &SshEndpoint) -> Result<T, Failed>,
        over_http: impl Fn(&mut HttpApi) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let ssh = match &mut self.way {
            Way::Http(api) => return over_http(api),
            Way::Granted(ssh) => ssh.clone(),
            Way::Ssh(ssh) => match over_ssh(&self.settings, ssh) {
                Ok(result) => return Ok(result),
                Err(Failed::Error(error)) => return Err(error),
                Err(Failed::NoTransfer) => ssh.clone(),
            },
        };
        let granted = authenticate(&self.settings, &ssh)?;
        self.way = Way::Granted(ssh);
        let mut api = HttpApi::new(&self.settings, granted.endpoint, granted.headers);
        over_http(&mut api)
    }
}
