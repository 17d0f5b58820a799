"""Starts, stops and watches a process of this machine.

    service.py start FOLDER PORT COMMAND...   starts COMMAND in FOLDER and waits until PORT answers
    service.py stop FOLDER                    stops it and waits until it is gone
    service.py remove FOLDER                  stops it and removes FOLDER
    service.py status FOLDER PORT             prints ok, error or absent

The process gets a session of its own, so that it outlives the job that started it; its id is in
FOLDER/pid and what it prints in FOLDER/output.log.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

LIMIT = 10.0  # seconds


def answers(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def running(folder):
    """The id of the process, or None. A process that merely got the old number does not count:
    ours runs in its folder."""
    try:
        with open(os.path.join(folder, "pid")) as file:
            pid = int(file.read())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    here = f"/proc/{pid}/cwd"
    if os.path.isdir("/proc/self"):
        try:
            if os.path.realpath(here) != os.path.realpath(folder):
                return None
        except OSError:
            return None
    return pid


def start(folder, port, command):
    if running(folder):
        stop(folder)
    if answers(port):
        sys.exit(f"port {port} of 127.0.0.1 is taken by another process")
    with open(os.path.join(folder, "output.log"), "ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with open(os.path.join(folder, "pid"), "w") as file:
        file.write(f"{process.pid}\n")
    deadline = time.monotonic() + LIMIT
    while not answers(port):
        if process.poll() is not None:
            sys.exit(f"it ended at once with {process.returncode}, see {folder}/output.log")
        if time.monotonic() > deadline:
            stop(folder)
            sys.exit(f"port {port} did not answer within {LIMIT:.0f} seconds")
        time.sleep(0.02)
    print(f"process {process.pid} listens on 127.0.0.1:{port}")


def stop(folder):
    pid = running(folder)
    deadline = time.monotonic() + LIMIT
    while pid and running(folder):
        late = time.monotonic() > deadline
        os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        time.sleep(0.02)
    try:
        os.remove(os.path.join(folder, "pid"))
    except FileNotFoundError:
        pass


def remove(folder):
    stop(folder)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        os.rmdir(os.path.dirname(folder))
    except OSError:
        pass  # the other service still has its folder there


def status(folder, port):
    if running(folder) and answers(port):
        return "ok"
    return "error" if os.path.isdir(folder) else "absent"


def main(action, folder, *rest):
    if action == "start":
        start(folder, int(rest[0]), rest[1:])
    elif action == "stop":
        stop(folder)
    elif action == "remove":
        remove(folder)
    elif action == "status":
        print(status(folder, int(rest[0])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
