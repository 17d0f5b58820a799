#!/bin/sh
# Measures how cheaply hosts come to their states, in pairs with Salt and pyinfra:
#
#   sh benches/converge.sh
#
# The script starts its own sshd on a free port and ends it. `UNFURL_PROFILE` names the build profile (default
# dist), `UNFURL_BIN` another binary, `SALT_PEER` the program `salt-call`, `PYINFRA_PEER` the program `pyinfra`, and
# `ROUNDS` the number of pairs (default 5). A peer without its variable is left out. Processes are counted with strace,
# if it is there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
build_program
UNFURL_BIN="$UNFURL_BIN" exec python3 "$here/converge.py"
