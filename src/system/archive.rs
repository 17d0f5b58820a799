//! Reads zip, tar and gzipped tar archives (such as CSAR files) into memory, with limits against
//! decompression bombs. Writes nothing to disk.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Component, Path, PathBuf};

/// The maximum number of files in an archive.
const MAX_FILES: usize = 200_000;
/// The maximum total size of selected files, in bytes after decompression.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// The files of an archive by path. Only selected files have their content.
pub type ArchiveFiles = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// An error while reading an archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it is neither a zip nor a tar archive")]
    UnknownFormat,
    /// The archive is damaged or uses an unsupported feature.
    #[error("it cannot be unpacked: {0}")]
    Damaged(String),
    /// The archive contains a path that leaves it, such as `../x`.
    #[error("it contains the path `{0}`, which leads outside of the archive")]
    Outside(String),
    #[error("it contains more than {MAX_FILES} files or {} MiB of text", MAX_TEXT_BYTES >> 20)]
    TooLarge,
}

/// Reads an archive. A file's content is kept if `is_selected` returns true for its path.
pub fn read(bytes: &[u8], is_selected: impl Fn(&Path) -> bool) -> Result<ArchiveFiles, Error> {
    read_limited(bytes, &is_selected, MAX_TEXT_BYTES)
}

fn read_limited(
    bytes: &[u8],
    is_selected: &dyn Fn(&Path) -> bool,
    max_bytes: u64,
) -> Result<ArchiveFiles, Error> {
    let mut reading = ArchiveReader {
        files: ArchiveFiles::new(),
        remaining: max_bytes,
        is_selected,
    };
    if bytes.starts_with(b"PK") {
        reading.zip(bytes)?;
    } else if bytes.starts_with(&[0x1f, 0x8b]) {
        reading.tar(flate2::read::MultiGzDecoder::new(bytes))?;
    } else if bytes.get(257..262) == Some(b"ustar") {
        reading.tar(bytes)?;
    } else {
        return Err(Error::UnknownFormat);
    }
    Ok(reading.files)
}

/// The state of reading an archive: the files so far and the remaining size limit.
struct ArchiveReader<'a> {
    files: ArchiveFiles,
    /// The number of bytes that may still be kept.
    remaining: u64,
    is_selected: &'a dyn Fn(&Path) -> bool,
}

impl ArchiveReader<'_> {
    fn zip(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        if archive.len() > MAX_FILES {
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
        // A compressed tar must be decompressed completely to reach a file, so unselected files count as
        // well.
        let max_bytes = MAX_TEXT_BYTES.saturating_mul(16);
        let mut archive = tar::Archive::new(stream.take(max_bytes));
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
        let path = path_in_archive(name)?;
        if self.files.len() >= MAX_FILES {
            return Err(Error::TooLarge);
        }
        let content_bytes = if (self.is_selected)(&path) {
            let mut content_bytes = Vec::new();
            let mut limited = content.take(self.remaining + 1);
            limited.read_to_end(&mut content_bytes).map_err(damaged)?;
            let remaining = self.remaining.checked_sub(content_bytes.len() as u64);
            self.remaining = remaining.ok_or(Error::TooLarge)?;
            Some(content_bytes)
        } else {
            None
        };
        self.files.insert(path, content_bytes);
        Ok(())
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes errors by value"
)]
fn damaged(error: impl ToString) -> Error {
    Error::Damaged(error.to_string())
}

/// Returns the normalized path of a file within the archive.
fn path_in_archive(name: &str) -> Result<PathBuf, Error> {
    let name = name.replace('\\', "/");
    let mut normalized = PathBuf::new();
    for part in Path::new(&name).components() {
        match part {
            Component::Normal(part) => normalized.push(part),
            Component::CurDir => {}
            _ => return Err(Error::Outside(name)),
        }
    }
    if normalized.as_os_str().is_empty() {
        return Err(Error::Outside(name));
    }
    Ok(normalized)
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
        for (max_bytes, fits) in [(599, false), (1199, false), (1200, true)] {
            let read = read_limited(&bytes, &text, max_bytes);
            assert_eq!(read.is_ok(), fits, "{max_bytes}");
            assert!(fits || matches!(read, Err(Error::TooLarge)));
        }
        assert!(read_limited(&bytes, &|_| false, 0).is_ok());
    }

    #[test]
    fn a_damaged_archive_or_another_file_is_reported() {
        assert!(matches!(read(b"a: 1\n", text), Err(Error::UnknownFormat)));
        assert!(matches!(read(b"", text), Err(Error::UnknownFormat)));
        let mut bytes = zip_of(&FILES);
        bytes.truncate(bytes.len() / 2);
        assert!(matches!(read(&bytes, text), Err(Error::Damaged(_))));
        let mut bytes = gzip_of(&tar_of(&FILES));
        bytes.truncate(bytes.len() / 2);
        assert!(matches!(read(&bytes, text), Err(Error::Damaged(_))));
    }
}
