//! The shell functions of every script, for facts and for changes.
//!
//! They must work in dash, bash and the shell of busybox. Only these functions write to stdout, in
//! words that end with a NUL byte. If the connection is lost, writing fails, and the script ends
//! after the current change. Temporary files are removed when the shell ends, also by a signal.
//!
//! A shell that stays open defines them once; [`START`] begins each script.

/// The folders for temporary files, as words of a shell. The first one that can be written to is used.
macro_rules! temporary_folders {
    () => {
        r#""${TMPDIR:-/tmp}" /var/tmp /dev/shm /run"#
    };
}

/// The beginning of a shell function that reads files: their paths become its arguments, and their indices the words of
/// `_n`. A file that does not exist or cannot be read is reported instead.
macro_rules! keep_readable_files {
    () => {
        r#"_i=$1 _n=; shift
for _p do
shift
if [ ! -f "$_p" ]; then p "a$_i"
elif [ ! -r "$_p" ]; then p "u$_i"
else set -- "$@" "$_p"; _n="$_n $_i"; fi
_i=$((_i + 1))
done
"#
    };
}

/// The base of all scripts: the locale of messages, the cleanup of temporary files, and the
/// functions that report results.
///
/// The temporary files of a script have a random name and are new: `set -C` refuses a file that exists. No program is
/// needed for that.
pub(super) const BASE: &str = concat!(
    r#"_l=${LC_ALL+x}${LC_ALL-}
LC_ALL=C; export LC_ALL
_o=$(umask)
umask 022
q() {
_q=$?
[ -z "$_h" ] || rm -rf -- "$_h"
[ -z "$_T" ] || x
exit $_q
}
x() { rm -f -- "$_T.o" "$_T.e" "$_T.i"; }
p() { printf '%s\0' "$@" || exit 1; }
l() {
trap - EXIT HUP INT PIPE TERM
umask "$_o"
case $_l in x*) LC_ALL=${_l#x};; *) unset LC_ALL;; esac
}
t() { m || { echo 'no temporary file can be made' >&2; exit 1; }; }
m() {
[ -z "$_T" ] || return 0
umask 077; set -C
for _q in "#,
    temporary_folders!(),
    r#"; do
_T=$_q/${_k:-unfurl-$M}
if { true >"$_T.o" && true >"$_T.e" && true >"$_T.i"; } 2>/dev/null; then
set +C; umask 022; return
fi
done
set +C; umask 022
_T=
return 1
}
r() {
_a=0 _b=0 _w=0
[ ! -s "$_T.o" ] || _a=$(($(wc -c <"$_T.o")))
[ ! -s "$_T.e" ] || _b=$(($(wc -c <"$_T.e")))
p "$1" "$2" "$_a" "$_b"
g o "$_a" "$3" "$4"
g e "$_b" "$5" "$6"
}
g() {
[ "$2" -gt 0 ] || return 0
if [ "$2" -le $(($3 + $4)) ]; then head -c "$2" <"$_T.$1"; return; fi
head -c "$3" <"$_T.$1"
[ "$4" -eq 0 ] || head -c "$2" <"$_T.$1" | tail -c "$4"
}
"#
);

/// The removal of temporary files in a shell that stays open, for the place of `x` in [`BASE`].
///
/// A script only empties its files: to start a program for each script takes most of its time. The shell removes the
/// files of several scripts together, and those that are left when it ends.
pub(super) const LATE_REMOVAL: &str = r#"x() { true >"$_T.o"; true >"$_T.e"; true >"$_T.i"; }
y() { [ $# -eq 0 ] || rm -f -- "$@"; }
trap 'y "$@"' EXIT
trap 'exit 129' HUP
trap 'exit 141' PIPE
trap 'exit 143' TERM
"#;

/// The lines of a shell that stays open after each script: note the temporary files of the script `$_uk`.
pub(super) const NOTE_FILES: &str = concat!(
    "for _uq in ",
    temporary_folders!(),
    r#"; do
[ ! -e "$_uq/$_uk.o" ] || set -- "$@" "$_uq/$_uk.o" "$_uq/$_uk.e" "$_uq/$_uk.i"
done
[ $# -lt 48 ] || { y "$@"; set --; }
"#
);

/// The start of a script: no temporary files yet, and their removal at its end.
pub(super) const START: &str = "_T= _h= _k=
trap q EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
";

/// The user of the shell: name, number, and numbers of user and group. Changes and commands of other users need them.
///
/// The program `id` prints all of them in one line, as `uid=0(root) gid=0(root) groups=…`.
pub(super) const USER: &str = r"_w=$(id)
_id=${_w#uid=}; _me=${_id%% *}
case $_me in *'('*) _me=${_id#*'('}; _me=${_me%%')'*};; esac
_id=${_id%%[!0-9]*}
_w=${_w#* gid=}; Z=$_id:${_w%%[!0-9]*}
";

/// The functions that read facts.
///
/// `P` and `L` run `stat` on paths, `L` following links; `H` and `J` compute digests; `C` and `E` print
/// file contents; `T` lists folders. Each takes the index of its first fact first. The contents of a
/// file end with the word `B`, which no file can contain: each script has its own. One program prints the contents of
/// several files, and a file with that word after each of them. `X` is the limit of bytes of a file.
pub(super) const READS: &str = concat!(
    r#"F='%f %u %g %s %Y %U:%G'
B() {
command -v stat >/dev/null 2>&1 || { echo 'the program `stat` is not installed' >&2; exit 1; }
B=$1 X=$2; p "b$1"
}
P() {
_i=$1 _n=; shift
for _p do
shift
if [ -L "$_p" ]; then
p "k$_i"; readlink -- "$_p"; printf '\0'
set -- "$@" "$_p"; _n="$_n $_i"
elif [ -e "$_p" ]; then set -- "$@" "$_p"; _n="$_n $_i"
else p "a$_i"; fi
_i=$((_i + 1))
done
s -c "$@"
}
L() {
_i=$1 _n=; shift
for _p do
shift
if [ -e "$_p" ]; then set -- "$@" "$_p"; _n="$_n $_i"; else p "a$_i"; fi
_i=$((_i + 1))
done
s -Lc "$@"
}
s() {
_f=$1; shift
[ $# -gt 0 ] || return 0
p "s$_n"; stat "$_f" "$F" -- "$@" 2>/dev/null; _c=$?; printf '\0'
[ $_c -ne 0 ] || return 0
for _i in $_n; do
p "s$_i"; stat "$_f" "$F" -- "$1" 2>/dev/null; printf '\0'
shift
done
}
H() {
"#,
    keep_readable_files!(),
    r#"[ $# -gt 0 ] || return 0
p "h$_n"; sha256sum -- "$@" 2>/dev/null; _c=$?; printf '\0'
[ $_c -ne 0 ] || return 0
for _i in $_n; do J "$_i" "$1"; shift; done
}
J() {
if [ ! -f "$2" ]; then p "a$1"
elif [ ! -r "$2" ]; then p "u$1"
else p "h$1"; { sha256sum || shasum -a 256 || openssl dgst -r -sha256; } 2>/dev/null <"$2"; printf '\0'; fi
}
C() {
"#,
    keep_readable_files!(),
    r#"_w=1
if [ $# -gt 2 ] && m && printf '%s\0' "$B" >"$_T.i" && head -qc 1 "$_T.i" >/dev/null 2>&1; then
for _p do shift; set -- "$@" "$_p" "$_T.i"; done
_w=2; p "C$_n"
if head -qc "$X" -- "$@" 2>/dev/null; then return; fi
fi
for _i in $_n; do E "$_i" "$1"; shift $_w; done
}
E() {
if [ ! -f "$2" ]; then p "a$1"
elif [ ! -r "$2" ]; then p "u$1"
else p "c$1"; head -c "$X" <"$2"; p "$B"; fi
}
T() {
if [ ! -d "$2" ]; then p "a$1"; return; fi
p "t$1"
( CDPATH= cd -- "$2" && F=$F && export F && exec find . ! -name . -exec sh -c "$I" sh {} + ) 2>/dev/null </dev/null
p .
}
I='n() {
printf "n%s\0" $#; stat -c "$F" -- "$@"; _c=$?; printf "\0"
[ $_c -eq 0 ] || return
printf "%s\0" "$@"
for _p do if [ -L "$_p" ]; then readlink -- "$_p"; printf "\0"; fi; done
}
n "$@" || for _p do n "$_p"; done'
"#
);

/// The functions that make changes.
///
/// Each takes the index of its change first. It reports success, or the program's error message and
/// then ends the whole script.
///
/// `W` starts two programs for most files: `stat` for the attributes of the old file and the new one, or `chmod`, and
/// then `mv`. A new file without a desired mode needs `mv` alone: like a file that a program creates, it has the mode of
/// the umask, or of the default access list of its folder. The last word is the umask with which the new file begins.
pub(super) const CHANGES: &str = r#"N='
'
k() { _h=; p "k$1"; }
f() {
[ -z "$_h" ] || rm -rf -- "$_h"
_h=; p "f$1" "$2"; exit 0
}
d() { if [ -d "$2" ] && [ ! -L "$2" ]; then f "$1" "$2: Is a directory"; fi; }
n() { case $2 in */*) _h=${2%/*}/.unfurl-$M-$1;; *) _h=.unfurl-$M-$1;; esac; }
v() {
if [ -L "$3" ] && [ -d "$3" ]; then
if mv -f -T -- "$2" "$3" 2>/dev/null; then return; fi
rm -f -- "$3"
fi
_e=$(mv -f -- "$2" "$3" 2>&1) || f "$1" "$_e"
}
o() {
_w=$3; [ -z "$4" ] || _w=$_w:$4
[ -z "$_w" ] || _e=$(chown $5 -- "$_w" "$2" 2>&1) || f "$1" "$_e"
}
W() {
d "$1" "$2"
_m=$3 _u= _s= _a=
if [ -f "$2" ] && [ ! -L "$2" ]; then
_s=y
if [ -n "$3" ]; then
if [ -n "$4" ] && [ -n "$5" ]; then _s=
elif [ -O "$2" ] && [ -G "$2" ]; then _s= _u=$Z; fi
fi
fi
n "$1" "$2"
umask "$6"; set -C
{ c >"$_h"; } 2>/dev/null || {
rm -f -- "$_h"
_e=$( { c 2>/dev/null | cat >"$_h"; } 2>&1 ) || f "$1" "$_e"
[ -z "$_e" ] || f "$1" "$_e"
}
set +C; umask 022
_g=n; case $_h in */*) [ ! -g "${_h%/*}" ] || _g=y;; *) [ ! -g . ] || _g=y;; esac
_b=$Z$_g
if [ -n "$_s" ] && _w=$(stat -c '%a %u:%g' -- "$2" "$_h" 2>/dev/null); then
_a=${_w##*"$N"}; _w=${_w%%"$N"*}
_b=${_a#* }n _a=${_a%% *} _u=${_w#* } _m=${3:-${_w%% *}}
fi
_w=${_b%?}
[ -z "$_u" ] || [ "$_b" = "${_u}n" ] || { chown -- "$_u" "$_h" 2>/dev/null && _w=$_u; _a=; } || :
case $_w$_g/$4:$5 in
0:0n/root:root|0:0n/root:|0:0n/:root|0:0n/0:0|*/:) ;;
*) o "$1" "$_h" "$4" "$5" ''; _a=;;
esac
_m=${_m:-644}
if [ -n "$_a" ]; then [ "$((0$_a))" -eq "$((0$_m))" ]
else [ "$3$_m/$6" = 644/022 ]; fi || _e=$(chmod -- "$_m" "$_h" 2>&1) || f "$1" "$_e"
v "$1" "$_h" "$2"
k "$1"
}
D() {
if [ -d "$2" ]; then S "$1" "$2" y "$4" "$5" "$6"; return; fi
if [ "$3" = y ]; then
case $2 in */*) _w=${2%/*};; *) _w=;; esac
[ -z "$_w" ] || [ -d "$_w" ] || _e=$(mkdir -p -- "$_w" 2>&1) || f "$1" "$_e"
fi
_w=${4:-755}; [ -z "$5$6" ] || _w=700
_e=$(mkdir -m "$_w" -- "$2" 2>&1) || {
[ -d "$2" ] || f "$1" "$_e"
S "$1" "$2" y "$4" "$5" "$6"; return
}
if [ -n "$5$6" ]; then
_h=$2
o "$1" "$2" "$5" "$6" ''
_e=$(chmod -- "${4:-755}" "$2" 2>&1) || f "$1" "$_e"
fi
k "$1"
}
N() {
d "$1" "$2"
n "$1" "$2"
_e=$(ln $4 -- "$3" "$_h" 2>&1) || f "$1" "$_e"
o "$1" "$_h" "$5" "$6" -h
if [ "$_h" -ef "$2" ] && [ ! -L "$2" ] && [ ! -L "$_h" ]; then rm -f -- "$_h"; else v "$1" "$_h" "$2"; fi
k "$1"
}
R() { _e=$(rm -rf -- "$2" 2>&1) || f "$1" "$_e"; k "$1"; }
S() {
_w=-h; [ "$3" = n ] || _w=
o "$1" "$2" "$5" "$6" "$_w"
if [ -n "$4" ] && { [ "$3" = y ] || [ ! -L "$2" ]; }; then _e=$(chmod -- "$4" "$2" 2>&1) || f "$1" "$_e"; fi
k "$1"
}
V() { d "$1" "$3"; v "$1" "$2" "$3"; k "$1"; }
K() {
d "$1" "$3"
n "$1" "$3"
if [ -d "$2" ]; then
if [ -e "$3" ] || [ -L "$3" ]; then f "$1" "$3: File exists"; fi
if [ "$4" = y ]; then _w=-a; else _w=-rP; fi
_e=$(cp $_w -- "$2/." "$_h" 2>&1) || f "$1" "$_e"
[ "$4" = y ] || chmod -R ug-s -- "$_h"
else
if [ "$4" = y ]; then _w=-pL; else _w=-L; fi
_e=$(cp $_w -- "$2" "$_h" 2>&1) || f "$1" "$_e"
if [ "$4" = n ] && { [ -u "$_h" ] || [ -g "$_h" ]; }; then chmod ug-s -- "$_h"; fi
fi
v "$1" "$_h" "$3"
k "$1"
}
U() {
[ -e "$2" ] || _e=$( { : >"$2"; } 2>&1 ) || f "$1" "$_e"
_e=$(touch -a ${3:+-d "$3"} -- "$2" 2>&1) || f "$1" "$_e"
_e=$(touch -m ${4:+-d "$4"} -- "$2" 2>&1) || f "$1" "$_e"
k "$1"
}
"#;
