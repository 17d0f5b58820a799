#!/bin/sh
# Makes a Python with packages: sh tests/python.sh FOLDER [PACKAGES]
#
# FOLDER becomes a virtual environment with the packages that the file PACKAGES lists, if none is given those
# of tests/data/python-packages.txt, with which tests convert service templates. Where it is complete already,
# nothing is done and no network is needed.
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
# Several tests may ask at the same time.
exec 9>"$folder.lock"
flock 9
is_complete && exit 0
rm -rf "$folder"
echo "Making a Python environment in $folder"
python3 -m venv "$folder" ||
  die "python3 cannot make a virtual environment; install the system package python3-venv"
"$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps \
  --retries 1 --timeout 20 -r "$packages" ||
  die "the Python packages of $packages could not be installed; the registry must be in reach the first time"
cp "$packages" "$mark"
