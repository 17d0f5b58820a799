#!/bin/sh
# Compiles the state files of public formulas and compares their low data with what real Salt makes of them.
#
# Usage: sh tests/formulas.sh DIR [FORMULA…]
#
# DIR is a folder with formulas, each a checkout of https://github.com/saltstack-formulas at the commit that
# tests/data/formulas/commits.txt names. Both orderings are compared: `dag` with Salt 3008 and `classic` with
# Salt 3006. Files whose low data Salt itself changes each time are left out: see unstable.tsv beside the commits.
# Prints a line per formula, then the reasons of the state files that differ. The exit code is 0 if all are equal,
# 1 if any differs, and 2 if nothing could be compared. `UNFURL` names the program, if it is not target/ci/unfurl.
set -eu
[ $# -gt 0 ] || {
  echo "usage: sh tests/formulas.sh DIR [FORMULA…]" >&2
  exit 2
}
tests=$(cd "$(dirname "$0")" && pwd)
program=${UNFURL:-${CARGO_TARGET_DIR:-$tests/../target}/ci/unfurl}
[ -x "$program" ] || {
  echo "error: $program is missing; build it with: cargo build --locked --profile ci --features fault-injection --bin unfurl" >&2
  exit 2
}
exec python3 "$tests/formulas.py" "$program" "$@"
