#!/bin/sh
# Measures `true` on many hosts over SSH, compared with Fabric, OpenSSH under xargs, and Ansible:
#
#   sh benches/hosts.sh [N]      N addresses of this machine, default 100
#
# The script starts its own sshd on a free port and ends it. `UNFURL_PROFILE` names the build profile (default
# dist), `FABRIC_PEER` a Python with Fabric 3, and `ANSIBLE_PEER` the program `ansible`. A peer without its variable
# is left out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
cargo build --quiet --profile "$profile"
UNFURL_BIN="$folder/unfurl" exec python3 "$here/hosts.py" "${1:-100}"
