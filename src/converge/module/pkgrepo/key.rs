//! The key that signs the packages of a repository.

use crate::converge::module::step;
use std::path::Path;

use super::desired::Desired;
use super::files::write;
use crate::converge::module::command::run;
use crate::converge::module::pkg::download;
use crate::converge::{Call, Facts, Halt, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::Domain;
use crate::text::quoted;

/// Where the key that signs packages is.
pub(super) fn key_path(desired: &Desired, url: Option<&str>) -> String {
    if let Some(path) = desired.signed_by() {
        return path.to_owned();
    }
    let end = url.and_then(|url| url.rsplit('/').next());
    let end = end.filter(|end| !end.is_empty()).unwrap_or("unfurl.asc");
    let dot = if end.contains('.') { "" } else { ".asc" };
    format!("/etc/apt/trusted.gpg.d/{end}{dot}")
}

/// The key itself; none if the machine has to fetch it.
fn key_bytes(
    call: &Call<'_>,
    url: Option<&str>,
    text: Option<String>,
) -> Result<Option<Vec<u8>>, Halt> {
    if let Some(text) = text {
        return Ok(Some(text.into_bytes()));
    }
    let Some(name) = url.and_then(|url| url.strip_prefix("salt://")) else {
        return Ok(None);
    };
    let read = call.world.roots.read(name)?;
    let missing = || Halt::Failed(format!("Source file salt://{name} not found"));
    Ok(Some(read.ok_or_else(missing)?.to_vec()))
}

/// The command that makes a key in letters one of bytes, as the name of its file says.
fn dearmor(path: &str) -> String {
    format!(
        "if head -c 64 {new} | grep -q 'BEGIN PGP'; then gpg --batch --yes --dearmor -o {path} {new} && rm -f {new}; else mv -f {new} {path}; fi && chmod 644 {path}",
        new = quoted(&format!("{path}.new")),
        path = quoted(path)
    )
}

/// What brings the key that signs the packages, if it is not there.
pub(super) fn key_steps(
    call: &Call<'_>,
    desired: &Desired,
    facts: &Facts,
) -> Result<Vec<Change>, Halt> {
    let (url, text) = (call.text("key_url")?, call.text("key_text")?);
    if url.is_some() && text.is_some() {
        return refuse("You may not use both \"key_url\" and \"key_text\" argument.");
    }
    if url.is_none() && text.is_none() {
        return Ok(Vec::new());
    }
    let path = key_path(desired, url.as_deref());
    let bytes = key_bytes(call, url.as_deref(), text)?;
    let folder = step::folders(
        path.rsplit_once('/').map_or("/", |(folder, _)| folder),
        Like::default(),
    );
    let dearmor = dearmor(&path);
    let is_binary_name = Path::new(&path).extension().is_some_and(|end| end == "gpg");
    let there = || [Domain::Path(path.clone())];
    Ok(match bytes {
        Some(bytes) if !is_binary_name || !bytes.starts_with(b"-----BEGIN") => {
            if facts.content(&path)? == Some(bytes.as_slice()) {
                return Ok(Vec::new());
            }
            let text = step::write(
                &path,
                bytes,
                Like {
                    mode: Some(0o644),
                    ..Like::default()
                },
            );
            vec![folder, text]
        }
        _ if facts.target(&path)?.is_some() => Vec::new(),
        Some(bytes) => {
            let new = format!("{path}.new");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            vec![folder, write(&new, text), run(dearmor, there())]
        }
        None => {
            let url = url.as_deref().unwrap_or_default();
            let text = if is_binary_name {
                let new = format!("{path}.new");
                format!("{} && {dearmor}", download(url, &new))
            } else {
                format!("{} && chmod 644 {}", download(url, &path), quoted(&path))
            };
            vec![folder, run(text, there())]
        }
    })
}
