#!/bin/sh
# Makes a server for locks of git-lfs: sh tests/lfs.sh FOLDER
#
# FOLDER/bin gets `git-lfs-transfer`, which a real sshd runs in tests. Where it is there already, nothing is
# done and no network is needed; else it is built from its sources, which takes some minutes once.
# sshd, ssh and git-lfs have to be installed; sh tests/run.sh does that.
set -eu
folder=$1
version=0.3.0
mark=$folder/complete

is_complete() { [ "$(cat "$mark" 2>/dev/null)" = "$version" ] && [ -x "$folder/bin/git-lfs-transfer" ]; }

die() {
  echo "error: $*" >&2
  exit 1
}

# sshd is not on the path of users.
PATH=$PATH:/usr/sbin:/sbin
for program in sshd ssh ssh-keygen git-lfs; do
  command -v "$program" >/dev/null || die "\`$program\` is missing; sh tests/run.sh installs it"
done
# As root, sshd wants this folder.
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd

is_complete && exit 0
mkdir -p "$folder"
# Several tests may ask at the same time.
exec 9>"$folder.lock"
flock 9
is_complete && exit 0
echo "Building git-lfs-transfer in $folder"
# `--root` alone would share the build with the project, which may be building.
cargo install --quiet --debug --locked --root "$folder" --target-dir "$folder/build" \
  --version "$version" scutiger-lfs ||
  die "git-lfs-transfer could not be built; the registry must be in reach the first time"
rm -rf "$folder/build"
echo "$version" >"$mark"
