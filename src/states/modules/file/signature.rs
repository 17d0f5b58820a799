//! Signatures of `gpg`: the arguments that ask for them, and the commands that verify them on the machine.
//!
//! The program `gpg` of the machine decides, with the keys of the machine. Its messages for programs tell which keys
//! have signed.

use super::source::{FileSource, download_to_stdout_command};
use crate::host::fact::Domain;
use crate::states::modules::decision::run_probe;
use crate::states::{FactCache, Halt, StateCall, refuse};
use crate::text::{base64, quote_word};
use crate::value::Value;

/// A signature to verify before a file is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::states::modules) struct SignatureCheck {
    /// The definition of the shell function `verify`, which takes the path of the file and prints why a
    /// signature is not accepted.
    function: String,
}

impl SignatureCheck {
    /// Reads the argument that asks for a signature: true if it is in the file itself, or else the address of the
    /// signature. None if no signature is asked for.
    ///
    /// `lead` stands before the messages about signatures that are not accepted.
    pub(in crate::states::modules) fn from_call(
        call: &StateCall<'_>,
        key: &str,
        lead: &str,
    ) -> Result<Option<Self>, Halt> {
        let Some(value) = call.arg(key).filter(|value| value.is_truthy()) else {
            return Ok(None);
        };
        let backend = call.text_or("sig_backend", "gpg")?;
        if backend != "gpg" {
            return refuse(format!(
                "`sig_backend: {backend}` is not supported: only gpg is"
            ));
        }
        let (fetch, signature) = match value {
            Value::Bool(_) => (String::new(), ""),
            _ => (
                fetch_signature(call, &call.required(key)?, lead)?,
                "\"$d/sig\" ",
            ),
        };
        let mut options = String::new();
        for (key, option) in [
            ("gnupghome", "--homedir"),
            ("keyring", "--no-default-keyring --keyring"),
        ] {
            if let Some(path) = call.non_empty_text(key)? {
                options.push_str(&format!(" {option} {}", quote_word(&path)));
            }
        }
        let any = call.texts("signed_by_any")?;
        let all = call.texts("signed_by_all")?;
        if !any.is_empty() || !all.is_empty() {
            // In batch mode, gpg stops at the first signature that is not valid.
            options.push_str(" --no-batch");
        }
        let judge = judge_signers(&any, &all, lead);
        let missing = quote_word(&format!("{lead}the program `gpg` is not installed"));
        Ok(Some(Self {
            function: format!(
                "verify() {{\n\
                 command -v gpg >/dev/null 2>&1 || {{ echo {missing} >&2; return 1; }}\n\
                 d=$(mktemp -d) || return 1\n\
                 {fetch}s=$(LC_ALL=C gpg --status-fd 1 --no-tty --batch{options} --verify {signature}\"$1\" 2>/dev/null </dev/null)\n\
                 rm -rf -- \"$d\"\n\
                 r= g=' ' p= b=\n\
                 while read -r m w x; do case $w in NEWSIG) p= b=;; \
                 REVKEYSIG|EXPKEYSIG|EXPSIG|BADSIG|ERRSIG|KEYREVOKED) b=y;; \
                 VALIDSIG) p=${{x##* }};; TRUST_NEVER) p=;; \
                 TRUST_*) [ -n \"$b\" ] || {{ r=y; [ -z \"$p\" ] || g=\"$g$p \"; }}; p=;; esac; done <<END_OF_STATUS\n\
                 $s\nEND_OF_STATUS\n\
                 {judge}}}\n"
            ),
        }))
    }

    /// Returns the commands that end the shell unless the file at a path, in the form of a shell word, has the
    /// signature.
    pub(in crate::states::modules) fn commands(&self, path_word: &str) -> String {
        format!("{}verify {path_word} || exit 1\n", self.function)
    }
}

/// Returns the command that prints the content of a source; None if the state tree lacks it.
fn print_command(call: &StateCall<'_>, source: &FileSource) -> Result<Option<String>, Halt> {
    Ok(match source {
        FileSource::Tree(path) => {
            let bytes = call.context.roots.read(path)?;
            bytes.map(|bytes| format!("printf %s '{}' | base64 -d", base64::encode(&bytes)))
        }
        FileSource::Machine(path) => Some(format!("cat -- {}", quote_word(path))),
        FileSource::Web(address) => Some(format!("{{ {}; }}", download_to_stdout_command(address))),
    })
}

/// Returns the commands that bring the signature to the file `sig` of a temporary folder.
fn fetch_signature(call: &StateCall<'_>, written: &str, lead: &str) -> Result<String, Halt> {
    let source = FileSource::parse(written);
    // The message below says that a file is missing.
    let quiet = match source {
        FileSource::Machine(_) => " 2>/dev/null",
        _ => "",
    };
    let get = print_command(call, &source)?.unwrap_or_else(|| "false".to_owned());
    let missing = quote_word(&format!(
        "{lead}Detached signature file {written} not found"
    ));
    Ok(format!(
        "{get}{quiet} >\"$d/sig\" || {{ rm -rf -- \"$d\"; echo {missing} >&2; return 1; }}\n"
    ))
}

/// Returns the commands that look for the fingerprints that the state names among those in the variable `g`.
fn judge_signers(any: &[String], all: &[String], lead: &str) -> String {
    let refused = |why: &str| {
        let text = format!("{lead}The file's signature could not be verified: {why}");
        format!("{{ echo {} >&2; return 1; }}", quote_word(&text))
    };
    if any.is_empty() && all.is_empty() {
        let why = "The signature could not be verified.";
        return format!("[ -n \"$r\" ] || {}\n", refused(why));
    }
    let pattern = |signer: &String| format!("*\" \"{}\" \"*", quote_word(signer));
    let mut commands = String::new();
    if !any.is_empty() {
        let patterns: Vec<String> = any.iter().map(pattern).collect();
        let why = "None of the public keys listed in signed_by_any provided a valid signature";
        commands.push_str(&format!(
            "case $g in {}) ;; *) {};; esac\n",
            patterns.join("|"),
            refused(why)
        ));
    }
    for signer in all {
        let why = format!(
            "Public key {signer} has not provided a valid signature, but was listed in signed_by_all"
        );
        commands.push_str(&format!(
            "case $g in {}) ;; *) {};; esac\n",
            pattern(signer),
            refused(&why)
        ));
    }
    commands
}

/// Returns the content of a file with a signature. The signature is verified first, on the machine.
pub(super) fn signed_content(
    call: &StateCall<'_>,
    written: &str,
    check: &SignatureCheck,
    facts: &FactCache,
) -> Result<Vec<u8>, Halt> {
    let Some(get) = print_command(call, &FileSource::parse(written))? else {
        return refuse(format!("Source hash file {written} not found"));
    };
    let missing = quote_word(&format!("Source hash file {written} not found"));
    let text = format!(
        "t=$(mktemp) || exit 1; trap 'rm -f -- \"$t\"' EXIT\n\
         {get} >\"$t\" || {{ echo {missing} >&2; exit 1; }}\n\
         {}cat -- \"$t\"",
        check.commands("\"$t\"")
    );
    let probed = run_probe(facts, text, Domain::All)?;
    if probed.code != 0 {
        return refuse(String::from_utf8_lossy(&probed.stderr).trim().to_owned());
    }
    Ok(probed.stdout.clone())
}
