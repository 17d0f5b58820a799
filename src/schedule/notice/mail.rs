//! A mail as RFC 5322 has it, for `sendmail -t -i`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::text::base64;

/// The longest line of base64 in a mail.
const BASE64_LINE: usize = 76;

/// The bytes of text that fit into one encoded word of a header.
const WORD_BYTES: usize = 42;

/// The longest line of a body that is sent as it is.
const PLAIN_LINE: usize = 900;

/// A mail with a text.
#[derive(Debug, Clone)]
pub struct MailMessage<'a> {
    pub from: &'a str,
    pub to: &'a [Arc<str>],
    pub subject: &'a str,
    pub text: &'a str,
    pub at: Timestamp,
    /// The id of the delivery, which is the same in each attempt.
    pub id: &'a str,
    /// The name of this machine.
    pub host: &'a str,
}

impl MailMessage<'_> {
    /// Returns the mail with line ends as programs on this machine expect them.
    pub fn format(&self) -> String {
        let receivers = self.to.iter().map(|address| header_safe(address));
        let receivers: Vec<String> = receivers.collect();
        let date = jiff::fmt::rfc2822::to_string(&self.at.to_zoned(jiff::tz::TimeZone::UTC));
        let host = header_safe(self.host).replace(' ', "");
        let mut mail = String::new();
        let mut header = |name: &str, value: &str| {
            mail.push_str(&format!("{name}: {value}\n"));
        };
        header("From", &header_safe(self.from));
        header("To", &receivers.join(",\n "));
        header("Subject", &encoded(&header_safe(self.subject)));
        // A time within the years 0 to 9999 always has a date.
        header("Date", &date.unwrap_or_default());
        header("Message-ID", &format!("<{}@{host}>", header_safe(self.id)));
        header("Auto-Submitted", "auto-generated");
        header("MIME-Version", "1.0");
        header("Content-Type", "text/plain; charset=utf-8");
        let is_plain = self.text.is_ascii()
            && !self.text.contains(['\r', '\0'])
            && self.text.lines().all(|line| line.len() <= PLAIN_LINE);
        if is_plain {
            header("Content-Transfer-Encoding", "7bit");
            return format!("{mail}\n{}", self.text);
        }
        header("Content-Transfer-Encoding", "base64");
        mail.push('\n');
        let text = self.text.replace("\r\n", "\n").replace('\n', "\r\n");
        let digits = base64::encode(text.as_bytes());
        for line in digits.as_bytes().chunks(BASE64_LINE) {
            mail.push_str(&String::from_utf8_lossy(line));
            mail.push('\n');
        }
        mail
    }
}

/// Returns the reason why a text is no address in a header.
pub(super) fn check_address(address: &str) -> Result<(), &'static str> {
    let domain = address.rsplit_once('@').map(|(_, domain)| domain);
    if address.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Err("a blank or a control character is in it")
    } else if address.contains([',', ';', '<', '>', '(', ')', '"', '\\', ':']) {
        Err("a sign is in it that separates addresses")
    } else if address.starts_with('-') {
        Err("programs read a text that begins with `-` as an option")
    } else if address.is_empty() || address.starts_with('@') || domain == Some("") {
        Err("the name or the host is missing")
    } else {
        Ok(())
    }
}

/// Returns a text in one line, without control characters: a line break would begin another header.
fn header_safe(text: &str) -> String {
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(safe).collect()
}

/// Returns a header value with encoded words (RFC 2047), if it has more than ASCII characters or is long.
fn encoded(text: &str) -> String {
    if text.is_ascii() && text.len() <= PLAIN_LINE && !text.contains("=?") {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        if let Some(word) = words.last_mut()
            && word.len() + c.len_utf8() <= WORD_BYTES
        {
            word.push(c);
        } else {
            words.push(c.to_string());
        }
    }
    let words = words.iter().map(|word| {
        let digits = base64::encode(word.as_bytes());
        format!("=?utf-8?B?{digits}?=")
    });
    words.collect::<Vec<_>>().join("\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(subject: &str, text: &str) -> String {
        MailMessage {
            from: "unfurl@box",
            to: &["a@b.example".into(), "root".into()],
            subject,
            text,
            at: Timestamp::from_second(1_790_000_000).unwrap(),
            id: "0011",
            host: "box",
        }
        .format()
    }

    #[test]
    fn a_plain_mail_has_the_usual_headers() {
        insta::assert_snapshot!(mail("nightly: 2 new", "New:\n  web1\n"), @"
        From: unfurl@box
        To: a@b.example,
         root
        Subject: nightly: 2 new
        Date: Mon, 21 Sep 2026 14:13:20 +0000
        Message-ID: <0011@box>
        Auto-Submitted: auto-generated
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: 7bit

        New:
          web1
        ");
    }

    #[test]
    fn other_characters_are_encoded_in_headers_and_in_the_body() {
        let subject =
            "nächtlich: Prüfung der Erreichbarkeit überall fehlgeschlagen → drei Änderungen";
        insta::assert_snapshot!(mail(subject, &"ä".repeat(60)), @"
        From: unfurl@box
        To: a@b.example,
         root
        Subject: =?utf-8?B?bsOkY2h0bGljaDogUHLDvGZ1bmcgZGVyIEVycmVpY2hiYXJrZWl0IMO8?=
         =?utf-8?B?YmVyYWxsIGZlaGxnZXNjaGxhZ2VuIOKGkiBkcmVpIMOEbmRlcnVuZ2Vu?=
        Date: Mon, 21 Sep 2026 14:13:20 +0000
        Message-ID: <0011@box>
        Auto-Submitted: auto-generated
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: base64

        w6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TD
        pMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOkw6TDpMOk
        w6TDpMOk
        ");
    }

    #[test]
    fn a_line_break_begins_no_other_header() {
        let text = mail("x\r\nBcc: evil@example.com\r\n\r\nbody", "t");
        let (headers, body) = text.split_once("\n\n").unwrap();
        assert_eq!(body, "t");
        assert!(
            headers.contains("\nSubject: x  Bcc: evil@example.com    body\n"),
            "{headers}"
        );
        assert!(!text.contains('\r'));
    }

    #[test]
    fn addresses_are_checked() {
        for address in [
            "root",
            "a@b",
            "a.b+c@d.example",
            "ä@ö.example",
            "a@[10.0.0.1]",
        ] {
            assert_eq!(check_address(address), Ok(()), "{address}");
        }
        for address in [
            "", "@b", "a@", "a b", "a\n@b", "-f@b", "a@b,c@d", "A <a@b>", "a@b\0",
        ] {
            assert!(check_address(address).is_err(), "{address:?}");
        }
    }
}
