#!/bin/sh
# Records the answers of Salt for the states of signatures.sls: sh record.sh PYTHON
#
# PYTHON is the Python of a virtual environment with `salt==3008.3` and `python-gnupg`. Writes answers.json: the results
# of a dry run and of two real runs. Needs root, gpg, and a file system with flags such as ext4 for temporary files.
set -eu
python=$1
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'chattr -R -i "$folder/out"; rm -rf "$folder"' EXIT
sh "$here/setup.sh" "$here" "$folder"
mkdir "$folder/conf"
printf 'root_dir: %s/salt\nid: golden\nfile_client: local\nfile_roots: {base: [%s]}\n' "$folder" "$here" >"$folder/conf/minion"
for run in test first second; do
  test=
  [ $run != test ] || test=test=True
  "$(dirname "$python")/salt-call" --local -c "$folder/conf" --out=json --log-level=quiet state.apply signatures $test \
    pillar="{\"home\": \"$folder/home\", \"out\": \"$folder/out\"}" >"$folder/$run.json" || :
done
"$python" - "$folder" <<'END' >"$here/answers.json"
import json, sys
folder = sys.argv[1]
answers = {}
for run in ("test", "first", "second"):
    text = open(f"{folder}/{run}.json").read().replace(folder, "FOLDER")
    states = json.loads(text)["local"]
    if isinstance(states, list):
        sys.exit(str(states))
    for row in sorted(states.values(), key=lambda row: row["__run_num__"]):
        answers.setdefault(row["__id__"], {})[run] = [row["result"], row["changes"], row["comment"]]
print("{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in answers.items()) + "\n}")
END
