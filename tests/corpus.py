"""Compares a report of the corpus runner with the list of required cases.

    corpus.py REPORT.json PASSING.txt

Fails if a listed case does not pass, and prints the unlisted cases that fail. UPDATE=1 rewrites the
list instead: one case per line, sorted.
"""

import json
import os
import sys

report, listing = sys.argv[1:]
with open(report) as file:
    cases = {case["case"]: case for case in json.load(file)}
listed = set()
if os.path.exists(listing):
    with open(listing) as file:
        listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}



def failed_facets(case):
    """The names of the facets that differ."""
    return ", ".join(facet for facet, ok in case["facets"].items() if not ok) or "a different number of steps"


def reason(case):
    """The first message of the case, in one line."""
    first = " ".join(case["messages"][0].split()) if case["messages"] else "no message"
    return first if len(first) <= 160 else first[:159] + "…"


passing = {name for name, case in cases.items() if case["ok"]}
print(f"{len(passing)} of {len(cases)} cases pass, {len(listed)} of them are required.")

if os.environ.get("UPDATE") == "1":
    with open(listing, "w") as file:
        file.writelines(f"{name}\n" for name in sorted(passing))
    for name in sorted(listed - passing):
        print(f"no longer listed: {name}")
    print(f"Wrote {listing}.")
    sys.exit(0)

for name in sorted(passing - listed):
    print(f"newly passing: {name} (UPDATE=1 adds it to {listing})")
failing = sorted(set(cases) - passing - listed)
if failing:
    print(f"{len(failing)} cases fail that are not required:")
for name in failing:
    print(f"    {name} ({failed_facets(cases[name])}): {reason(cases[name])}")
broken = sorted(listed - passing)
for name in broken:
    case = cases.get(name)
    if case is None:
        print(f"missing: {name} is listed, but the corpus does not contain it")
        continue
    print(f"broken: {name} passed before and fails now ({failed_facets(case)})")
    for message in case["messages"][:5]:
        print(f"    {message}")
sys.exit(1 if broken else 0)
