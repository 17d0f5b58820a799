//! The signature of a webhook request, which proves to the receiver who sent the request.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::value::hex;

/// Returns the value of the header: `sha256=` and the HMAC-SHA-256 of the body in lowercase hexadecimal.
pub(super) fn signature(key: &[u8], body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length will do");
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_rfc_4231() {
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(
            signature(b"Jefe", b"what do ya want for nothing?"),
            expected
        );
    }
}
