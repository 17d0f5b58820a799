//! Uploads many small files with one shell program, as an archive: each shell of another user costs more than the files.

use std::fmt::Write as _;

use super::shell_fs::ShellFs;
use super::transfer_files::{Error, TransferItem, TransferKind, UploadSource, join_path};
use super::transfer_settings::PutSettings;
use crate::text::quote_word;

/// The maximum size of a file in an archive.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The maximum size of the files of an archive together.
const MAX_PACK_BYTES: u64 = 8 << 20;
/// The maximum number of files in an archive.
const MAX_PACK_FILES: usize = 1000;

/// The files of one archive.
type Pack<'i> = Vec<&'i TransferItem>;

/// Splits the files of a folder into archives of small files, and the other files.
pub(super) fn packs(items: &[TransferItem]) -> (Vec<Pack<'_>>, Vec<&TransferItem>) {
    let (mut packs, mut others) = (Vec::new(), Vec::new());
    let (mut pack, mut bytes): (Pack<'_>, u64) = (Vec::new(), 0);
    for item in items {
        match item.kind {
            TransferKind::Folder { .. } => {}
            TransferKind::File { size, .. } if size > MAX_FILE_BYTES => others.push(item),
            TransferKind::File { size, .. } => {
                if bytes + size > MAX_PACK_BYTES || pack.len() >= MAX_PACK_FILES {
                    packs.push(std::mem::take(&mut pack));
                    bytes = 0;
                }
                bytes += size;
                pack.push(item);
            }
        }
    }
    if !pack.is_empty() {
        packs.push(pack);
    }
    (packs, others)
}

impl ShellFs<'_> {
    /// Writes the files of an archive below a folder. Each gets its name when the whole archive has arrived.
    ///
    /// Returns the number of bytes of the files.
    pub(super) async fn put_pack(
        &self,
        target: &str,
        pack: &[&TransferItem],
        (mode, settings): (Option<u32>, &PutSettings),
    ) -> Result<u64, Error> {
        let owned: Vec<TransferItem> = pack.iter().map(|item| (*item).clone()).collect();
        let packing = tokio::task::spawn_blocking(move || archive(&owned));
        let stopped = || std::io::Error::other("the transfer was stopped");
        let packed = packing
            .await
            .map_err(|_| Error::new("read", target.as_ref(), &stopped()));
        let (archive, bytes) = packed??;
        let script = script(target, pack, mode, settings.owner.as_deref());
        self.run_with_input(target, &script, &UploadSource::Bytes(archive))
            .await?;
        Ok(bytes)
    }
}

/// Returns an archive whose files have the numbers of the items as names, and the number of their bytes.
fn archive(items: &[TransferItem]) -> Result<(Vec<u8>, u64), Error> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut bytes = 0;
    for (number, item) in items.iter().enumerate() {
        let path = std::path::Path::new(&item.path);
        let failed = |error: std::io::Error| Error::new("read", path, &error);
        let TransferKind::File { size, .. } = item.kind else {
            continue;
        };
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let content = UploadSource::open(path, size)?
            .part(0, length)
            .map_err(failed)?;
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        let added = builder.append_data(&mut header, number.to_string(), content.as_slice());
        added.map_err(failed)?;
        bytes += content.len() as u64;
    }
    let whole = builder.into_inner();
    let whole = whole.map_err(|error| Error::new("read", "the files".as_ref(), &error))?;
    Ok((whole, bytes))
}

/// Returns the script that unpacks an archive into a hidden folder, and moves each file to its place.
fn script(target: &str, pack: &[&TransferItem], mode: Option<u32>, owner: Option<&str>) -> String {
    let hidden = join_path(target, &format!(".unfurl-{}", ulid::Ulid::generate()));
    let hidden = quote_word(&hidden);
    let mut text = format!("umask 077\n_t={hidden}\nmkdir -- \"$_t\" || exit 1\n");
    text.push_str("place() {\ntar -xf - -C \"$_t\" || return 1\n");
    if let Some(owner) = owner {
        writeln!(
            text,
            "chown -R -- {} \"$_t\" || return 1",
            quote_word(owner)
        )
        .ok();
    }
    for (number, item) in pack.iter().enumerate() {
        let TransferKind::File { mode: own, .. } = item.kind else {
            continue;
        };
        let mode = mode.unwrap_or(own);
        let place = quote_word(&join_path(target, &item.relative_path));
        writeln!(
            text,
            "if [ -d {place} ]; then echo 'the target has a folder of the name' {place} >&2; return 1; fi\n\
             chmod {mode:o} \"$_t/{number}\" && mv -f -- \"$_t/{number}\" {place} || return 1"
        )
        .ok();
    }
    text + "}\nplace; _c=$?\nrm -rf -- \"$_t\"\nexit $_c\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_packed_within_limits() {
        let item = |size: u64| TransferItem {
            path: String::new(),
            relative_path: String::new(),
            kind: TransferKind::File { mode: 0o644, size },
        };
        let mut items: Vec<TransferItem> = (0..2500).map(|_| item(10)).collect();
        items.push(item(MAX_FILE_BYTES + 1));
        items.extend((0..9).map(|_| item(MAX_FILE_BYTES)));
        let (packs, others) = packs(&items);
        let counts: Vec<usize> = packs.iter().map(Vec::len).collect();
        assert_eq!((counts, others.len()), (vec![1000, 1000, 507, 2], 1));
    }
}
