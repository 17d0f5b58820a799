"""Random topologies for same.py: ensembles, the edits that follow, and the jobs in between.

The same seed always creates the same case.
"""

import copy
import json
import random
import re

import yaml

from same_cases import Case, look

OPERATIONS = ("create", "configure", "start", "stop", "delete")
RELATIONSHIP = ("pre_configure_source", "pre_configure_target", "post_configure_source", "post_configure_target")
RELATIONSHIP += ("add_source", "add_target", "remove_source", "remove_target")
STATUSES = ("ok", "ok", "degraded", "error", "pending", "absent", "unknown")
PRIORITIES = ("required", "optional", "ignore")
# The sections after `spec` that a job adds to an ensemble.
RECORD = re.compile(r"^(?!apiVersion|kind|spec|environment)\w+:", re.MULTILINE)


def cases(seed, count):
    return [Topology(number).case() for number in range(seed, seed + count)], []


class Topology:
    """A topology as data. It is edited between jobs."""

    def __init__(self, seed):
        self.seed, self.pick = seed, random.Random(f"topology {seed}")
        self.texts = 0
        # Whether tasks run at the same time. What they see of each other then varies between runs.
        self.orderless = self.chance(0.15)
        self.inputs = {f"i{number}": self.word() for number in range(self.pick.randint(0, 3))}
        self.nodes = {}
        for _ in range(self.pick.randint(1, 12)):
            self.add_node()
        self.workflows = self.make_workflows()
        self.included = self.chance(0.3)
        self.context = self.chance(0.2)
        self.dialect = self.pick.choice(("unfurl/v1.0.0", "unfurl/v1alpha1"))
        self.outputs = {f"o{number}": self.value(None) for number in range(self.pick.randint(0, 3))}

    def chance(self, share):
        return self.pick.random() < share

    def word(self):
        self.texts += 1
        return f"{self.pick.choice(('red', 'Grün', 'a b', 'x-y', 'it is'))} {self.texts}"

    # The content of the ensemble.

    def add_node(self):
        name = f"n{len(self.nodes)}"
        while name in self.nodes:
            name += "x"
        others = list(self.nodes)
        self.nodes[name] = node = {"type": self.pick.choice(("unfurl.nodes.Generic", "Base", "Base", "Special"))}
        if self.chance(0.12):
            directives = ("protected", "discover", "check", "dependent", "default", "virtual")
            node["directives"] = [self.pick.choice(directives)]
        if self.chance(0.1):
            node["metadata"] = {"note": self.word()}
        if self.chance(0.08):
            node["instance_keys"] = [["p0"]]
        # A property that is always present, if the node has one.
        self.own = "p2" if node["type"] == "Special" else ""
        properties = {f"p{at}": self.value(others) for at in range(3) if self.chance(0.6)}
        if properties:
            node["properties"] = properties
            self.own = self.pick.choice(list(properties))
        needs = self.pick.sample(others, min(len(others), self.pick.choice((0, 0, 1, 1, 2, 3))))
        requirements = [self.requirement(other) for other in needs]
        if self.chance(0.008):
            requirements.append({"dependency": self.pick.choice((name, "nobody"))})
        if requirements:
            node["requirements"] = requirements
        operations = {}
        for operation in OPERATIONS:
            if self.chance(0.8 if operation == "configure" else 0.35):
                operations[operation] = self.operation(f"{name}-{operation}", others)
        node["interfaces"] = {"Standard": operations}
        if self.chance(0.3):
            node["interfaces"]["Install"] = {"check": self.operation(f"{name}-check", others, looks=True)}
        if self.chance(0.1):
            node["interfaces"].setdefault("Install", {})["discover"] = self.operation(f"{name}-find", others, True)
        if not operations:
            del node["interfaces"]["Standard"]
        if not node["interfaces"]:
            del node["interfaces"]

    def requirement(self, other):
        kind = self.pick.choice(("dependency", "dependency", "dependency", "host"))
        if not self.chance(0.25):
            return {kind: other}
        operations = {
            name: self.pick.choice((f"echo {name}", f"echo {name} >> rel.txt", "Template"))
            for name in self.pick.sample(RELATIONSHIP, self.pick.randint(1, 3))
        }
        base = "tosca.relationships.HostedOn" if kind == "host" else "tosca.relationships.DependsOn"
        return {kind: {"node": other, "relationship": {"type": base, "interfaces": {"Configure": operations}}}}

    def value(self, others):
        """Returns a value of a property. `others` are the nodes that it may read; an output may read all."""
        names = list(self.nodes) if others is None else others
        kind = self.pick.choice(("text", "text", "number", "list", "input", "own", "other", "other", "concat", "jinja"))
        if kind == "number":
            return self.pick.choice((0, 1, -7, 2.5, True, 10**12))
        if kind == "list":
            return self.pick.choice(([1, "two", {"three": None}], {"k": self.word(), "l": [self.word()]}, [], {}))
        if kind == "input" and self.inputs:
            return {"get_input": self.pick.choice(list(self.inputs))}
        if kind == "own" and others is not None:
            return self.pick.choice(({"eval": ".name"}, "{{ SELF['.name'] | upper }}", {"get_property": ["SELF", "p2"]}))
        if kind in ("other", "concat", "jinja") and names:
            other, key = self.pick.choice(names), self.pick.choice(("p0", "p1", "p2", "a", "a", "b"))
            if self.chance(0.8):
                key = self.pick.choice([*self.nodes[other].get("properties", {}), "a"])
            if kind == "concat":
                return {"concat": ["[", {"get_attribute": [other, key]}, "]"]}
            if kind == "jinja":
                return f"[{{{{ '::{other}::{key}' | eval }}}}]"
            forms = ({"eval": f"::{other}::{key}"}, {"get_property": [other, key]}, {"get_attribute": [other, key]})
            more = ({"eval": {"if": f"::{other}::{key}", "then": "yes", "else": "no"}}, {"eval": f"::{other}::.status"})
            return self.pick.choice(forms + forms + more)
        if self.chance(0.05):
            return {"eval": {"sensitive": self.word()}}
        return self.word()

    def operation(self, name, others, looks=False):
        own = f"{{{{ SELF.{self.own} }}}}" if self.own else "none"
        if self.chance(0.01):
            own = "{{ SELF.p1 }}"
        read = self.pick.choice(("", f" '{own}'", " {{ SELF.p1 | default('no') | quote }}", " {{ inputs.word | quote }}"))
        commands = [f"echo {name}", f"echo {name}{read}", f"echo {name}{read} | tee {name}.txt"]
        commands += [f"echo {name} >&2", f"echo {name} >> all.txt", f"test -e flag || echo {name}"]
        if not self.orderless:
            commands.append(f"printf '%s' {name}")
        if self.chance(0.05):
            commands = ["false", "test -e flag", "exit 3", "echo bad >&2; exit 1", "no-such-program", "kill -9 $$"]
        elif self.chance(0.03) and not self.orderless:
            commands = [look(name)]
        elif self.chance(0.1):
            return self.pick.choice(("Template", {"implementation": "Template"}, f"echo {name}", None))
        inputs = {"command": self.pick.choice(commands)}
        if "inputs.word" in inputs["command"] or self.chance(0.1):
            inputs["word"] = self.value(others)
        result = {}
        if self.chance(0.5):
            attributes = {"a": self.pick.choice(("{{ stdout | trim }}", "{{ stdout | length }}", self.word(), own))}
            if self.chance(0.3):
                attributes["b"] = self.pick.choice(([1, 2], {"deep": "{{ stdout }}"}, "{{ inputs | length }}", None))
            result["attributes"] = attributes
        if looks or self.chance(0.1):
            result["readyState"] = {"local": self.pick.choice(STATUSES)}
            if self.chance(0.3):
                result["readyState"]["state"] = self.pick.choice(("created", "configured", "started", "stopped"))
        if self.chance(0.06):
            result["priority"] = self.pick.choice(PRIORITIES)
        if result and self.chance(0.06):
            kid = {"name": f"{name}-kid", "parent": "SELF", "template": {"type": "unfurl.nodes.Generic"}}
            result = [{"name": ".self", **result}, {**kid, "readyState": {"local": self.pick.choice(STATUSES)}}]
        if result:
            inputs["resultTemplate"] = result
        if self.chance(0.08):
            inputs["done"] = self.pick.choice(
                ({"status": self.pick.choice(STATUSES)}, {"changed": False}, {"success": True}, {"success": "{{ not success }}"})
            )
        if self.chance(0.05):
            inputs["keeplines"] = True
        made = {"implementation": "Shell", "inputs": inputs}
        if self.chance(0.1):
            made = {"implementation": {"primary": "Shell"}, "inputs": inputs}
            made["implementation"][self.pick.choice(("timeout", "environment"))] = 30
            if "environment" in made["implementation"]:
                made["implementation"]["environment"] = {"WORD": self.word()}
        if self.chance(0.05):
            made["outputs"] = {"got": [self.pick.choice(("SELF", ".")), "a"]}
        return made

    def make_workflows(self):
        if not self.chance(0.35):
            return {}
        names, steps = list(self.nodes), {}
        for number in range(self.pick.randint(1, 4)):
            activities = []
            for _ in range(self.pick.randint(1, 3)):
                activities.append(
                    self.pick.choice(
                        (
                            {"call_operation": f"Standard.{self.pick.choice(OPERATIONS)}"},
                            {"call_operation": f"Standard.{self.pick.choice(OPERATIONS)}"},
                            {"set_state": self.pick.choice(("started", "stopped", "configured"))},
                            {"delegate": self.pick.choice(("check", "deploy", "undeploy"))},
                        )
                    )
                )
            steps[f"s{number}"] = {"target": self.pick.choice(names), "activities": activities}
        for number in range(len(steps) - 1):
            key = self.pick.choice(("on_success", "on_success", "on_failure"))
            steps[f"s{number}"][key] = [f"s{self.pick.randint(number + 1, len(steps) - 1)}"]
        workflows = {"custom": {"steps": steps}}
        if self.chance(0.3):
            workflows["outer"] = {"steps": {"all": {"target": names[0], "activities": [{"inline": "custom"}]}}}
        if self.chance(0.2):
            workflows["deploy"] = workflows.pop("custom")
        return workflows

    def service_template(self):
        keys = {f"p{at}": {"type": "any", "required": False} for at in range(3)}
        attributes = {name: {"type": "any", "required": False} for name in "ab"}
        more = {"p2": {"type": "any", "required": False, "default": "from the type"}}
        stop = {"Standard": {"stop": "echo stops", "delete": "echo deletes"}}
        types = {
            "Base": {"derived_from": "tosca.nodes.Root", "properties": keys, "attributes": attributes},
            "Special": {"derived_from": "Base", "properties": more, "interfaces": stop},
        }
        topology = {"node_templates": copy.deepcopy(self.nodes)}
        if self.inputs:
            given = {name: {"type": "string", "default": value} for name, value in self.inputs.items()}
            topology = {"inputs": given, **topology}
        if self.outputs:
            topology["outputs"] = {name: {"value": value} for name, value in self.outputs.items()}
        if self.workflows:
            topology["workflows"] = self.workflows
        return {
            "tosca_definitions_version": "tosca_simple_unfurl_1_0_0",
            "node_types": types,
            "topology_template": topology,
        }

    def spec(self):
        """Returns the files of the specification."""
        files, template = {}, self.service_template()
        if self.included:
            files["service-template.yaml"] = dumped(template)
            template = {"+include": "service-template.yaml"}
        said = {"apiVersion": self.dialect, "kind": "Ensemble", "spec": {"service_template": template}}
        files["ensemble.yaml"] = dumped(said)
        if self.context:
            defaults = {"variables": {"UNFURL_TEXT": "said"}, "locations": {}}
            there = {"defaults": defaults, "there": {"variables": {"UNFURL_TEXT": "there"}}}
            files["unfurl.yaml"] = dumped(
                {
                    "apiVersion": self.dialect,
                    "kind": "Project",
                    "environments": there,
                    "ensembles": [{"file": "ensemble.yaml", "environment": "there"}],
                }
            )
        return files

    # The edits and jobs.

    def edit(self, kind=None):
        """Makes a random edit and returns the step that writes it."""
        kind = kind or self.pick.choice(("property", "property", "input", "command", "add", "remove", "remove", "output", "flag"))
        names = list(self.nodes)
        node = self.nodes[self.pick.choice(names)]
        if kind == "property":
            node.setdefault("properties", {})[f"p{self.pick.randint(0, 2)}"] = self.word()
        elif kind == "input" and self.inputs:
            self.inputs[self.pick.choice(list(self.inputs))] = self.word()
        elif kind == "command":
            self.own = ""
            operations = node.setdefault("interfaces", {}).setdefault("Standard", {})
            operations[self.pick.choice(OPERATIONS)] = self.operation(f"edited{self.texts}", [])
        elif kind == "add":
            self.add_node()
        elif kind == "remove" and len(names) > 1:
            self.remove(names[-1] if self.chance(0.6) else self.pick.choice(names))
        elif kind == "output":
            self.outputs["o9"] = self.value(None)
        else:
            return "touch flag"
        files = self.spec()

        def write(world):
            for path, text in files.items():
                world.write(path, with_record(world, path, text))

        return write

    def remove(self, name):
        """Removes a node with the requirements that name it. Expressions that read it may fail now."""
        del self.nodes[name]
        for node in self.nodes.values():
            left = [it for it in node.get("requirements", []) if name not in json.dumps(list(it.values()))]
            node["requirements"] = left
            if not left:
                del node["requirements"]

    def case(self):
        files, pick = self.spec(), self.pick
        self.hour, fixed = 0, self.chance(0.5)
        steps = [self.job("validate", fixed), "unfurl plan", "unfurl plan --output json --why"]
        if self.chance(0.2):
            steps.append(self.job("deploy -a --dryrun", fixed))
        if self.chance(0.1):
            steps.append("unfurl deploy")
        steps += [self.job("deploy -a", fixed), *self.look(), self.job("deploy -a", fixed)]
        for _ in range(pick.randint(1, 3)):
            steps += [self.edit(), "unfurl plan --output json --why"]
            steps += [self.job("deploy -a" + self.options(), fixed), *self.look()]
        names = ["check -a", "discover -a", "stop -a", "deploy -a --force", "deploy -a --workflow discover"]
        names += [f"deploy -a --workflow {name}" for name in self.workflows]
        names += ["run -a -- echo adhoc {{ SELF }}", "recover", "deploy -a --check"]
        steps += [self.job(name, fixed) for name in pick.sample(names, pick.randint(1, 4))]
        steps += [self.edit("remove"), self.job("deploy -a --prune", fixed), *self.look()]
        steps += ["unfurl plan --workflow undeploy", self.job("teardown -a", fixed), *self.look(), "unfurl history --limit 0"]
        if self.chance(0.3):
            steps += [self.job("teardown -a", fixed), self.job("deploy -a", fixed)]
        if self.chance(0.2):
            steps.append(f"unfurl export --format {pick.choice(('deployment', 'blueprint', 'model-json', 'model-yaml'))}")
        if self.chance(0.7):
            # Without this, each run creates its own key for sensitive values.
            files["local/digest.key"] = "134463a781d22b9d6e608d867556885571d5c8e543c86efe3b1af70d0eacf042\n"
        made = Case(f"topology {self.seed}", steps, files, orderless=self.orderless)
        if self.orderless:
            made.variables["UNFURL_PARALLEL"] = "4"
        if self.chance(0.1):
            made.variables |= {"NO_COLOR": None, "CLICOLOR_FORCE": "1"}
        if self.chance(0.1):
            made.variables["UNFURL_JOBEXITCODE"] = pick.choice(("never", "degraded"))
        if self.context:
            made.variables["UNFURL_TEXT"] = "outside"
        return made

    def job(self, line, fixed):
        """Returns the command line of a job, with its output format and, if fixed, its start time."""
        command = line.split()[0]
        words = [f"unfurl{self.pick.choice(('', '', ' -v', ' -q'))}", command]
        rest = line.split()[1:]
        after = []
        if "--" in rest:
            at = rest.index("--")
            rest, after = rest[:at], ["-- echo adhoc '{{ SELF }}'"]
        words += rest
        if command != "recover" and self.chance(0.5):
            words.append("--output json")
        if fixed and command not in ("validate", "recover"):
            self.hour += 1
            words.append(f"--starttime 2021-02-03-{self.hour:02}-05-06-000007")
        return " ".join(words + after)

    def options(self):
        options = ["", "", "", " --force", " --upgrade", " --prune", " --repair degraded", " --repair none", " --skip-new"]
        options += [f" --change-detection {word}" for word in ("skip", "always", "evaluate")]
        name = self.pick.choice(list(self.nodes))
        options += [f" --instance {name}", f" --template {name}", f" --exclude {name}", f" --query '::{name}::a' --trace 2"]
        if self.inputs:
            options.append(f" --var input_{self.pick.choice(list(self.inputs))} '{self.word()}'")
        return self.pick.choice(options)

    def look(self):
        """Returns some of the read-only commands."""
        name = self.pick.choice(list(self.nodes))
        told = ["status", "status --output json", "history", "history --output json", f"explain {name}"]
        told += [f"explain {name} --output json", "lock list"]
        return [f"unfurl {line}" for line in self.pick.sample(told, 2)]


def dumped(data):
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=200)


def with_record(world, path, text):
    """Returns the new text of a file, followed by the record that jobs added to the old one."""
    try:
        with open(f"{world.work}/{path}") as file:
            old = file.read()
    except FileNotFoundError:
        return text
    begin = RECORD.search(old) if path == "ensemble.yaml" else None
    return text + old[begin.start() :] if begin else text
