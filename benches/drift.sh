#!/bin/sh
# Measures `unfurl drift`: the checks of 1,000 instances compared with the same commands in a shell loop, and 100 hosts
# x 50 states compared with `unfurl state test`:
#
#   sh benches/drift.sh
#
# The script starts its own sshd on a free port and ends it. `UNFURL_PROFILE` names the build profile (default dist).
# `STATE_TEST_BIN` names another binary whose `state test` is compared, such as that of an earlier version.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
build_program
UNFURL_BIN=$UNFURL_BIN exec python3 "$here/drift.py"
