#!/bin/sh
# Creates a Python environment with packages: sh tests/python.sh FOLDER [PACKAGES]
#
# FOLDER becomes a virtual environment with the packages that the file PACKAGES lists. The default is
# tests/data/python-packages.txt, with which tests convert service templates. A complete environment is kept
# and needs no network.
set -eu
folder=$1
packages=${2:-$(dirname "$0")/data/python-packages.txt}
mark=$folder/complete

is_complete() { cmp -s "$packages" "$mark" && "$folder/bin/python3" -c '' 2>/dev/null; }

die() {
  echo "error: $*" >&2
  exit 1
}

is_complete && exit 0
mkdir -p "$(dirname "$folder")"
# Several tests may call this script at the same time.
exec 9>"$folder.lock"
flock 9
is_complete && exit 0
rm -rf "$folder"
echo "Creating a Python environment in $folder"
python3 -m venv "$folder" ||
  die "python3 cannot create a virtual environment; install the system package python3-venv"
"$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps \
  --retries 1 --timeout 20 -r "$packages" ||
  die "the Python packages of $packages could not be installed; the first run needs access to PyPI"
cp "$packages" "$mark"
