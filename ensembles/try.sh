#!/bin/sh
# Builds unfurl and deploys one of the examples: sh ensembles/try.sh NAME
#
# Works on a copy in target/try/NAME and keeps it, so that a second call runs nothing. What comes
# after NAME goes to `unfurl deploy`, such as `--var input_name Ada`.
set -eu
cd "$(dirname "$0")/.."

name=${1:-}
if [ -z "$name" ] || [ ! -f "ensembles/$name/ensemble.yaml" ]; then
  echo "usage: sh ensembles/try.sh NAME [OPTION...]" >&2
  echo "NAME is one of:" ensembles/*/ensemble.yaml | sed 's,ensembles/\([^/]*\)/ensemble.yaml,\1,g' >&2
  exit 2
fi
shift

if ! command -v cargo >/dev/null; then
  echo "error: cargo is missing, and unfurl is built with it" >&2
  echo "hint: install Rust from https://rustup.rs, then call this again" >&2
  exit 1
fi
if ! command -v cc >/dev/null; then
  echo "error: a C compiler is missing, and the git library is built with it" >&2
  echo "hint: apt-get install gcc libc6-dev, or what your system calls it" >&2
  exit 1
fi

# The profile of the tests, so that neither compiles the libraries of the other again.
target=${CARGO_TARGET_DIR:-target}
unfurl=$target/ci/unfurl
if [ ! -x "$unfurl" ]; then
  echo "Building $unfurl, which takes about 4 minutes on 2 cores and 1 GB in $target." >&2
fi
cargo build --locked --profile ci --bin unfurl
unfurl=$(cd "$target/ci" && pwd)/unfurl
copy=$target/try/$name
if [ ! -d "$copy" ]; then
  # Copied aside and renamed, so that a copy cut short is not taken for a whole one.
  mkdir -p "$target/try"
  rm -rf "$copy.new"
  cp -R "ensembles/$name" "$copy.new"
  mv "$copy.new" "$copy"
fi
cd "$copy"

# The example needs no home project, whatever this user has.
UNFURL_HOME=
export UNFURL_HOME
status=0
"$unfurl" deploy --approve "$@" || status=$?

echo
echo "The ensemble is in $(pwd)."
echo "Look:     cat ensemble.yaml jobs.tsv"
echo "Again:    sh ensembles/try.sh $name"
echo "Undo:     cd $(pwd) && UNFURL_HOME= $unfurl teardown --approve"
exit "$status"
