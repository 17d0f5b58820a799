//! Transfers files and folders to and from other locations, several files at a time.
//!
//! `remote_command` calls it for [`Put`] and [`Get`]. [`RemoteFs`] chooses between SFTP and shell
//! programs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::download_limits::DownloadLimits;
use super::local_copy::{self, TransferCount};
use super::mirror;
use super::packed_upload::packs;
use super::remote_fs::RemoteFs;
use super::request::{wait_for_limit, wait_for_stop};
use super::sftp::Sftp;
use super::shell_fs::{FsLogin, ShellFs};
use super::ssh::Lease;
use super::transfer_files::{
    Error, MAX_DEPTH, NewFile, NewFileMode, TransferItem, TransferKind, UploadSource, file_name,
    join_path, local_target, make_local_folder, walk,
};
use super::transfer_globs::{expand_local, expand_remote};
use super::transfer_progress::TransferProgress;
use super::transport::Transport;
use super::{
    Action, CallControl, Content, Exit, Get, Mirror, Put, ShellLogin, StopLevel, TransferOutput,
};

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
        Action::Run(_)
        | Action::Read(_)
        | Action::Change(_)
        | Action::Private(_)
        | Action::Call(_) => Ok(TransferCount::default()),
    });
    let result = copying.await.unwrap_or_else(|_| Err(stopped()));
    output(result, start)
}

/// Performs a transfer to or from another location.
pub(super) async fn transfer_remotely(
    transport: &Transport,
    login: Option<&ShellLogin>,
    action: &Action,
    mut call: CallControl,
) -> TransferOutput {
    let start = Instant::now();
    let limit = match action {
        Action::Put(put) => put.time_limit,
        Action::Get(get) => get.time_limit,
        Action::Run(_)
        | Action::Read(_)
        | Action::Change(_)
        | Action::Private(_)
        | Action::Call(_) => None,
    };
    let too_long = wait_for_limit(limit);
    tokio::pin!(too_long);
    let login = login.map(|login| FsLogin {
        login: login.clone(),
        stop: call.stop.clone(),
    });
    let needs_shell = match action {
        Action::Put(put) => put.settings.needs_shell(),
        Action::Get(get) => get.settings.needs_shell(),
        _ => false,
    };
    let progress = Arc::new(TransferProgress::default());
    let opened = tokio::select! {
        biased;
        () = wait_for_stop(&mut call.stop, StopLevel::Gently) => Err(Exit::Cancelled),
        opened = open_remote_fs(transport, login.as_ref(), needs_shell, &progress) => opened,
        () = &mut too_long => Err(Exit::TimedOut),
    };
    let (remote_fs, lease) = match opened {
        Ok(opened) => opened,
        Err(exit) => return output(Err(Error::Exit(exit)), start),
    };
    let programs = ShellFs::new(transport, login, &progress);
    let result = tokio::select! {
        result = transfer(&remote_fs, &programs, action) => result,
        never = progress.report(call.progress_sender.take()) => match never {},
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
        surplus: count.surplus,
        elapsed: start.elapsed(),
    }
}

/// Opens the file system of the location, over SFTP if possible.
async fn open_remote_fs<'t>(
    transport: &'t Transport,
    login: Option<&FsLogin>,
    needs_shell: bool,
    progress: &Arc<TransferProgress>,
) -> Result<(RemoteFs<'t>, Option<Lease>), Exit> {
    // SFTP acts as the user who logs in.
    if transport.is_container() || login.is_some() || needs_shell {
        return Ok((RemoteFs::shell(transport, login.cloned(), progress), None));
    }
    let Some(session) = transport.session().await else {
        return Ok((RemoteFs::shell(transport, None, progress), None));
    };
    let (lease, channel) = session?;
    Ok(match Sftp::open(channel, Arc::clone(progress)).await {
        Some(sftp) => (RemoteFs::Sftp(sftp), Some(lease)),
        None => (RemoteFs::shell(transport, None, progress), None),
    })
}

async fn transfer(
    remote_fs: &RemoteFs<'_>,
    programs: &ShellFs<'_>,
    action: &Action,
) -> Result<TransferCount, Error> {
    match action {
        Action::Put(put) => upload(remote_fs, programs, put).await,
        Action::Get(get) => download(remote_fs, get).await,
        Action::Run(_)
        | Action::Read(_)
        | Action::Change(_)
        | Action::Private(_)
        | Action::Call(_) => Ok(TransferCount::default()),
    }
}

async fn upload(
    remote_fs: &RemoteFs<'_>,
    programs: &ShellFs<'_>,
    put: &Put,
) -> Result<TransferCount, Error> {
    let target = from_home(&put.target);
    let path = match &put.source {
        Content::Path(path) => path.clone(),
        Content::Bytes(bytes) => return upload_bytes(remote_fs, target, bytes, put).await,
    };
    let pattern = path.clone();
    let expanding = tokio::task::spawn_blocking(move || expand_local(&pattern));
    let paths = expanding.await.map_err(|_| stopped())??;
    if paths.as_slice() == std::slice::from_ref(&path) {
        return upload_path(remote_fs, programs, (&path, target), put).await;
    }
    if put.settings.mirror.is_some() {
        return Err(mirror_refused(
            "a mirror needs a single folder, not a pattern",
        ));
    }
    // Several files go into a folder under their own names.
    let folder = [(target.to_owned(), None)];
    let owner = put.settings.owner.as_deref();
    remote_fs.make_folders(&folder, owner).await?;
    let mut count = TransferCount::default();
    for path in &paths {
        let place = join_path(target, file_name(&path.to_string_lossy()));
        count.add(upload_path(remote_fs, programs, (path, &place), put).await?);
    }
    Ok(count)
}

async fn upload_bytes(
    remote_fs: &RemoteFs<'_>,
    target: &str,
    bytes: &[u8],
    put: &Put,
) -> Result<TransferCount, Error> {
    if put.settings.mirror.is_some() {
        return Err(mirror_refused("a mirror needs a folder, not a text"));
    }
    if names_folder(remote_fs, target).await? {
        return Err(Error::NoName(put.target.clone()));
    }
    let place = remote_fs.canonical_path(target).await;
    let source = UploadSource::Bytes(bytes.to_vec());
    let bytes = remote_fs
        .put(source, &place, (put.mode, &put.settings))
        .await?;
    Ok(TransferCount::of_file(bytes))
}

/// Returns true for a target that ends with a slash or is a folder on the host.
async fn names_folder(remote_fs: &RemoteFs<'_>, target: &str) -> Result<bool, Error> {
    if target.ends_with('/') {
        return Ok(true);
    }
    let kind = remote_fs.kind(target).await?;
    Ok(kind.is_some_and(TransferKind::is_folder))
}

fn mirror_refused(why: &str) -> Error {
    Error::Exit(Exit::Failed(why.to_owned()))
}

/// Returns the size of files together.
fn total_size(items: &[TransferItem]) -> u64 {
    let sizes = items.iter().map(|item| match item.kind {
        TransferKind::File { size, .. } => size,
        TransferKind::Folder { .. } => 0,
    });
    sizes.fold(0, u64::saturating_add)
}

/// Uploads a file or a folder.
async fn upload_path(
    remote_fs: &RemoteFs<'_>,
    programs: &ShellFs<'_>,
    (path, target): (&Path, &str),
    put: &Put,
) -> Result<TransferCount, Error> {
    let path = path.to_owned();
    let walking = tokio::task::spawn_blocking(move || walk(&path));
    let items = walking.await.map_err(|_| stopped())??;
    remote_fs.progress().expect(total_size(&items));
    let Some((first, below)) = items.split_first() else {
        return Ok(TransferCount::default());
    };
    if let TransferKind::File { mode, size } = first.kind {
        if put.settings.mirror.is_some() {
            return Err(mirror_refused("a mirror needs a folder, not a file"));
        }
        let place = if names_folder(remote_fs, target).await? {
            join_path(target, file_name(&first.path))
        } else {
            remote_fs.canonical_path(target).await
        };
        let source = UploadSource::open(Path::new(&first.path), size)?;
        let mode = put.mode.or(Some(mode));
        let bytes = remote_fs.put(source, &place, (mode, &put.settings)).await?;
        return Ok(TransferCount::of_file(bytes));
    }
    let surplus = match put.settings.mirror {
        Some(_) => mirror::surplus(programs, target, below).await?,
        None => Vec::new(),
    };
    if put.settings.mirror == Some(Mirror::DryRun) {
        return Ok(TransferCount {
            surplus,
            ..TransferCount::default()
        });
    }
    let mut count = upload_folder(remote_fs, target, &items, put).await?;
    // Only a complete copy allows to delete the rest.
    if !surplus.is_empty() {
        programs.remove_below(target, &surplus).await?;
    }
    count.surplus = surplus;
    Ok(count)
}

async fn upload_folder(
    remote_fs: &RemoteFs<'_>,
    target: &str,
    items: &[TransferItem],
    put: &Put,
) -> Result<TransferCount, Error> {
    let folders = items.iter().filter(|item| item.kind.is_folder());
    let folders = folders.map(|item| {
        let place = join_path(target, &item.relative_path);
        (place, Some(item.kind.new_folder_mode()))
    });
    let folders: Vec<(String, Option<u32>)> = folders.collect();
    let mut count = TransferCount::default();
    let mut files: Vec<&TransferItem> = items.iter().collect();
    let owner = put.settings.owner.as_deref();
    let can_unpack = remote_fs.make_folders(&folders, owner).await?;
    // Each file is compared or resumed by itself.
    if let RemoteFs::Shell(programs) = remote_fs
        && can_unpack
        && !put.settings.verify
        && !put.settings.resume
    {
        let (packs, others) = packs(items);
        for pack in &packs {
            let settings = (put.mode, &put.settings);
            count.bytes += programs.put_pack(target, pack, settings).await?;
            count.files += pack.len() as u64;
        }
        files = others;
    }
    let files = files.into_iter().filter_map(|item| match item.kind {
        TransferKind::File { mode, size } => Some((item, put.mode.unwrap_or(mode), size)),
        TransferKind::Folder { .. } => None,
    });
    let work = files.map(|(item, mode, size)| async move {
        let source = UploadSource::open(Path::new(&item.path), size)?;
        let place = join_path(target, &item.relative_path);
        remote_fs
            .put(source, &place, (Some(mode), &put.settings))
            .await
    });
    count.add(run_concurrently(work).await?);
    Ok(count)
}

async fn download(remote_fs: &RemoteFs<'_>, get: &Get) -> Result<TransferCount, Error> {
    let source = from_home(&get.source);
    let limits = Arc::new(DownloadLimits::new(
        get.max_bytes,
        Arc::clone(remote_fs.progress()),
    ));
    let paths = expand_remote(remote_fs, source, &limits).await?;
    if let [path] = paths.as_slice()
        && path == source
    {
        return download_path(remote_fs, (path, &get.target), (get, &limits)).await;
    }
    // Several files go into a folder under their own names.
    let mut count = TransferCount::default();
    for path in &paths {
        let place = get.target.join(file_name(path));
        count.add(download_path(remote_fs, (path, &place), (get, &limits)).await?);
    }
    Ok(count)
}

/// Downloads a file or a folder.
async fn download_path(
    remote_fs: &RemoteFs<'_>,
    (source, target): (&str, &Path),
    (get, limits): (&Get, &Arc<DownloadLimits>),
) -> Result<TransferCount, Error> {
    let Some(kind) = remote_fs.kind(source).await? else {
        return Err(Error::Failed {
            operation: "read",
            path: get.source.clone(),
            why: "no such file or folder".to_owned(),
        });
    };
    if let TransferKind::File { mode, size } = kind {
        remote_fs.progress().expect(size);
        let place = local_target(target, file_name(source));
        let bytes = download_file(remote_fs, (source, &place), mode, (get, limits)).await?;
        return Ok(TransferCount::of_file(bytes));
    }
    let items = walk_remote(remote_fs, (source, kind), limits).await?;
    remote_fs.progress().expect(total_size(&items));
    for item in items.iter().filter(|item| item.kind.is_folder()) {
        make_local_folder(&target.join(&item.relative_path), item.kind)?;
    }
    let files = items.iter().filter_map(|item| match item.kind {
        TransferKind::File { mode, .. } => Some((item, mode)),
        TransferKind::Folder { .. } => None,
    });
    let work = files.map(|(item, mode)| async move {
        let place = target.join(&item.relative_path);
        download_file(remote_fs, (&item.path, &place), mode, (get, limits)).await
    });
    run_concurrently(work).await
}

async fn download_file(
    remote_fs: &RemoteFs<'_>,
    (path, place): (&str, &Path),
    mode: u32,
    (get, limits): (&Get, &Arc<DownloadLimits>),
) -> Result<u64, Error> {
    let mode = NewFileMode::Copied(mode);
    let digest = if get.settings.needs_shell() {
        remote_fs.digest(path).await?
    } else {
        None
    };
    let (new, kept) = match &digest {
        Some(digest) if get.settings.resume => NewFile::resume(place, mode, (limits, digest))?,
        _ => (NewFile::create(place, mode, limits)?, 0),
    };
    let (mut new, length) = remote_fs.get(path, new, kept).await?;
    if let Some(digest) = digest {
        new = new.verify(&digest, path).await?;
    }
    new.finish()?;
    Ok(length)
}

/// Lists a folder of another location recursively. Each folder comes before its entries.
///
/// Fails if the sizes that the host states exceed the limit together.
async fn walk_remote(
    remote_fs: &RemoteFs<'_>,
    (root, kind): (&str, TransferKind),
    limits: &DownloadLimits,
) -> Result<Vec<TransferItem>, Error> {
    let top = TransferItem {
        path: root.to_owned(),
        relative_path: String::new(),
        kind,
    };
    let mut items = vec![top];
    let mut next = 0;
    let mut total = 0_u64;
    while let Some(item) = items.get(next) {
        next += 1;
        if !item.kind.is_folder() {
            continue;
        }
        let (path, below) = (item.path.clone(), item.relative_path.clone());
        if below.matches('/').count() > MAX_DEPTH {
            return Err(Error::Loop(path));
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

fn stopped() -> Error {
    Error::Exit(Exit::Failed("the transfer was stopped".to_owned()))
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
