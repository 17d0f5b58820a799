//! Delivery to a URL. The request is signed at each attempt, so that no file has the key or a signature.

use std::time::Duration;

use super::delivery_error::DeliveryError;
use super::entry::QueuedNotice;
use super::secret_access::SecretAccess;
use super::signature::signature;
use crate::schedule::Webhook;
use crate::system::http::{self, Limits, Request};

/// The time limit for the connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The answer of the receiver does not matter, so little of it is read.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// Posts a notice once.
pub(super) fn post(
    notice: &QueuedNotice,
    target: &Webhook,
    secrets: &SecretAccess,
    limit: Duration,
) -> Result<(), DeliveryError> {
    let body = notice.document();
    let mut headers = vec![
        ("Content-Type".to_owned(), "application/json".to_owned()),
        ("X-Unfurl-Delivery".to_owned(), notice.id.clone()),
    ];
    if let Some(source) = &target.secret {
        let key = secrets.read(source).map_err(DeliveryError::passing)?;
        let value = signature(key.as_bytes(), &body);
        headers.push(("X-Unfurl-Signature".to_owned(), value));
    }
    let request = Request {
        url: target.url.to_string(),
        headers,
        body: Some(body),
    };
    let limits = Limits {
        connect: limit.min(CONNECT_LIMIT),
        total: limit,
        max_bytes: MAX_ANSWER_BYTES,
        roots: None,
    };
    match http::send(&request, &limits) {
        Ok(answer) => judge(answer.status),
        // The receiver has taken the request, and then says too much.
        Err(http::Error::TooLarge(_)) => Ok(()),
        Err(error @ (http::Error::Invalid(_) | http::Error::Redirected(_))) => {
            Err(DeliveryError::lasting(error.to_string()))
        }
        Err(error) => Err(DeliveryError::passing(error.to_string())),
    }
}

/// Decides by the status of an answer. Requests that the server refuses for good are not repeated.
fn judge(status: u16) -> Result<(), DeliveryError> {
    let message = format!("the server answered with status {status}");
    match status {
        200..=299 => Ok(()),
        408 | 425 | 429 | 500..=599 => Err(DeliveryError::passing(message)),
        _ => Err(DeliveryError::lasting(message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_refusals_are_repeated() {
        for status in [200, 202, 204] {
            assert_eq!(judge(status), Ok(()));
        }
        for status in [408, 425, 429, 500, 502, 503, 504] {
            assert!(!judge(status).unwrap_err().is_final, "{status}");
        }
        for status in [301, 304, 400, 401, 403, 404, 410, 422] {
            assert!(judge(status).unwrap_err().is_final, "{status}");
        }
    }
}
