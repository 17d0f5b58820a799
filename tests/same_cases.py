"""The fixed cases of same.py: the corpus, the examples, locks, and TOSCA files."""

import dataclasses
import os
import socket
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
NO_INPUT = {"expected.json", "expected-head.json", "skip-facets", "cmds", "origin", "notes"}
# Programs that cases of the corpus call, by the prefix of the case name.
NEEDS = {"terraform-": "terraform"}


@dataclasses.dataclass
class Case:
    """A folder and the shell lines that run in it. A step may be a function of the World."""

    name: str
    steps: list
    files: dict = dataclasses.field(default_factory=dict)
    source: str = ""
    left_out: frozenset = frozenset()
    variables: dict = dataclasses.field(default_factory=dict)
    # Whether tasks run at the same time, so that their order is irrelevant.
    orderless: bool = False


def corpus(options):
    """Returns the cases of the corpus, whose expected results come from the real Unfurl."""
    folder = os.path.join(options.shared, "corpus/unfurl")
    cases, skipped = [], []
    if not os.path.isdir(folder):
        return [], [f"all: there is no {folder}"]
    for name in sorted(os.listdir(folder)):
        source = os.path.join(folder, name)
        if not os.path.exists(os.path.join(source, "cmds")):
            continue
        missing = [what for begin, what in NEEDS.items() if name.startswith(begin) and not is_there(what)]
        if missing:
            skipped.append(f"{name} needs {missing[0]}")
            continue
        with open(os.path.join(source, "cmds")) as file:
            lines = [line.strip() for line in file]
        steps = [line.removesuffix("#stdout").strip() for line in lines if line and not line.startswith("#")]
        # Commands with JSON output also run with text output.
        asked = [step.replace("--output json", "").replace("-q ", "") for step in steps if "plan" in step]
        steps += [*asked[:1], "unfurl status", "unfurl history", "unfurl history --output json"]
        case = Case(name, steps, source=source, left_out=frozenset(NO_INPUT))
        case.variables["UNFURL_JOBEXITCODE"] = "never"
        cases.append(case)
    return cases, skipped


def is_there(program):
    return any(os.access(f"{folder}/{program}", os.X_OK) for folder in ("/usr/local/bin", "/usr/bin", "/bin"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def around(name, deploy="", instance=None):
    """Returns the steps of an ensemble's life cycle, each command with text output and with JSON output."""
    steps = ["unfurl validate", "unfurl validate --output json", "unfurl deploy"]
    for output in ("", " --output json"):
        look = [f"unfurl status{output}", f"unfurl history{output}"]
        if instance:
            look.append(f"unfurl explain {instance}{output} {deploy}")
        steps += [
            f"unfurl plan{output} {deploy}",
            f"unfurl deploy -a{output} --dryrun {deploy}",
            f"unfurl deploy -a{output} {deploy}",
            *look,
            f"unfurl deploy -a{output} {deploy}",
            f"unfurl check -a{output}",
            f"unfurl deploy -a{output} --force {deploy}",
            f"unfurl stop -a{output}",
            f"unfurl deploy -a{output} {deploy}",
            f"unfurl plan{output} --workflow undeploy",
            f"unfurl teardown -a{output}",
            *look,
            f"unfurl teardown -a{output}",
        ]
    steps += [f"unfurl export --format {form}" for form in ("deployment", "blueprint", "environments", "model-json")]
    steps += ["unfurl lock list", "unfurl lock list --output json", "unfurl recover", "unfurl history --limit 0"]
    return [step.strip() for step in steps]


def examples(_options):
    """Returns the cases of the examples in ensembles/."""
    folder = os.path.join(HERE, "../ensembles")
    cases, skipped = [], []
    more = {
        "hello": ["unfurl deploy -a --var input_name Ada", "unfurl deploy -a --var input_name Ada", "cat hello.txt"],
        "states": [
            "unfurl deploy -a",
            "echo '<h1>Oops' > site/index.html",
            "unfurl check -a",
            "unfurl deploy -a --force --output json",
            "unfurl deploy -a --var input_greeting Welcome",
            "unfurl teardown -a",
            "unfurl state test site --pillar '{folder: site, greeting: Hi}'",
            "unfurl state test site --pillar '{folder: site, greeting: Hi}' --output json",
        ],
    }
    instances = {"hello": "file", "states": "site", "webapp": "site"}
    for name in sorted(os.listdir(folder)):
        source = os.path.normpath(os.path.join(folder, name))
        if name == "tasks":
            calls = ["--list", "-l --output json", "", "--output json", "deploy:2.0", "migrate:hosts=db7", "nothing"]
            steps = [f"unfurl task {call}".strip() for call in calls]
            # One of the tasks runs on two hosts in parallel.
            cases.append(Case(name, steps, source=source, orderless=True))
        elif name == "webapp":
            if not is_there("python3"):
                skipped.append(f"{name} needs python3")
                continue
            ports = f"--var input_app_port {free_port()} --var input_site_port {free_port()}"
            first = [
                f"unfurl deploy -a --output json {ports}",
                "kill $(cat run/app/pid); sleep 0.3",
                "unfurl check -a",
                f"unfurl deploy -a --output json {ports}",
                f"unfurl deploy -a --var input_title Hello {ports}",
                "unfurl teardown -a",
            ]
            cases.append(Case(name, first + around(name, ports, instances[name]), source=source))
        elif os.path.exists(os.path.join(source, "ensemble.yaml")):
            steps = around(name, "", instances.get(name)) + more.get(name, [])
            cases.append(Case(name, steps, source=source))
            git = ["git init -q -b main && git add . && git commit -qm first"]
            jobs = ["unfurl deploy -a --commit", "unfurl deploy -a --commit --output json", "unfurl git-status"]
            ends = ["unfurl teardown -a --commit -m gone", "git status --short --ignored", "unfurl history"]
            cases.append(Case(f"{name} in git", git + jobs + ends, source=source))
        elif os.path.isdir(source):
            skipped.append(f"{name} has no ensemble.yaml")
    return cases, skipped


# The view of an operation while its job runs: all files, the holder of the lock, and the refusal of other jobs.
LOOK = """\
mkdir -p $SEEN/{name} && cp -RL . $SEEN/{name} && ls -A | sort > $SEEN/{name}.ls;
flock -n ensemble.yaml.lock true; echo $? > $SEEN/{name}.flock;
unfurl lock list > $SEEN/{name}.list.txt 2>&1; unfurl lock list --output json > $SEEN/{name}.list.json 2>&1;
unfurl deploy -a > $SEEN/{name}.other.txt 2>&1; echo $? >> $SEEN/{name}.other.txt;
unfurl deploy -a --output json --lock-timeout 0.1 > $SEEN/{name}.other.json 2>&1; echo $? >> $SEEN/{name}.other.json;
unfurl plan > $SEEN/{name}.plan.txt 2>&1; unfurl status > $SEEN/{name}.status.txt 2>&1; echo looked"""


def look(name):
    return LOOK.replace("{name}", name).replace("\n", " ")


def looking():
    """Returns an ensemble whose operations look at the locks of their job, at the first task and at a later one."""
    return textwrap.dedent(
        f"""\
        apiVersion: unfurl/v1.0.0
        kind: Ensemble
        spec:
          service_template:
            tosca_definitions_version: tosca_simple_unfurl_1_0_0
            topology_template:
              node_templates:
                first:
                  type: unfurl.nodes.Generic
                  interfaces:
                    Standard:
                      create: {look("first")}
                      delete: {look("last")}
                second:
                  type: unfurl.nodes.Generic
                  requirements: [{{dependency: first}}]
                  interfaces:
                    Standard:
                      configure:
                        implementation: Shell
                        inputs:
                          command: {look("second")}
                          resultTemplate: {{attributes: {{said: "{{{{ stdout | trim }}}}"}}}}
                      delete: 'false'
        """
    )


OWNER = (
    "host: elsewhere\\nboot_id: x\\npid: 77\\npid_namespace: y\\nstart_time: 5\\n"
    "command: unfurl deploy\\nsince: 2020-01-01T00:00:00Z\\ntoken: t\\n"
)


def locks(_options):
    """Returns cases with the lock of the running job, and with stale or foreign locks."""
    files = {"ensemble.yaml": looking()}
    jobs = ["unfurl deploy -a", "unfurl deploy -a --force --output json", "unfurl teardown -a --output json"]
    adhoc = [f"unfurl run -a -- sh -c '{look('adhoc')}'", "unfurl history"]
    dry = ["unfurl deploy -a --dryrun", "ls -A", "unfurl deploy", "ls -A"]
    here = 'echo "host: $(hostname)"; echo "boot_id: $(cat /proc/sys/kernel/random/boot_id)"'
    gone = f'{{ {here}; echo "pid: 4194300"; echo "pid_namespace: $(readlink /proc/self/ns/pid)"; ' + (
        'echo "start_time: 5"; echo "command: unfurl deploy"; echo "since: 2020-01-01T00:00:00Z"; echo "token: t"; }'
    )
    left = {
        "of nobody": ["printf 4194300 > ensemble.yaml.lock"],
        "of one that runs": ["printf 1 > ensemble.yaml.lock"],
        "garbage": ["echo garbage > ensemble.yaml.lock"],
        "empty": ["touch ensemble.yaml.lock"],
        "of another host": ["printf 77 > ensemble.yaml.lock", f"printf '{OWNER}' > ensemble.yaml.owner.lock"],
        "of one that is gone": ["printf 4194300 > ensemble.yaml.lock", f"{gone} > ensemble.yaml.owner.lock"],
        "owner alone": [f"printf '{OWNER}' > ensemble.yaml.owner.lock"],
    }
    cases = [Case("jobs", jobs + ["unfurl history"], files), Case("adhoc", adhoc, files), Case("dry", dry, files)]
    for name, steps in left.items():
        after = [
            "unfurl lock list",
            "unfurl lock list --output json",
            "unfurl plan",
            "unfurl status",
            "unfurl deploy -a --output json",
            "unfurl deploy -a --lock-timeout 0.2",
            "unfurl lock break",
            "unfurl lock break --force",
            "unfurl deploy -a",
        ]
        cases.append(Case(f"lock {name}", steps + after, {"ensemble.yaml": HELLO}))
    return cases, ["locks for all machines need a server"]


HELLO = """\
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        a: {type: unfurl.nodes.Generic, interfaces: {Standard: {configure: echo hi, delete: echo bye}}}
"""


def tosca(options):
    """Returns cases that validate the TOSCA files of public projects, several files per case."""
    listing = os.path.join(options.shared, "corpus/tosca/expected.tsv")
    if not os.path.exists(listing):
        return [], [f"all: there is no {listing}"]
    with open(listing) as file:
        rows = [line.split("\t")[:2] for line in file if not line.startswith("#")]
    paths = [f"$SHARED/corpus/tosca/{folder}/{path}" for folder, path in rows]
    cases = []
    for at in range(0, len(paths), 20):
        steps = []
        for path in paths[at : at + 20]:
            steps += [f"unfurl validate {path}", f"unfurl export --format model-json {path}"]
        cases.append(Case(f"files {at + 1} to {at + len(steps) // 2}", steps))
    return cases, []


GROUPS = {"corpus": corpus, "examples": examples, "locks": locks, "tosca": tosca}
