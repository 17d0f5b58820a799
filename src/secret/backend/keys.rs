//! The keys of a backend in `unfurl.yaml`.

use crate::yaml::{Shape, tables};

use Shape::{Names, Of, Scalar, Text};

tables! {
    pub SECRET_BACKEND_KEYS closed "secret_backend" "A place outside of the project that holds secrets" {
        "env" Text, "The variable of each secret; `{name}` stands for its name";
        "file" Text, "The file of each secret; `{name}` stands for its name";
        "command" Names, "The program that prints a secret, with its arguments; `{name}` stands for the name";
        "vault" Of(&VAULT_KEYS), "A key-value store of a Vault server; `VAULT_ADDR` and `VAULT_TOKEN` say where";
        "timeout" Scalar, "The number of seconds that a program or server has; the default is 30";
    }
    pub(super) VAULT_KEYS closed "secret_backend_vault" "A key-value store of a Vault server" {
        "mount" Text, "The path at which the store is mounted; the default is `secret`";
        "path" Text, "The path in the store in front of all names";
        "version" Scalar, "The version of the store, 1 or 2; the default is 2";
    }
}
