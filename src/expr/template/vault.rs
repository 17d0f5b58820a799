//! The filters `vault` and `unvault`, which encrypt and decrypt texts as those of Ansible do.

use minijinja::value::Value as JinjaValue;

use crate::expr::reads::Read;
use crate::value::Value;

use super::arguments::{FilterArguments, FilterTable};
use super::error::Result;

const SEAL: &[&str] = &["secret", "salt", "vault_id", "wrap_object", "vaultid"];
const OPEN: &[&str] = &["secret", "vault_id", "vaultid"];

/// The id that Ansible writes if the filter gets none.
const DEFAULT_ID: &str = "filter_default";
/// The start of an encrypted text.
const MAGIC: &str = "$ANSIBLE_VAULT";

/// The filters that encrypt and decrypt.
pub(super) const FILTERS: FilterTable = &[("vault", SEAL, seal), ("unvault", OPEN, open)];

fn seal(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let clear = text_of(args, &args.subject()?)?;
    let password = password(args)?;
    if args.flag("wrap_object", false)? {
        return Err(args.fail("has no objects for `wrap_object`; the result is always a text"));
    }
    let salt = args.text("salt")?;
    if salt.as_deref() == Some("") {
        return Err(args.fail("the salt must not be empty"));
    }
    let given = args.text("vault_id")?.filter(|id| id != DEFAULT_ID);
    let id = match given {
        Some(id) => id,
        None => args.text("vaultid")?.unwrap_or_else(|| DEFAULT_ID.into()),
    };
    if id.contains([';', '\n', '\r']) {
        return Err(args.fail("the id of a vault must not contain `;` or line breaks"));
    }
    let evaluator = args.evaluator();
    if salt.is_none() {
        evaluator.tracker().record_read(Read::Volatile, None);
    }
    let salt = salt.as_deref().map(str::as_bytes);
    let system = evaluator.system();
    let sealed = system.seal_vault(clear.as_bytes(), &id, &password, salt);
    let sealed = sealed.map_err(|problem| args.fail(problem))?;
    Ok(JinjaValue::from_safe_string(sealed))
}

fn open(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = text_of(args, &args.subject()?)?;
    let password = password(args)?;
    if !text.starts_with(MAGIC) {
        return args.engine_value(Value::from(text).sensitive());
    }
    let opened = args.evaluator().system().open_vault(&text, &password);
    let opened = opened.map_err(|problem| args.fail(problem))?;
    let clear = String::from_utf8(opened)
        .map_err(|_| args.fail("the decrypted content is not UTF-8 text"))?;
    args.engine_value(Value::from(clear).sensitive())
}

fn password(args: &FilterArguments<'_>) -> Result<String> {
    match args.get("secret")? {
        Some(secret) => text_of(args, &secret),
        None => Err(args.fail("needs the argument `secret`, the password")),
    }
}

fn text_of(args: &FilterArguments<'_>, value: &Value) -> Result<String> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(args.fail(format!("takes texts, not {}", value.kind()))),
    }
}
