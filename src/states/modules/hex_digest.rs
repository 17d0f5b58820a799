//! Digests by the names that states use for them.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

use crate::value::hex;

/// Returns a digest in lower-case hex; None if the algorithm is unknown.
pub(super) fn hex_digest(algorithm: &str, bytes: &[u8]) -> Option<String> {
    Some(match algorithm.to_ascii_lowercase().as_str() {
        "md5" => hex(&Md5::digest(bytes)),
        "sha1" => hex(&Sha1::digest(bytes)),
        "sha224" => hex(&Sha224::digest(bytes)),
        "sha256" => hex(&Sha256::digest(bytes)),
        "sha384" => hex(&Sha384::digest(bytes)),
        "sha512" => hex(&Sha512::digest(bytes)),
        _ => return None,
    })
}
