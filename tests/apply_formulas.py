"""Compares the answers that tests/apply_formulas.sh left: python apply_formulas.py FOLDER FORMULA"""

import difflib
import json
import re
import sys

folder, formula = sys.argv[1:]


def results(kind, run):
    """Returns the results of a run by ID and function, without what differs with each run."""
    text = open(f"{folder}/{formula}.{kind}/{run}.json").read()
    try:
        report = json.loads(text)
    except ValueError:
        return {"no JSON": (False, {}, text[:300])}
    if kind == "salt":
        states = report["local"]
    elif "errors" in report:
        states = [error["message"] for error in report["errors"]]
    else:
        hosts = report.get("hosts", {"": {"results": report}})
        states = next(iter(hosts.values()))["results"]
    if not isinstance(states, dict):
        return {"refused": (False, {}, states)}
    return {key: (row["result"], row["changes"], row["comment"]) for key, row in states.items()}


def plain(value):
    """Returns a value without process ids and such."""
    text = json.dumps(value, sort_keys=True)
    text = re.sub(r'"pid": \d+', '"pid": 0', text)
    return text


differences = []
for kind in ("salt", "unfurl"):
    second = results(kind, "second")
    for key, row in second.items():
        if row[1]:
            differences.append(f"{key}: {kind} changes something at the second run: {plain(row[1])[:400]}")
first = {kind: results(kind, "first") for kind in ("salt", "unfurl")}
keys = list(first["salt"]) + [key for key in first["unfurl"] if key not in first["salt"]]
equal = 0
for key in keys:
    salt, ours = (plain(first[kind].get(key)) for kind in ("salt", "unfurl"))
    if salt == ours:
        equal += 1
    else:
        differences.append(f"{key}\n  Salt {salt[:1200]}\n  ours {ours[:1200]}")
machines = [open(f"{folder}/{formula}.{kind}/machine.txt", errors="replace").read().splitlines() for kind in ("salt", "unfurl")]
lines = list(difflib.unified_diff(*machines, "Salt", "ours", lineterm="", n=0))
bad = [key for key, row in first["salt"].items() if not row[0]]
paths = sum(line.startswith(("-", "d", "l")) for line in machines[0])
print(f"{formula}: {equal} of {len(keys)} results equal, {len(bad)} fail with Salt; {paths} paths compared, {len(lines)} lines of the machine differ")
print("\n".join(differences + lines))
sys.exit(bool(differences or lines))
