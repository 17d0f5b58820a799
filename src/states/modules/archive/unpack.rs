//! Shell commands for an archive on a machine, and the parser of their listing.
//!
//! An [`Extraction`] lists the archive, compares the entries with the destination folder, unpacks and
//! sets owners. It decides nothing: see `extracted`.

use crate::host::fact::Domain;
use crate::states::modules::decision::{run_probe, stdout_text};
use crate::states::{FactCache, Halt, refuse};
use crate::text::quote_word;

/// The format of an archive, which selects the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArchiveFormat {
    Tar,
    Zip,
}

impl ArchiveFormat {
    /// Guesses the format from the ending of a file name.
    pub(super) fn guess(name: &str) -> Option<Self> {
        const TAR: &str = ".tar .tgz .tbz .tbz2 .txz .tlz .tar.gz .tar.bz2 .tar.xz .tar.lzma \
                           .tar.zst .tzst";
        let name = name.to_lowercase();
        if TAR.split_whitespace().any(|end| name.ends_with(end)) {
            return Some(Self::Tar);
        }
        let is_zip = [".zip", ".war", ".jar"]
            .iter()
            .any(|end| name.ends_with(end));
        is_zip.then_some(Self::Zip)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::Zip => "zip",
        }
    }
}

/// An archive, its destination folder and the options for unpacking it.
#[derive(Debug, Clone)]
pub(super) struct Extraction {
    /// The path of the archive on the machine.
    pub(super) archive: String,
    /// The destination folder, without a trailing slash.
    pub(super) folder: String,
    pub(super) format: ArchiveFormat,
    /// The user's extra options for `tar` or `unzip`.
    pub(super) options: Option<String>,
    pub(super) user: Option<String>,
    pub(super) group: Option<String>,
    pub(super) extracts_perms: bool,
}

/// The entries of an archive, compared with the destination folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArchiveListing {
    pub(super) entries: Vec<String>,
    /// The first path components of the entries, without duplicates.
    pub(super) top_level_names: Vec<String>,
    /// The entries without a slash: files at the top level of the archive.
    pub(super) top_level_files: Vec<String>,
    pub(super) missing: Vec<String>,
    /// The entries that exist with the wrong type: a folder instead of a file, or the other way round.
    pub(super) wrong_type: Vec<String>,
    /// Whether an existing entry has an owner or group other than the desired one.
    pub(super) has_foreign_owner: bool,
    /// Whether the destination folder exists on the machine.
    pub(super) has_folder: bool,
}

impl Extraction {
    /// Lists the archive on the machine; None if the archive does not exist there.
    pub(super) fn probe_listing(&self, facts: &FactCache) -> Result<Option<ArchiveListing>, Halt> {
        let reads = Domain::Path(self.folder.clone());
        let probed = run_probe(facts, self.listing_script(), reads)?;
        if probed.code != 0 {
            let why = String::from_utf8_lossy(&probed.stderr);
            return refuse(why.trim().to_owned());
        }
        Ok(parse_listing(&stdout_text(probed)))
    }

    /// Returns the number of leading path components that `--strip-components` removes.
    fn strip_components(&self) -> usize {
        let options = self.options.as_deref().unwrap_or_default();
        let after = options
            .split("--strip-components")
            .nth(1)
            .unwrap_or_default();
        let digits = after.trim_start_matches(['=', ' ']);
        let end = digits.find(|sign: char| !sign.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().unwrap_or(0)
    }

    /// Returns the shell function `list`, which prints the entries of the archive.
    fn list_function(&self) -> String {
        let archive = quote_word(&self.archive);
        let program = match self.format {
            ArchiveFormat::Tar => format!("tar tf {archive}"),
            ArchiveFormat::Zip => format!(
                "if command -v unzip >/dev/null; then unzip -Z1 {archive}; \
                 elif command -v bsdtar >/dev/null; then bsdtar tf {archive}; \
                 else python3 -c 'import sys,zipfile; print(\"\\n\".join(zipfile.ZipFile(sys.argv[1]).namelist()))' {archive}; fi"
            ),
        };
        let strip = match self.strip_components() {
            0 => String::new(),
            count => format!(" | cut -sd/ -f{}-", count + 1),
        };
        format!(
            "list() {{ {{ {program}; }} >\"$1\" && sed 's,^\\./,,' \"$1\"{strip} | sed '/^$/d'; }}"
        )
    }

    fn listing_script(&self) -> String {
        let (archive, folder) = (quote_word(&self.archive), quote_word(&self.folder));
        let owner = [("-user", &self.user), ("-group", &self.group)];
        let tests: Vec<String> = owner
            .into_iter()
            .filter_map(|(test, name)| Some(format!("! {test} {}", quote_word(name.as_ref()?))))
            .collect();
        let foreign = if tests.is_empty() {
            String::new()
        } else {
            let tests = tests.join(" -o ");
            format!(
                "echo \"$l\" | cut -d/ -f1 | sort -u | while IFS= read -r p; do \
                 find \"$d/$p\" \\( {tests} \\) -print 2>/dev/null; done | grep -q . && echo foreign; "
            )
        };
        format!(
            "d={folder}; [ -d \"$d\" ] && echo folder; [ -f {archive} ] || {{ echo none; exit 0; }}; \
             {}; x=$(mktemp) || exit 1; l=$(list \"$x\") || {{ rm -f \"$x\"; exit 1; }}; rm -f \"$x\"; \
             echo \"$l\" | cut -d/ -f1 | sort -u | sed 's/^/top /'; \
             echo \"$l\" | grep -v / | sed 's/^/file /'; \
             echo \"$l\" | while IFS= read -r p; do echo \"entry $p\"; q=$d/${{p%/}}; \
             if [ ! -e \"$q\" ] && [ ! -L \"$q\" ]; then echo \"missing $p\"; else \
             case $p in */) [ -d \"$q\" ] || echo \"wrong $p\";; *) [ -d \"$q\" ] && [ ! -L \"$q\" ] && echo \"wrong $p\";; esac; fi; done; \
             {foreign}exit 0",
            self.list_function()
        )
    }

    /// Returns the command that unpacks the archive.
    ///
    /// With a code in `bomb`, the command exits with that code unless the archive has a single top-level
    /// folder.
    pub(super) fn unpack_command(&self, bomb_exit_code: Option<i32>) -> String {
        let (archive, folder) = (quote_word(&self.archive), quote_word(&self.folder));
        let check = bomb_exit_code.map(|code| {
            format!(
                "{}; x=$(mktemp) && l=$(list \"$x\") || exit 1; rm -f \"$x\"; \
                 if [ \"$(echo \"$l\" | cut -d/ -f1 | sort -u | wc -l)\" -gt 1 ] || ! echo \"$l\" | grep -q /; then exit {code}; fi; ",
                self.list_function()
            )
        });
        let options = self.options.as_deref().unwrap_or_default();
        let words: Vec<String> = options.split_whitespace().map(quote_word).collect();
        let options = words.join(" ");
        let unpack = match self.format {
            ArchiveFormat::Tar => format!("tar xf {archive} -C {folder} {}", tar_options(&options)),
            ArchiveFormat::Zip => format!(
                "if command -v unzip >/dev/null; then unzip -oq {options} {archive} -d {folder}; \
                 elif command -v bsdtar >/dev/null; then bsdtar xf {archive} -C {folder}; \
                 else python3 -m zipfile -e {archive} {folder}; fi"
            ),
        };
        let umask = if self.extracts_perms {
            ""
        } else {
            "umask 022; "
        };
        // A new folder belongs to the user of the state, but not to its group, as in Salt.
        let owner = self.user.as_deref().map(quote_word);
        let make = match owner {
            Some(owner) => format!(
                "{{ [ -d {folder} ] || {{ mkdir -p {folder} && chown {owner} {folder}; }}; }}"
            ),
            None => format!("mkdir -p {folder}"),
        };
        format!(
            "{}{umask}{make} && {}",
            check.unwrap_or_default(),
            unpack.trim_end()
        )
    }

    fn owner_spec(&self) -> Option<String> {
        Some(match (&self.user, &self.group) {
            (None, None) => return None,
            (Some(user), None) => user.clone(),
            (user, Some(group)) => format!("{}:{group}", user.as_deref().unwrap_or_default()),
        })
    }

    /// Returns the command that sets the owner when the entries are not known yet: it lists the archive
    /// itself.
    pub(super) fn chown_listed_command(&self) -> Option<String> {
        let owner = quote_word(&self.owner_spec()?);
        let folder = quote_word(&self.folder);
        Some(format!(
            "{}; x=$(mktemp) && l=$(list \"$x\") && rm -f \"$x\" && \
             echo \"$l\" | cut -d/ -f1 | sort -u | while IFS= read -r p; do chown -hR {owner} -- {folder}/\"$p\" || exit 1; done",
            self.list_function()
        ))
    }

    /// Returns the command that sets the owner of the top-level entries; None if no owner is desired.
    pub(super) fn chown_command(&self, tops: &[String]) -> Option<String> {
        let owner = self.owner_spec()?;
        let paths: Vec<String> = tops
            .iter()
            .map(|top| quote_word(&format!("{}/{top}", self.folder)))
            .collect();
        (!paths.is_empty())
            .then(|| format!("chown -hR {} -- {}", quote_word(&owner), paths.join(" ")))
    }
}

/// Returns the user's options in the form that `tar` accepts after other arguments.
///
/// The first word may be an old-style option cluster: it gets a dash, and loses `x` and `f`, which are
/// already given.
fn tar_options(options: &str) -> String {
    let mut words = options.split(' ').filter(|word| !word.is_empty());
    let mut text = String::new();
    if let Some(first) = words.next() {
        let first = if first.starts_with(['-', '\'']) {
            first.to_owned()
        } else {
            format!("-{}", first.replace(['x', 'f'], ""))
        };
        if first != "-" {
            text = first;
        }
    }
    for word in words {
        text = format!("{text} {word}");
    }
    text
}

fn parse_listing(text: &str) -> Option<ArchiveListing> {
    let mut listing = ArchiveListing::default();
    let mut is_there = true;
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let into = match key {
            "top" => &mut listing.top_level_names,
            "file" => &mut listing.top_level_files,
            "entry" => &mut listing.entries,
            "missing" => &mut listing.missing,
            "wrong" => &mut listing.wrong_type,
            "none" => {
                is_there = false;
                continue;
            }
            "folder" => {
                listing.has_folder = true;
                continue;
            }
            "foreign" => {
                listing.has_foreign_owner = true;
                continue;
            }
            _ => continue,
        };
        into.push(value.to_owned());
    }
    is_there.then_some(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_known_by_their_names() {
        assert_eq!(ArchiveFormat::guess("a/B.TAR.GZ"), Some(ArchiveFormat::Tar));
        assert_eq!(ArchiveFormat::guess("b.txz"), Some(ArchiveFormat::Tar));
        assert_eq!(ArchiveFormat::guess("c.zip"), Some(ArchiveFormat::Zip));
        assert_eq!(ArchiveFormat::guess("d.gz"), None);
    }

    #[test]
    fn options_of_tar_are_those_that_people_write() {
        assert_eq!(tar_options("xzf"), "-z");
        assert_eq!(
            tar_options("v --strip-components=1"),
            "-v --strip-components=1"
        );
        assert_eq!(tar_options(""), "");
    }
}
