#!/bin/sh
# Measures commands and files on many hosts over SSH, compared with Fabric, OpenSSH and Ansible:
#
#   sh benches/hosts.sh [CASE…]     hundred, thousand, commands, files, output; all of them if none is named
#
# The script starts its own sshd on a free port and ends it; the hosts are addresses of this machine. `UNFURL_PROFILE`
# names the build profile (default dist), `FABRIC_PEER` a Python with Fabric 3, and `ANSIBLE_PEER` the program `ansible`. A
# peer without its variable is left out. `ROUNDS` is the number of times that the programs take turns (default 5).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
cargo build --quiet --profile "$profile"
UNFURL_BIN="$folder/unfurl" exec python3 "$here/hosts.py" "$@"
