"""Checks that ensembles can move between this program and the real Unfurl.

    hands.py UNFURL PYTHON CORPUS EXCEPTIONS.tsv [CASE...] [--keep FOLDER]

PYTHON has Unfurl 1.2 (`tests/python.sh FOLDER tests/data/unfurl-packages.txt` creates it). Cases are those of
CORPUS and of `tests/data/hands`. A case is eligible if Unfurl deploys it with status ok and a second deploy by Unfurl runs no task. The checks of an
eligible case are:

    back    Unfurl deploys. Then UNFURL runs no task and changes no tracked byte. Its teardown leaves the
            same instances as Unfurl's teardown, and Unfurl shows the same status for them.
    forth   UNFURL deploys. Then Unfurl shows the same status as for its own deployment, runs no task, and
            its teardown leaves the same instances as after its own deployment.
    clean   UNFURL deploys in a git repository. All files that git ignores are deleted. Then UNFURL runs no
            task and changes no tracked byte.

A failing check must have a row in EXCEPTIONS.tsv (case, check, reason, and the command that shows it). At most
two cases may have one. A row whose check passes, or whose command is none, is a failure.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import unfurl_server
import yaml

LEAST_CASES = 40
MOST_EXCEPTIONS = 2
CHECKS = ("back", "forth", "clean")
OWN_CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "hands")
# The .gitignore in Unfurl's project skeleton.
GITIGNORE = """\
.DS_Store
Thumbs.db
.vscode
.idea/
__pycache__
**/local
**/tmp
*.tmp.*
*.log
**/.terraform/*
*.tfstate
*.tfstate.json
*.backup
**/jobs
*.local.*
*.lock
**/planned
**/tasks
**/operation
**/workflow
**/failed.*
**/secrets
"""
# The conformance cases of Terraform have no vault password. Without one, this program encrypts the state to a key that
# Unfurl does not have. The cases `tf-` have one.
HAS_NO_VAULT = ("terraform-",)
NEEDS_TERRAFORM = ("tf-",)
NO_INPUT = {"expected.json", "expected-head.json", "skip-facets", "cmds", "origin", "notes"}
DEPLOY = re.compile(r"unfurl -q deploy\b(.*)")
KEPT_OPTIONS = re.compile(r"--var \S+ \S+|--use-environment \S+")
ENVIRONMENT_OPTION = re.compile(r"--use-environment \S+")
# The record in a manifest. Only Unfurl's own reader accepts some of the rest that Unfurl writes.
STATUS = re.compile(r"^status:.*\n(?:[ \n].*\n?)*", re.MULTILINE)
CHANGE_ID = re.compile(r"\bA[0-9A-Za-z]{7}[0-9a-f]{4}\b")


class Wrong(Exception):
    """The problem that a check found."""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """A YAML loader for records. It ignores tags."""


def constructed(loader, _, node):
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


Loader.add_multi_constructor("!", constructed)


class Case:
    """One case of the corpus. It always runs in the same folder, so that paths in records stay valid."""

    def __init__(self, name, options, base):
        self.name, self.base = name, base
        folders = (os.path.join(folder, name) for folder in (OWN_CASES, options.corpus))
        self.source = next(folder for folder in folders if os.path.isdir(folder))
        self.work = os.path.join(base, "w")
        with open(os.path.join(self.source, "cmds")) as file:
            lines = [line.strip() for line in file]
        self.setup, self.deploy_line = first_deploy(lines)
        # The set-up may create a separate project for the ensemble.
        inside = re.match(r"cd (\S+) && ", self.deploy_line or "")
        self.project = os.path.join(self.work, inside[1]) if inside else self.work
        self.bins = {}
        for who, write in (("ours", options.link_ours), ("theirs", options.write_client)):
            self.bins[who] = os.path.join(base, who)
            os.mkdir(self.bins[who])
            write(os.path.join(self.bins[who], "unfurl"))
        for folder in ("home", "tmp"):
            os.mkdir(os.path.join(base, folder))

    def environment(self, who):
        return {
            "PATH": f"{self.bins[who]}:/usr/local/bin:/usr/bin:/bin",
            "HOME": f"{self.base}/home",
            "TMPDIR": f"{self.base}/tmp",
            "UNFURL_TMPDIR": f"{self.base}/tmp",
            "UNFURL_SEARCH_ROOT": self.base,
            "UNFURL_HOME": "",
            "UNFURL_NORUNTIME": "1",
            "UNFURL_SKIP_UPSTREAM_CHECK": "1",
            "UNFURL_PARALLEL": "1",
            "UNFURL_JOBEXITCODE": "never",
            "NO_COLOR": "1",
            "PY_COLORS": "0",
            "PYTHONUTF8": "1",
            "TERM": "dumb",
            "COLUMNS": "200",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "CHECKPOINT_DISABLE": "1",
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.com",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@example.com",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
        }

    def shell(self, who, line):
        return subprocess.run(
            ["/bin/bash", "-c", line],
            cwd=self.work,
            env=self.environment(who),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
        )

    def fresh(self):
        """Restores the files of the case and runs its set-up; Unfurl commands in it run the real Unfurl."""
        shutil.rmtree(self.work, ignore_errors=True)

        def left_out(folder, names):
            return [name for name in names if folder == self.source and name in NO_INPUT]

        shutil.copytree(self.source, self.work, ignore=left_out)
        for line in self.setup:
            self.shell("theirs", line)

    def save(self, name):
        shutil.copytree(self.work, os.path.join(self.base, name), symlinks=True)

    def back_to(self, name):
        shutil.rmtree(self.work)
        shutil.copytree(os.path.join(self.base, name), self.work, symlinks=True)

    def job(self, who, line):
        """Runs a job and returns its summary. The exit code must be 0."""
        done = self.shell(who, line)
        summary = summary_in(done.stdout)
        if done.returncode != 0 or summary is None:
            raise Wrong(f"{who}: exit code {done.returncode}: {tail(done.stderr)}")
        return summary

    def deploy(self, who):
        return self.job(who, self.deploy_line)

    def again(self, who):
        """Deploys again, without the commands that prepared the first deploy."""
        return self.job(who, self.deploy_line.split(";")[-1].strip())

    def other(self, command, options=KEPT_OPTIONS):
        """Returns the line of another command with the variables and the given options of the deploy."""
        line = self.deploy_line.split(";")[-1].strip()
        kept = " ".join(options.findall(DEPLOY.search(line)[1]))
        return DEPLOY.sub(f"{command} {kept}", line)

    def teardown(self, who):
        return self.job(who, self.other("unfurl -q teardown -a --output json"))

    def status(self, who):
        """Returns the output of `unfurl status`: for each instance a line with its parents, without change ids.

        None if Unfurl cannot read its own record: expressions in `{}` whose quotes it dropped.
        """
        done = self.shell(who, self.other("unfurl status", ENVIRONMENT_OPTION))
        if done.returncode != 0 and "while parsing a flow node" in done.stderr:
            return None
        if done.returncode != 0:
            raise Wrong(f"{who}: status: exit code {done.returncode}: {tail(done.stderr)}")
        shown, around = set(), []
        for line in (done.stdout + done.stderr).splitlines():
            told = CHANGE_ID.sub("ID", line.strip())
            if "Instance('" in told:
                depth = (len(line) - len(line.lstrip())) // 4
                around[depth:] = [told]
                shown.add(" > ".join(around))
        return shown

    def tracked(self):
        """Returns the bytes of all files except the working files of jobs."""
        found = {}
        for folder, folders, files in os.walk(self.project):
            folders[:] = [name for name in folders if name not in ("planned", "jobs", ".git")]
            for path in (os.path.join(folder, name) for name in files if not name.endswith(".log")):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.project)] = file.read()
        return found

    def instances(self):
        """Returns local status, effective status and state of each recorded instance, by path."""
        found = {}
        for folder, folders, files in os.walk(self.work):
            folders[:] = [name for name in folders if name not in ("planned", "jobs", "changes", ".git")]
            for name in files:
                if name.endswith("ensemble.yaml"):
                    path = os.path.join(folder, name)
                    with open(path) as file:
                        section = STATUS.search(file.read())
                    status = yaml.load(section[0], Loader)["status"] if section else {}
                    relative = os.path.relpath(path, self.work)
                    walk((status or {}).get("instances"), f"{relative}!", found)
        return found


def first_deploy(lines):
    """Returns the first deploy that is no dry run, and the lines that prepare it."""
    setup = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if line.startswith("!"):
            setup.append(line[1:])
        elif "unfurl -q init" in line:
            setup.append(line.split("#")[0])
        elif DEPLOY.search(line) and "--dryrun" not in line:
            # The checks do not cover commits.
            return setup, line.split("#")[0].replace(" --commit", "")
    return setup, None


def tail(text):
    return " ".join(text.split())[-300:]


def summary_in(text):
    """Returns the last JSON object in `text` that has its own lines."""
    lines = text.split("\n")
    found = None
    for start, line in enumerate(lines):
        if line == "{":
            end = next((n for n in range(start, len(lines)) if lines[n] == "}"), None)
            if end is not None:
                try:
                    found = json.loads("\n".join(lines[start : end + 1]))
                except ValueError:
                    pass
    return found if found and "job" in found else None


def ran(summary):
    """Returns the tasks that ran, including those of jobs for other ensembles."""
    tasks = [task for task in summary.get("tasks") or [] if task.get("status") is not None]
    for other in summary.get("external_jobs") or []:
        tasks += ran(other)
    return tasks


def expect_nothing_ran(summary, who):
    tasks = ran(summary)
    if tasks:
        first = tasks[0]
        raise Wrong(
            f"{who} ran {len(tasks)}: {first['operation']} on {first['target']}, {first['reason']}"
        )
    if summary["job"]["status"] != "ok":
        raise Wrong(f"{who}: no task ran, but the job is {summary['job']['status']}")


def walk(instances, prefix, found):
    for name, instance in (instances or {}).items():
        if not isinstance(instance, dict):
            continue
        ready = instance.get("readyState") or {}
        if not isinstance(ready, dict):
            ready = {"local": ready}
        local = ready.get("local")
        found[prefix + name] = (local, ready.get("effective", local), ready.get("state"))
        walk(instance.get("instances"), f"{prefix}{name}/", found)
        walk((instance.get("substitution") or {}).get("instances"), f"{prefix}{name}:", found)


class NotEligible(Exception):
    """The reason why a case is not eligible."""


def qualify(case):
    """Deploys and tears down with Unfurl; returns the status that Unfurl shows and the instances that it leaves."""
    case.fresh()
    try:
        summary = case.deploy("theirs")
        if summary["job"]["status"] != "ok":
            raise NotEligible(f"Unfurl's deploy is {summary['job']['status']}")
        case.save("deployed")
        status, deployed = case.status("theirs"), case.instances()
        again = case.again("theirs")
        if ran(again):
            raise NotEligible("Unfurl's second deploy runs tasks")
        torn = case.teardown("theirs")
    except Wrong as wrong:
        raise NotEligible(str(wrong)) from None
    return {
        "status": status,
        "deployed": deployed,
        "torn": torn["job"]["status"],
        "left": case.instances(),
        "left status": case.status("theirs"),
    }


def expect_torn_down(case, theirs, torn, who):
    """Expects that the instances that Unfurl tears down are absent, and that none is missing from the record."""
    if torn["job"]["status"] not in ("ok", theirs["torn"]):
        raise Wrong(f"{who}: teardown: the job is {torn['job']['status']}")
    left = case.instances()
    for path, (local, _, _) in theirs["left"].items():
        if path not in left:
            raise Wrong(f"{who}: teardown: {path} is missing from the record")
        if local == "absent" and left[path][0] != "absent":
            raise Wrong(f"{who}: teardown: {path} is {left[path][0]}, not absent")


def expect_status(case, wanted, deployed):
    """Expects that Unfurl shows the same status as for its own deployment."""
    status = case.status("theirs")
    if wanted is None:
        if case.instances() != deployed:
            raise Wrong(f"record: {case.instances()}, not {deployed}")
    elif status != wanted:
        raise Wrong(f"status: {sorted(status - wanted)}, not {sorted(wanted - status)}")


def check_back(case, theirs):
    case.back_to("deployed")
    before = case.tracked()
    expect_nothing_ran(case.again("ours"), "ours")
    changed = before.items() ^ case.tracked().items()
    if changed:
        raise Wrong(f"ours: changed {sorted({path for path, _ in changed})}")
    expect_torn_down(case, theirs, case.teardown("ours"), "ours")
    expect_status(case, theirs["left status"], theirs["left"])


def check_forth(case, theirs):
    case.fresh()
    summary = case.deploy("ours")
    if summary["job"]["status"] != "ok":
        raise Wrong(f"our deploy is {summary['job']['status']}")
    expect_status(case, theirs["status"], theirs["deployed"])
    expect_nothing_ran(case.again("theirs"), "theirs")
    expect_torn_down(case, theirs, case.teardown("theirs"), "theirs")


def check_clean(case, _):
    case.fresh()
    git = "git -c core.hooksPath=/dev/null"
    if case.project == case.work:
        with open(os.path.join(case.project, ".gitignore"), "w") as file:
            file.write(GITIGNORE)
    inside = f"cd {case.project} &&"
    commit = f"{git} add -A && {git} commit -q --allow-empty -m step"
    for line in (f"{git} init -q", commit):
        done = case.shell("ours", f"{inside} {line}")
        if done.returncode != 0:
            raise Wrong(f"{line}: {tail(done.stderr)}")
    case.deploy("ours")
    done = case.shell("ours", f"{inside} {commit} && {git} clean -q -ffdX")
    if done.returncode != 0:
        raise Wrong(f"git: {tail(done.stderr)}")
    expect_nothing_ran(case.again("ours"), "ours")
    changed = case.shell("ours", f"{inside} {git} status --porcelain").stdout
    if changed:
        raise Wrong(f"changed: {' '.join(changed.split())}")


def examine(name, options):
    """Returns a text for each check, empty if it passes; or the reason why the case is not eligible."""
    if options.keep:
        base = os.path.join(options.keep, name)
        os.mkdir(base)
    else:
        base = tempfile.mkdtemp(prefix="hands-")
    try:
        case = Case(name, options, base)
        if case.deploy_line is None:
            return "has no deploy"
        if name.startswith(HAS_NO_VAULT):
            return "has no vault password for the state"
        if name.startswith(NEEDS_TERRAFORM) and shutil.which("terraform") is None:
            return "needs terraform"
        theirs = qualify(case)
        found = {}
        for check, look in zip(CHECKS, (check_back, check_forth, check_clean)):
            try:
                look(case, theirs)
                found[check] = ""
            except Wrong as wrong:
                found[check] = str(wrong)
            except subprocess.TimeoutExpired as late:
                found[check] = f"took more than {late.timeout} s"
            if options.keep:
                case.save(check)
        return found
    except NotEligible as reason:
        return str(reason)
    except subprocess.TimeoutExpired:
        return "Unfurl takes too long"
    finally:
        if not options.keep:
            shutil.rmtree(base, ignore_errors=True)


def read_exceptions(path):
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    for name, check, _, command in rows:
        if name not in command.split() or "tests/hands.py" not in command:
            sys.exit(f"error: {path}: the command of {name} {check} does not show it: {command}")
    return {(name, check): reason for name, check, reason, _ in rows}


def judge(results, exceptions, everything):
    """Returns the problems to report, from the results of all cases."""
    problems = []
    eligible = {name: found for name, found in results.items() if isinstance(found, dict)}
    for name, found in sorted(eligible.items()):
        for check, told in found.items():
            if told and (name, check) not in exceptions:
                problems.append(f"{name}\t{check}\t{told}")
            elif not told and (name, check) in exceptions:
                problems.append(f"{name}\t{check}\tlisted as an exception, but passes")
    if everything:
        if len(eligible) < LEAST_CASES:
            problems.append(f"only {len(eligible)} cases are eligible, at least {LEAST_CASES} are required")
        for name, check in exceptions:
            if name not in eligible:
                problems.append(f"{name}\t{check}\tlisted as an exception, but the case is not eligible")
        if len({name for name, _ in exceptions}) > MOST_EXCEPTIONS:
            problems.append(f"more than {MOST_EXCEPTIONS} cases are exceptions")
    return eligible, problems


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("unfurl")
    parser.add_argument("python")
    parser.add_argument("corpus")
    parser.add_argument("exceptions")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--keep", help="keep the working copies in this folder")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the result of every case")
    return parser.parse_intermixed_args()


def main():
    options = parse()
    unfurl = os.path.abspath(options.unfurl)
    options.link_ours = lambda path: os.symlink(unfurl, path)
    folder = tempfile.mkdtemp(prefix="unfurl-server-")
    address = os.path.join(folder, "socket")

    def write_client(path):
        with open(path, "w") as file:
            file.write(unfurl_server.client(sys.executable, address))
        os.chmod(path, 0o755)

    options.write_client = write_client
    if options.keep:
        options.keep = os.path.abspath(options.keep)
        os.makedirs(options.keep, exist_ok=True)
    names = options.cases or sorted(
        name
        for folder in (options.corpus, OWN_CASES)
        for name in os.listdir(folder)
        if os.path.exists(os.path.join(folder, name, "cmds"))
    )
    server = subprocess.Popen(
        [options.python, unfurl_server.__file__, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": folder,
            "UNFURL_HOME": "",
            "PY_COLORS": "0",
            "PYTHONUTF8": "1",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        },
    )
    try:
        if server.stdout.readline() != b"ready\n":
            sys.exit(f"error: {options.python} cannot import Unfurl")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = dict(zip(names, pool.map(lambda name: examine(name, options), names)))
    finally:
        server.stdin.close()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)

    if options.verbose:
        for name, found in results.items():
            print(f"{name}: {found}")
    eligible, problems = judge(results, read_exceptions(options.exceptions), not options.cases)
    for problem in problems:
        print(f"wrong: {problem}")
    passed = {check: sum(not found[check] for found in eligible.values()) for check in CHECKS}
    told = ", ".join(f"{check} {count}" for check, count in passed.items())
    print(f"{len(eligible)} of {len(results)} ensembles are eligible; of them pass: {told}.")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
