//! Reads archives into memory: zip, tar and gzipped tar. Writes nothing.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Component, Path, PathBuf};

/// How many files an archive may hold.
const MOST_FILES: usize = 200_000;
/// How many bytes of texts an archive may hold, unpacked.
const MOST_BYTES: u64 = 256 << 20;

/// What an archive holds: each file by its path within, with its content if it was wanted.
pub type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is neither a zip nor a tar file.
    #[error("it is neither a zip nor a tar archive")]
    Unknown,
    /// It is damaged, or uses what is not understood.
    #[error("it cannot be unpacked: {0}")]
    Damaged(String),
    /// It holds a file that would be outside of it.
    #[error("it holds the path `{0}`, which is outside of it")]
    Outside(String),
    /// It is too large.
    #[error("it holds more than {MOST_FILES} files or {} MiB of text", MOST_BYTES >> 20)]
    TooLarge,
}

/// Reads an archive. The content of a file is kept if `wanted` says so of its path.
pub fn read(bytes: &[u8], wanted: impl Fn(&Path) -> bool) -> Result<Files, Error> {
    read_within(bytes, &wanted, MOST_BYTES)
}

fn read_within(bytes: &[u8], wanted: &dyn Fn(&Path) -> bool, most: u64) -> Result<Files, Error> {
    let mut reading = Reading {
        files: Files::new(),
        left: most,
        wanted,
    };
    if bytes.starts_with(b"PK") {
        reading.zip(bytes)?;
    } else if bytes.starts_with(&[0x1f, 0x8b]) {
        reading.tar(flate2::read::MultiGzDecoder::new(bytes))?;
    } else if bytes.get(257..262) == Some(b"ustar") {
        reading.tar(bytes)?;
    } else {
        return Err(Error::Unknown);
    }
    Ok(reading.files)
}

struct Reading<'a> {
    files: Files,
    /// How many bytes may still be kept.
    left: u64,
    wanted: &'a dyn Fn(&Path) -> bool,
}

impl Reading<'_> {
    fn zip(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        if archive.len() > MOST_FILES {
            return Err(Error::TooLarge);
        }
        for index in 0..archive.len() {
            let file = archive.by_index(index).map_err(damaged)?;
            if file.is_dir() {
                continue;
            }
            let name = file.name().map_err(damaged)?.into_owned();
            self.add(&name, file)?;
        }
        Ok(())
    }

    fn tar(&mut self, stream: impl Read) -> Result<(), Error> {
        // What is not wanted is unpacked on the way to what is, so all of it counts.
        let most = MOST_BYTES.saturating_mul(16);
        let mut archive = tar::Archive::new(stream.take(most));
        for entry in archive.entries().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            if entry.header().entry_type().is_dir() {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            self.add(&name, entry)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, content: impl Read) -> Result<(), Error> {
        let path = inside(name)?;
        if self.files.len() >= MOST_FILES {
            return Err(Error::TooLarge);
        }
        let kept = if (self.wanted)(&path) {
            let mut kept = Vec::new();
            let mut limited = content.take(self.left + 1);
            limited.read_to_end(&mut kept).map_err(damaged)?;
            let left = self.left.checked_sub(kept.len() as u64);
            self.left = left.ok_or(Error::TooLarge)?;
            Some(kept)
        } else {
            None
        };
        self.files.insert(path, kept);
        Ok(())
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "errors are handed over by value"
)]
fn damaged(error: impl ToString) -> Error {
    Error::Damaged(error.to_string())
}

/// The path of a file within the archive, clean.
fn inside(name: &str) -> Result<PathBuf, Error> {
    let name = name.replace('\\', "/");
    let mut clean = PathBuf::new();
    for part in Path::new(&name).components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            _ => return Err(Error::Outside(name)),
        }
    }
    if clean.as_os_str().is_empty() {
        return Err(Error::Outside(name));
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const FILES: [(&str, &str); 3] = [
        ("TOSCA.meta", "CSAR-Version: 1.1\n"),
        ("./Definitions/a.yaml", "a: 1\n"),
        ("image.bin", "large"),
    ];

    fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            let options = zip::write::SimpleFileOptions::default();
            writer.start_file(*name, options).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip_of(bytes: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn text(path: &Path) -> bool {
        path.extension().is_some_and(|end| end != "bin")
    }

    #[test]
    fn every_kind_of_archive_gives_its_files() {
        let tar = tar_of(&FILES);
        for bytes in [zip_of(&FILES), gzip_of(&tar), tar] {
            let files = read(&bytes, text).unwrap();
            assert_eq!(files.len(), 3);
            let content = files[Path::new("Definitions/a.yaml")].as_deref();
            assert_eq!(content, Some(&b"a: 1\n"[..]));
            assert_eq!(files[Path::new("image.bin")], None);
        }
    }

    #[test]
    fn a_path_that_leaves_the_archive_is_refused() {
        for name in ["../a.yaml", "/a.yaml", "a/../../b.yaml", "..\\a.yaml"] {
            for bytes in [zip_of(&[(name, "x")]), tar_of(&[(name, "x")])] {
                let error = read(&bytes, text).unwrap_err();
                assert!(matches!(error, Error::Outside(_)), "{name}: {error}");
            }
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let large = "0".repeat(600);
        let bytes = zip_of(&[("a.yaml", &large), ("b.yaml", &large)]);
        for (most, fits) in [(599, false), (1199, false), (1200, true)] {
            let read = read_within(&bytes, &text, most);
            assert_eq!(read.is_ok(), fits, "{most}");
            assert!(fits || matches!(read, Err(Error::TooLarge)));
        }
        assert!(read_within(&bytes, &|_| false, 0).is_ok());
    }

    #[test]
    fn what_is_damaged_or_no_archive_is_told() {
        assert!(matches!(read(b"a: 1\n", text), Err(Error::Unknown)));
        assert!(matches!(read(b"", text), Err(Error::Unknown)));
        let mut bytes = zip_of(&FILES);
        bytes.truncate(bytes.len() / 2);
        assert!(matches!(read(&bytes, text), Err(Error::Damaged(_))));
        let mut bytes = gzip_of(&tar_of(&FILES));
        bytes.truncate(bytes.len() / 2);
        assert!(matches!(read(&bytes, text), Err(Error::Damaged(_))));
    }
}
