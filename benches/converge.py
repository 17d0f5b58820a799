"""Measures the cost of converging hosts, in pairs. converge.sh calls this program; README.md describes it."""

import collections
import itertools
import json
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measuring
from measuring import Server, measure

BINARY = os.environ["UNFURL_BIN"]
SALT = os.environ.get("SALT_PEER")
PYINFRA = os.environ.get("PYINFRA_PEER")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
USER = pwd.getpwuid(os.getuid()).pw_name
FILES = 1000
HOSTS = 30
FILES_OF_A_HOST = 20
TURNS = ("first", "second")
EARLIER = itertools.count()

# The limits.
MOST_OF_SALT = 1 / 10
MOST_OF_PYINFRA = 1 / 100
MOST_WALL = {"first": 1.0, "second": 1 / 3}
MOST_PROGRAMS = 3.0
# A command has a shell of its own, and the files for its output are removed in a few calls.
MOST_OF_A_COMMAND = 3.2


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def tree(folder, name, count, text="hello"):
    """Writes a tree of files, in a folder for each host."""
    write(f"{folder}/states/{name}.sls", "".join(
        f"f{n}:\n  file.managed:\n    - name: {folder}/out/{{{{ grains['id'] }}}}/f{n}\n"
        f"    - contents: {text} {n}\n    - makedirs: true\n" for n in range(count)
    ))


def fresh(folder):
    """Returns the folder of the files, which is now empty. The earlier files stay in another folder: for some minutes,
    ext4 takes no inode of a removed file again, and looks for others with each new file, which would cost more than
    the programs."""
    out = os.path.join(folder, "out")
    if os.path.exists(out):
        os.rename(out, os.path.join(folder, f"out-{next(EARLIER)}"))
    os.makedirs(out)
    return out


def check(folder, count):
    found = sum(len(files) for _, _, files in os.walk(os.path.join(folder, "out")))
    if found != count:
        sys.exit(f"error: {found} of {count} files exist")


def unfurl(folder, name, *words):
    return [BINARY, "state", "apply", "--approve", "--file-root", f"{folder}/states", name, "--state-output", "terse", *words]


def over_ssh(folder, server, name, hosts):
    login = ["-i", server.key, "-a", "-k", "--no-ssh-config", "--known-hosts", server.known]
    spelled = ",".join(f"{USER}@127.0.0.{n}:{server.port}" for n in range(1, hosts + 1))
    return unfurl(folder, name, *login, "-H", spelled)


def salt_call(folder):
    config = os.path.join(folder, "salt")
    write(f"{config}/minion", json.dumps({
        "id": "bench", "root_dir": config, "file_client": "local", "file_roots": {"base": [f"{folder}/states"]},
        "enable_fqdns_grains": False,
    }))
    return [SALT, "--local", "-c", config, "--no-color", "--out=quiet", "-l", "quiet", "state.apply", "files"]


def pyinfra_local(folder):
    """pyinfra creates empty files here, which is less work than the others do."""
    write(f"{folder}/local.py", (
        "from pyinfra.operations import files\n"
        f"for n in range({FILES}):\n    files.file(path=f'{folder}/out/f{{n}}')\n"
    ))
    return [PYINFRA, "@local", f"{folder}/local.py", "-y"]


def pyinfra_over_ssh(folder, server):
    # pyinfra reads no patterns in the list of host keys.
    with open(server.known) as file:
        pattern, key = file.read().split(maxsplit=1)
    known = f"{folder}/known_hosts_of_pyinfra"
    write(known, "".join(f"{pattern.replace('*', f'0.0.{n}')} {key}" for n in range(1, HOSTS + 1)))
    write(f"{folder}/inventory.py", (
        f"data = dict(ssh_user={USER!r}, ssh_port={server.port}, ssh_key={server.key!r}, ssh_look_for_keys=False,\n"
        f"    ssh_allow_agent=False, ssh_known_hosts_file={known!r}, ssh_strict_host_key_checking='yes')\n"
        f"hosts = [(f'127.0.0.{{n}}', data) for n in range(1, {HOSTS + 1})]\n"
    ))
    write(f"{folder}/remote.py", (
        "from io import StringIO\nfrom pyinfra import host\nfrom pyinfra.operations import files\n"
        f"for n in range({FILES_OF_A_HOST}):\n"
        f"    files.put(src=StringIO(f'hello {{n}}\\n'), dest=f'{folder}/out/{{host.name}}/f{{n}}')\n"
    ))
    return [PYINFRA, f"{folder}/inventory.py", f"{folder}/remote.py", "-y"]


class Pairs:
    """The rows of programs that took turns. A median counts, and a ratio is the median of the pairs' ratios."""

    def __init__(self):
        self.rows = collections.defaultdict(list)

    def take(self, name, words, folder, count):
        fresh(folder)
        for turn in TURNS:
            self.rows[name, turn].append(measure(words, folder))
            check(folder, count)

    def ratio(self, name, peer, turn, column):
        pairs = zip(self.rows[name, turn], self.rows[peer, turn])
        return statistics.median(own[column] / other[column] for own, other in pairs)

    def show(self):
        for (name, turn), rows in self.rows.items():
            wall, cpu, memory = (statistics.median(column) for column in zip(*rows))
            label = f"{name}, {turn}"
            print(f"{label:44} {wall:8.2f} s wall {cpu:8.3f} s CPU {memory:8.1f} MB")


class Programs:
    """The programs that the server and all below it start, as strace sees them."""

    def __init__(self, folder, server):
        self.trace = os.path.join(folder, "trace")
        words = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", self.trace, "-p", str(server.process.pid)]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        while not re.search(r"TracerPid:\t[1-9]", open(f"/proc/{server.process.pid}/status").read()):
            time.sleep(0.05)
        self.seen = 0

    def new(self):
        """Counts the programs that were started since the last call."""
        with open(self.trace, errors="replace") as lines:
            now = sum(1 for line in lines if "execve" in line and line.rstrip().endswith("= 0"))
        new, self.seen = now - self.seen, now
        return new

    def stop(self):
        self.process.terminate()
        self.process.wait()


def count_programs(folder, server, hosts):
    """Returns the programs that each further state costs a host: a file that is new, unchanged, or has other contents,
    and a command that prints something."""
    counted = Programs(folder, server)
    fresh(folder)

    def apply(count, text):
        tree(folder, "counted", count, text)
        measure(over_ssh(folder, server, "counted", hosts), folder)
        return counted.new()

    fixed = apply(1, "hello")
    many = FILES_OF_A_HOST + 1
    programs = {what: apply(many, text) for what, text in (("new", "hello"), ("same", "hello"), ("other", "bye"))}
    write(f"{folder}/states/counted.sls", "".join(f"c{n}:\n  cmd.run: [{{name: echo hi}}]\n" for n in range(many)))
    measure(over_ssh(folder, server, "counted", hosts), folder)
    programs["command"] = counted.new()
    counted.stop()
    states = {"new": FILES_OF_A_HOST, "same": many, "other": many, "command": many}
    return fixed / hosts, {what: (all_of - fixed) / hosts / states[what] for what, all_of in programs.items()}


def judge(pairs, programs):
    checks = []
    for turn in TURNS:
        for peer, most in (("salt", MOST_OF_SALT), ("pyinfra", MOST_OF_PYINFRA)):
            if (peer, turn) in pairs.rows:
                checks.append((f"CPU against {peer}, {turn}", pairs.ratio("unfurl", peer, turn, 1), most))
        if ("pyinfra over SSH", turn) in pairs.rows:
            ratio = pairs.ratio("unfurl over SSH", "pyinfra over SSH", turn, 0)
            checks.append((f"wall against pyinfra over SSH, {turn}", ratio, MOST_WALL[turn]))
    for hosts, (fixed, of_files) in programs.items():
        print(f"programs on each of {hosts} hosts: {fixed:.0f} for a run with one file")
        for what, count in of_files.items():
            most = MOST_OF_A_COMMAND if what == "command" else MOST_PROGRAMS
            checks.append((f"programs for each state, {hosts} hosts, {what}", count, most))
    measuring.judge(checks, width=44)


def main():
    pairs, programs = Pairs(), {}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            tree(folder, "files", FILES)
            tree(folder, "small", FILES_OF_A_HOST)
            many = HOSTS * FILES_OF_A_HOST
            for _ in range(ROUNDS):
                pairs.take("unfurl", unfurl(folder, "files", "-H", "@local"), folder, FILES)
                if SALT:
                    pairs.take("salt", salt_call(folder), folder, FILES)
                if PYINFRA:
                    pairs.take("pyinfra", pyinfra_local(folder), folder, FILES)
                pairs.take("unfurl over SSH", over_ssh(folder, server, "small", HOSTS), folder, many)
                if PYINFRA:
                    pairs.take("pyinfra over SSH", pyinfra_over_ssh(folder, server), folder, many)
            if shutil.which("strace"):
                for hosts in (1, 3):
                    programs[hosts] = count_programs(folder, server, hosts)
        finally:
            server.stop()
    pairs.show()
    judge(pairs, programs)


if __name__ == "__main__":
    main()
