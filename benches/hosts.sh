#!/bin/sh
# Measures `true` on many hosts over SSH, against Fabric, OpenSSH under xargs, and Ansible:
#
#   sh benches/hosts.sh [N]      N addresses of this machine, 100 if not given
#
# The server is an sshd of its own, on a free port, that ends with the run. `UNFURL_PROFILE` names the profile to
# build (dist); `FABRIC_PEER` a Python that has Fabric 3, `ANSIBLE_PEER` the program `ansible`: each is left out
# where it is not named.
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
