"""Measures commands and files on many hosts. hosts.sh calls this program; README.md describes it."""

import os
import pwd
import statistics
import subprocess
import sys
import tempfile

import measuring
from measuring import Server, measure

BINARY = os.environ["UNFURL_BIN"]
FABRIC = os.environ.get("FABRIC_PEER")
ANSIBLE = os.environ.get("ANSIBLE_PEER")
USER = pwd.getpwuid(os.getuid()).pw_name
AT_A_TIME = 20
ROUNDS = int(os.environ.get("ROUNDS", "5"))

# Runs commands on hosts: a key, a port, the number of threads, the number of commands, then the hosts.
FABRIC_COMMANDS = """\
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from fabric import Config, Connection
key, port, threads, count, *hosts = sys.argv[1:]
options = {"key_filename": key, "look_for_keys": False, "allow_agent": False}
own = threading.local()
# Fabric rebuilds a configuration at times, and other threads would find it empty.
def begin():
    own.config = Config(overrides={"load_ssh_configs": False})
def run(host):
    with Connection(host, port=int(port), connect_kwargs=options, config=own.config) as connection:
        for _ in range(int(count)):
            connection.run("true", hide=True)
with ThreadPoolExecutor(int(threads), initializer=begin) as pool:
    list(pool.map(run, hosts))
"""


class Place:
    """The server and the folder of a measurement."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.login = ["-i", server.key, "-a", "-k", "--no-ssh-config", "--known-hosts", server.known]
        self.options = (
            f"-i {server.key} -o IdentitiesOnly=yes -o BatchMode=yes "
            f"-o UserKnownHostsFile={server.known} -o StrictHostKeyChecking=yes"
        )

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def unfurl(self, command, hosts, words, at_a_time=AT_A_TIME):
        spelled = ",".join(f"{USER}@{host}:{self.server.port}" for host in hosts)
        return [BINARY, *command, "-P", "-z", str(at_a_time), *self.login, "-H", spelled, *words]

    def fabric(self, hosts, count, at_a_time=AT_A_TIME):
        program = self.write("fabric_commands.py", FABRIC_COMMANDS)
        numbers = [str(self.server.port), str(at_a_time), str(count)]
        return [FABRIC, program, self.server.key, *numbers, *hosts]

    def on_each(self, hosts, text, at_a_time=AT_A_TIME):
        """Runs a shell command for each host, which is `{}` in it."""
        addresses = self.write("addresses", "".join(f"{host}\n" for host in hosts))
        return ["sh", "-c", f"xargs -P {at_a_time} -I {{}} {text} <{addresses}"]


def addresses(count):
    return [f"127.0.{at // 250 + 1}.{at % 250 + 1}" for at in range(count)]


def in_turns(programs, folder, rounds=ROUNDS):
    """Runs the programs in turns, so that other load of the machine affects all. Returns the medians by name."""
    rows = {name: [] for name in programs}
    for _ in range(rounds):
        for name, (words, env) in programs.items():
            rows[name].append(measure(words, folder, env))
    medians = {name: tuple(map(statistics.median, zip(*row))) for name, row in rows.items()}
    for name, (wall, cpu, memory) in medians.items():
        print(f"  {name:22} {wall:8.2f} s wall {cpu:8.2f} s CPU {memory:8.1f} MB", flush=True)
    return medians


def against(medians, peer, what, most):
    """Returns the check of the CPU time against that of a peer, if the peer was measured."""
    if peer not in medians:
        return []
    return [(f"{what}: CPU against {peer}", medians["unfurl"][1] / medians[peer][1], most)]


def hundred(place):
    hosts = addresses(100)
    tasks = place.write("tasks.yaml", "tasks:\n  twice:\n    steps:\n      - run: 'true'\n      - run: 'true'\n")
    ssh = f"ssh -F none -p {place.server.port} {place.options} {USER}@{{}} true"
    programs = {
        "unfurl": (place.unfurl(["run"], hosts, ["--", "true"]), None),
        "unfurl, two commands": (place.unfurl(["task", "-f", tasks], hosts, ["twice"]), None),
        "OpenSSH, xargs": (place.on_each(hosts, ssh), None),
    }
    if FABRIC:
        programs["Fabric"] = (place.fabric(hosts, 1), None)
    if ANSIBLE:
        inventory = place.write("inventory", "".join(f"{host} ansible_port={place.server.port}\n" for host in hosts))
        env = {
            "ANSIBLE_SSH_ARGS": f"-o UserKnownHostsFile={place.server.known} -o ControlMaster=no",
            "ANSIBLE_LOCAL_TEMP": os.path.join(place.folder, "ansible"), "ANSIBLE_NOCOLOR": "1",
        }
        words = [ANSIBLE, "all", "-i", inventory, "-f", str(AT_A_TIME), "-m", "raw", "-a", "true"]
        programs["Ansible, raw"] = (words + ["--private-key", place.server.key, "-u", USER], env)
    medians = in_turns(programs, place.folder)
    wall, _, memory = medians["unfurl"]
    again = (medians["unfurl, two commands"][0] - wall) / len(hosts) * 1000
    fastest = min(row[0] for name, row in medians.items() if not name.startswith("unfurl"))
    return [
        ("100 hosts: wall against the best peer", wall / fastest, 1.0),
        ("100 hosts: memory, MB", memory, 20),
        ("100 hosts: a second command, ms a host", again, 10),
        *against(medians, "Fabric", "100 hosts", 1 / 7),
        *against(medians, "Ansible, raw", "100 hosts", 1 / 20),
    ]


def thousand(place):
    hosts = addresses(1000)
    at_a_time = 100
    programs = {"unfurl": (place.unfurl(["run"], hosts, ["--", "true"], at_a_time), None)}
    if FABRIC:
        programs["Fabric"] = (place.fabric(hosts, 1, at_a_time), None)
        programs[f"Fabric, {AT_A_TIME} threads"] = (place.fabric(hosts, 1), None)
    medians = in_turns(programs, place.folder, min(ROUNDS, 3))
    return [
        ("1,000 hosts: memory, MB", medians["unfurl"][2], 60),
        *against(medians, "Fabric", "1,000 hosts", 1 / 9),
    ]


def commands(place):
    hosts = addresses(20)
    tasks = place.write("tasks.yaml", "tasks:\n  many:\n    steps:\n" + "      - {run: 'true', quiet: true}\n" * 50)
    programs = {"unfurl": (place.unfurl(["task", "-f", tasks], hosts, ["many"]), None)}
    if FABRIC:
        programs["Fabric"] = (place.fabric(hosts, 50), None)
    return against(in_turns(programs, place.folder), "Fabric", "20 x 50 commands", 1 / 8)


def files(place):
    hosts = addresses(5)
    source = os.path.join(place.folder, "source")
    # Another program writes the file: the memory of this one would count as that of the programs that it starts.
    subprocess.run(["sh", "-c", f"head -c {50 << 20} /dev/urandom >{source}"], check=True)
    for host in hosts:
        os.mkdir(os.path.join(place.folder, host))
    put = place.unfurl(["put"], hosts, [source, os.path.join(place.folder, "put")])
    scp = f"scp -q -F none -P {place.server.port} {place.options} {source} {USER}@{{}}:{place.folder}/{{}}/scp"
    programs = {"unfurl": (put, None), "scp, xargs": (place.on_each(hosts, scp), None)}
    medians = in_turns(programs, place.folder)
    return [("50 MB to 5 hosts: wall against scp", medians["unfurl"][0] / medians["scp, xargs"][0], 1.0)]


def output(place):
    line = "x" * 99
    command = f"yes {line} | head -c 100000000"
    words = place.unfurl(["run"], addresses(1), ["--no-stdin", "--", command])
    medians = in_turns({"unfurl": (words, None)}, place.folder, min(ROUNDS, 3))
    return [("100 MB of output with prefixes: s CPU", medians["unfurl"][1], 3)]


CASES = {case.__name__: case for case in (hundred, thousand, commands, files, output)}


def main():
    names = sys.argv[1:] or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        sys.exit(f"error: no case {unknown[0]}; the cases are {', '.join(CASES)}")
    checks = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            for name in names:
                print(f"{name}:", flush=True)
                checks += CASES[name](Place(server, folder))
        finally:
            server.stop()
    measuring.judge(checks, width=42, digits=3)


if __name__ == "__main__":
    main()
