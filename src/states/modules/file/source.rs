//! Sources of file content: the state tree, the machine, or a download.
//!
//! [`select_source`] picks the source, `expected_checksum` in `source_hash.rs` resolves its hash, and [`source_texts`]
//! renders templates. Downloads are commands that the machine runs.

use std::sync::Arc;

use super::plan::probe_text;
use super::text_diff::decode;
use crate::host::change::{Change, CommandRun, ModeAndOwner};
use crate::host::fact::Domain;
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, StateCall, TemplateRequest, refuse};
use crate::text::force_quote_word;
use crate::value::{Map, Secrets};

/// A location that content is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileSource {
    /// A path in the state tree (`salt://`), perhaps with its environment (`?saltenv=`).
    Tree(String),
    /// A path on the machine (`file://` or no scheme).
    Machine(String),
    /// A URL that the machine downloads.
    Web(String),
}

/// The source that a state uses, with its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::states::modules) struct SelectedSource {
    /// The address as the state gives it.
    pub(in crate::states::modules) written: String,
    pub(super) source: FileSource,
    /// The value of `source_hash` or of the source's own hash, unparsed.
    pub(super) hash: Option<String>,
}

/// A checksum: the algorithm and the hex digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::states::modules) struct Checksum {
    /// The name of the algorithm, such as `sha256`.
    pub(in crate::states::modules) algorithm: &'static str,
    pub(in crate::states::modules) digits: String,
}

/// The algorithms with the number of hex digits of their checksums.
const HASH_ALGORITHMS: [(&str, usize); 6] = [
    ("md5", 32),
    ("sha1", 40),
    ("sha224", 56),
    ("sha256", 64),
    ("sha384", 96),
    ("sha512", 128),
];

impl SelectedSource {
    /// Returns the source at an address, with its checksum as the state gives it.
    pub(in crate::states::modules) fn new(written: String, hash: Option<String>) -> Self {
        Self {
            source: FileSource::parse(&written),
            written,
            hash,
        }
    }
}

impl FileSource {
    /// Parses an address. Text without a known scheme is a path on the machine.
    pub(super) fn parse(written: &str) -> Self {
        if let Some(rest) = written.strip_prefix("salt://") {
            return Self::Tree(rest.trim_start_matches('|').to_owned());
        }
        if let Some(path) = written.strip_prefix("file://") {
            return Self::Machine(path.to_owned());
        }
        if ["http://", "https://", "ftp://"]
            .iter()
            .any(|scheme| written.starts_with(scheme))
        {
            return Self::Web(written.to_owned());
        }
        Self::Machine(written.to_owned())
    }
}

/// Returns the source of a state, or the first of several sources that exists; None if the state names
/// none.
pub(super) fn select_source(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<Option<SelectedSource>, Halt> {
    let hash = call.non_empty_text("source_hash")?;
    let Some(source) = call.arg("source").filter(|source| source.is_truthy()) else {
        return Ok(None);
    };
    let Some(several) = source.as_list() else {
        return Ok(Some(SelectedSource::new(source.to_string(), hash)));
    };
    for one in several {
        let (written, hash) = match one.as_map().and_then(|map| map.first()) {
            Some((written, own)) if own.is_truthy() => (written.to_string(), Some(own.to_string())),
            Some((written, _)) => (written.to_string(), hash.clone()),
            None => (one.to_string(), hash.clone()),
        };
        let picked = SelectedSource::new(written, hash);
        if source_exists(call, &picked.source, facts)? {
            return Ok(Some(picked));
        }
    }
    refuse("Unable to manage file: none of the specified sources were found")
}

fn source_exists(
    call: &StateCall<'_>,
    source: &FileSource,
    facts: &FactCache,
) -> Result<bool, Halt> {
    match source {
        FileSource::Tree(path) => {
            Ok(call.context.roots.read(path)?.is_some()
                || !call.context.roots.list(path)?.is_empty())
        }
        FileSource::Machine(path) => Ok(path.starts_with('/') && facts.target(path)?.is_some()),
        FileSource::Web(address) => {
            let address = force_quote_word(address);
            let text = format!(
                "if command -v curl >/dev/null 2>&1; then curl -fsSIL -o /dev/null {address}; \
                 else wget -q --spider {address}; fi && echo there"
            );
            Ok(!probe_text(facts, text, Domain::All)?.is_empty())
        }
    }
}

/// Returns the permission bits of a source; None for a download.
pub(super) fn source_mode(
    call: &StateCall<'_>,
    source: &FileSource,
    facts: &FactCache,
) -> Result<Option<u32>, Halt> {
    match source {
        FileSource::Tree(path) => Ok(call.context.roots.mode(path)?.map(|mode| mode & 0o7777)),
        FileSource::Machine(path) => Ok(facts.target(path)?.map(|entry| entry.mode)),
        FileSource::Web(_) => Ok(None),
    }
}

/// Returns the variables of a template: `defaults`, overridden by `context`.
pub(in crate::states::modules) fn template_context(call: &StateCall<'_>) -> Result<Map, Halt> {
    let context = match call.arg("context").filter(|it| it.is_truthy()) {
        None => Map::new(),
        Some(value) => match value.as_map() {
            Some(map) => map.clone(),
            None => return refuse("Context must be formed as a dict"),
        },
    };
    let mut all = match call.arg("defaults").filter(|it| it.is_truthy()) {
        None => Map::new(),
        Some(value) => match value.as_map() {
            Some(map) => map.clone(),
            None => return refuse("Defaults must be formed as a dict"),
        },
    };
    all.extend(context);
    Ok(all)
}

/// Renders a source as a Jinja template.
pub(in crate::states::modules) fn render_source(
    call: &StateCall<'_>,
    text: &[u8],
    path: &str,
    context: &Map,
    facts: &FactCache,
) -> Result<String, Halt> {
    call.context.renderer.render(
        &TemplateRequest {
            text: &decode(text),
            path,
            env: call.context.roots.env(),
            context,
        },
        facts,
    )
}

/// Whether a text contains a sensitive value of the pillar or of the template's variables.
pub(in crate::states::modules) fn contains_secrets(call: &StateCall<'_>, text: &str) -> bool {
    let mut secrets = Secrets::default();
    secrets.gather(&call.context.pillar);
    for key in ["context", "defaults"] {
        if let Some(value) = call.args.get(key) {
            secrets.gather(value);
        }
    }
    secrets.occur_in(text)
}

/// Returns the rendered texts of `source` or `sources`; None if neither is given.
///
/// The argument `template` defaults to `jinja`.
pub(super) fn source_texts(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<Option<Vec<String>>, Halt> {
    let one = call.non_empty_text("source")?;
    let several = call.texts("sources")?;
    if one.is_some() && !several.is_empty() {
        return refuse("source and sources are mutually exclusive");
    }
    let is_set = |key| call.flag(key, false);
    if is_set("source_hash") && is_set("source_hashes") {
        return refuse("source_hash and source_hashes are mutually exclusive");
    }
    let sources: Vec<String> = one.into_iter().chain(several).collect();
    if sources.is_empty() {
        return Ok(None);
    }
    let template = call.text_or("template", "jinja")?;
    let context = template_context(call)?;
    let mut texts = Vec::new();
    for written in sources {
        let Some((bytes, path)) = read_source(call, &written, facts)? else {
            return refuse(format!("Failed to load template file {written}"));
        };
        let text = if template == "jinja" {
            render_source(call, &bytes, &path, &context, facts)?
        } else {
            return refuse(format!(
                "Specified template format {template} is not supported"
            ));
        };
        texts.push(text);
    }
    Ok(Some(texts))
}

/// The bytes of a source and its path.
pub(in crate::states::modules) type SourceContent = (Arc<[u8]>, String);

/// Reads a source and returns its bytes and path; None if it does not exist.
///
/// A download is read by a probe as text, not stored on the machine.
pub(in crate::states::modules) fn read_source(
    call: &StateCall<'_>,
    written: &str,
    facts: &FactCache,
) -> Result<Option<SourceContent>, Halt> {
    Ok(match FileSource::parse(written) {
        FileSource::Tree(path) => call.context.roots.read(&path)?.map(|bytes| (bytes, path)),
        FileSource::Machine(path) => facts.content(&path)?.map(|bytes| (Arc::from(bytes), path)),
        FileSource::Web(address) => {
            let text = format!("{} || exit 1", download_to_stdout_command(&address));
            let output = probe_text(facts, text, Domain::All)?;
            (!output.is_empty()).then(|| (Arc::from(format!("{output}\n").as_bytes()), address))
        }
    })
}

/// Returns the command that prints the content of a URL.
pub(super) fn download_to_stdout_command(address: &str) -> String {
    let address = force_quote_word(address);
    format!(
        "if command -v curl >/dev/null 2>&1; then curl -fsSL {address}; else wget -q -O - {address}; fi"
    )
}

impl Checksum {
    /// Parses `sha256=…`, `sha256:…` or digits alone, whose number tells the algorithm.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (kind, digits) = match text.split_once(['=', ':']) {
            Some((kind, digits)) => (Some(kind.trim().to_ascii_lowercase()), digits.trim()),
            None => (None, text),
        };
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let (found, _) = HASH_ALGORITHMS
            .into_iter()
            .find(|(_, length)| *length == digits.len())?;
        if kind.is_some_and(|kind| kind != found) {
            return None;
        }
        Some(Self {
            algorithm: found,
            digits: digits.to_ascii_lowercase(),
        })
    }
}

/// The origin of content that a command on the machine fetches.
#[derive(Debug, Clone, Copy)]
pub(super) enum FetchFrom<'a> {
    Copy(&'a str),
    /// A URL, and the checksum that its content must have.
    Web(&'a str, Option<&'a Checksum>),
}

/// Returns the command that reads standard input and prints the hex digits of its checksum.
fn checksum_command(kind: &str) -> String {
    format!("{kind}sum | cut -d' ' -f1")
}

/// Returns the hex digits of the checksum of a file; empty if it does not exist.
pub(super) fn file_checksum(path: &str, kind: &str, facts: &FactCache) -> Result<String, Halt> {
    if kind == "sha256" {
        return Ok(facts.digest(path)?.unwrap_or_default().to_owned());
    }
    let text = format!(
        "cat -- {} | {}",
        force_quote_word(path),
        checksum_command(kind)
    );
    probe_text(facts, text, Domain::Path(path.to_owned()))
}

/// Whether a file differs from a download. Without a checksum the content must be downloaded to
/// compare.
pub(super) fn differs_from_download(
    address: &str,
    sum: Option<&Checksum>,
    path: &str,
    facts: &FactCache,
) -> Result<bool, Halt> {
    let is = file_checksum(path, sum.map_or("sha256", |sum| sum.algorithm), facts)?;
    let desired = match sum {
        Some(sum) => sum.digits.clone(),
        None => probe_text(
            facts,
            format!(
                "{{ {}; }} | {}",
                download_to_stdout_command(address),
                checksum_command("sha256")
            ),
            Domain::All,
        )?,
    };
    Ok(is != desired)
}

/// Returns the changes that fetch a file.
///
/// The content goes to a temporary file in the same folder, is checked, gets the attributes of the old
/// file, and is renamed, so that the path never holds a partial file. `verification` are more commands that check the
/// file at `$t`.
pub(super) fn fetch_steps(
    fetch: &FetchFrom<'_>,
    path: &str,
    is_there: bool,
    like: &ModeAndOwner,
    verification: &str,
) -> Vec<Change> {
    let to = force_quote_word(path);
    let get = match fetch {
        FetchFrom::Copy(source) => format!("cat -- {} >\"$t\"", force_quote_word(source)),
        FetchFrom::Web(address, _) => {
            format!("{{ {}; }} >\"$t\"", download_to_stdout_command(address))
        }
    };
    let check = match fetch {
        FetchFrom::Web(address, Some(sum)) => format!(
            "s=$({kind}sum <\"$t\" | cut -d' ' -f1); if [ \"$s\" != {digits} ]; then \
             printf 'Specified {kind} checksum for %s (%s) does not match actual checksum (%s)\\n' \
             {address} {digits} \"$s\" >&2; exit 1; fi; ",
            kind = sum.algorithm,
            digits = sum.digits,
            address = force_quote_word(address),
        ),
        _ => String::new(),
    };
    let alike = if is_there {
        format!(
            "chmod \"$(stat -c %a -- {to})\" \"$t\"; \
             chown \"$(stat -c %u:%g -- {to})\" \"$t\" 2>/dev/null || :; "
        )
    } else {
        "chmod 644 \"$t\"; ".to_owned()
    };
    let text = format!(
        "set -e; t=$(mktemp {to}.XXXXXX); trap 'rm -f -- \"$t\"' EXIT; {get}; {check}{verification}{alike}\
         mv -f -- \"$t\" {to}; trap - EXIT"
    );
    let mut steps = vec![Change::Run(
        CommandRun::new(text).touching([Domain::Path(path.to_owned())]),
    )];
    if !like.is_any() {
        steps.push(file_change::set_attributes(path, like.clone(), true));
    }
    steps
}
