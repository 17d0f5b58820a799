#!/bin/sh
# Measures host states, on this machine and over SSH, compared with Salt and pyinfra:
#
#   sh benches/states.sh
#
# The script starts its own sshd on a free port and ends it. `UNFURL_PROFILE` names the build profile (default
# dist), `SALT_PEER` the program `salt-call`, and `PYINFRA_PEER` the program `pyinfra`. A peer without its variable
# is left out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
cd "$root"
profile=${UNFURL_PROFILE:-dist}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
cargo build --quiet --profile "$profile"
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
UNFURL_BIN="$folder/unfurl" exec python3 "$here/states.py"
