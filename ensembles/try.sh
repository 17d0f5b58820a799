#!/bin/sh
# Builds unfurl and deploys one of the examples: sh ensembles/try.sh NAME
#
# The script works on a copy in target/try/NAME and keeps the copy, so that a second call runs nothing.
# Options after NAME are passed to `unfurl deploy`, such as `--var input_name Ada`.
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
  echo "error: cargo is missing; it builds unfurl" >&2
  echo "hint: install Rust from https://rustup.rs, then run this script again" >&2
  exit 1
fi
if ! command -v cc >/dev/null; then
  echo "error: a C compiler is missing; it builds the git library" >&2
  echo "hint: apt-get install gcc libc6-dev, or the equivalent packages of your system" >&2
  exit 1
fi

# The profile of the tests, so that this build and the tests share their libraries.
target=${CARGO_TARGET_DIR:-target}
unfurl=$target/ci/unfurl
if [ ! -x "$unfurl" ]; then
  echo "Building $unfurl. This takes about 4 minutes on 2 cores and 1 GB in $target." >&2
fi
cargo build --locked --profile ci --bin unfurl
unfurl=$(cd "$target/ci" && pwd)/unfurl
copy=$target/try/$name
if [ ! -d "$copy" ]; then
  # A copy under another name, then a rename, so that an interrupted copy does not count as complete.
  mkdir -p "$target/try"
  rm -rf "$copy.new"
  cp -R "ensembles/$name" "$copy.new"
  mv "$copy.new" "$copy"
fi
cd "$copy"

# The example must not depend on the home project of the user.
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
