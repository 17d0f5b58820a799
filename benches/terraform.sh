#!/bin/sh
# Measures the CPU time of a module that is an operation, compared with a script of the same Terraform commands:
#
#   sh benches/terraform.sh [PAIRS]   pairs of runs, of which the medians count (default 7)
#
# `terraform` must be on the PATH. `UNFURL_PROFILE` names the build profile (default dist).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
build_program
UNFURL_BIN=$UNFURL_BIN exec python3 "$here/terraform.py" "${1:-7}"
