#!/bin/sh
# Measures host states, on this machine and over SSH, against Salt and pyinfra:
#
#   sh benches/states.sh
#
# The server is an sshd of its own, on a free port, that ends with the run. `UNFURL_PROFILE` names the profile to
# build (dist); `SALT_PEER` the program `salt-call`, `PYINFRA_PEER` the program `pyinfra`: each is left out where
# it is not named.
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
