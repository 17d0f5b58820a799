#!/bin/sh
# Measures the CPU time of a playbook that is an operation, compared with `ansible-playbook` and the same files:
#
#   sh benches/ansible.sh [PAIRS]   pairs of runs, of which the medians count (default 7)
#
# `ansible-playbook` must be on the PATH. `UNFURL_PROFILE` names the build profile (default dist).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
build_program
UNFURL_BIN=$UNFURL_BIN exec python3 "$here/ansible.py" "${1:-7}"
