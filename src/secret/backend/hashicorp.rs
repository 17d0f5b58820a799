//! Secrets in the key-value stores of `HashiCorp` Vault, versions 1 and 2, over HTTP.
//!
//! Address, token, namespace and certificates come from the variables and the file that the program `vault`
//! uses. A project cannot name the server, so that it cannot send the token elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value as Json;
use zeroize::Zeroizing;

use super::contract::{Backend, BackendContext, Secret};
use super::error::Problem;
use super::name::SecretName;
use crate::system::env::Env;
use crate::system::{fs, http};
use crate::text::without_controls;
use crate::value::{Map, encode_percent};

/// The address that the program `vault` uses if `VAULT_ADDR` is not set.
const DEFAULT_ADDRESS: &str = "https://127.0.0.1:8200";

/// The file in the home folder to which `vault login` writes the token.
const TOKEN_FILE: &str = ".vault-token";

/// The maximum size of that file, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// The maximum number of characters of the server's reasons that a message shows.
const MAX_SHOWN: usize = 300;

/// The version of a key-value store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KvVersion {
    One,
    Two,
}

/// Reads secrets of a key-value store.
#[derive(Debug)]
pub(super) struct HashicorpBackend {
    /// The path at which the store is mounted.
    pub(super) mount: String,
    /// The path in the store in front of names; may be empty.
    pub(super) path: String,
    pub(super) version: KvVersion,
    pub(super) time_limit: Duration,
}

impl Backend for HashicorpBackend {
    fn needs_permission(&self) -> bool {
        true
    }

    fn fetch(&self, name: &SecretName, context: &BackendContext<'_>) -> Result<Secret, Problem> {
        let env = context.env;
        let address = env.non_empty("VAULT_ADDR").unwrap_or(DEFAULT_ADDRESS);
        let token = token(env)?;
        let mut headers = vec![
            ("X-Vault-Token".to_owned(), token.to_string()),
            ("X-Vault-Request".to_owned(), "true".to_owned()),
        ];
        if let Some(namespace) = env.non_empty("VAULT_NAMESPACE") {
            headers.push(("X-Vault-Namespace".to_owned(), namespace.to_owned()));
        }
        let request = http::Request {
            url: format!("{}{}", address.trim_end_matches('/'), self.url_path(name)),
            headers,
            body: None,
        };
        let limits = http::Limits {
            connect: self.time_limit,
            total: self.time_limit,
            max_bytes: super::file::MAX_BYTES as u64,
            roots: env.non_empty("VAULT_CACERT").map(PathBuf::from),
        };
        let answer = http::send(&request, &limits).map_err(|error| unreachable(address, &error))?;
        let body = Zeroizing::new(answer.body);
        let json = serde_json::from_slice::<Json>(&body).unwrap_or_default();
        if answer.status != 200 {
            return Err(self.refusal(answer.status, &json));
        }
        self.fields(json)
    }

    fn credential_file(&self, env: &Env) -> Option<PathBuf> {
        let file = token_file(env)?;
        (env.non_empty("VAULT_TOKEN").is_none() && fs::is_file(&file)).then_some(file)
    }
}

impl HashicorpBackend {
    fn url_path(&self, name: &SecretName) -> String {
        let data = (self.version == KvVersion::Two).then_some("data");
        let path = Some(self.path.as_str()).filter(|path| !path.is_empty());
        let parts = ["v1", self.mount.as_str()].into_iter().chain(data);
        let mut url = String::new();
        for part in parts.chain(path).chain([name.as_str()]) {
            url.push('/');
            url.push_str(&encode_percent(part, b"/"));
        }
        url
    }

    /// Returns the fields of a secret from the answer of the server.
    fn fields(&self, mut json: Json) -> Result<Secret, Problem> {
        let mut data = json["data"].take();
        if self.version == KvVersion::Two {
            data = data["data"].take();
        }
        match data {
            Json::Object(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| (name.into(), value.into()));
                Ok(Secret::Fields(fields.collect::<Map>()))
            }
            _ => Err(Problem::new(
                "the answer of Vault has no fields of a secret",
                "check `mount` and `version` of the backend with `vault secrets list -detailed`",
            )),
        }
    }

    fn refusal(&self, status: u16, json: &Json) -> Problem {
        let texts = |key: &str| {
            json[key]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
        };
        let said: Vec<&str> = texts("errors")
            .chain(texts("warnings"))
            .map(str::trim)
            .collect();
        let deleted = json["data"]["metadata"]["deletion_time"].as_str();
        let is_deleted = deleted.is_some_and(|time| !time.is_empty())
            || json["data"]["metadata"]["destroyed"] == Json::Bool(true);
        let reason = match said.join("; ") {
            _ if status == 404 && is_deleted => "Vault has deleted its current version".to_owned(),
            none if none.is_empty() => format!("Vault answered with status {status}"),
            text => {
                let text: String = text.chars().take(MAX_SHOWN).collect();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                format!(
                    "Vault answered with status {status}: {}",
                    without_controls(&text)
                )
            }
        };
        let help = match status {
            401 | 403 => {
                "log in with `vault login`, or ask for a policy that may read it".to_owned()
            }
            404 => format!(
                "check the name, and `path`, `mount` and `version` of the backend; `vault kv get -mount={} …` \
                 shows a secret",
                self.mount
            ),
            429 | 472 | 473 | 503 => {
                "unseal Vault, or set VAULT_ADDR to the active node".to_owned()
            }
            _ => "look into the log of Vault".to_owned(),
        };
        Problem::new(reason, help)
    }
}

fn unreachable(address: &str, error: &http::Error) -> Problem {
    let address = crate::text::without_logins(address);
    let help = match error {
        http::Error::Redirected(_) => "set VAULT_ADDR to the active node of Vault",
        http::Error::TimedOut(_) => "check VAULT_ADDR, or raise `timeout` of the backend",
        _ => "check VAULT_ADDR and VAULT_CACERT",
    };
    Problem::new(
        format!("Vault at `{address}` gave no answer: {error}"),
        help,
    )
}

fn token_file(env: &Env) -> Option<PathBuf> {
    let home = env.non_empty("HOME")?;
    Some(Path::new(home).join(TOKEN_FILE))
}

/// Returns the token of the user, from `VAULT_TOKEN` or else from the file of `vault login`.
fn token(env: &Env) -> Result<Zeroizing<String>, Problem> {
    if let Some(token) = env.non_empty("VAULT_TOKEN") {
        return Ok(Zeroizing::new(token.to_owned()));
    }
    let none = || {
        let reason = "no token: VAULT_TOKEN is not set, and `~/.vault-token` has none";
        Problem::new(reason, "log in with `vault login`, or set VAULT_TOKEN")
    };
    let file = token_file(env).ok_or_else(none)?;
    let bytes = match fs::read_within(&file, MAX_TOKEN_BYTES) {
        Err(error) if error.is_not_found() => return Err(none()),
        read => read.map_err(|error| {
            Problem::new(
                error.to_string(),
                "make the file readable for you, or set VAULT_TOKEN",
            )
        })?,
    };
    let bytes = Zeroizing::new(bytes);
    let token = String::from_utf8_lossy(&bytes).trim().to_owned();
    let token = Zeroizing::new(token);
    if token.is_empty() {
        return Err(none());
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(path: &str, version: KvVersion) -> HashicorpBackend {
        HashicorpBackend {
            mount: "team/kv".to_owned(),
            path: path.to_owned(),
            version,
            time_limit: Duration::from_secs(1),
        }
    }

    #[test]
    fn the_path_of_a_secret_depends_on_the_version() {
        let name = SecretName::parse("db/a b?c#d%e").unwrap();
        let path = backend("app", KvVersion::Two).url_path(&name);
        assert_eq!(path, "/v1/team/kv/data/app/db/a%20b%3Fc%23d%25e");
        let path = backend("", KvVersion::One).url_path(&name);
        assert_eq!(path, "/v1/team/kv/db/a%20b%3Fc%23d%25e");
    }
}
