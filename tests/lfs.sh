#!/bin/sh
# Builds a server for git-lfs locks: sh tests/lfs.sh FOLDER
#
# FOLDER/bin gets `git-lfs-transfer`, which a real sshd runs in tests. An existing program is kept and needs no
# network. Otherwise the program is built from its sources, which takes some minutes.
# sshd, ssh and git-lfs must be installed; sh tests/run.sh does that.
set -eu
folder=$1
version=0.3.0
mark=$folder/complete

is_complete() { [ "$(cat "$mark" 2>/dev/null)" = "$version" ] && [ -x "$folder/bin/git-lfs-transfer" ]; }

die() {
  echo "error: $*" >&2
  exit 1
}

# The PATH of most users lacks the folder of sshd.
PATH=$PATH:/usr/sbin:/sbin
for program in sshd ssh ssh-keygen git-lfs; do
  command -v "$program" >/dev/null || die "\`$program\` is missing; sh tests/run.sh installs it"
done
# sshd needs this folder when it runs as root.
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd

is_complete && exit 0
mkdir -p "$folder"
# Several tests may call this script at the same time.
exec 9>"$folder.lock"
flock 9
is_complete && exit 0
echo "Building git-lfs-transfer in $folder"
# A target folder of its own: the project may be building in the default one.
cargo install --quiet --debug --locked --root "$folder" --target-dir "$folder/build" \
  --version "$version" scutiger-lfs ||
  die "git-lfs-transfer could not be built; the first build needs access to crates.io"
rm -rf "$folder/build"
echo "$version" >"$mark"
