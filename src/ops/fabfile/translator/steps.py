"""The steps of tasks: commands, transfers and calls of other tasks."""


class Steps:
    """Translates statements of functions."""

    def steps(self, body):
        steps = []
        outer = self.before
        for node in body:
            self.before = []
            try:
                found = self.step(node)
                steps.extend(self.before)
                steps.extend(found)
                if not isinstance(node, ast.Pass):
                    self.translated += 1
            except Unknown as unknown:
                place = unknown.node if hasattr(unknown.node, "lineno") else node
                steps.append(self.mark(place, unknown.why))
        self.before = outer
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
        contrib = self.contrib_name(call)
        if contrib in INSTEAD:
            raise Unknown(call, f"`{contrib}`: {INSTEAD[contrib]}")
        if contrib and register is None:
            return self.file_steps(contrib, call)
        if name in ("puts", "print", "fastprint", "warn") and args:
            return [{"echo": " ".join(self.text(argument) for argument in args)}]
        if name in ("abort", "Exit", "utils.abort", "sys.exit", "exit") and name not in self.functions and args:
            if isinstance(args[0], ast.Constant) and args[0].value in (0, None, ""):
                raise Unknown(call, "a run cannot end early without a failure")
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
            elif key == "shell" and isinstance(value, ast.Constant):
                continue
            elif key in ("combine_stderr", "echo", "in_stream") and not self.constant(value):
                continue
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
                    step["sudo"] = True
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
