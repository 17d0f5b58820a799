//! Where an archive comes from, and whether it is the one that is meant.

use crate::converge::module::step;
use sha2::{Digest as _, Sha256};

use crate::converge::module::command::run;
use crate::converge::module::pkg::download;
use crate::converge::{Call, Halt, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::Domain;
use crate::text::quoted;
use crate::value::hex;

/// Where archives from elsewhere are put, so that they are compared the next time.
const FOLDER: &str = "/var/cache/unfurl/archives";

/// The exit code of a script that finds another archive than was meant.
pub(super) const OTHER_SUM: i32 = 95;

/// Where an archive comes from.
pub(super) struct Source {
    pub(super) shown: String,
    /// What brings it to the machine; nothing if it is there.
    pub(super) fetch: Vec<Change>,
    pub(super) path: String,
    /// Whether it is the machine's own.
    pub(super) is_local: bool,
}

/// Says where the archive of a state comes from, or why it is refused.
pub(super) fn source(call: &Call<'_>) -> Result<Result<Source, String>, Halt> {
    let shown = call.required("source")?;
    let local = shown.strip_prefix("file://").unwrap_or(&shown);
    if local.starts_with('/') {
        return Ok(Ok(Source {
            path: local.to_owned(),
            shown: local.to_owned(),
            fetch: Vec::new(),
            is_local: true,
        }));
    }
    let end = shown.rsplit('/').next().unwrap_or_default().to_owned();
    let mut fetch = vec![step::folders(FOLDER, Like::default())];
    let path;
    if let Some(name) = shown.strip_prefix("salt://") {
        let Some(bytes) = call.world.roots.read(name)? else {
            return Ok(Err(format!("Invalid source \"{shown}\"")));
        };
        path = format!("{FOLDER}/{}-{end}", &hex(&Sha256::digest(&bytes))[..16]);
        fetch.push(step::write(&path, bytes.to_vec(), Like::default()));
    } else {
        let sum = call.text("source_hash")?.unwrap_or_default();
        if sum.is_empty() && !call.flag("skip_verify", false) {
            return Ok(Err(format!(
                "Unable to verify upstream hash of source file {shown}, please set source_hash or set skip_verify to True"
            )));
        }
        let key = hex(&Sha256::digest(format!("{shown}\n{sum}")));
        path = format!("{FOLDER}/{}-{end}", &key[..16]);
        fetch.push(run(download(&shown, &path), [Domain::Path(path.clone())]));
    }
    Ok(Ok(Source {
        shown,
        fetch,
        path,
        is_local: false,
    }))
}

/// A command that fails if an archive is not the one that is meant.
pub(super) fn check(call: &Call<'_>, path: &str) -> Result<Option<String>, Halt> {
    let Some(text) = call
        .text("source_hash")?
        .filter(|_| !call.flag("skip_verify", false))
    else {
        return Ok(None);
    };
    let text = text.trim();
    let (kind, digits) = text.split_once(['=', ':']).unwrap_or(("", text));
    let is_hex = !digits.is_empty() && digits.bytes().all(|sign| sign.is_ascii_hexdigit());
    let program = match (is_hex, digits.len()) {
        (true, 32) => "md5sum",
        (true, 40) => "sha1sum",
        (true, 56) => "sha224sum",
        (true, 64) => "sha256sum",
        (true, 96) => "sha384sum",
        (true, 128) => "sha512sum",
        _ => {
            return refuse(format!(
                "Source hash {text} is no checksum: write {}=…, with hex digits",
                if kind.is_empty() { "sha256" } else { kind }
            ));
        }
    };
    let (path, digits) = (quoted(path), digits.to_lowercase());
    Ok(Some(format!(
        "[ \"$({program} {path} | cut -d' ' -f1)\" = {digits} ] || {{ rm -f {path}.new; exit {OTHER_SUM}; }}"
    )))
}
