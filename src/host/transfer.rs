//! Takes files and folders to other places and brings them from there, several files at a time.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::copy::{self, Count};
use super::far::Far;
use super::request::until;
use super::sftp::Sftp;
use super::ssh::Lease;
use super::tree::{
    DEEPEST, Error, Item, Kind, NewFile, Source, joined, local_target, name_of, walk,
};
use super::way::Way;
use super::{Action, Call, Content, Exit, Get, Put, Stop, TransferOutput};

/// How many files are on their way at a time.
const FILES: usize = 8;
/// How long it may take to delete what was left half there.
const CLEANING: Duration = Duration::from_secs(2);

/// Performs a transfer on this machine. One that is to end has ended before anybody could say so.
pub(super) async fn here(action: &Action) -> TransferOutput {
    let start = Instant::now();
    let action = action.clone();
    let copying = tokio::task::spawn_blocking(move || match &action {
        Action::Put(put) => copy::put(put),
        Action::Get(get) => copy::get(get),
        Action::Run(_) | Action::Read(_) | Action::Change(_) => Ok(Count::default()),
    });
    let stopped = || Error::Exit(Exit::Failed("the copy was stopped".to_owned()));
    let result = copying.await.unwrap_or_else(|_| Err(stopped()));
    output(result, start)
}

/// Performs a transfer to or from another place.
pub(super) async fn there(way: &Way, action: &Action, mut call: Call) -> TransferOutput {
    let start = Instant::now();
    let limit = match action {
        Action::Put(put) => put.time_limit,
        Action::Get(get) => get.time_limit,
        Action::Run(_) | Action::Read(_) | Action::Change(_) => None,
    };
    let too_long = async {
        match limit {
            Some(limit) => sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(too_long);
    let begun = tokio::select! {
        biased;
        () = until(&mut call.stop, Stop::Gently) => Err(Exit::Cancelled),
        begun = begin(way) => begun,
        () = &mut too_long => Err(Exit::TimedOut),
    };
    let (far, lease) = match begun {
        Ok(begun) => begun,
        Err(exit) => return output(Err(Error::Exit(exit)), start),
    };
    let result = tokio::select! {
        result = transfer(&far, action) => result,
        () = until(&mut call.stop, Stop::Gently) => Err(Error::Exit(Exit::Cancelled)),
        () = &mut too_long => Err(Error::Exit(Exit::TimedOut)),
    };
    timeout(CLEANING, far.clean()).await.ok();
    drop(far);
    drop(lease);
    output(result, start)
}

fn output(result: Result<Count, Error>, start: Instant) -> TransferOutput {
    let (exit, count) = match result {
        Ok(count) => (Exit::Code(0), count),
        Err(Error::Exit(exit)) => (exit, Count::default()),
        Err(error) => (Exit::Failed(error.to_string()), Count::default()),
    };
    TransferOutput {
        exit,
        files: count.files,
        bytes: count.bytes,
        elapsed: start.elapsed(),
    }
}

/// Finds out how files get there.
async fn begin(way: &Way) -> Result<(Far<'_>, Option<Lease>), Exit> {
    if way.is_container() {
        return Ok((Far::programs(way), None));
    }
    let Some(session) = way.session().await else {
        return Ok((Far::programs(way), None));
    };
    let (lease, channel) = session?;
    Ok(match Sftp::begin(channel).await {
        Some(sftp) => (Far::Sftp(sftp), Some(lease)),
        None => (Far::programs(way), None),
    })
}

async fn transfer(far: &Far<'_>, action: &Action) -> Result<Count, Error> {
    match action {
        Action::Put(put) => take_there(far, put).await,
        Action::Get(get) => bring(far, get).await,
        Action::Run(_) | Action::Read(_) | Action::Change(_) => Ok(Count::default()),
    }
}

async fn take_there(far: &Far<'_>, put: &Put) -> Result<Count, Error> {
    let target = from_home(&put.target);
    let path = match &put.source {
        Content::Path(path) => path.clone(),
        Content::Bytes(bytes) => {
            let is_folder = target.ends_with('/') || far.kind(target).await? == Some(Kind::Folder);
            if is_folder {
                return Err(Error::NoName(put.target.clone()));
            }
            let place = far.real(target).await;
            let source = Source::Bytes(bytes.clone());
            let bytes = far.put(source, &place, put.mode).await?;
            return Ok(Count { files: 1, bytes });
        }
    };
    let walking = tokio::task::spawn_blocking(move || walk(&path));
    let stopped = || Error::Exit(Exit::Failed("the transfer was stopped".to_owned()));
    let items = walking.await.map_err(|_| stopped())??;
    let Some((first, below)) = items.split_first() else {
        return Ok(Count::default());
    };
    if let Kind::File { mode, size } = first.kind {
        let is_folder = target.ends_with('/') || far.kind(target).await? == Some(Kind::Folder);
        let place = if is_folder {
            joined(target, name_of(&first.path))
        } else {
            far.real(target).await
        };
        let source = Source::open(Path::new(&first.path), size)?;
        let bytes = far.put(source, &place, put.mode.or(Some(mode))).await?;
        return Ok(Count { files: 1, bytes });
    }
    far.make_folder(target).await?;
    for item in below.iter().filter(|item| item.kind == Kind::Folder) {
        far.make_folder(&joined(target, &item.below)).await?;
    }
    let files = below.iter().filter_map(|item| match item.kind {
        Kind::File { mode, size } => Some((item, put.mode.unwrap_or(mode), size)),
        Kind::Folder => None,
    });
    let work = files.map(|(item, mode, size)| async move {
        let source = Source::open(Path::new(&item.path), size)?;
        far.put(source, &joined(target, &item.below), Some(mode))
            .await
    });
    several(work).await
}

async fn bring(far: &Far<'_>, get: &Get) -> Result<Count, Error> {
    let source = from_home(&get.source);
    let Some(kind) = far.kind(source).await? else {
        return Err(Error::Failed {
            what: "read",
            path: get.source.clone(),
            why: "no such file or folder".to_owned(),
        });
    };
    if let Kind::File { mode, .. } = kind {
        let place = local_target(&get.target, name_of(source));
        let bytes = bring_file(far, source, &place, mode).await?;
        return Ok(Count { files: 1, bytes });
    }
    let items = walk_there(far, source).await?;
    for item in items.iter().filter(|item| item.kind == Kind::Folder) {
        let place = get.target.join(&item.below);
        let made = crate::system::fs::create_dir_all(&place);
        made.map_err(|error| Error::new("make", &place, &std::io::Error::other(error)))?;
    }
    let files = items.iter().filter_map(|item| match item.kind {
        Kind::File { mode, .. } => Some((item, mode)),
        Kind::Folder => None,
    });
    let work = files.map(|(item, mode)| async move {
        bring_file(far, &item.path, &get.target.join(&item.below), mode).await
    });
    several(work).await
}

async fn bring_file(far: &Far<'_>, path: &str, place: &Path, mode: u32) -> Result<u64, Error> {
    let new = NewFile::create(place)?;
    let (new, length) = far.get(path, new).await?;
    new.finish(mode)?;
    Ok(length)
}

/// All that is in a folder of another place, each folder before what is in it.
async fn walk_there(far: &Far<'_>, root: &str) -> Result<Vec<Item>, Error> {
    let top = Item {
        path: root.to_owned(),
        below: String::new(),
        kind: Kind::Folder,
    };
    let mut items = vec![top];
    let mut next = 0;
    while let Some(item) = items.get(next) {
        next += 1;
        if item.kind != Kind::Folder {
            continue;
        }
        let (path, below) = (item.path.clone(), item.below.clone());
        if below.matches('/').count() > DEEPEST {
            return Err(Error::Loop(root.to_owned()));
        }
        for (name, kind) in far.list(&path).await? {
            items.push(Item {
                path: joined(&path, &name),
                below: joined(&below, &name),
                kind,
            });
        }
    }
    Ok(items)
}

/// Does some of the work at a time, and counts.
async fn several<W>(mut work: impl Iterator<Item = W>) -> Result<Count, Error>
where
    W: Future<Output = Result<u64, Error>>,
{
    let mut count = Count::default();
    let mut running = Vec::new();
    loop {
        while running.len() < FILES
            && let Some(next) = work.next()
        {
            running.push(Box::pin(next));
        }
        if running.is_empty() {
            return Ok(count);
        }
        let bytes = std::future::poll_fn(|context| {
            for place in 0..running.len() {
                if let std::task::Poll::Ready(done) = running[place].as_mut().poll(context) {
                    drop(running.swap_remove(place));
                    return std::task::Poll::Ready(done);
                }
            }
            std::task::Poll::Pending
        });
        count.bytes += bytes.await?;
        count.files += 1;
    }
}

/// A path as the other side reads it, which begins at the user's home where it is relative.
fn from_home(path: &str) -> &str {
    match path {
        "" | "~" => ".",
        path => path.strip_prefix("~/").unwrap_or(path),
    }
}
