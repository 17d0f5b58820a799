#!/bin/sh
# Creates a Debian root file system for tests: sh tests/debian.sh FOLDER
#
# FOLDER/root gets a Debian with an SSH server. The packages of nginx and PostgreSQL are downloaded
# but not installed, so that tests install them without a network. An existing root file system is
# kept; creating one takes one or two minutes. No service starts in it by itself.
set -eu
folder=$1
release=bookworm
version=2-$release
# The default mirror of debootstrap is used if the variable is empty.
mirror=${DEBIAN_MIRROR:-}
mark=$folder/complete
root=$folder/root

is_complete() { [ "$(cat "$mark" 2>/dev/null)" = "$version" ] && [ -x "$root/usr/sbin/sshd" ]; }

die() {
  echo "error: $*" >&2
  exit 1
}

PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || die "only root can create the Debian of the tests"
is_complete && exit 0
command -v debootstrap >/dev/null || die "\`debootstrap\` is missing; sh tests/run.sh installs it"
mkdir -p "$folder"
# Several tests may call this script at the same time.
exec 9>"$folder.lock"
flock 9
is_complete && exit 0
echo "Creating a Debian in $root"
rm -rf "$root"
debootstrap --variant=minbase "$release" "$root" ${mirror:+"$mirror"} >"$folder/log" 2>&1 ||
  die "debootstrap failed, see $folder/log; the first run needs access to the Debian mirror"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$root/etc/resolv.conf"
in_root() { unshare --mount --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" env DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$root" "$@" 9>&-; }
{
  in_root apt-get -q update &&
    in_root apt-get -q -y install --no-install-recommends openssh-server cron git curl xz-utils unzip debconf-utils patch python3-venv sudo &&
    in_root apt-get -q -y -d install --no-install-recommends nginx-light postgresql
} >>"$folder/log" 2>&1 || die "the packages could not be installed, see $folder/log"
echo "$version" >"$mark"
