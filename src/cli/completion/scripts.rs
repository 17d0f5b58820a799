//! The scripts that connect a shell with this program.
//!
//! Each script hands the words of the command line to the program and shows its answer. An error message is never
//! shown while a person types.

use crate::name::EnumWords;

/// A shell that can complete command lines of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl EnumWords for Shell {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Bash, "bash", ""),
        (Self::Zsh, "zsh", ""),
        (Self::Fish, "fish", ""),
    ];
}

/// The words of `COMP_WORDS` are cut at `=` and `:`, so that the program gets the line and cuts it itself.
const BASH: &str = r#"# Completion of `unfurl` for bash.
_unfurl() {
    COMPREPLY=()
    local line
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("$1" complete-words bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    case "${COMPREPLY[0]-}" in
    */ | *= | *: | *,) compopt -o nospace 2>/dev/null ;;
    esac
    return 0
}
complete -o nosort -F _unfurl unfurl 2>/dev/null || complete -F _unfurl unfurl
"#;

/// The file may be loaded by `compinit`, as a function, or sourced.
const ZSH: &str = r#"#compdef unfurl
# Completion of `unfurl` for zsh.
_unfurl() {
    local line
    local -a typed closed open
    typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    for line in "${(@f)$("${typed[1]}" complete-words zsh -- "${(@)typed}" 2>/dev/null)}"; do
        case "${line%%	*}" in
        '') ;;
        */ | *= | *\: | *,) open+=("${line/	/:}") ;;
        *) closed+=("${line/	/:}") ;;
        esac
    done
    (( $#open )) && _describe -V unfurl open -S ''
    (( $#closed )) && _describe -V unfurl closed
    (( $#open + $#closed ))
}
if [[ "${funcstack[1]-}" == _unfurl ]]; then
    _unfurl "$@"
elif (( $+functions[compdef] )); then
    compdef _unfurl unfurl
fi
"#;

const FISH: &str = r#"# Completion of `unfurl` for fish.
function __unfurl_complete
    set -l typed (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    command $typed[1] complete-words fish -- $typed "$current" 2>/dev/null
end
complete --command unfurl --no-files --keep-order --arguments '(__unfurl_complete)'
"#;

/// Returns the script for a shell.
pub(in crate::cli) fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    }
}
