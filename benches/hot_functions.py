"""Writes the list of functions that most runs call: python3 benches/hot_functions.py PROGRAM >benches/hot_functions.ld

PROGRAM is a build of the profile `dist`. Each command below runs under callgrind (valgrind), and each function of the program that is
called gets a line. `build.rs` says what the list is for. Write it again when the benchmark of 100 hosts takes more memory.
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.abspath(sys.argv[1])
os.environ["UNFURL_BIN"] = PROGRAM

import hosts  # noqa: E402
import measuring  # noqa: E402

# A name stands for all instances of a generic function. If those in use are a smaller part of all, the name comes last: the
# others would lie between functions in use.
LEAST_SHARE = 0.3


def pattern(symbol):
    """Returns the name of a function without the hashes of its instance and of its crates."""
    symbol = re.sub(r"17h[0-9a-f]{16}E(\.llvm\.\d+)?$", "17h*", symbol)
    return re.sub(r"Cs[0-9A-Za-z]{8,13}_", "Cs*_", symbol)


def called(folder, words, cwd):
    """Runs a command and returns the names of the functions of the program that were called."""
    tool = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", "--compress-strings=no", "--trace-children=yes"]
    words = [*tool, f"--callgrind-out-file={folder}/out.%p", *words]
    done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(words)} exits with {done.returncode}:\n{done.stderr[-2000:]}")
    names, is_own = set(), False
    for path in glob.glob(f"{folder}/out.*"):
        with open(path) as file:
            for line in file:
                if line.startswith("ob="):
                    is_own = line[3:].strip() == PROGRAM
                elif line.startswith("fn=") and is_own:
                    names.add(re.sub(r"'\d+$", "", line[3:].strip()))
        os.remove(path)
    return names


def called_by_kind():
    """Returns the functions that commands on hosts call, and those that jobs call."""
    with tempfile.TemporaryDirectory() as folder:
        server = measuring.Server(folder)
        try:
            words = hosts.Place(server, folder).unfurl(["run"], hosts.addresses(20), ["--", "true"])
            on_hosts = called(folder, words, folder)
        finally:
            server.stop()
        hello = os.path.join(folder, "hello")
        shutil.copytree(os.path.join(ROOT, "ensembles/hello"), hello)
        commands = (["plan"], ["deploy", "--approve"], ["status"], ["check", "--approve"], ["teardown", "--approve"])
        in_jobs = set().union(*(called(folder, [PROGRAM, *words], hello) for words in commands))
    return on_hosts, in_jobs


def sizes():
    """Returns the size of each function of the program in bytes."""
    listed = subprocess.run(["nm", "-S", PROGRAM], check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tTwW"}


def main():
    size_of = sizes()
    whole = collections.Counter()
    for name, size in size_of.items():
        whole[pattern(name)] += size
    on_hosts, in_jobs = called_by_kind()
    listed = set()
    print("/* The functions that most runs call. Written by benches/hot_functions.py; build.rs says what for. */")
    print("SECTIONS {\n  .text : {")
    for comment, names in (
        ("Every command", on_hosts & in_jobs),
        ("Commands on hosts", on_hosts),
        ("Jobs", in_jobs),
    ):
        used = collections.Counter()
        for name in names & size_of.keys():
            used[pattern(name)] += size_of[name]
        chosen = used.keys() - listed
        listed |= chosen
        print(f"    /* {comment} */")
        for name in sorted(chosen, key=lambda name: (used[name] < LEAST_SHARE * whole[name], name)):
            print(f"    *(.text.{name})")
        sums = (sum(sizes[name] for name in chosen) / 1e6 for sizes in (used, whole))
        print(f"{comment}: {len(chosen)} names, in use %.1f of %.1f MB" % tuple(sums), file=sys.stderr)
    print("    *(.text .text.*)\n  }\n} INSERT AFTER .eh_frame;")


main()
