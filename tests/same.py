"""Compares two builds of this program byte for byte.

    same.py OLD NEW [--shared FOLDER] [--random N] [--seed N] [--group NAME...] [--case TEXT]
            [--jobs N] [--timeout S] [--keep FOLDER]

Both run the same shell lines in the same folder, one after the other: the cases of the corpus, the
examples of ensembles/, ensembles that look at their own locks, N random topologies, and validations
of the corpus of TOSCA files. After each line, the exit code, stdout, stderr, the list of files, all
bytes of the changed files, and the history of each git repository are compared.

Times, ids and process ids of a run are renamed in the order of their first occurrence; those
that `--starttime` fixes are compared unchanged. Both builds run a differing case again, at
most five times. A result that is never the same counts as a difference. Lines that vary within OLD are
ignored, and their case is reported as unsteady.

The output has one line per group and the first 20 differences as diffs. The exit code is 1 if there is one.
"""

import argparse
import collections
import concurrent.futures
import difflib
import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import same_cases
import same_random
from same_names import Names, masked

MOST_DIFFS = 20
MOST_OF_A_CASE = 4
MOST_LINES = 60
MOST_LETTERS = 6000
TRIES = 6
# The kinds of results that are compared, in the order of the output.
KINDS = ("exit", "stdout", "stderr", "records", "locks", "rendered", "other", "trees", "git")
# Folders that `repositories` and `history` read.
APART = {".git"}
KEY = "local/digest.key"
CACHES = {"__pycache__", ".terraform"}


class World:
    """A folder in which both builds run one after the other, so that they see the same paths."""

    def __init__(self, base, options):
        self.base, self.options = base, options
        self.work, self.home = f"{base}/w", f"{base}/h"

    def environment(self, case):
        variables = {
            "PATH": f"{self.home}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": self.home,
            "TMPDIR": f"{self.home}/tmp",
            "UNFURL_TMPDIR": f"{self.home}/tmp",
            "UNFURL_SEARCH_ROOT": self.base,
            "UNFURL_HOME": "",
            "UNFURL_NORUNTIME": "1",
            "UNFURL_SKIP_UPSTREAM_CHECK": "1",
            "UNFURL_PARALLEL": "1",
            "NO_COLOR": "1",
            "PY_COLORS": "0",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TERM": "dumb",
            "COLUMNS": "200",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "CHECKPOINT_DISABLE": "1",
            "TF_CLI_CONFIG_FILE": "/dev/null",
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.com",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@example.com",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "SHARED": self.options.shared,
            # The folder into which operations copy what they see.
            "SEEN": f"{self.base}/seen",
        }
        variables.update(case.variables)
        return {name: value for name, value in variables.items() if value is not None}

    def fresh(self, case, binary):
        shutil.rmtree(self.base, ignore_errors=True)
        for folder in (self.work, f"{self.home}/bin", f"{self.home}/tmp", f"{self.base}/seen"):
            os.makedirs(folder)
        # A symbolic link would reveal the path of the binary to a program that reads /proc/self/exe.
        os.link(binary, f"{self.home}/bin/unfurl")
        if case.source:

            def left_out(folder, names):
                return case.left_out & set(names) if folder == case.source else CACHES & set(names)

            shutil.copytree(case.source, self.work, ignore=left_out, symlinks=True, dirs_exist_ok=True)
        for path, text in case.files.items():
            self.write(path, text)

    def write(self, path, text):
        path = f"{self.work}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        if path.endswith(KEY):
            os.chmod(path, 0o600)

    def run(self, case, binary):
        """Returns the results of a build for a case as (step, kind, name, text), with the names of this run replaced."""
        self.fresh(case, binary)
        before, seen, names = {}, [], Names()
        for number, step in enumerate(case.steps, 1):
            if callable(step):
                step(self)
                continue
            # Lines of set-up, such as `git init`, run like the others.
            code, out, err = self.shell(case, step.removeprefix("!"))
            title = f"{number}: {step}"
            seen += [(title, "exit", "", f"{code}\n"), (title, "stdout", "", out), (title, "stderr", "", err)]
            after, tree = self.files()
            seen.append((title, "trees", "", tree))
            for path, content in after.items():
                if before.get(path) != content:
                    seen.append((title, kind_of(path), path, content))
            before = after
            for folder in self.repositories():
                seen.append((title, "git", folder, self.history(folder, names)))
        self.end_what_still_runs()
        named, places = [], collections.Counter()
        for title, kind, path, text in seen:
            step = title.partition(":")[0]
            places[step] += 1
            path = names.in_text(without_order(case, path), step)
            text = names.in_text(prepared(case, kind, path, text), f"{step}.{places[step]}")
            named.append((title, kind, path, text))
        return named

    def shell(self, case, line):
        process = subprocess.Popen(
            ["/bin/bash", "-c", line],
            cwd=self.work,
            env=self.environment(case),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=self.options.timeout)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            code = "took too long"
        return code, out.decode("utf-8", "backslashreplace"), err.decode("utf-8", "backslashreplace")

    def files(self):
        """Returns each file by its path with its content, in an order that does not depend on the names of
        this run, and the list of all paths."""
        found, tree = [], []
        for folder, folders, names in os.walk(self.base):
            here = os.path.relpath(folder, self.base)
            if is_bare(folder):
                folders.clear()
                continue
            if here == "h":
                folders[:] = [name for name in folders if name != "bin"]
            folders[:] = [name for name in folders if name not in APART | CACHES]
            for name in folders + names:
                path = os.path.normpath(f"{here}/{name}")
                try:
                    at, mode = f"{self.base}/{path}", os.lstat(f"{self.base}/{path}").st_mode
                    if os.path.islink(at):
                        content = f"link to {os.readlink(at)}\n"
                    elif os.path.isfile(at):
                        with open(at, "rb") as file:
                            content = file.read().decode("utf-8", "backslashreplace")
                    else:
                        content = None
                except FileNotFoundError:
                    continue
                tree.append((masked(path), path, mode))
                if content is not None:
                    found.append((path, content))
        lines = [f"{mode:o} {path}\n" for _, path, mode in sorted(tree)]
        alike = collections.Counter(masked(path) for path, _ in found)

        def order(file):
            name = masked(file[0])
            return name, masked(file[1]) if alike[name] > 1 else "", file[0]

        return dict(sorted(found, key=order)), "".join(lines)

    def repositories(self):
        found = []
        for folder, folders, names in os.walk(self.base):
            if ".git" in folders or ".git" in names:
                found.append(os.path.relpath(folder, self.base))
            if is_bare(folder):
                found.append(os.path.relpath(folder, self.base))
                folders.clear()
            folders[:] = sorted(name for name in folders if name != ".git")
        return sorted(found)

    def history(self, folder, names):
        """Returns the commits of a repository with their changes, its state, and its configuration."""

        def git(*arguments):
            command = ["git", "-c", "safe.directory=*", "-C", f"{self.base}/{folder}", *arguments]
            done = subprocess.run(command, capture_output=True, env=os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"})
            return (done.stdout + done.stderr).decode("utf-8", "backslashreplace")

        names.commits.update(git("rev-list", "--all", "--reflog").split())
        shown = [git("log", "--all", "--reflog", "--topo-order", "--name-status", "--format=%H %P%n%an <%ae>%n%cn%n%B")]
        shown += [git("status", "--short", "--branch"), git("for-each-ref", "--format=%(refname) %(objectname)")]
        for name in ("config", "info/exclude", "info/attributes"):
            path = f"{self.base}/{folder}/.git/{name}"
            if os.path.isfile(path):
                with open(path, errors="backslashreplace") as file:
                    shown.append(f"-- {name}\n{file.read()}")
        return "\n".join(shown)

    def end_what_still_runs(self):
        """Ends the servers whose process ids an example left in its folder."""
        for folder, _, names in os.walk(self.work):
            if "pid" not in names:
                continue
            try:
                with open(f"{folder}/pid") as file:
                    pid = int(file.read())
                # A process that reuses the id does not run in this folder.
                if os.readlink(f"/proc/{pid}/cwd").startswith(self.base):
                    os.kill(pid, signal.SIGKILL)
            except (OSError, ValueError):
                continue


def is_bare(folder):
    """Whether a folder is a git folder, such as a bare repository."""
    return os.path.isfile(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects")


def kind_of(path):
    """Returns the kind of a file: a record, a lock, rendered for a job, or other."""
    parts, name = path.split("/"), os.path.basename(path)
    if name.endswith(".lock"):
        return "locks"
    if {"planned", "active", "failed", "previous"} & set(parts[:-1]):
        return "rendered"
    if name.endswith(("ensemble.yaml", "jobs.tsv")) or {"changes", "jobs"} & set(parts[:-1]):
        return "records"
    return "other"


def prepared(case, kind, path, text):
    """Returns the text with a word before each number that is to be replaced by a name."""
    if kind == "locks" or os.path.basename(path) == "pid":
        text = re.sub(r"\A(?=\d+\n?\Z)", "process ", text)
    if path.endswith(".journal"):
        text = "".join(map(with_sum_checked, text.splitlines(keepends=True)))
    if KEY not in case.files:
        text = re.sub(r"(digestSecret|digestKey|digestSalt)(: ?|=|\": ?\")(?=[0-9a-f])", r"\1\2secret ", text)
        if path.endswith(KEY):
            text = f"secret {text}"
    text = without_order(case, text)
    if not case.orderless or kind == "exit":
        return text
    return "".join(sorted(masked(text).splitlines(keepends=True)))


def without_order(case, text):
    """Returns the text without task numbers if the order in which tasks end is irrelevant."""
    return re.sub(r"\b(A[0-9A-Za-z]{7})[0-9a-f]{4}\b", r"\1<task>", text) if case.orderless else text


def with_sum_checked(line):
    """Returns a line of a journal with a word for its checksum, which depends on the times in it."""
    found, _, rest = line.partition(" ")
    right = hashlib.sha256(rest.rstrip("\n").encode()).hexdigest()[: len(found)]
    return f"{'right' if found == right else f'wrong sum {found}'} {rest}"


class Verdict:
    """The result of a case."""

    def __init__(self, case):
        self.case, self.counts, self.differences = case, collections.Counter(), []
        self.runs, self.unsteady = 0, []


def compared(case, world, options):
    verdict = Verdict(case)
    old, new = [numbered(world.run(case, options.old))], [numbered(world.run(case, options.new))]
    verdict.counts.update(kind for _, kind, _, _ in old[0])
    verdict.runs = sum(isinstance(step, str) for step in case.steps)
    while differing(old, new) and len(old) < TRIES:
        old.append(numbered(world.run(case, options.old)))
        new.append(numbered(world.run(case, options.new)))
    verdict.differences = [difference(case, key, old[0], new[0]) for key in differing(old, new)]
    for answers in (old, new):
        for other in answers[1:]:
            keys = differing(answers[:1], [other])
            verdict.unsteady += [difference(case, key, answers[0], other) for key in keys]
    return verdict


def numbered(answer):
    """Returns the texts by step, kind, name, and a number that tells equal keys apart."""
    texts, seen = {}, collections.Counter()
    for step, kind, name, text in answer:
        seen[step, kind, name] += 1
        texts[step, kind, name, seen[step, kind, name]] = text
    return texts


def differing(old, new):
    """Returns the keys for which the new build never matches the old one, in the order of the steps."""
    keys = {key: None for answer in (*old, *new) for key in answer}
    texts = ((key, [[answer.get(key) for answer in answers] for answers in (old, new)]) for key in keys)
    return [key for key, (olds, news) in texts if not is_met(olds, news)]


def is_met(old, new):
    """Whether one of the old texts equals one of the new texts.

    If the texts vary from run to run, each line is compared separately. A line that varies within the
    old build may have any text.
    """
    if not set(old).isdisjoint(new):
        return True
    if None in old + new or len(set(old)) == len(set(new)) == 1:
        return False
    old, new = ([text.split("\n") for text in texts] for texts in (old, new))
    if len({len(lines) for lines in old + new}) > 1:
        return False
    places = ((set(left), set(right)) for left, right in zip(zip(*old), zip(*new)))
    return all(len(left) > 1 or not left.isdisjoint(right) for left, right in places)


def difference(case, key, old, new):
    """Returns the kind of the difference, and a diff."""
    step, kind, name, _ = key
    title = " ".join(word for word in (case.name, step[:200].replace("\n", " "), kind, name) if word)
    texts = [answer.get(key, "(there is none)\n").splitlines(keepends=True) for answer in (old, new)]
    lines = list(difflib.unified_diff(*texts, f"old: {title}", f"new: {title}"))
    cut = [f"... and {len(lines) - MOST_LINES} lines\n"] if len(lines) > MOST_LINES else []
    lines = [line if line.endswith("\n") else line + "\n\\ no end of line\n" for line in lines]
    return kind, "".join(lines[:MOST_LINES] + cut)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--shared", default="../shared", help="the folder that holds corpus/")
    parser.add_argument("--random", type=int, default=200, help="the number of random topologies")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first random topology")
    parser.add_argument("--group", nargs="*", choices=[*same_cases.GROUPS, "random"], help="run only these groups")
    parser.add_argument("--case", default="", help="run only cases whose names contain this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=120, help="the timeout of one shell line, in seconds")
    parser.add_argument("--keep", help="a folder for all diffs, one file per case")
    options = parser.parse_args()
    options.old, options.new = (os.path.abspath(path) for path in (options.old, options.new))
    options.shared = os.path.abspath(options.shared)
    return options


def groups(options):
    made = {name: (lambda make=make: make(options)) for name, make in same_cases.GROUPS.items()}
    made["random"] = lambda: same_random.cases(options.seed, options.random)
    for name, make in made.items():
        if options.group and name not in options.group:
            continue
        cases, skipped = make()
        yield name, [case for case in cases if options.case in case.name], skipped


def main():
    options = arguments()
    shown = 0
    failed = False
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    # A memory disk if possible, because jobs often wait for the disk.
    memory = "/dev/shm" if can_run_in("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="same-", dir=memory) as top:
        for number, path in enumerate((options.old, options.new)):
            # Copies, because a build in the background must not replace the compared programs.
            shutil.copy2(path, f"{top}/{number}")
        options.old, options.new = f"{top}/0", f"{top}/1"
        worlds = queue.Queue()
        for number in range(options.jobs):
            worlds.put(World(f"{top}/{chr(ord('a') + number)}", options))

        def judge(case):
            world = worlds.get()
            try:
                return compared(case, world, options)
            finally:
                worlds.put(world)

        for name, cases, skipped in groups(options):
            began, verdicts = time.monotonic(), []
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                for verdict in pool.map(judge, cases):
                    verdicts.append(verdict)
                    keep(options.keep, name, verdict)
            print(line_of(name, verdicts, skipped, time.monotonic() - began), flush=True)
            for verdict in verdicts:
                failed |= bool(verdict.differences)
                for _, diff in verdict.differences[: min(MOST_OF_A_CASE, MOST_DIFFS - shown)]:
                    shown += 1
                    print(diff if len(diff) < MOST_LETTERS else f"{diff[:MOST_LETTERS]}\n... and more", flush=True)
    sys.exit(1 if failed else 0)


def keep(folder, group, verdict):
    """Writes all diffs of a case to files."""
    for word, diffs in (("", verdict.differences), ("-unsteady", verdict.unsteady)):
        if folder and diffs:
            with open(f"{folder}/{group}-{verdict.case.name.replace('/', '_')}{word}.diff", "w") as file:
                file.writelines(diff for _, diff in diffs)


def can_run_in(folder):
    """Whether a folder can hold programs and has more than 2 GiB of free space."""
    if not os.access(folder, os.W_OK):
        return False
    told = os.statvfs(folder)
    return not told.f_flag & os.ST_NOEXEC and told.f_bavail * told.f_frsize > 1 << 31


def line_of(name, verdicts, skipped, seconds):
    counts, wrong = collections.Counter(), collections.Counter()
    for verdict in verdicts:
        counts.update(verdict.counts)
        wrong.update(kind for kind, _ in verdict.differences)
    unlike = [verdict.case.name for verdict in verdicts if verdict.differences]
    unsteady = [verdict.case.name for verdict in verdicts if verdict.unsteady]
    things = ", ".join(
        f"{counts[kind]} {kind}" + (f" ({wrong[kind]} differ)" if wrong[kind] else "")
        for kind in KINDS
        if counts[kind] or wrong[kind]
    )
    words = [f"{name}: {len(verdicts)} cases, {sum(verdict.runs for verdict in verdicts)} lines: {things}:"]
    words.append(f"{len(unlike)} cases differ" if unlike else "the same")
    words.append(f"in {seconds:.0f} s")
    if unsteady:
        words.append(f"; unsteady: {', '.join(unsteady)}")
    if skipped:
        words.append(f"; left out: {', '.join(skipped)}")
    return " ".join(words).replace(" ;", ";")


if __name__ == "__main__":
    main()
