"""Translates a fabfile of Fabric 1 or 2 to the text of a tasks.yaml.

The file comes on the standard input and is parsed with `ast`; no part of it runs. The answer is a JSON object with
`text`, `translated` and `marked`, or with `error`, `line` and `column`.
"""

import ast
import json
import sys

NAME = sys.argv[1]

# Settings of Fabric's `env` that have the same meaning here: the key of `env`, and whether a step may set it.
ENV = {
    "hosts": "hosts", "roles": "roles", "exclude_hosts": "exclude_hosts", "roledefs": "roledefs",
    "user": "user", "port": "port", "shell": "shell", "parallel": "parallel", "pool_size": "pool_size",
    "warn_only": "warn_only", "skip_bad_hosts": "skip_bad_hosts", "timeout": "timeout",
    "connection_attempts": "connection_attempts", "command_timeout": "command_timeout",
    "keepalive": "keepalive", "forward_agent": "forward_agent", "abort_on_prompts": "abort_on_prompts",
    "dedupe_hosts": "dedupe_hosts", "key_filename": "key_files", "prompts": "prompts",
    "skip_unknown_tasks": "skip_unknown_tasks",
}
SCOPED = set(ENV.values()) - {"hosts", "roles", "exclude_hosts", "roledefs", "parallel", "pool_size", "dedupe_hosts"}
# Settings without an effect here, because the program always acts that way.
IGNORED_ENV = {"use_ssh_config", "disable_known_hosts", "linewise", "colorize_errors", "output_prefix"}
FACTS = {"host": "host", "host_string": "host_string", "user": "user", "port": "port", "hosts": "all_hosts",
         "all_hosts": "all_hosts", "effective_roles": "effective_roles", "command": "task"}
RESULT = {"stdout": "stdout", "stderr": "stderr", "return_code": "return_code", "exited": "return_code",
          "failed": "failed", "succeeded": "succeeded", "ok": "ok", "command": "command"}
HIDDEN = {"running", "stdout", "stderr", "warnings", "user", "output", "commands", "everything"}
ACTIONS = {"run", "sudo", "local", "put", "get", "execute"}


class Unknown(Exception):
    """A construct without a translation."""

    def __init__(self, node, why):
        super().__init__(why)
        self.node = node
        self.why = why


def dotted(node):
    """The dotted name of an expression, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def call_name(node):
    """The name of the called function without the module that it comes from."""
    name = dotted(node.func) if isinstance(node, ast.Call) else dotted(node)
    if name is None:
        return None
    for module in ("fabric.api.", "api.", "fabric.", "fab.", "operations.", "invoke."):
        if name.startswith(module):
            return name[len(module):]
    return name


class Comment(str):
    """A line that marks what has no translation."""


class Translator:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.tree = ast.parse(text, NAME)
        self.translated = 0
        self.marked = []
        self.env = {}
        self.tasks = {}
        self.comments = []
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        self.second = any(
            isinstance(node, ast.ImportFrom) and node.module in ("fabric", "fabric.tasks", "invoke")
            and any(name.name in ("task", "Connection", "SerialGroup", "ThreadingGroup", "Group") for name in node.names)
            for node in ast.walk(self.tree)
        )
        self.constants = set()
        self.scope = None

    def mark(self, node, why):
        line = getattr(node, "lineno", 0)
        shown = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        if any(word in shown.lower() for word in ("passw", "secret", "token", "passphrase")):
            shown = "(not shown, because it may contain a secret)"
        self.marked.append({"line": line, "text": why})
        return Comment(f"{NAME}:{line}: not translated ({why}): {shown}")

    # Values

    def constant(self, node):
        """The value of a literal."""
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise Unknown(node, "its value is not a literal") from None
        return plain(value)

    def literal(self, text):
        for opening in ("{{", "{%", "{#"):
            if opening in text:
                return text.replace("{", "{{ '{' }}")
        return text

    def text(self, node):
        """A text with templates for the parts that are not literal."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.literal(node.value)
            if isinstance(node.value, (int, float)):
                return str(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = []
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    if part.format_spec is not None or part.conversion not in (-1, 115):
                        raise Unknown(node, "its format has no counterpart")
                    parts.append(self.template(part.value))
                else:
                    parts.append(self.text(part))
            return "".join(parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.text(node.left) + self.text(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self.percent(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return self.format(node)
        return self.template(node)

    def percent(self, node):
        if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
            raise Unknown(node, "its format is not a literal")
        template = node.left.value
        if isinstance(node.right, ast.Tuple):
            values = list(node.right.elts)
        else:
            values = [node.right]
        named = {}
        if isinstance(node.right, ast.Dict):
            named = {key.value: value for key, value in zip(node.right.keys, node.right.values)
                     if isinstance(key, ast.Constant)}
        elif dotted(node.right) == "env":
            named = None
        out, index, at = [], 0, 0
        while at < len(template):
            if template[at] != "%":
                end = template.find("%", at)
                end = len(template) if end < 0 else end
                out.append(self.literal(template[at:end]))
                at = end
                continue
            kind = template[at + 1:at + 2]
            if kind == "%":
                out.append("%")
                at += 2
            elif kind in ("s", "d", "i"):
                if index >= len(values):
                    raise Unknown(node, "its format needs more values")
                out.append(self.template(values[index]))
                index += 1
                at += 2
            elif kind == "(" and ")" in template[at:]:
                end = template.index(")", at)
                key = template[at + 2:end]
                if template[end + 1:end + 2] not in ("s", "d", "i"):
                    raise Unknown(node, "its format has no counterpart")
                if named is None:
                    out.append("{{ " + self.env_name(node, key) + " }}")
                elif key in named:
                    out.append(self.template(named[key]))
                else:
                    raise Unknown(node, "its format needs more values")
                at = end + 2
            else:
                raise Unknown(node, "its format has no counterpart")
        return "".join(out)

    def format(self, node):
        source = node.func.value
        if not (isinstance(source, ast.Constant) and isinstance(source.value, str)):
            raise Unknown(node, "its format is not a literal")
        named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        out, index = [], 0
        import string
        try:
            pieces = list(string.Formatter().parse(source.value))
        except ValueError:
            raise Unknown(node, "its format has no counterpart") from None
        for before, field, spec, conversion in pieces:
            out.append(self.literal(before))
            if field is None:
                continue
            if spec or conversion or "." in field or "[" in field:
                raise Unknown(node, "its format has no counterpart")
            if field in named:
                out.append(self.template(named[field]))
                continue
            if field == "":
                field, index = str(index), index + 1
            if not field.isdigit() or int(field) >= len(node.args):
                raise Unknown(node, "its format needs more values")
            out.append(self.template(node.args[int(field)]))
        return "".join(out)

    def template(self, node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.literal(node.value)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return str(node.value)
        return "{{ " + self.expression(node, as_text=True) + " }}"

    def env_name(self, node, key):
        if key in FACTS:
            return FACTS[key]
        if key in ENV or key in IGNORED_ENV or key in ("password", "passwords", "gateway"):
            raise Unknown(node, f"`env.{key}` cannot be read")
        return key

    def expression(self, node, as_text=False):
        """An expression of a template."""
        if isinstance(node, ast.Constant):
            if node.value is None:
                return "none"
            if isinstance(node.value, bool):
                return "true" if node.value else "false"
            if isinstance(node.value, (int, float)):
                return repr(node.value)
            if isinstance(node.value, str):
                return quoted(node.value)
        if isinstance(node, ast.Name):
            scope = self.scope
            if scope and node.id in scope.results:
                path = scope.results[node.id]
                return f"{path}.stdout" if as_text else path
            if (scope and node.id in scope.names) or node.id in self.constants:
                return node.id
            raise Unknown(node, f"`{node.id}` is not known")
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            if name and name.startswith("env.") and name.count(".") == 1:
                return self.env_name(node, node.attr)
            if isinstance(node.value, ast.Name) and self.scope:
                if node.value.id in self.scope.results:
                    if node.attr in RESULT:
                        return f"{self.scope.results[node.value.id]}.{RESULT[node.attr]}"
                elif node.value.id == self.scope.context and node.attr == "host":
                    return "host"
            raise Unknown(node, f"`.{node.attr}` has no counterpart")
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            index = node.slice
            if index.__class__.__name__ == "Index":
                index = index.value
            return f"{self.expression(node.value, True)}[{self.expression(index)}]"
        if isinstance(node, (ast.List, ast.Tuple)):
            return "[" + ", ".join(self.expression(item, True) for item in node.elts) + "]"
        if isinstance(node, ast.Dict) and all(node.keys):
            items = zip(node.keys, node.values)
            return "{" + ", ".join(f"{self.expression(k)}: {self.expression(v, True)}" for k, v in items) + "}"
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return "(" + word.join(self.truth(value) for value in node.values) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"not ({self.truth(node.operand)})"
        if isinstance(node, ast.Compare):
            words = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
                     ast.In: "in", ast.NotIn: "not in", ast.Is: "==", ast.IsNot: "!="}
            if len(node.ops) != 1:
                raise Unknown(node, "its comparison has no counterpart")
            left, right = self.expression(node.left, True), self.expression(node.comparators[0], True)
            return f"{left} {words[type(node.ops[0])]} {right}"
        if isinstance(node, ast.BinOp):
            words = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.FloorDiv: "//"}
            if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
                raise Unknown(node, "its format stands in an expression")
            if type(node.op) in words:
                left, right = self.expression(node.left, True), self.expression(node.right, True)
                return f"({left} {words[type(node.op)]} {right})"
        if isinstance(node, ast.Call) and not node.keywords:
            name = call_name(node)
            args = [self.expression(arg, True) for arg in node.args]
            if name in ("len", "int", "str", "float", "list") and len(args) == 1:
                word = {"len": "length", "str": "string"}.get(name, name)
                return f"({args[0]} | {word})"
            if name == "range":
                return f"range({', '.join(args)})"
            methods = {"strip", "split", "splitlines", "startswith", "endswith", "lower", "upper", "replace",
                       "lstrip", "rstrip", "join", "keys", "values", "items"}
            if isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                return f"{self.expression(node.func.value, True)}.{node.func.attr}({', '.join(args)})"
        raise Unknown(node, "its expression has no counterpart")

    def truth(self, node):
        """A condition. A result of a command stands for its output, as in Fabric 1; in Fabric 2, for its success."""
        if isinstance(node, ast.Name) and self.scope and node.id in self.scope.results:
            part = "ok" if self.second else "stdout"
            return f"{self.scope.results[node.id]}.{part}"
        return self.expression(node, True)

    def value(self, node):
        """A literal, or a template."""
        try:
            return self.constant(node)
        except Unknown:
            if isinstance(node, (ast.List, ast.Tuple)):
                return [self.value(item) for item in node.elts]
            if isinstance(node, ast.Dict) and all(node.keys):
                return {str(self.constant(key)): self.value(value) for key, value in zip(node.keys, node.values)}
            return self.text(node)

    # The module

    def module(self):
        for node in self.tree.body:
            try:
                self.statement_of_module(node)
            except Unknown as unknown:
                self.comments.append(self.mark(unknown.node if hasattr(unknown.node, "lineno") else node, unknown.why))
        explicit = any(self.is_task(node) for node in self.functions.values())
        called = self.called_functions()
        for name, node in self.functions.items():
            is_public = not name.startswith("_")
            if self.is_task(node) or (not explicit and is_public) or name in called:
                self.task(node)
            else:
                self.comments.append(self.mark(node, "no task uses this function"))

    def is_task(self, node):
        return any(call_name(item) in ("task", "decorators.task") for item in node.decorator_list)

    def called_functions(self):
        return {node.func.id for node in ast.walk(self.tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.functions}

    def statement_of_module(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Pass)):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                if target.id.startswith("__"):
                    return
                if isinstance(node.value, ast.Call):
                    raise Unknown(node, "its value is not a literal")
                self.env.setdefault("vars", {})[target.id] = self.value(node.value)
                self.constants.add(target.id)
                self.translated += 1
                return
            if self.setting(target, node.value, self.env):
                self.translated += 1
                return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if self.change_of_list(node.value, self.env):
                self.translated += 1
                return
        raise Unknown(node, "statements outside of tasks have no counterpart")

    def setting(self, target, value, env):
        """Translates `env.NAME = VALUE`, also with a subscript. Returns whether it is one."""
        name = dotted(target)
        if name and name.startswith("env.") and name.count(".") == 1:
            self.put_setting(target, name[4:], value, env)
            return True
        if isinstance(target, ast.Subscript):
            name = dotted(target.value)
            index = target.slice
            if index.__class__.__name__ == "Index":
                index = index.value
            if name == "env":
                self.put_setting(target, self.constant(index), value, env)
                return True
            if name in ("env.roledefs", "env.prompts"):
                key = str(self.constant(index))
                env.setdefault(name[4:], {})[key] = self.value(value)
                return True
        return False

    def put_setting(self, node, key, value, env):
        if key in IGNORED_ENV:
            return
        if key in ("password", "passwords", "sudo_password", "sudo_passwords"):
            raise Unknown(node, "a password belongs neither into the fabfile nor into `tasks.yaml`; it is asked for")
        if key == "gateway":
            raise Unknown(node, "write `ProxyJump` to `~/.ssh/config`, or give `-g`")
        if key in ENV:
            found = self.value(value)
            if key == "roledefs" and not isinstance(found, dict):
                raise Unknown(node, "the roles are not literal")
            env[ENV[key]] = found
        else:
            env.setdefault("vars", {})[key] = self.value(value)
            self.constants.add(key)

    def change_of_list(self, call, env):
        """Translates `env.hosts.extend([...])` and `env.roledefs.update({...})`."""
        name = dotted(call.func)
        if name in ("env.hosts.extend", "env.roles.extend", "env.exclude_hosts.extend") and len(call.args) == 1:
            key = name.split(".")[1]
            env.setdefault("extend", {}).setdefault(key, []).extend(self.constant(call.args[0]))
            return True
        if name == "env.hosts.append" and len(call.args) == 1:
            env.setdefault("extend", {}).setdefault("hosts", []).append(self.constant(call.args[0]))
            return True
        if name in ("env.roledefs.update", "env.update"):
            values = {}
            for argument in call.args:
                values.update(self.constant(argument))
            for keyword in call.keywords:
                values[keyword.arg] = self.constant(keyword.value)
            if name == "env.roledefs.update":
                env.setdefault("roledefs", {}).update(values)
            else:
                for key, value in values.items():
                    self.put_setting(call, key, ast.parse(repr(value), mode="eval").body, env)
            return True
        return False

    # Tasks

    def task(self, node):
        task = {}
        document = ast.get_docstring(node)
        if document:
            task["description"] = document
        for decorator in node.decorator_list:
            try:
                self.decorator(decorator, task)
                self.translated += 1
            except Unknown as unknown:
                task.setdefault("", []).append(self.mark(decorator, unknown.why))
        scope = Scope(self, node)
        arguments = scope.arguments(task)
        if arguments:
            task["args"] = arguments
        self.scope = scope
        body = node.body[1:] if document else node.body
        if body and isinstance(body[-1], ast.Return):
            if body[-1].value is not None:
                try:
                    task["returns"] = self.value_of_result(body[-1].value)
                    self.translated += 1
                except Unknown as unknown:
                    task.setdefault("", []).append(self.mark(body[-1], unknown.why))
            body = body[:-1]
        task["steps"] = self.steps(body)
        self.scope = None
        name = task.pop("name", node.name)
        self.tasks[name] = task
        self.tasks.update(scope.helpers)

    def value_of_result(self, node):
        if isinstance(node, ast.Name) and node.id in self.scope.results:
            part = "" if self.second else ".stdout"
            return "{{ " + self.scope.results[node.id] + part + " }}"
        return self.value(node)

    def decorator(self, node, task):
        name = call_name(node)
        args = node.args if isinstance(node, ast.Call) else []
        keywords = {item.arg: item.value for item in node.keywords} if isinstance(node, ast.Call) else {}
        if name in ("task", "decorators.task"):
            for key, value in keywords.items():
                if key == "default":
                    task["default"] = bool(self.constant(value))
                elif key == "name":
                    task["name"] = self.constant(value)
                elif key == "hosts":
                    task["hosts"] = self.constant(value)
                elif key in ("alias", "aliases", "help"):
                    task.setdefault("", []).append(self.mark(node, f"`{key}` of a task has no counterpart"))
                else:
                    raise Unknown(node, f"`{key}` of a task has no counterpart")
            if args:
                raise Unknown(node, "tasks before this one: execute them in its first steps")
        elif name in ("hosts", "roles"):
            names = []
            for argument in args:
                value = self.constant(argument)
                names.extend(value if isinstance(value, list) else [value])
            task[name] = names
        elif name == "parallel":
            task["parallel"] = True
            if "pool_size" in keywords:
                task["pool_size"] = self.constant(keywords["pool_size"])
        elif name in ("serial", "runs_once"):
            task[name] = True
        elif name == "with_settings":
            task["settings"] = {}
            self.settings(node, keywords, args, task)
        else:
            raise Unknown(node, "this decorator has no counterpart")

    def steps(self, body):
        steps = []
        for node in body:
            try:
                found = self.step(node)
                steps.extend(found)
                if not isinstance(node, ast.Pass):
                    self.translated += 1
            except Unknown as unknown:
                place = unknown.node if hasattr(unknown.node, "lineno") else node
                steps.append(self.mark(place, unknown.why))
        return steps

    def step(self, node):
        if isinstance(node, ast.Pass):
            return []
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant):
                return []
            if isinstance(node.value, ast.Call):
                return self.call(node.value, None)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self.assignment(node, node.targets[0])
        if isinstance(node, ast.With):
            return self.block_with(node)
        if isinstance(node, ast.If):
            return self.branches(node)
        if isinstance(node, ast.For) and not node.orelse and isinstance(node.target, ast.Name):
            return self.loop(node)
        if isinstance(node, ast.Try) and len(node.handlers) <= 1 and not node.orelse:
            block = {"block": self.steps(node.body)}
            if node.handlers:
                block["rescue"] = self.steps(node.handlers[0].body) or [{"echo": "{{ failure.reason }}"}]
            if node.finalbody:
                block["always"] = self.steps(node.finalbody)
            return [block]
        if isinstance(node, ast.Raise):
            return [{"abort": self.literal(self.lines[node.lineno - 1].strip())}]
        if isinstance(node, ast.Return):
            raise Unknown(node, "a task returns a value at its end only")
        raise Unknown(node, "this statement has no counterpart")

    def assignment(self, node, target):
        env = {}
        if self.setting(target, node.value, env):
            return [{"set": env}] if env else []
        if not isinstance(target, ast.Name):
            raise Unknown(node, "this assignment has no counterpart")
        name, scope = target.id, self.scope
        if isinstance(node.value, ast.Call):
            kind = call_name(node.value)
            if kind in ("Connection", "SerialGroup", "ThreadingGroup", "Group"):
                scope.connections[name] = self.connection(node.value)
                return []
            known = self.action(node.value)
            if known or kind in self.functions:
                steps = self.call(node.value, name)
                return steps
            if kind == "prompt":
                steps = self.call(node.value, name)
                scope.names.add(name)
                return steps
        value = self.value(node.value)
        scope.results.pop(name, None)
        scope.names.add(name)
        return [{"set": {"vars": {name: value}}}]

    def action(self, call):
        """The kind of an action and the host that it is for, or None: `run(...)`, `c.run(...)`, `conn.run(...)`."""
        name = call_name(call)
        if name in ACTIONS and isinstance(call.func, (ast.Name, ast.Attribute)):
            return name, None
        if isinstance(call.func, ast.Attribute) and call.func.attr in ACTIONS - {"execute"}:
            owner = call.func.value
            if isinstance(owner, ast.Name):
                if owner.id == self.scope.context:
                    return call.func.attr, None
                if owner.id in self.scope.connections:
                    return call.func.attr, self.scope.connections[owner.id]
            elif isinstance(owner, ast.Call) and call_name(owner) in (
                    "Connection", "SerialGroup", "ThreadingGroup", "Group"):
                return call.func.attr, self.connection(owner)
        return None

    def connection(self, call):
        kind = call_name(call)
        keywords = {item.arg: item.value for item in call.keywords}
        found = {"hosts": [self.text(argument) for argument in call.args], "settings": {}}
        if "host" in keywords:
            found["hosts"].append(self.text(keywords.pop("host")))
        if kind == "Connection" and len(found["hosts"]) > 1:
            raise Unknown(call, "its arguments have no counterpart")
        for key, value in keywords.items():
            word = {"user": "user", "port": "port", "connect_timeout": "timeout",
                    "forward_agent": "forward_agent"}.get(key)
            if not word:
                raise Unknown(call, f"`{key}` of a connection has no counterpart")
            found["settings"][word] = self.value(value)
        found["parallel"] = kind == "ThreadingGroup"
        found["single"] = kind == "Connection"
        return found

    def call(self, call, register):
        action = self.action(call)
        if action:
            kind, connection = action
            if kind == "execute":
                return [self.execute(call, register)]
            step = self.command(kind, call)
            if connection is None:
                if register:
                    step["register"] = register
                    self.scope.results[register] = register
                return [step]
            return [self.scope.elsewhere(call, step, connection, register)]
        name = call_name(call)
        args = call.args
        if name in ("puts", "print", "fastprint", "warn") and args:
            return [{"echo": " ".join(self.text(argument) for argument in args)}]
        if name in ("abort", "Exit", "utils.abort") and args:
            return [{"abort": self.text(args[0])}]
        if name in ("time.sleep", "sleep") and args:
            return [{"local": "sleep " + self.text(args[0])}]
        if name == "prompt" and args:
            step = {"text": self.text(args[0])}
            for keyword in call.keywords:
                if keyword.arg == "default":
                    step["default"] = self.text(keyword.value)
                elif keyword.arg == "validate" and isinstance(keyword.value, ast.Constant):
                    step["validate"] = self.constant(keyword.value)
                else:
                    raise Unknown(call, f"`{keyword.arg}` of `prompt` has no counterpart")
            return [{"prompt": step, "register": register or "answer"}]
        if name in self.functions:
            return [self.direct_call(call, register)]
        env = {}
        if self.change_of_list(call, env):
            return [{"set": env}]
        raise Unknown(call, f"`{name or 'this call'}` has no counterpart")

    def command(self, kind, call):
        keywords = {item.arg: item.value for item in call.keywords}
        if None in keywords:
            raise Unknown(call, "its arguments are not literal")
        if kind in ("put", "get"):
            return self.transfer(kind, call, keywords)
        argument = call.args[0] if call.args else keywords.pop("command", None)
        if argument is None or len(call.args) > 1:
            raise Unknown(call, "its arguments have no counterpart")
        step = {kind: self.text(argument)}
        for key, value in keywords.items():
            if key in ("warn_only", "warn"):
                step["warn_only"] = self.flag(value)
            elif key == "quiet":
                if self.flag(value):
                    step.update(warn_only=True, quiet=True)
            elif key in ("hide", "capture"):
                hidden = self.constant(value)
                names = {True: "output", "out": "stdout", "err": "stderr", "both": "output"}
                if hidden in names:
                    step["hide"] = names[hidden]
                elif hidden:
                    raise Unknown(call, f"`{key}` has no counterpart")
            elif key == "pty":
                step["pty"] = self.flag(value)
            elif key == "timeout":
                step["time_limit"] = self.constant(value)
            elif key == "user" and kind == "sudo":
                step["user"] = self.text(value)
            elif key == "env":
                step["env"] = {str(name): str(text) for name, text in self.value(value).items()}
            elif key == "shell" and isinstance(value, ast.Constant) and isinstance(value.value, str):
                step["shell"] = value.value
            elif key in ("combine_stderr", "echo", "shell_escape", "encoding", "in_stream"):
                raise Unknown(call, f"`{key}` has no counterpart")
            else:
                raise Unknown(call, f"`{key}` has no counterpart")
        return step

    def transfer(self, kind, call, keywords):
        names = ["local_path", "remote_path"] if kind == "put" else ["remote_path", "local_path"]
        if self.second:
            names = ["local", "remote"] if kind == "put" else ["remote", "local"]
        given = dict(zip(names, call.args))
        given.update({key: keywords.pop(key) for key in names if key in keywords})
        if names[0] not in given or (kind == "put" and names[1] not in given):
            raise Unknown(call, "its paths are not given")
        pattern = {"%(host)s": "{{ host }}", "%(path)s": None, "%(basename)s": None, "%(dirname)s": None}
        step = {"src": self.text(given[names[0]])}
        if names[1] in given:
            dest = self.text(given[names[1]])
            for key, text in pattern.items():
                if key in dest:
                    if text is None:
                        raise Unknown(call, f"`{key}` in a path has no counterpart")
                    dest = dest.replace(key, text)
            step["dest"] = dest
        for key, value in keywords.items():
            if key == "mode" and kind == "put":
                mode = self.constant(value)
                step["mode"] = f"{mode:04o}" if isinstance(mode, int) else str(mode)
            elif key in ("mirror_local_mode", "preserve_mode"):
                continue
            elif key == "use_sudo":
                if self.flag(value):
                    raise Unknown(call, "`use_sudo`: copy to a folder of the user, then move the file with `sudo`")
            else:
                raise Unknown(call, f"`{key}` has no counterpart")
        return {kind: step}

    def flag(self, node):
        value = self.constant(node)
        if not isinstance(value, (bool, int)):
            raise Unknown(node, "its value is not a literal")
        return bool(value)

    def execute(self, call, register):
        if not call.args:
            raise Unknown(call, "`execute` names no task")
        first = call.args[0]
        step = {"task": first.id if isinstance(first, ast.Name) and first.id in self.functions else self.text(first)}
        args = [self.value(argument) for argument in call.args[1:]]
        if args:
            step["args"] = args
        for keyword in call.keywords:
            if keyword.arg in ("host", "hosts", "role", "roles", "exclude_hosts"):
                step[keyword.arg] = self.value(keyword.value)
            elif keyword.arg:
                step.setdefault("kwargs", {})[keyword.arg] = self.value(keyword.value)
            else:
                raise Unknown(call, "its arguments are not literal")
        found = {"execute": step}
        if register:
            found["register"] = register
            self.scope.names.add(register)
        return found

    def direct_call(self, call, register):
        """A call of a function of the file: its steps run on the same host."""
        function = self.functions[call.func.id]
        step = {"task": call.func.id, "hosts": "{{ [host_string] if host_string else [] }}"}
        arguments = call.args
        if self.second and arguments and dotted(arguments[0]) == self.scope.context:
            arguments = arguments[1:]
        args = [self.value(argument) for argument in arguments]
        if args:
            step["args"] = args
        for keyword in call.keywords:
            if not keyword.arg:
                raise Unknown(call, "its arguments are not literal")
            step.setdefault("kwargs", {})[keyword.arg] = self.value(keyword.value)
        found = {"execute": step}
        if register:
            has_value = any(isinstance(node, ast.Return) and node.value for node in ast.walk(function))
            found["register"] = register
            self.scope.names.add(register)
            if has_value:
                raise Unknown(call, "the value of a function that is called directly")
        return found

    # Blocks

    def block_with(self, node):
        block = {}
        for item in node.items:
            manager = item.context_expr
            if not isinstance(manager, ast.Call):
                raise Unknown(manager, "this context has no counterpart")
            name = call_name(manager)
            if name == "Connection" and isinstance(item.optional_vars, ast.Name):
                self.scope.connections[item.optional_vars.id] = self.connection(manager)
                continue
            keywords = {keyword.arg: keyword.value for keyword in manager.keywords}
            if isinstance(manager.func, ast.Attribute) and dotted(manager.func.value) == self.scope.context:
                name = manager.func.attr
            self.manager(manager, name, keywords, block)
        found = {"block": self.steps(node.body)}
        found.update(block)
        return [found]

    def manager(self, manager, name, keywords, block):
        args = manager.args
        if name in ("cd", "lcd", "prefix") and len(args) == 1:
            text = self.text(args[0])
            if name == "prefix":
                block.setdefault("prefix", []).append(text)
            elif name in block:
                raise Unknown(manager, f"a second `{name}` in one statement")
            else:
                block[name] = text
        elif name == "path" and args:
            behavior = self.constant(keywords["behavior"]) if "behavior" in keywords else "append"
            block["path"] = {behavior: self.text(args[0])}
        elif name == "shell_env":
            block["env"] = {key: str(self.value(value)) for key, value in keywords.items()}
        elif name in ("hide", "show"):
            block[name] = [self.kind(argument) for argument in args]
        elif name == "quiet":
            block["hide"] = ["everything"]
            block.setdefault("settings", {})["warn_only"] = True
        elif name == "warn_only":
            block.setdefault("settings", {})["warn_only"] = True
        elif name == "settings":
            self.settings(manager, keywords, args, block)
        else:
            raise Unknown(manager, f"`{name}` has no counterpart")

    def kind(self, node):
        word = self.constant(node)
        if word not in HIDDEN:
            raise Unknown(node, f"the output `{word}` has no counterpart")
        return word

    def settings(self, node, keywords, managers, block):
        for manager in managers:
            if not isinstance(manager, ast.Call):
                raise Unknown(manager, "this context has no counterpart")
            own = {keyword.arg: keyword.value for keyword in manager.keywords}
            self.manager(manager, call_name(manager), own, block)
        found = {}
        for key, value in keywords.items():
            self.put_setting(node, key, value, found)
        other = [key for key in found if key not in SCOPED and key != "vars"]
        if other:
            raise Unknown(node, f"`{other[0]}` cannot be set for a part of a task")
        if found:
            block.setdefault("settings", {}).update(found)

    def branches(self, node):
        test = self.truth(node.test)
        changed = {target.id for child in ast.walk(ast.Module(body=node.body, type_ignores=[]))
                   if isinstance(child, ast.Assign) for target in child.targets if isinstance(target, ast.Name)}
        used = {child.id for child in ast.walk(node.test) if isinstance(child, ast.Name)}
        if node.orelse and changed & used:
            raise Unknown(node, "the branch changes what its condition reads")
        found = [{"when": "{{ " + test + " }}", "block": self.steps(node.body)}]
        if node.orelse:
            found.append({"when": "{{ not (" + test + ") }}", "block": self.steps(node.orelse)})
        return [step for step in found if step["block"]]

    def loop(self, node):
        try:
            items = self.constant(node.iter)
            if not isinstance(items, list):
                raise Unknown(node.iter, "its items are no list")
        except Unknown:
            if isinstance(node.iter, ast.Call) and call_name(node.iter) in ("SerialGroup", "ThreadingGroup", "Group"):
                raise Unknown(node, "a loop over a group: give the task these hosts") from None
            items = "{{ " + self.expression(node.iter, True) + " }}"
        name = node.target.id
        self.scope.names.add(name)
        self.scope.results.pop(name, None)
        return [{"for_each": items, "as": name, "block": self.steps(node.body)}]


class Scope:
    """The names that one task knows."""

    def __init__(self, translator, node):
        self.translator = translator
        self.node = node
        self.names = set()
        self.results = {}
        self.connections = {}
        self.helpers = {}
        self.context = None

    def arguments(self, task):
        arguments = self.node.args
        names = [argument.arg for argument in arguments.args]
        defaults = [None] * (len(names) - len(arguments.defaults)) + list(arguments.defaults)
        names += [argument.arg for argument in arguments.kwonlyargs]
        defaults += list(arguments.kw_defaults)
        is_second = self.translator.second and self.translator.is_task(self.node) or (
            names[:1] in (["c"], ["ctx"], ["conn"]) and self.translator.second)
        if is_second and names:
            self.context = names[0]
            names, defaults = names[1:], defaults[1:]
        found = {}
        for name, default in zip(names, defaults):
            try:
                found[name] = None if default is None else self.translator.constant(default)
                if default is not None and found[name] is None:
                    found[name] = ""
            except Unknown as unknown:
                found[name] = None
                task.setdefault("", []).append(self.translator.mark(self.node, unknown.why))
        if arguments.vararg or arguments.kwarg:
            task["extra_args"] = True
            self.names.update(item.arg for item in (arguments.vararg, arguments.kwarg) if item)
        self.names.update(names)
        return found

    def elsewhere(self, call, step, connection, register):
        """A step for other hosts than those of the task: a task of its own, which the step executes."""
        name = f"{self.node.name}_line_{call.lineno}"
        while name in self.helpers:
            name += "_"
        step["register"] = "result_of_step"
        helper = {"description": f"The hosts of {NAME}:{call.lineno}", "hosts": connection["hosts"]}
        if connection["settings"]:
            helper["settings"] = connection["settings"]
        if connection["parallel"]:
            helper["parallel"] = True
        used = sorted(name for name in self.names if name in json.dumps([step, helper]))
        if used:
            helper["args"] = {name: None for name in used}
        helper["steps"] = [step]
        helper["returns"] = "{{ result_of_step }}"
        self.helpers[name] = helper
        found = {"execute": {"task": name}}
        if used:
            found["execute"]["kwargs"] = {name: "{{ " + name + " }}" for name in used}
        if any("{{" in host for host in connection["hosts"]):
            found["execute"]["hosts"] = helper.pop("hosts")
        if register:
            found["register"] = register
            if connection["single"] and "{{" not in connection["hosts"][0]:
                self.results[register] = f"{register}[{quoted(connection['hosts'][0])}]"
            else:
                self.names.add(register)
        return found


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def plain(value):
    """A value of YAML."""
    if isinstance(value, (tuple, set, frozenset)):
        return [plain(item) for item in (value if isinstance(value, tuple) else sorted(value, key=str))]
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, complex) or value is Ellipsis:
        return str(value)
    return value


def scalar(value):
    return json.dumps(value, ensure_ascii=False)


def is_flow(value):
    """Whether a value fits on one line."""
    if isinstance(value, dict):
        return not value
    if isinstance(value, list):
        return all(not isinstance(item, (dict, list, Comment)) for item in value)
    return True


def key_text(key):
    is_plain = key.replace("_", "").replace("-", "").isalnum() and not key[0].isdigit() and key not in (
        "true", "false", "null", "yes", "no", "on", "off", "y", "n")
    return key if is_plain else scalar(key)


def flow(value):
    if isinstance(value, list):
        return "[" + ", ".join(scalar(item) for item in value) + "]"
    return "{}" if isinstance(value, dict) else scalar(value)


def comment(text):
    return "# " + text.replace("\n", " ").replace("\r", " ")


def emit(value, indent):
    """The lines of a map or a list."""
    pad = "  " * indent
    lines = []
    if isinstance(value, dict):
        for note in value.get("", []):
            lines.append(pad + comment(note))
        for key, item in value.items():
            if key == "":
                continue
            if is_flow(item):
                lines.append(f"{pad}{key_text(key)}: {flow(item)}")
            else:
                lines.append(f"{pad}{key_text(key)}:")
                inner = emit(item, indent + 1)
                lines.extend(inner)
                if isinstance(item, list) and all(line.lstrip().startswith("#") for line in inner):
                    lines[len(lines) - len(inner) - 1] = f"{pad}{key_text(key)}: []"
        return lines
    for item in value:
        if isinstance(item, Comment):
            lines.append(pad + comment(item))
        elif is_flow(item):
            lines.append(f"{pad}- {flow(item)}")
        else:
            inner = emit(item, indent + 1)
            start = next((n for n, line in enumerate(inner) if not line.lstrip().startswith("#")), 0)
            lines.extend(inner[:start])
            first = inner[start]
            lines.append(f"{pad}- {first[len(pad) + 2:]}")
            lines.extend(inner[start + 1:])
    return lines


def main():
    text = sys.stdin.buffer.read()
    try:
        translator = Translator(text.decode("utf-8-sig"))
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        return {"error": getattr(error, "msg", None) or str(error), "line": line, "column": column}
    translator.module()
    lines = [comment(f"Translated from {NAME}. Lines that begin with `# {NAME}:` have no translation.")]
    lines.extend(comment(note) for note in translator.comments)
    document = {}
    if translator.env:
        document["env"] = translator.env
    document["tasks"] = translator.tasks
    lines.extend(emit(document, 0))
    return {"text": "\n".join(lines) + "\n", "tasks": len(translator.tasks),
            "translated": translator.translated, "marked": translator.marked}


try:
    answer = main()
except RecursionError:
    answer = {"error": "the file is nested too deeply", "line": 1, "column": 1}
json.dump(answer, sys.stdout)
