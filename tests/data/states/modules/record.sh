#!/bin/sh
# Records the answers of Salt for the states of main.sls: sh record.sh DEBIAN PYTHON
#
# DEBIAN is a root file system of tests/debian.sh. PYTHON is the Python of a virtual environment with
# `salt==3006.28`. Writes answers.json: the results of a dry run and of two real runs, and the output of after.sh.
# Needs root. The root file system stays as it is.
set -eu
debian=$1 python=$2
here=$(cd "$(dirname "$0")" && pwd)
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
venv=$("$python" -c 'import sys; print(sys.prefix)')
exec unshare --mount --uts --pid --fork --kill-child sh -s "$debian" "$prefix" "$venv" "$here" <<'IN'
set -eu
memory=$(mktemp -d)
mount -t tmpfs tmpfs "$memory"
mkdir "$memory/upper" "$memory/work" "$memory/root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$memory/upper,workdir=$memory/work" "$memory/root"
cd "$memory/root"
mount -t proc proc proc
for folder in "$2" "$3"; do
  mkdir -p ".$folder"
  mount --bind "$folder" ".$folder"
done
mkdir -p srv/tree
cp "$4"/* srv/tree/
cat >srv/run.sh <<'END'
venv=$1
export LC_ALL=C.UTF-8 PYTHONHASHSEED=0 PATH=/usr/sbin:/usr/bin:/sbin:/bin
sh /srv/tree/setup.sh
mkdir -p /srv/conf
printf 'root_dir: /srv/salt\nid: golden\nfile_client: local\nfile_roots: {base: [/srv/tree]}\n' >/srv/conf/minion
apply() { "$venv/bin/salt-call" --local -c /srv/conf --out=json --log-level=quiet state.apply main "$@" || :; }
apply test=True >/srv/test.json
apply >/srv/first.json
apply >/srv/second.json
sh /srv/tree/after.sh >/srv/after.txt 2>&1
END
chroot . env -i HOME=/root sh /srv/run.sh "$3"
"$3/bin/python" - srv <<'END' >"$4/answers.json"
import json, re, sys
folder = sys.argv[1]

def plain(value):
    # An exception is recorded by its message, and numbers and names that change with each run by one of their own.
    if isinstance(value, dict):
        return {key: 0 if key == "pid" else sorted(inner) if key == "removed" and isinstance(inner, list) else plain(inner)
                for key, inner in value.items()}
    if isinstance(value, str):
        if "Traceback (most recent call last)" in value:
            value = value.strip().splitlines()[-1].split(": ", 1)[-1]
        return re.sub(r"/tmp/__salt\.tmp\.\w+", "/tmp/file", value)
    return value

answers = {}
for run in ("test", "first", "second"):
    states = json.load(open(f"{folder}/{run}.json"))["local"]
    if isinstance(states, list):
        sys.exit(str(states))
    rows = sorted(states.values(), key=lambda row: row["__run_num__"])
    for row in rows:
        answers.setdefault(row["__id__"], {})[run] = [row["result"], plain(row["changes"]), plain(row["comment"])]
lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in answers.items()]
after = json.dumps(open(f"{folder}/after.txt").read())
print("{\n" + ",\n".join(lines) + f",\n  \"after\": {after}\n}}")
END
IN
