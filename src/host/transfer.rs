//! Transfers files and folders to and from other locations, several files at a time.
//!
//! `remote_command` calls it for [`Put`] and [`Get`]. [`RemoteFs`] chooses between SFTP and shell
//! programs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::download_limits::DownloadLimits;
use super::local_copy::{self, TransferCount};
use super::remote_fs::RemoteFs;
use super::request::wait_for_stop;
use super::sftp::Sftp;
use super::ssh::Lease;
use super::transfer_files::{
    Error, MAX_DEPTH, NewFile, NewFileMode, TransferItem, TransferKind, UploadSource, file_name,
    join_path, local_target, walk,
};
use super::transport::Transport;
use super::{Action, CallControl, Content, Exit, Get, Put, StopLevel, TransferOutput};

/// The maximum number of files transferred at the same time.
const MAX_CONCURRENT_FILES: usize = 8;
/// The time limit for deleting incomplete files.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Performs a transfer on the local machine.
///
/// The copy cannot be cancelled: it is finished before a cancellation could matter.
pub(super) async fn transfer_locally(action: &Action) -> TransferOutput {
    let start = Instant::now();
    let action = action.clone();
    let copying = tokio::task::spawn_blocking(move || match &action {
        Action::Put(put) => local_copy::put(put),
        Action::Get(get) => local_copy::get(get),
        Action::Run(_) | Action::Read(_) | Action::Change(_) | Action::Private(_) => {
            Ok(TransferCount::default())
        }
    });
    let stopped = || Error::Exit(Exit::Failed("the copy was stopped".to_owned()));
    let result = copying.await.unwrap_or_else(|_| Err(stopped()));
    output(result, start)
}

/// Performs a transfer to or from another location.
pub(super) async fn transfer_remotely(
    transport: &Transport,
    action: &Action,
    mut call: CallControl,
) -> TransferOutput {
    let start = Instant::now();
    let limit = match action {
        Action::Put(put) => put.time_limit,
        Action::Get(get) => get.time_limit,
        Action::Run(_) | Action::Read(_) | Action::Change(_) | Action::Private(_) => None,
    };
    let too_long = async {
        match limit {
            Some(limit) => sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(too_long);
    let opened = tokio::select! {
        biased;
        () = wait_for_stop(&mut call.stop, StopLevel::Gently) => Err(Exit::Cancelled),
        opened = open_remote_fs(transport) => opened,
        () = &mut too_long => Err(Exit::TimedOut),
    };
    let (remote_fs, lease) = match opened {
        Ok(opened) => opened,
        Err(exit) => return output(Err(Error::Exit(exit)), start),
    };
    let result = tokio::select! {
        result = transfer(&remote_fs, action) => result,
        () = wait_for_stop(&mut call.stop, StopLevel::Gently) => Err(Error::Exit(Exit::Cancelled)),
        () = &mut too_long => Err(Error::Exit(Exit::TimedOut)),
    };
    timeout(CLEANUP_TIMEOUT, remote_fs.remove_partial_files())
        .await
        .ok();
    drop(remote_fs);
    drop(lease);
    output(result, start)
}

fn output(result: Result<TransferCount, Error>, start: Instant) -> TransferOutput {
    let (exit, count) = match result {
        Ok(count) => (Exit::Code(0), count),
        Err(Error::Exit(exit)) => (exit, TransferCount::default()),
        Err(error) => (Exit::Failed(error.to_string()), TransferCount::default()),
    };
    TransferOutput {
        exit,
        files: count.files,
        bytes: count.bytes,
        elapsed: start.elapsed(),
    }
}

/// Opens the file system of the location, over SFTP if possible.
async fn open_remote_fs(transport: &Transport) -> Result<(RemoteFs<'_>, Option<Lease>), Exit> {
    if transport.is_container() {
        return Ok((RemoteFs::shell(transport), None));
    }
    let Some(session) = transport.session().await else {
        return Ok((RemoteFs::shell(transport), None));
    };
    let (lease, channel) = session?;
    Ok(match Sftp::open(channel).await {
        Some(sftp) => (RemoteFs::Sftp(sftp), Some(lease)),
        None => (RemoteFs::shell(transport), None),
    })
}

async fn transfer(remote_fs: &RemoteFs<'_>, action: &Action) -> Result<TransferCount, Error> {
    match action {
        Action::Put(put) => upload(remote_fs, put).await,
        Action::Get(get) => download(remote_fs, get).await,
        Action::Run(_) | Action::Read(_) | Action::Change(_) | Action::Private(_) => {
            Ok(TransferCount::default())
        }
    }
}

async fn upload(remote_fs: &RemoteFs<'_>, put: &Put) -> Result<TransferCount, Error> {
    let target = from_home(&put.target);
    let path = match &put.source {
        Content::Path(path) => path.clone(),
        Content::Bytes(bytes) => {
            let is_folder = target.ends_with('/')
                || remote_fs.kind(target).await? == Some(TransferKind::Folder);
            if is_folder {
                return Err(Error::NoName(put.target.clone()));
            }
            let place = remote_fs.canonical_path(target).await;
            let source = UploadSource::Bytes(bytes.clone());
            let bytes = remote_fs.put(source, &place, put.mode).await?;
            return Ok(TransferCount { files: 1, bytes });
        }
    };
    let walking = tokio::task::spawn_blocking(move || walk(&path));
    let stopped = || Error::Exit(Exit::Failed("the transfer was stopped".to_owned()));
    let items = walking.await.map_err(|_| stopped())??;
    let Some((first, below)) = items.split_first() else {
        return Ok(TransferCount::default());
    };
    if let TransferKind::File { mode, size } = first.kind {
        let is_folder =
            target.ends_with('/') || remote_fs.kind(target).await? == Some(TransferKind::Folder);
        let place = if is_folder {
            join_path(target, file_name(&first.path))
        } else {
            remote_fs.canonical_path(target).await
        };
        let source = UploadSource::open(Path::new(&first.path), size)?;
        let bytes = remote_fs
            .put(source, &place, put.mode.or(Some(mode)))
            .await?;
        return Ok(TransferCount { files: 1, bytes });
    }
    remote_fs.make_folder(target).await?;
    for item in below
        .iter()
        .filter(|item| item.kind == TransferKind::Folder)
    {
        remote_fs
            .make_folder(&join_path(target, &item.relative_path))
            .await?;
    }
    let files = below.iter().filter_map(|item| match item.kind {
        TransferKind::File { mode, size } => Some((item, put.mode.unwrap_or(mode), size)),
        TransferKind::Folder => None,
    });
    let work = files.map(|(item, mode, size)| async move {
        let source = UploadSource::open(Path::new(&item.path), size)?;
        remote_fs
            .put(source, &join_path(target, &item.relative_path), Some(mode))
            .await
    });
    run_concurrently(work).await
}

async fn download(remote_fs: &RemoteFs<'_>, get: &Get) -> Result<TransferCount, Error> {
    let source = from_home(&get.source);
    let limits = Arc::new(DownloadLimits::new(get.max_bytes));
    let Some(kind) = remote_fs.kind(source).await? else {
        return Err(Error::Failed {
            operation: "read",
            path: get.source.clone(),
            why: "no such file or folder".to_owned(),
        });
    };
    if let TransferKind::File { mode, .. } = kind {
        let place = local_target(&get.target, file_name(source));
        let bytes = download_file(remote_fs, source, &place, (mode, &limits)).await?;
        return Ok(TransferCount { files: 1, bytes });
    }
    let items = walk_remote(remote_fs, source, &limits).await?;
    for item in items
        .iter()
        .filter(|item| item.kind == TransferKind::Folder)
    {
        let place = get.target.join(&item.relative_path);
        let made = crate::system::fs::create_dir_all(&place);
        made.map_err(|error| Error::new("make", &place, &std::io::Error::other(error)))?;
    }
    let files = items.iter().filter_map(|item| match item.kind {
        TransferKind::File { mode, .. } => Some((item, mode)),
        TransferKind::Folder => None,
    });
    let limits = &limits;
    let work = files.map(|(item, mode)| async move {
        let place = get.target.join(&item.relative_path);
        download_file(remote_fs, &item.path, &place, (mode, limits)).await
    });
    run_concurrently(work).await
}

async fn download_file(
    remote_fs: &RemoteFs<'_>,
    path: &str,
    place: &Path,
    (mode, limits): (u32, &Arc<DownloadLimits>),
) -> Result<u64, Error> {
    let new = NewFile::create(place, NewFileMode::Copied(mode), limits)?;
    let (new, length) = remote_fs.get(path, new).await?;
    new.finish()?;
    Ok(length)
}

/// Lists a folder of another location recursively. Each folder comes before its entries.
///
/// Fails if the sizes that the host states exceed the limit together.
async fn walk_remote(
    remote_fs: &RemoteFs<'_>,
    root: &str,
    limits: &DownloadLimits,
) -> Result<Vec<TransferItem>, Error> {
    let top = TransferItem {
        path: root.to_owned(),
        relative_path: String::new(),
        kind: TransferKind::Folder,
    };
    let mut items = vec![top];
    let mut next = 0;
    let mut total = 0_u64;
    while let Some(item) = items.get(next) {
        next += 1;
        if item.kind != TransferKind::Folder {
            continue;
        }
        let (path, below) = (item.path.clone(), item.relative_path.clone());
        if below.matches('/').count() > MAX_DEPTH {
            return Err(Error::Loop(root.to_owned()));
        }
        for (name, kind) in remote_fs.list(&path, limits).await? {
            if let TransferKind::File { size, .. } = kind {
                total = total.saturating_add(size);
                limits.check_size(root, total)?;
            }
            items.push(TransferItem {
                path: join_path(&path, &name),
                relative_path: join_path(&below, &name),
                kind,
            });
        }
    }
    Ok(items)
}

/// Runs transfers with limited concurrency, and counts files and bytes.
async fn run_concurrently<W>(mut work: impl Iterator<Item = W>) -> Result<TransferCount, Error>
where
    W: Future<Output = Result<u64, Error>>,
{
    let mut count = TransferCount::default();
    let mut running = Vec::new();
    loop {
        while running.len() < MAX_CONCURRENT_FILES
            && let Some(next) = work.next()
        {
            running.push(Box::pin(next));
        }
        if running.is_empty() {
            return Ok(count);
        }
        let bytes = std::future::poll_fn(|context| {
            for index in 0..running.len() {
                if let std::task::Poll::Ready(done) = running[index].as_mut().poll(context) {
                    drop(running.swap_remove(index));
                    return std::task::Poll::Ready(done);
                }
            }
            std::task::Poll::Pending
        });
        count.bytes += bytes.await?;
        count.files += 1;
    }
}

/// Returns the path for the other side, where relative paths start at the user's home.
fn from_home(path: &str) -> &str {
    match path {
        "" | "~" => ".",
        path => path.strip_prefix("~/").unwrap_or(path),
    }
}
