"""Measures build times, cold and after one file was touched: python3 benches/build.py [PART...]

Parts: `cold` builds the program from scratch, in the profiles that `ensembles/try.sh` and the benches use, in
their own folders. `edit` touches a file of a module, then runs `cargo check` and builds the program, the unit
tests and the integration tests. Both print CPU seconds (user and system, of all processes) and wall seconds. Without PART, both parts run.
"""

import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))
TESTS = ["--features", "fault-injection", "--profile", "ci"]

# One file of each of three modules: in a low, a middle and a high layer.
TOUCHED = ["src/states/fact_cache.rs", "src/job/report.rs", "src/cli/output.rs"]

LOOPS = [
    ("check", ["check", *TESTS]),
    ("program", ["build", *TESTS, "--bin", "unfurl"]),
    ("unit tests", ["test", *TESTS, "--lib", "--no-run"]),
    ("integration tests", ["test", *TESTS, "--test", "it", "--no-run"]),
]


def run(arguments, target):
    """Runs cargo and returns its CPU seconds and wall seconds."""
    environment = dict(os.environ, CARGO_TARGET_DIR=target)
    began = time.monotonic()
    process = subprocess.Popen(
        ["cargo", *arguments, "--locked", "--quiet"], cwd=ROOT, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"cargo {' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began


def line(what, cpu, wall):
    print(f"{what:<48} {cpu:7.1f} s CPU {wall:7.1f} s", flush=True)


def cold():
    for profile in ("ci", "dist"):
        folder = os.path.join(TARGET, "bench-build")
        shutil.rmtree(folder, ignore_errors=True)
        arguments = ["build", "--profile", profile, "--bin", "unfurl"]
        line(f"program, cold, profile {profile}", *run(arguments, folder))
        line(f"the same again, profile {profile}", *run(arguments, folder))
        size = os.path.getsize(os.path.join(folder, profile, "unfurl"))
        print(f"{'size of the program':<48} {size / 1e6:7.1f} MB")
        shutil.rmtree(folder)


def edit():
    for what, arguments in LOOPS:
        run(arguments, TARGET)
        for file in TOUCHED:
            os.utime(os.path.join(ROOT, file))
            line(f"{what} after {file}", *run(arguments, TARGET))


def main():
    parts = {"cold": cold, "edit": edit}
    for name in sys.argv[1:] or parts:
        if name not in parts:
            sys.exit(f"there is no part `{name}`; there are: {', '.join(parts)}")
        parts[name]()


main()
