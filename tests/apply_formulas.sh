#!/bin/sh
# Applies public formulas with real Salt and with this program, and compares the machines.
#
# Usage: sh tests/apply_formulas.sh DIR PYTHON [FORMULA…]
#
# DIR is a folder with checkouts of formulas, as for tests/formulas.sh. PYTHON is the Python of a virtual environment
# with `salt==3008.3`. Each program applies a formula twice, with its example pillar, on its own copy of the Debian of
# tests/debian.sh. tests/data/formulas/pillar has pillars for formulas whose example cannot be applied. Both copies
# must then have the same files, packages, accounts and services, each program must have reported the same results and
# changes at the first run, and no change at the second one. Prints a line per formula and what differs; the exit code
# is 1 if anything does. The copies that the programs for accounts make of the files before are not compared, and
# crontabs are compared without the time at which they were installed.
# Needs root, and a Debian mirror for the packages.
# `UNFURL` names the program, if it is not target/ci/unfurl; with `KEEP=FOLDER` the answers stay there.
set -eu
[ $# -gt 1 ] || {
  echo "usage: sh tests/apply_formulas.sh DIR PYTHON [FORMULA…]" >&2
  exit 2
}
formulas=$(cd "$1" && pwd) python=$2
shift 2
[ $# -gt 0 ] || set -- sudoers logrotate users hostsfile cron
tests=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$tests/../target}
UNFURL=$(readlink -f "${UNFURL:-$target/ci/unfurl}")
sh "$tests/debian.sh" "$target/debian"
debian=$(readlink -f "$target/debian/root")
venv=$("$python" -c 'import sys; print(sys.prefix)')
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
pillars=$tests/data/formulas/pillar
export debian venv prefix work formulas pillars UNFURL

# Applies a formula twice in a namespace: apply salt|unfurl FORMULA
apply() {
  unshare --mount --uts --pid --fork --kill-child sh -s "$1" "$2" <<'IN'
set -eu
kind=$1 formula=$2
out=$work/$formula.$kind
rm -rf "$out"
mkdir -p "$out" "$work/debs"
memory=$(mktemp -d)
mount -t tmpfs tmpfs "$memory"
mkdir "$memory/upper" "$memory/work" "$memory/root"
mount -t overlay overlay -o "lowerdir=$debian,upperdir=$memory/upper,workdir=$memory/work" "$memory/root"
cd "$memory/root"
mount -t proc proc proc
mkdir -p srv/tree srv/pillar srv/conf srv/out var/cache/apt/archives
cp -r "$formulas/$formula-formula/$formula" srv/tree/
pillar=$pillars/$formula.sls
[ -e "$pillar" ] || pillar=$formulas/$formula-formula/pillar.example
cp "$pillar" "srv/pillar/$formula.sls"
printf 'base:\n  "*": [%s]\n' "$formula" >srv/pillar/top.sls
printf 'root_dir: /srv/salt\nid: golden\nfile_client: local\nfile_roots: {base: [/srv/tree]}\npillar_roots: {base: [/srv/pillar]}\n' >srv/conf/minion
# Both get the same packages.
mount --bind "$work/debs" var/cache/apt/archives
mkdir -p var/cache/apt/archives/partial
mount --bind "$out" srv/out
# Both have the same programs.
cp "$UNFURL" srv/unfurl
for folder in "$prefix" "$venv"; do
  mkdir -p ".$folder"
  mount --bind "$folder" ".$folder"
done
cat >srv/run.sh <<'END'
export LC_ALL=C.UTF-8 PYTHONHASHSEED=0 HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Salt calls `runlevel` for services, and a minimal Debian does not have it.
apt-get -q -y update >/srv/out/apt.txt 2>&1
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends sysvinit-core >>/srv/out/apt.txt 2>&1
"$venv/bin/python" - <<'PYTHON' >/srv/pillar.json 2>/dev/null
import json, salt.config, salt.loader, salt.pillar
opts = salt.config.minion_config("/srv/conf/minion")
opts["grains"] = salt.loader.grains(opts)
print(json.dumps(salt.pillar.get_pillar(opts, opts["grains"], opts["id"], "base").compile_pillar()))
PYTHON
for run in first second; do
  if [ "$kind" = salt ]; then
    "$venv/bin/salt-call" --local -c /srv/conf --out=json --log-level=quiet state.apply "$formula" >/srv/out/$run.json 2>/srv/out/$run.txt
  else
    /srv/unfurl state apply "$formula" --file-root /srv/tree --pillar @/srv/pillar.json --id golden --ordering dag \
      -H @local --approve --output json >/srv/out/$run.json 2>/srv/out/$run.txt
  fi || :
done
{
  echo "packages"
  dpkg-query -W -f '${Package} ${Version} ${Status}\n'
  echo "services"
  ls /etc/rc?.d
  cat /proc/[0-9]*/comm | grep -v -E '^(sh|cat|grep|sort|salt-call|unfurl|python.*)$' | sort -u
  echo "accounts"
  getent passwd
  getent group
  sed 's/:[0-9]*:0:/:DAY:0:/' /etc/shadow | sed 's/:\$[^:]*:/:HASH:/'
  echo "crontabs"
  # A line has the time at which the table was installed.
  grep -v ' installed on ' /var/spool/cron/crontabs/*
  echo "files"
  find / -xdev \( -path /proc -o -path /srv -o -path /tmp -o -path /var/cache -o -path /var/log -o -path "$venv" -o -path "$prefix" \
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /run -o -path /root/.cache -o -path '/etc/*-' -o -path '/var/spool/cron/crontabs/*' -o -name __pycache__ -o -name 'aux-cache' \) -prune \
    -o \( -type f -printf '%M %u:%g %p ' -exec sha256sum {} \; \) -o -printf '%M %u:%g %p %l\n' | sed 's/ \([0-9a-f]\{64\}\)  .*/ \1/' | sort -k3
} >/srv/out/machine.txt 2>&1
END
kind=$kind formula=$formula venv=$venv prefix=$prefix chroot . /bin/sh /srv/run.sh
IN
}

failed=0
for formula in "$@"; do
  apply salt "$formula" && apply unfurl "$formula" && "$python" "$tests/apply_formulas.py" "$work" "$formula" || failed=1
done
exit $failed
