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
. "$here/program.sh"
cargo build --quiet --profile "$profile"
UNFURL_BIN="$folder/unfurl" exec python3 "$here/states.py"
