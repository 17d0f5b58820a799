//! The keys of the section `drift` of an environment: tables for checks, completion and the schemas of editors.

use crate::yaml::{Shape, tables};

use Shape::{Flag, ListOf, Scalar, Text, Words};

tables! {
    pub DRIFT_KEYS closed "drift" "The treatment of drift" {
        "on_drift" Words(&["report", "ask", "repair"]), "The reaction of a scheduled look to drift; the default is `report`";
        "ignore" ListOf(&IGNORE_RULE_KEYS), "Rules for drift that raises no alarm";
        "commit" Flag, "Whether jobs commit the drift record with their records; the default is `false`";
        "policies" ListOf(&DRIFT_POLICY_KEYS), "The reaction to the drift of some instances";
    }
    pub IGNORE_RULE_KEYS closed "ignore_rule" "A rule for drift that raises no alarm" needs ["reason"] {
        "instance" Text, "The name of the instance, with `*` and `?` as wildcards";
        "attribute" Text, "The attribute, file or state, with wildcards; `status` is the instance as a whole";
        "host" Text, "The host, with wildcards";
        "kind" Words(&["outside", "pending", "unmanaged", "cannot-tell"]), "The kind of the drift";
        "cause" Text, "The digest of the cause or its first digits, as `unfurl drift` shows it";
        "until" Scalar, "The last day of the rule in UTC, or the time at which it ends";
        "reason" Text, "The reason, for people";
    }
    pub DRIFT_POLICY_KEYS closed "drift_policy" "The reaction to the drift of some instances" needs ["on_drift"] {
        "instance" Text, "The name of the instance, with `*` and `?` as wildcards";
        "template" Text, "The name of the node template, with wildcards";
        "on_drift" Words(&["report", "ask", "repair"]), "The reaction of a scheduled look to drift";
    }
}
