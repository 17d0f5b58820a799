//! The program of a shell that stays open, and the requests to it.
//!
//! The shell defines all functions of the scripts once. Then it evaluates one script after the other, each in a
//! process of its own (a subshell), so that a script that ends, is killed or sets variables leaves the shell as it was.
//! The input of a script is empty: no command can read the next request.
//!
//! The end of a script is reported by a line on stdout and on stderr, which begins with a random word. No command
//! knows that word: only the shell itself has it, in a variable. What a command prints goes to files first, so a
//! command reaches the outputs of the shell neither by an incomplete line nor by binary data.

use super::prelude;
use super::{change_script, read_script};
use crate::host::Action;
use crate::host::script::{MARK_VARIABLE, push_lines};

/// The longest script that the shell reads line by line. A longer one is read by a program, which takes more time to
/// start than the shell takes to read a short one byte by byte.
const MAX_LINES_BYTES: usize = 4 << 10;

/// A request to the shell: a script with the words that identify it.
#[derive(Debug, Clone)]
pub(in crate::host) struct ShellRequest {
    /// The word at the begin of the line that reports the process of the script. All processes that the script starts
    /// have it in their environment.
    pub(in crate::host) mark: String,
    /// The word at the begin of the lines that report the end.
    pub(in crate::host) end: String,
    /// The bytes for the shell.
    pub(in crate::host) input: Vec<u8>,
}

impl ShellRequest {
    /// Returns the request to read facts or to make changes; none for other actions.
    pub(in crate::host) fn of(action: &Action) -> Option<Self> {
        let script = match action {
            Action::Read(facts) => read_script::calls(facts),
            Action::Change(changes) => change_script::calls(changes),
            Action::Run(_)
            | Action::Put(_)
            | Action::Get(_)
            | Action::Private(_)
            | Action::Call(_) => return None,
        };
        Some(Self::for_script(&script))
    }

    fn for_script(script: &str) -> Self {
        let mark = format!("unfurl-{}", ulid::Ulid::generate());
        let end = format!("ended-{}", ulid::Ulid::generate());
        let mut input = Vec::with_capacity(script.len() + 100);
        if script.len() > MAX_LINES_BYTES {
            input.extend_from_slice(format!("{end} {mark} {}\n", script.len()).as_bytes());
            input.extend_from_slice(script.as_bytes());
        } else {
            input.extend_from_slice(format!("{end} {mark} 0\n").as_bytes());
            push_lines(&mut input, script);
        }
        Self { mark, end, input }
    }
}

/// Returns the program of the shell: the functions, then the loop over the requests.
///
/// A request is a line with the end word, the mark and the number of bytes of the script, then the script: as so many
/// bytes, or with 0 as marked lines. A script is evaluated only if it arrived completely. The first line on stderr has
/// the number of the process to which signals go: the subshell, or, without `/proc`, the group of the shell.
pub(in crate::host) fn server_script() -> String {
    let (base, user, reads) = (prelude::BASE, prelude::USER, prelude::READS);
    let (changes, start) = (prelude::CHANGES, prelude::START);
    let (late, note) = (prelude::LATE_REMOVAL, prelude::NOTE_FILES);
    format!(
        "{base}{user}{reads}{changes}{late}_un='
'
while IFS=' ' read -r _ue _uk _uc; do
_us=
if [ \"$_uc\" -gt 0 ]; then _us=$(head -c \"$_uc\")
else while IFS= read -r _ul; do
case $_ul in -*) _us=$_us${{_ul#-}}$_un;; +*) _us=$_us${{_ul#+}};; *) break;; esac
done; fi
case $_us in *'#.'|*'#.'\"$_un\") ;; *) exit 97;; esac
(
_p=-$$; [ ! -r /proc/self/stat ] || read -r _p _ </proc/self/stat
printf '%s %s\\n' \"$_uk\" \"$_p\" >&2
{MARK_VARIABLE}=$_uk; export {MARK_VARIABLE}
{start}_k=$_uk
unset _ue _uk _uc _ul _un _p
eval \"unset _us; $_us\"
) </dev/null
_uc=$? _us=
{note}printf '%s %s\\n' \"$_ue\" \"$_uc\"
printf '%s %s\\n' \"$_ue\" \"$_uc\" >&2
done
exit 0
"
    )
}
