"""Measures unfurl from outside. The scripts of this folder call this program; README.md describes it."""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY = os.environ.get("UNFURL_BIN") or os.path.join(
    ROOT, os.environ.get("CARGO_TARGET_DIR", "target"), "dist", "unfurl"
)

HEAD = """\
apiVersion: {version}
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Item:
        derived_from: tosca.nodes.Root
        properties:
          number: {{type: integer}}
        attributes:
          value: {{type: integer}}
        interfaces:
          Standard:
            configure:
              implementation: Template
              inputs:
                run: {{value: "{{{{ SELF.number }}}}"}}
                resultTemplate: {{attributes: {{value: "{{{{ value }}}}"}}}}
            delete: Template
    topology_template:
      node_templates:
"""

READS = """\
          interfaces:
            Standard:
              configure:
                implementation: Template
                inputs:
                  run: {{value: {{eval: "::n{node}::{key}"}}}}
                  resultTemplate: {{attributes: {{value: "{{{{ value }}}}"}}}}
"""


def ensemble(count, length, reads=False, version="unfurl/v1.0.0"):
    """Returns an ensemble of `count` nodes in chains of `length`.

    With `reads`, each node except the first of a chain reads an attribute of the previous node. In chains
    of one, each node reads a property of its own, with equally long text.
    """
    parts = [HEAD.format(version=version)]
    for number in range(count):
        parts.append(f"        n{number}:\n          type: Item\n")
        parts.append(f"          properties: {{number: {number}}}\n")
        if number % length:
            parts.append(f"          requirements: [{{dependency: n{number - 1}}}]\n")
        if reads and number:
            before = {"node": number - 1, "key": "value"} if length > 1 else {"node": number, "key": "number"}
            parts.append(READS.format(**before))
    return "".join(parts)


def environment(home):
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "UNFURL_HOME": "",
        "UNFURL_NORUNTIME": "1",
        "UNFURL_SKIP_UPSTREAM_CHECK": "1",
        "NO_COLOR": "1",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def one_core():
    """Binds the child process, in which it runs, to the first available core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def call(binary, arguments, folder, expect=0, bind=one_core):
    """Runs a command, by default on one core. Returns (CPU seconds, wall seconds, standard output)."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        began = time.perf_counter()
        process = subprocess.Popen(
            [binary, *arguments],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=messages,
            preexec_fn=bind,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        messages.seek(0)
        if expect is not None and process.returncode != expect:
            tail = messages.read().decode(errors="replace")[-2000:]
            sys.exit(f"{binary} {' '.join(arguments)} exits with {process.returncode}:\n{tail}")
        return usage.ru_utime + usage.ru_stime, wall, output.read().decode(errors="replace")


LADDER = """\
tosca_definitions_version: tosca_simple_yaml_1_3
node_types:
  Item:
    derived_from: tosca.nodes.SoftwareComponent
    properties:
      number: {type: integer, constraints: [greater_or_equal: 0]}
      label: {type: string, default: none}
      memory: {type: scalar-unit.size, default: 1 GB}
    capabilities:
      host: {type: tosca.capabilities.Compute}
    requirements:
      - host: {capability: tosca.capabilities.Compute, relationship: tosca.relationships.HostedOn, occurrences: [0, 1]}
    interfaces:
      Standard:
        configure: tool
topology_template:
  node_templates:
"""

OWN_OPERATION = """\
      interfaces:
        Standard:
          create: tool
"""


def ladder(count, own_operations=False):
    """Returns a TOSCA 1.3 template with `count` nodes. Each node requires the node ten positions before it."""
    parts = [LADDER]
    for number in range(count):
        parts.append(f"    n{number}:\n      type: Item\n      properties:\n        number: {number}\n")
        if number >= 10:
            requirement = "host" if number % 2 else "dependency"
            parts.append(f"      requirements:\n        - {requirement}: n{number - 10}\n")
        if own_operations:
            parts.append(OWN_OPERATION)
    return "".join(parts)


DEPLOY = ["-q", "deploy", "--approve", "--output", "json"]
STEPS = [
    ("deploy", DEPLOY, "ok"),
    ("no-op", DEPLOY, "skipped"),
    ("teardown", ["-q", "teardown", "--approve", "--output", "json"], "ok"),
]


def cycle(binary, count, text):
    """Deploys, deploys again and tears down. Returns {step: (CPU, wall)} and fails on wrong counts."""
    folder = tempfile.mkdtemp(prefix="bench-")
    try:
        with open(os.path.join(folder, "ensemble.yaml"), "w") as file:
            file.write(text)
        times = {}
        for step, arguments, counted in STEPS:
            cpu, wall, output = call(binary, arguments, folder)
            job = json.loads(output)["job"]
            if job[counted] != count or job["total"] != count:
                sys.exit(f"{step} of {count} nodes has the wrong result: {job}")
            times[step] = (cpu, wall)
        return times
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def best(binary, count, text, rounds):
    """Returns the minimum CPU time of each step over some rounds, because noise only adds."""
    all_times = [cycle(binary, count, text) for _ in range(rounds)]
    return {step: min(times[step] for times in all_times) for step, *_ in STEPS}


def rounds_of(count):
    return 3 if count <= 2000 else 1


def table(rows):
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def find_peer():
    """Returns the real Unfurl: UNFURL_PEER, or the `unfurl` of the PATH if it is a Python script.

    UNFURL_PEER may also be the `python` beside it.
    """
    peer = os.environ.get("UNFURL_PEER") or shutil.which("unfurl")
    if not peer:
        return None
    if "python" in os.path.basename(peer):
        return peer
    with open(peer, "rb") as file:
        return peer if b"python" in file.readline() else None


def deploy(count):
    small = max(count // 10, 10)
    print(f"{count} nodes in chains of ten on one core, CPU seconds (wall seconds):\n")
    few = best(BINARY, small, ensemble(small, 10), 3)
    many = best(BINARY, count, ensemble(count, 10), rounds_of(count))
    rows = [("step", f"{small} nodes", f"{count} nodes", "ratio")]
    for step, *_ in STEPS:
        (cpu_few, wall_few), (cpu_many, wall_many) = few[step], many[step]
        ratio = cpu_many / cpu_few if cpu_few else float("inf")
        rows.append((step, f"{cpu_few:.3f} ({wall_few:.3f})", f"{cpu_many:.3f} ({wall_many:.3f})", f"{ratio:.1f}"))
    table(rows)
    print(f"\nA ratio of {count / small:.0f} is linear; for ten times as many nodes the limit is 12.")
    startup()
    compare(1000)


def chain(count):
    print(f"{count} nodes on one core, CPU seconds (wall seconds):\n")
    rounds = rounds_of(count)
    apart = best(BINARY, count, ensemble(count, 1, reads=True), rounds)
    chained = best(BINARY, count, ensemble(count, count, reads=True), rounds)
    rows = [("step", "independent", "each reads the previous", "ratio")]
    for step, *_ in STEPS:
        (cpu_apart, wall_apart), (cpu_chain, wall_chain) = apart[step], chained[step]
        ratio = cpu_chain / cpu_apart if cpu_apart else float("inf")
        rows.append((step, f"{cpu_apart:.3f} ({wall_apart:.3f})", f"{cpu_chain:.3f} ({wall_chain:.3f})", f"{ratio:.2f}"))
    table(rows)


# The limits of `parse`: CPU seconds by number of nodes, and the ratio between them.
FEW, MANY = 5000, 100_000
ALLOWED = {FEW: 0.060, MANY: 1.5}
PARSE_RATIO = 1.2

THEIR_PARSER = """
import resource, sys
import unfurl
from toscaparser.tosca_template import ToscaTemplate
before = resource.getrusage(resource.RUSAGE_SELF)
ToscaTemplate(sys.argv[1])
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
"""


def validated(folder, text, rounds):
    """Returns the minimum CPU time of `unfurl validate` of a template, with its wall time."""
    with open(os.path.join(folder, "service.yaml"), "w") as file:
        file.write(text)
    return min(call(BINARY, ["validate", "./service.yaml"], folder)[:2] for _ in range(rounds))


def parse(many):
    print("A service template is read, checked and resolved on one core, CPU seconds (wall seconds):\n")
    rows = [("each node has", f"{FEW} nodes", f"{many} nodes", "ratio", "MB/s")]
    worst = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for title, own in [("a property, a requirement", False), ("an operation as well", True)]:
            text = ladder(many, own)
            (cpu_few, wall_few) = few = validated(folder, ladder(FEW, own), 10)
            (cpu_many, wall_many) = validated(folder, text, 3)
            ratio, speed = cpu_many / cpu_few, len(text) / cpu_many / 1e6
            cells = [f"{cpu_few:.3f} ({wall_few:.3f})", f"{cpu_many:.3f} ({wall_many:.3f})"]
            rows.append((title, *cells, f"{ratio:.1f}", f"{speed:.1f}"))
            if not own:
                ours = few
                if ratio > PARSE_RATIO * many / FEW:
                    worst.append(f"a ratio of {ratio:.1f} is not linear")
                for count, cpu in [(FEW, cpu_few), (many, cpu_many)]:
                    if cpu > ALLOWED.get(count, cpu):
                        worst.append(f"{count} nodes take {cpu:.3f} s, the limit is {ALLOWED[count]} s")
        table(rows)
        size = len(ladder(FEW)) / 1e3
        print(f"\nThe first template with {FEW} nodes has {size:.0f} kB. A ratio of {many / FEW:.0f} is linear.")
        compare_parsers(folder, ours[0])
    if worst:
        sys.exit("error: too slow: " + "; ".join(worst))


def compare_parsers(folder, ours):
    """Measures the peers on the smaller template: Unfurl's parser without its start-up, and all of xOpera."""
    text = ladder(FEW)
    with open(os.path.join(folder, "service.yaml"), "w") as file:
        file.write(text)
    rows = [("against", "theirs", "ours", "ratio")]
    peer = find_peer()
    if peer:
        python = peer if "python" in os.path.basename(peer) else os.path.join(os.path.dirname(peer), "python")
        cpu = float(call(python, ["-c", THEIR_PARSER, "service.yaml"], folder)[2])
        rows.append(("Unfurl's parser", f"{cpu:.2f}", f"{ours:.3f}", f"{cpu / ours:.0f}"))
    else:
        print("Unfurl was not found; set UNFURL_PEER to compare with it.")
    opera = os.environ.get("OPERA_PEER")
    if opera:
        cpu = call(opera, ["validate", "service.yaml"], folder)[0]
        rows.append(("xOpera", f"{cpu:.2f}", f"{ours:.3f}", f"{cpu / ours:.0f}"))
    else:
        print("xOpera was not found; set OPERA_PEER to compare with it.")
    if rows[1:]:
        print(f"\nAgainst others, {FEW} nodes, CPU seconds:\n")
        table(rows)


def startup():
    folder = tempfile.mkdtemp(prefix="bench-")
    walls = [call(BINARY, ["--help"], folder)[1] for _ in range(20)]
    os.rmdir(folder)
    print(f"Start-up, `unfurl --help`: {min(walls) * 1000:.1f} ms wall, the best of {len(walls)}.")


def compare(count):
    peer = find_peer()
    if not peer:
        print("The real Unfurl was not found; set UNFURL_PEER to compare with it.")
        return
    print(f"\nAgainst {peer}, {count} nodes, CPU seconds:\n")
    if "python" in os.path.basename(peer):
        peer = os.path.join(os.path.dirname(peer), "unfurl")
    text = ensemble(count, 10, version="unfurl/v1alpha1")
    ours = best(BINARY, count, text, 3)
    theirs = cycle(peer, count, text)
    rows = [("step", "theirs", "ours", "ratio")]
    for step, *_ in STEPS:
        rows.append((step, f"{theirs[step][0]:.2f}", f"{ours[step][0]:.3f}", f"{theirs[step][0] / ours[step][0]:.0f}"))
    table(rows)


SHELL = """\
apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Item:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            configure: {implementation: Shell, inputs: {command: "true"}}
    topology_template:
      node_templates:
"""
# The limit for the cost of the journal, and the number of runs of each program.
JOURNAL_RATIO, JOURNAL_ROUNDS = 1.10, 11


def journal(count, plain):
    """Measures a deploy of `count` shell tasks with the journal, and with a program built without it."""
    parts = [SHELL]
    for number in range(count):
        parts.append(f"        n{number}:\n          type: Item\n")
        if number % 10:
            parts.append(f"          requirements: [{{dependency: n{number - 1}}}]\n")
    text = "".join(parts)
    times = {binary: [] for binary in (BINARY, plain)}
    # A real disk, as for ensembles, and not a memory disk.
    within = os.environ.get("BENCH_FOLDER") or os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))
    for turn in range(2 * JOURNAL_ROUNDS + 2):
        binary = (BINARY, plain)[turn % 2]
        folder = tempfile.mkdtemp(prefix="bench-", dir=within)
        try:
            with open(os.path.join(folder, "ensemble.yaml"), "w") as file:
                file.write(text)
            os.sync()
            cpu, wall, output = call(binary, DEPLOY, folder, bind=None)
            job = json.loads(output)["job"]
            if job["ok"] != count:
                sys.exit(f"the deploy of {count} nodes has the wrong result: {job}")
            # The first run of each program is a warm-up.
            if turn > 1:
                times[binary].append((wall, cpu))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    median = {b: [statistics.median(t[place] for t in all_times) for place in (0, 1)] for b, all_times in times.items()}
    (with_wall, with_cpu), (plain_wall, plain_cpu) = median[BINARY], median[plain]
    print(f"A deploy of {count} shell tasks, medians of {JOURNAL_ROUNDS} alternating runs, wall seconds (CPU seconds):\n")
    ratio = with_wall / plain_wall
    cells = [f"{plain_wall:.3f} ({plain_cpu:.3f})", f"{with_wall:.3f} ({with_cpu:.3f})", f"{ratio:.3f}"]
    table([("", "without journal", "with", "ratio"), ("deploy", *cells)])
    if ratio > JOURNAL_RATIO:
        sys.exit(f"error: too slow: the limit is a ratio of {JOURNAL_RATIO}")


def alias_bomb():
    """Measures the refusal of twelve nested levels of ten aliases or items each, 10^12 nodes when expanded."""
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"]
    for level in range(1, 12):
        bomb.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n")
    text = "".join(bomb) + ensemble(1, 1)
    text = text.replace("{number: 0}", "{number: *a11}")
    folder = tempfile.mkdtemp(prefix="bench-")
    try:
        with open(os.path.join(folder, "ensemble.yaml"), "w") as file:
            file.write(text)
        walls = [call(BINARY, ["validate"], folder, expect=1)[1] for _ in range(10)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    worst = max(walls) * 1000
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"An alias bomb is refused in {min(walls) * 1000:.1f} to {worst:.1f} ms; at most {peak:.0f} MB of memory.")
    if worst >= 100:
        sys.exit("error: too slow: the limit is 100 ms")


def main(arguments):
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"error: {BINARY} does not exist; build it with `cargo build --profile dist`")
    match arguments:
        case ["deploy", count] if count.isdigit():
            deploy(int(count))
        case ["chain", count] if count.isdigit():
            chain(int(count))
        case ["parse", count] if count.isdigit() and int(count) > FEW:
            parse(int(count))
        case ["journal", count, plain] if count.isdigit():
            journal(int(count), plain)
        case ["alias-bomb"]:
            alias_bomb()
        case _:
            sys.exit("usage: bench.py deploy N | chain N | parse N | journal N BINARY | alias-bomb")


if __name__ == "__main__":
    main(sys.argv[1:])
