//! The keys of an entry of `notify`.

use crate::yaml::{Shape, tables};

use Shape::{Any, Names, Of, Scalar, Text};

tables! {
    pub NOTIFY_KEYS closed "notify" "A target of notices; exactly one of command, webhook and mail" {
        "on" Names, "The occasions: change, failure, recovery, silence; the default is all of them";
        "after" Scalar, "The number of sightings in a row after which a problem is notified; the default is 1";
        "silence" Scalar, "The number of intervals without an answer after which silence is notified; the default is 3";
        "kinds" Names, "The kinds of findings that are changes: outside, pending, unmanaged; the default is all of them";
        "time_limit" Scalar, "The longest time of an attempt; the default is `30s` for webhooks and `1m` for programs";
        "command" Any, "A program and its arguments as a list, or a line for a shell; gets the notice as JSON";
        "webhook" Of(&WEBHOOK_KEYS), "A URL to which the notice is posted as JSON";
        "mail" Of(&MAIL_KEYS), "A mail through sendmail";
    }
    pub(super) WEBHOOK_KEYS closed "webhook" "A URL to which notices are posted as JSON" needs ["url"] {
        "url" Text, "The URL";
        "secret" Any, "The key of the signature: a map with one of env, file and backend, or an encrypted value";
    }
    pub(super) SECRET_KEYS closed "webhook_secret" "The place of the key that signs requests" {
        "env" Text, "The variable that holds the key";
        "file" Text, "The file that holds the key; relative paths begin at the project";
        "backend" Text, "The secret backend of the environment; may be left out if there is only one";
        "name" Text, "The name of the secret in the backend";
        "field" Text, "The field of the secret in the backend";
    }
    pub(super) MAIL_KEYS closed "mail" "Mails through sendmail" needs ["to"] {
        "to" Names, "The receivers";
        "from" Text, "The sender; the default is the user at this machine";
        "sendmail" Text, "The path of sendmail; the default is `/usr/sbin/sendmail`";
    }
}
