"""Checks the results of `unfurl validate` for the TOSCA files of public projects.

    tosca.py UNFURL CORPUS DEVIATIONS.tsv

CORPUS/expected.tsv says of each file whether it is valid. A file with another result must have
a row in DEVIATIONS.tsv (path, tab, reason); at most three in a hundred may have one. These are
failures: a row whose file has the expected result, a refusal without a place, and any exit code but
0 and 1. For files in TOSCA 2.0, only the exit code is checked.
"""

import concurrent.futures
import re
import subprocess
import sys

unfurl, corpus, listing = sys.argv[1:]
MOST_IN_A_HUNDRED = 3
IS_1_X = re.compile(r"tosca_simple_yaml_1_[0-3](_0)?$|csar$")
HAS_PLACE = re.compile(r"--> .+:\d+:\d+$", re.MULTILINE)


def rows():
    with open(f"{corpus}/expected.tsv") as file:
        for line in file:
            if not line.startswith("#"):
                folder, path, version, expected = line.rstrip("\n").split("\t")[:4]
                yield f"{folder}/{path}", version, expected


def validate(row):
    path, _, _ = row
    # The files are not in the repositories of their projects, which would let them import each other.
    command = [unfurl, "--allow", "read", "validate", f"{corpus}/{path}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return row, None, "took more than 60 s"
    return row, done.returncode, done.stderr


with open(listing) as file:
    deviations = dict(line.rstrip("\n").split("\t") for line in file if not line.startswith("#"))
problems = []
judged = deviating = answered = 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for (path, version, expected), code, told in pool.map(validate, rows()):
        answered += 1
        if code not in (0, 1):
            problems.append(f"{path}: exit code {code}: {told[-300:]}")
            continue
        if version.startswith("tosca_2") or path.startswith("oasis/"):
            continue
        if code == 1 and not HAS_PLACE.search(told):
            problems.append(f"{path}: refused without a place: {told[:300]}")
        if expected == "unknown":
            continue
        answer = "invalid" if code == 1 else "valid"
        judged += bool(IS_1_X.match(version)) or version == "-"
        if answer == expected:
            if path in deviations:
                problems.append(f"{path}: listed in {listing}, but the result is as expected")
        elif path not in deviations:
            problems.append(f"{path}: expected {expected}, but the result is {answer}: {told[:600]}")
        else:
            deviating += bool(IS_1_X.match(version))

print(f"{answered} TOSCA files were validated; {judged} in TOSCA 1.0 to 1.3 have an expected result,")
print(f"{deviating} of them deviate from it, with a reason in {listing}.")
if deviating * 100 > judged * MOST_IN_A_HUNDRED:
    problems.append(f"more than {MOST_IN_A_HUNDRED} in a hundred deviate")
for problem in problems:
    print(f"wrong: {problem}")
sys.exit(1 if problems else 0)
