"""An SSH server and the measurement of commands, shared by the benchmarks over hosts."""

import os
import shutil
import socket
import subprocess
import sys
import time

# An ensemble with one node, up to the implementation of its operation `configure`.
ONE_NODE = """apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
"""


class Server:
    """An sshd that listens on all addresses of this machine, such as 127.0.0.N."""

    def __init__(self, folder):
        self.key = os.path.join(folder, "id")
        host_key = os.path.join(folder, "host")
        for key in (self.key, host_key):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # An empty home, because the start-up files of a shell would take more time than everything else.
        home = os.path.join(folder, "home")
        os.mkdir(home)
        config = os.path.join(folder, "sshd_config")
        with open(config, "w") as file:
            file.write(
                f"ListenAddress 0.0.0.0:{self.port}\nHostKey {host_key}\nAuthorizedKeysFile {self.key}.pub\n"
                "StrictModes no\nUsePAM no\nMaxStartups 500\nMaxSessions 100\nPrintMotd no\nUseDNS no\n"
                f"PidFile {folder}/sshd.pid\nSubsystem sftp internal-sftp\nSetEnv HOME={home}\n"
            )
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if not sshd:
            sys.exit("error: sshd is missing; install openssh-server")
        self.process = subprocess.Popen([sshd, "-D", "-e", "-f", config], stderr=subprocess.DEVNULL)
        self.known = os.path.join(folder, "known_hosts")
        with open(host_key + ".pub") as file:
            kind, text = file.read().split()[:2]
        with open(self.known, "w") as file:
            file.write(f"[127.*]:{self.port} {kind} {text}\n")
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        sys.exit("error: sshd did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure(words, folder, env=None):
    """Runs a command. Returns wall seconds, CPU seconds including its children, and its memory in MB."""
    with open(os.path.join(folder, "messages"), "w+b") as messages:
        began = time.perf_counter()
        process = subprocess.Popen(
            words, cwd=folder, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=messages, stderr=messages,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            messages.seek(0)
            tail = messages.read().decode(errors="replace")[-2000:]
            sys.exit(f"error: {words[0]} exits with {process.returncode}:\n{tail}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def judge(checks, width=34, digits=4):
    """Prints each check, a name with a value and its limit, and exits with 1 if a value is above its limit."""
    too_much = False
    for name, value, most in checks:
        mark = "" if value <= most else "  TOO MUCH"
        too_much = too_much or value > most
        print(f"{name:{width}} {value:8.{digits}f} of {most:.{digits}f}{mark}")
    sys.exit(1 if too_much else 0)
