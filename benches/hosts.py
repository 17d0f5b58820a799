"""Measures commands on many hosts. hosts.sh calls this program; README.md describes it."""

import os
import pwd
import sys
import tempfile

import measuring
from measuring import Server, measure

BINARY = os.environ["UNFURL_BIN"]
FABRIC = os.environ.get("FABRIC_PEER")
ANSIBLE = os.environ.get("ANSIBLE_PEER")
USER = pwd.getpwuid(os.getuid()).pw_name
AT_A_TIME = 20
ROUNDS = 3

# The limits.
MOST_OF_FABRIC = 1 / 3
MOST_OF_ANSIBLE = 1 / 20
MOST_MEMORY = 100
MOST_AGAIN = 10

FABRIC_PROGRAM = """\
import sys
from concurrent.futures import ThreadPoolExecutor
from fabric import Config, Connection
key, port, *hosts = sys.argv[1:]
config = Config(overrides={"load_ssh_configs": False})
def run(host):
    options = {"key_filename": key, "look_for_keys": False, "allow_agent": False}
    with Connection(host, port=int(port), connect_kwargs=options, config=config) as connection:
        connection.run("true", hide=True)
with ThreadPoolExecutor(%d) as pool:
    list(pool.map(run, hosts))
""" % AT_A_TIME


def commands(server, hosts, folder):
    """Yields the measured commands: a name, the words, and the environment."""
    spelled = ",".join(f"{USER}@{host}:{server.port}" for host in hosts)
    login = ["-i", server.key, "-a", "-k", "--no-ssh-config", "--known-hosts", server.known]
    yield "unfurl", [BINARY, "run", "-P", "-z", str(AT_A_TIME), *login, "-H", spelled, "--", "true"], None
    tasks = os.path.join(folder, "tasks.yaml")
    with open(tasks, "w") as file:
        file.write("tasks:\n  twice:\n    steps:\n      - run: 'true'\n      - run: 'true'\n")
    yield "unfurl, two commands", [
        BINARY, "task", "-f", tasks, "-P", "-z", str(AT_A_TIME), *login, "-H", spelled, "twice",
    ], None
    addresses = os.path.join(folder, "addresses")
    with open(addresses, "w") as file:
        file.writelines(f"{host}\n" for host in hosts)
    ssh = (
        f"ssh -F none -p {server.port} -i {server.key} -o IdentitiesOnly=yes -o BatchMode=yes "
        f"-o UserKnownHostsFile={server.known} -o StrictHostKeyChecking=yes {USER}@{{}} true"
    )
    yield "OpenSSH, xargs", ["sh", "-c", f"xargs -P {AT_A_TIME} -I {{}} {ssh} <{addresses}"], None
    if FABRIC:
        program = os.path.join(folder, "fabric_true.py")
        with open(program, "w") as file:
            file.write(FABRIC_PROGRAM)
        yield "Fabric", [FABRIC, program, server.key, str(server.port), *hosts], None
    if ANSIBLE:
        inventory = os.path.join(folder, "inventory")
        with open(inventory, "w") as file:
            file.writelines(f"{host} ansible_port={server.port}\n" for host in hosts)
        env = {
            "ANSIBLE_SSH_ARGS": f"-o UserKnownHostsFile={server.known} -o ControlMaster=no",
            "ANSIBLE_LOCAL_TEMP": os.path.join(folder, "ansible"), "ANSIBLE_NOCOLOR": "1",
        }
        yield "Ansible, raw", [
            ANSIBLE, "all", "-i", inventory, "-f", str(AT_A_TIME), "-m", "raw", "-a", "true",
            "--private-key", server.key, "-u", USER,
        ], env


def main():
    count = int(sys.argv[1])
    hosts = [f"127.0.0.{number}" for number in range(1, count + 1)] if count < 255 else sys.exit("at most 254 hosts")
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            # The programs take turns, so that other load of the machine affects all of them.
            for _ in range(ROUNDS):
                for name, words, env in commands(server, hosts, folder):
                    now = measure(words, folder, env)
                    old = best.get(name, now)
                    best[name] = tuple(min(pair) for pair in zip(old, now))
        finally:
            server.stop()
    for name, (wall, cpu, memory) in best.items():
        print(f"{name:22} {wall:8.2f} s wall {cpu:8.2f} s CPU {memory:8.1f} MB")
    judge(best, count)


def judge(best, count):
    wall, cpu, memory = best["unfurl"]
    again = (best["unfurl, two commands"][0] - wall) / count * 1000
    peers = {name: row for name, row in best.items() if not name.startswith("unfurl")}
    fastest = min(row[0] for row in peers.values())
    checks = [
        ("wall against the best peer", wall / fastest, 1.0),
        ("memory, MB", memory, MOST_MEMORY),
        ("a second command, ms a host", again, MOST_AGAIN),
    ]
    if "Fabric" in peers:
        checks.append(("CPU against Fabric", cpu / peers["Fabric"][1], MOST_OF_FABRIC))
    if "Ansible, raw" in peers:
        checks.append(("CPU against Ansible", cpu / peers["Ansible, raw"][1], MOST_OF_ANSIBLE))
    measuring.judge(checks, width=30, digits=3)


if __name__ == "__main__":
    main()
