"""Compares the low data of formulas with recorded digests of real Salt. See tests/formulas.sh.

Usage: python3 tests/formulas.py PROGRAM DIR [FORMULA...]
"""

import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent / "data" / "formulas"
ORDERINGS = {"dag": "low-3008.tsv", "classic": "low-3006.tsv"}
SECONDS_PER_SLS = 120
# Reads the example pillar as Salt renders it: as a template, whose text is then the file of `--pillar`.
PILLAR_SLS = """{% set text %}{% include 'pillar.example' %}{{ '\\n' }}{% endset %}
pillar:
  test.nop:
    - text: {{ text|load_yaml|tojson }}
"""


def recorded(formulas):
    """Yields formula, SLS, ordering and digest of everything that was recorded for the formulas."""
    for ordering, name in ORDERINGS.items():
        for line in (DATA / name).read_text().splitlines():
            formula, sls, digest = line.split("\t")
            if formula in formulas:
                yield formula, sls, ordering, digest


def plain(value):
    """Returns the value without keys that Salt adds to show where a file was included."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if key != "__sls_included_from__"}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def digest_of(chunks):
    text = json.dumps(plain(chunks), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def show_low(program, roots, sls, ordering, pillar):
    """Returns low data and an empty text, or None and the message of the program."""
    command = [program, "state", "show-low", sls, "--ordering", ordering, "--output", "json", "--id", "minion"]
    for root in roots:
        command += ["--file-root", str(root)]
    command += ["--grains", f"@{DATA / 'grains.json'}"]
    if pillar:
        command += ["--pillar", f"@{pillar}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=roots[0], timeout=SECONDS_PER_SLS, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer after {SECONDS_PER_SLS} s"
    if done.returncode == 0:
        return json.loads(done.stdout), ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return None, (lines or ["error: no message"])[0].removeprefix("error: ")


def render_pillar(program, root, scratch):
    """Writes the rendered example pillar of a formula. Returns its path, or None without a usable one."""
    if not (root / "pillar.example").exists():
        return None, ""
    helper = scratch / root.name
    helper.mkdir()
    (helper / "example_pillar.sls").write_text(PILLAR_SLS)
    low, message = show_low(program, [root, helper], "example_pillar", "classic", None)
    path = helper / "pillar.yaml"
    if low is None or not isinstance(low[0]["text"], dict):
        return None, message
    path.write_text(json.dumps(low[0]["text"]))
    return path, ""


def reason_of(message):
    """Returns the part of a message that is the same for all files with the same cause."""
    cause = re.sub(r"^rendering SLS `[^`]*` failed: ", "", message)
    return cause if len(cause) <= 160 else cause[:157] + "..."


def compare(program, root, pillar, case):
    formula, sls, ordering, digest = case
    low, message = show_low(program, [root], sls, ordering, pillar)
    dump = os.environ.get("FORMULAS_LOW")
    if dump and low is not None:
        path = pathlib.Path(dump) / ordering / formula / f"{sls}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(plain(low), indent=1, sort_keys=True))
    if digest == "refused":
        return case, "both" if low is None else "Salt refuses it"
    if low is None:
        return case, reason_of(message)
    return case, "" if digest_of(low) == digest else "other low data"


def print_table(results):
    table = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    reasons = collections.defaultdict(list)
    refused = 0
    for (formula, sls, ordering, digest), reason in results:
        if digest == "refused":
            refused += reason == "both"
            if reason == "both":
                continue
        entry = table[formula][ordering]
        entry[1] += digest != "refused"
        entry[0] += reason == ""
        if reason:
            reasons[reason].append(f"{formula.removesuffix('-formula')}: {sls} ({ordering})")
    print(f"{'formula':24} " + " ".join(f"{name:>9}" for name in ORDERINGS))
    totals = {name: [0, 0] for name in ORDERINGS}
    complete = 0
    for formula, entries in sorted(table.items()):
        cells = []
        for name in ORDERINGS:
            equal, total = entries[name]
            totals[name][0] += equal
            totals[name][1] += total
            cells.append(f"{f'{equal}/{total}':>9}")
        complete += all(equal == total for equal, total in entries.values())
        print(f"{formula:24} " + " ".join(cells))
    print(f"{'all':24} " + " ".join(f"{f'{equal}/{total}':>9}" for equal, total in totals.values()))
    print(f"{complete} of {len(table)} formulas are complete; {refused} state files are refused by Salt, too")
    for reason, places in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(places)} × {reason}")
        for place in places if os.environ.get("FORMULAS_ALL") else places[:3]:
            print(f"    {place}")
    return not reasons


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    folder = pathlib.Path(sys.argv[2]).resolve()
    names = sys.argv[3:] or [path.name for path in folder.iterdir() if path.is_dir()]
    formulas = {name for name in names if (folder / name).is_dir()}
    cases = sorted(recorded(formulas))
    if not cases:
        print(f"error: no formula in {folder} was recorded; {DATA / 'commits.txt'} lists them", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pillars = {}
        for formula in sorted({case[0] for case in cases}):
            pillars[formula], message = render_pillar(program, folder / formula, pathlib.Path(scratch))
            if message:
                print(f"warning: pillar.example of {formula} was left out: {message}", file=sys.stderr)
        jobs = [pool.submit(compare, program, folder / case[0], pillars[case[0]], case) for case in cases]
        return 0 if print_table([job.result() for job in jobs]) else 1


sys.exit(main())
