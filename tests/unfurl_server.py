"""Runs commands of the real Unfurl, which is imported once and forked for each command.

    unfurl_server.py SOCKET

The server listens on the Unix socket SOCKET until its standard input ends. It must run in a Python that has
Unfurl (`tests/python.sh FOLDER tests/data/unfurl-packages.txt` creates one). `client(PYTHON, SOCKET)`
returns the text of a program that behaves like `unfurl`: the server runs the command with the program's
arguments, working directory, environment and standard streams, and the program ends with its exit code.
"""

import array
import json
import os
import select
import signal
import socket
import struct
import sys

HEADER = struct.Struct("!I")


def client(python, path):
    """Returns the text of a program that runs a command through the server at `path`."""
    return f"""#!{python} -IS
import array, json, os, socket, struct, sys
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
server.sendmsg([struct.pack("!I", len(asked))], streams)
server.sendall(asked)
code = server.recv(1)
sys.exit(code[0] if code else "the Unfurl server ended")
"""


def exactly(connection, length):
    got = b""
    while len(got) < length:
        more = connection.recv(length - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def receive(connection):
    """Returns the standard streams and the command to run on them."""
    streams = array.array("i")
    header, ancillary, _, _ = connection.recvmsg(HEADER.size, socket.CMSG_SPACE(12))
    for _, _, data in ancillary:
        streams.frombytes(data)
    header += exactly(connection, HEADER.size - len(header))
    return streams, *json.loads(exactly(connection, HEADER.unpack(header)[0]))


def run(main, set_by_import, arguments, folder, environment):
    """Runs the command in this process and ends the process."""
    code = 70
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update({**set_by_import, **environment})
        sys.argv = ["unfurl", *arguments]
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        print(f"Unfurl ended with {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 255)


def handle(connection, main, set_by_import):
    """Runs one command in a child process and sends its exit code."""
    streams, *command = receive(connection)
    child = os.fork()
    if child == 0:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 64)
        run(main, set_by_import, *command)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.sendall(bytes([code if code >= 0 else 128 - code]))


def serve(path):
    before = set(os.environ)
    from unfurl.__main__ import main

    set_by_import = {name: os.environ[name] for name in os.environ if name not in before}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # The caller holds the standard input open. The server ends when the standard input ends.
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            try:
                handle(connection, main, set_by_import)
            except (EOFError, OSError) as error:
                print(f"the Unfurl server could not answer: {error}", file=sys.stderr)
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    serve(sys.argv[1])
