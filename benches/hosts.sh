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
root=$(cd "$here/.." && pwd)
cd "$root"
profile=${UNFURL_PROFILE:-dist}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
cargo build --quiet --profile "$profile"
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
UNFURL_BIN="$folder/unfurl" exec python3 "$here/hosts.py" "${1:-100}"
