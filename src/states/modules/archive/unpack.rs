//! An archive on a machine: what is in it, and what of that is there.

use crate::host::fact::Domain;
use crate::states::modules::verdict::{run_probe, stdout_text};
use crate::states::{FactCache, Halt, refuse};
use crate::text::quote_word;

/// How an archive is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArchiveFormat {
    Tar,
    Zip,
}

impl ArchiveFormat {
    /// By the end of a name.
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

/// An archive and where it is unpacked.
#[derive(Debug, Clone)]
pub(super) struct Extraction {
    /// The archive, on the machine.
    pub(super) archive: String,
    /// The folder, without a slash at its end.
    pub(super) folder: String,
    pub(super) format: ArchiveFormat,
    /// The options that people give the program.
    pub(super) options: Option<String>,
    pub(super) user: Option<String>,
    pub(super) group: Option<String>,
    pub(super) extracts_perms: bool,
}

/// What is in an archive, and what of it is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArchiveListing {
    pub(super) entries: Vec<String>,
    /// The first parts of names.
    pub(super) top_level_names: Vec<String>,
    /// The names that have one part only, and are files.
    pub(super) top_level_files: Vec<String>,
    pub(super) missing: Vec<String>,
    /// What is there, and is a folder instead of a file or the other way round.
    pub(super) wrong_type: Vec<String>,
    /// Whether something there has another owner.
    pub(super) has_foreign_owner: bool,
    /// Whether the folder is there.
    pub(super) has_folder: bool,
}

impl Extraction {
    /// Asks for it; none if the archive is not on the machine.
    pub(super) fn probe_listing(&self, facts: &FactCache) -> Result<Option<ArchiveListing>, Halt> {
        let reads = Domain::Path(self.folder.clone());
        let probed = run_probe(facts, self.listing_script(), reads)?;
        if probed.code != 0 {
            let why = String::from_utf8_lossy(&probed.stderr);
            return refuse(why.trim().to_owned());
        }
        Ok(parse_listing(&stdout_text(probed)))
    }

    /// How many folders in front are left out.
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

    /// A shell function that lists the archive.
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

    /// The command that unpacks it; it fails with this code if more than one thing is at its top.
    pub(super) fn unpack_command(&self, bomb: Option<i32>) -> String {
        let (archive, folder) = (quote_word(&self.archive), quote_word(&self.folder));
        let check = bomb.map(|code| {
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
        format!(
            "{}{umask}mkdir -p {folder} && {}",
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

    /// The same where it is not known yet what was unpacked.
    pub(super) fn chown_listed_command(&self) -> Option<String> {
        let owner = quote_word(&self.owner_spec()?);
        let folder = quote_word(&self.folder);
        Some(format!(
            "{}; x=$(mktemp) && l=$(list \"$x\") && rm -f \"$x\" && \
             echo \"$l\" | cut -d/ -f1 | sort -u | while IFS= read -r p; do chown -hR {owner} -- {folder}/\"$p\" || exit 1; done",
            self.list_function()
        ))
    }

    /// The command that gives what was unpacked to its owner.
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

/// Short options need a dash where others stand before them.
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
