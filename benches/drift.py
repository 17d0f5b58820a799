"""Measures looks for drift. drift.sh calls this program; README.md describes it."""

import os
import pwd
import tempfile

import measuring
from measuring import Server, measure

BINARY = os.environ["UNFURL_BIN"]
STATE_TEST = os.environ.get("STATE_TEST_BIN", BINARY)
USER = pwd.getpwuid(os.getuid()).pw_name
INSTANCES = int(os.environ.get("INSTANCES", 1000))
HOSTS = int(os.environ.get("HOSTS", 100))
STATES = 50
ROUNDS = int(os.environ.get("ROUNDS", 3))

# The limits: CPU time relative to the shell loop, and wall time relative to `state test`.
MOST_OF_LOOP = 1.3
MOST_OF_STATE_TEST = 0.5

CHECK = "test -e ensemble.yaml"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def ensemble(folder):
    """Writes an ensemble whose instances all have the same trivial check."""
    nodes = "".join(f"        n{n}: {{type: Checked}}\n" for n in range(INSTANCES))
    write(f"{folder}/ensemble.yaml", f"""apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Checked:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard: {{operations: {{configure: {{implementation: Template, inputs: {{run: made}}}}}}}}
          Install:
            operations:
              check:
                implementation: Shell
                inputs:
                  command: "{CHECK}"
                  resultTemplate:
                    readyState: "{{{{ 'ok' if success else 'error' }}}}"
    topology_template:
      node_templates:
{nodes}""")


def tree(folder):
    """Writes a state tree of files in a folder for each host."""
    out = os.path.join(folder, "out")
    # The hosts are all this machine. Two of them that make the same folder at once would be in each other's way.
    os.makedirs(out)
    write(f"{folder}/states/small.sls", "".join(
        f"f{n}:\n  file.managed:\n    - name: {out}/{{{{ grains['id'] }}}}/f{n}\n    - contents: hello {n}\n"
        "    - makedirs: true\n" for n in range(STATES)
    ))


class Best:
    """The minimum of each figure, because noise only adds."""

    def __init__(self):
        self.rows = {}

    def take(self, name, row):
        old = self.rows.get(name, row)
        self.rows[name] = tuple(min(pair) for pair in zip(old, row))
        return self.rows[name]

    def show(self):
        for name, (wall, cpu, memory) in self.rows.items():
            print(f"{name:34} {wall:8.2f} s wall {cpu:8.3f} s CPU {memory:8.1f} MB")


def checks(best, folder):
    env = {"UNFURL_HOME": "", "UNFURL_SKIP_UPSTREAM_CHECK": "1", "HOME": folder}
    ensemble(folder)
    measure([BINARY, "deploy", "--approve"], folder, env)
    # The same as a job does: a shell for each command.
    loop = f"n=0; while [ $n -lt {INSTANCES} ]; do sh -c '{CHECK}' || exit 1; n=$((n + 1)); done"
    bash = f"n=0; while [ $n -lt {INSTANCES} ]; do bash -c '{CHECK}' || exit 1; n=$((n + 1)); done"
    for _ in range(ROUNDS):
        best.take("shell loop (sh)", measure(["sh", "-c", loop], folder))
        best.take("shell loop (bash)", measure(["sh", "-c", bash], folder))
        best.take(f"drift, {INSTANCES} instances", measure([BINARY, "drift"], folder, env))


def hosts(best, folder, server):
    named = ",".join(f"{USER}@127.0.0.{n}:{server.port}" for n in range(1, HOSTS + 1))
    login = ["-k", "--no-ssh-config", "--known-hosts", server.known, "-H", named]
    root = ["--file-root", f"{folder}/states"]
    test = ["state", "test", "small", "-i", server.key, "-a", "--state-output", "terse", *root, *login]
    look = ["drift", "--states", "small", "--identity", server.key, "--no-agent", *root, *login]
    apply = ["state", "apply", "small", "--approve", "-i", server.key, "-a", "--state-output", "terse", *root, *login]
    measure([BINARY, *apply], folder)
    for _ in range(ROUNDS):
        best.take(f"state test, {HOSTS} x {STATES}", measure([STATE_TEST, *test], folder))
        best.take(f"drift, {HOSTS} x {STATES}", measure([BINARY, *look], folder))


def judge(rows):
    by_shell = {"sh": rows["shell loop (sh)"][1], "bash": rows["shell loop (bash)"][1]}
    cpu = rows[f"drift, {INSTANCES} instances"][1]
    wall = rows[f"drift, {HOSTS} x {STATES}"][0] / rows[f"state test, {HOSTS} x {STATES}"][0]
    print(f"CPU against a loop of sh           {cpu / by_shell['sh']:8.2f}")
    checks = [
        ("CPU against a loop of bash", cpu / by_shell["bash"], MOST_OF_LOOP),
        ("wall time against state test", wall, MOST_OF_STATE_TEST),
    ]
    measuring.judge(checks)


def main():
    best = Best()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        checks(best, folder)
        tree(folder)
        server = Server(folder)
        try:
            hosts(best, folder, server)
        finally:
            server.stop()
    best.show()
    judge(best.rows)


if __name__ == "__main__":
    main()
