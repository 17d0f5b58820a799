"""Measures host states. states.sh calls this program; README.md describes it."""

import json
import os
import pwd
import shutil
import sys
import tempfile

import measuring
from measuring import Server, measure

BINARY = os.environ["UNFURL_BIN"]
SALT = os.environ.get("SALT_PEER")
PYINFRA = os.environ.get("PYINFRA_PEER")
USER = pwd.getpwuid(os.getuid()).pw_name
FILES = 1000
LARGE = 10_000
HOSTS = 100
STATES = 50
ROUNDS = 3

# The limits: CPU time relative to the peers, and CPU seconds of the compiler.
MOST_OF_SALT = {"first": 1 / 5, "second": 1 / 10}
MOST_OF_PYINFRA = 1 / 100
MOST_COMPILE = 0.3


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def trees(folder):
    """Writes the state trees: files, many states, a chain, and a small tree for many hosts."""
    out = os.path.join(folder, "out")
    files = "".join(
        f"f{n}:\n  file.managed:\n    - name: {out}/here/f{n}\n    - contents: hello {n}\n" for n in range(FILES)
    )
    far = files.replace(f"{out}/here/", f"{out}/far/")
    write(f"{folder}/states/files.sls", files)
    write(f"{folder}/states/far.sls", far)
    write(f"{folder}/states/many.sls", "".join(f"s{n}:\n  test.nop: []\n" for n in range(LARGE)))
    chain = "".join(
        f"s{n}:\n  test.nop:\n    - require:\n      - test: s{n + 1}\n" for n in range(LARGE - 1)
    )
    write(f"{folder}/states/chain.sls", chain + f"s{LARGE - 1}:\n  test.nop: []\n")
    small = "".join(
        f"f{n}:\n  file.managed:\n    - name: {out}/{{{{ grains['id'] }}}}/f{n}\n    - contents: hello {n}\n"
        "    - makedirs: true\n" for n in range(STATES)
    )
    write(f"{folder}/states/small.sls", small)
    for name in ("here", "far"):
        os.makedirs(f"{out}/{name}")


def forget(folder, name):
    out = os.path.join(folder, "out", name)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)


class Best:
    """The minimum of each figure, because noise only adds."""

    def __init__(self):
        self.rows = {}

    def take(self, name, row):
        old = self.rows.get(name, row)
        self.rows[name] = tuple(min(pair) for pair in zip(old, row))

    def show(self):
        for name, (wall, cpu, memory) in self.rows.items():
            print(f"{name:34} {wall:8.2f} s wall {cpu:8.3f} s CPU {memory:8.1f} MB")


def state(folder, action, *words):
    return [BINARY, "state", action, "--file-root", f"{folder}/states", *words]


def check(folder, name, count):
    found = len(os.listdir(os.path.join(folder, "out", name)))
    if found != count:
        sys.exit(f"error: {name}: {found} of {count} files exist")


def own(best, folder, server):
    login = ["-i", server.key, "-a", "-k", "--no-ssh-config", "--known-hosts", server.known]
    quiet = ["--state-output", "terse"]
    host = f"{USER}@127.0.0.1:{server.port}"
    for what, name, words in (("files", "here", []), ("far", "far", [*login, "-H", host])):
        forget(folder, name)
        for turn in ("first", "second"):
            row = measure(state(folder, "apply", what, *quiet, *words), folder)
            best.take(f"unfurl, {FILES} files {name}, {turn}", row)
        check(folder, name, FILES)
    for what in ("many", "chain"):
        best.take(f"unfurl, compile {LARGE} states ({what})", measure(state(folder, "show-order", what), folder))
    hosts = ",".join(f"{USER}@127.0.0.{n}:{server.port}" for n in range(1, HOSTS + 1))
    shutil.rmtree(os.path.join(folder, "out", "small"), ignore_errors=True)
    for turn in ("first", "second"):
        words = state(folder, "apply", "small", *quiet, *login, "-H", hosts)
        best.take(f"unfurl, {HOSTS} hosts x {STATES} states, {turn}", measure(words, folder))
        best.take(f"unfurl, the same, --no-wait, {turn}", measure([*words, "--no-wait"], folder))


def salt(best, folder):
    config = os.path.join(folder, "salt")
    roots = {"base": [f"{folder}/states"]}
    write(f"{config}/minion", json.dumps({
        "id": "bench", "root_dir": config, "file_client": "local", "file_roots": roots, "enable_fqdns_grains": False,
    }))
    forget(folder, "here")
    for turn in ("first", "second"):
        words = [SALT, "--local", "-c", config, "--no-color", "--out=quiet", "-l", "quiet", "state.apply", "files"]
        best.take(f"salt, {FILES} files here, {turn}", measure(words, folder))
    check(folder, "here", FILES)


def pyinfra(best, folder):
    """Measures pyinfra. Its file operation creates empty files and sets modes, which is less work than the others do."""
    out = os.path.join(folder, "out", "here")
    write(f"{folder}/deploy.py", (
        "from pyinfra.operations import files\n"
        f"for n in range({FILES}):\n    files.file(path=f'{out}/f{{n}}')\n"
    ))
    forget(folder, "here")
    for turn in ("first", "second"):
        best.take(f"pyinfra, {FILES} files here, {turn}", measure([PYINFRA, "@local", "deploy.py", "-y"], folder))
    check(folder, "here", FILES)


def judge(rows):
    checks = []
    for turn in ("first", "second"):
        cpu = rows[f"unfurl, {FILES} files here, {turn}"][1]
        for peer, most in (("salt", MOST_OF_SALT[turn]), ("pyinfra", MOST_OF_PYINFRA)):
            other = rows.get(f"{peer}, {FILES} files here, {turn}")
            if other:
                checks.append((f"CPU against {peer}, {turn}", cpu / other[1], most))
    for what in ("many", "chain"):
        cpu = rows[f"unfurl, compile {LARGE} states ({what})"][1]
        checks.append((f"CPU seconds to compile ({what})", cpu, MOST_COMPILE))
    measuring.judge(checks)


def main():
    best = Best()
    with tempfile.TemporaryDirectory() as folder:
        trees(folder)
        server = Server(folder)
        try:
            for _ in range(ROUNDS):
                own(best, folder, server)
                if SALT:
                    salt(best, folder)
            # Each run takes minutes; one is enough.
            if PYINFRA:
                pyinfra(best, folder)
        finally:
            server.stop()
    best.show()
    judge(best.rows)


if __name__ == "__main__":
    main()
