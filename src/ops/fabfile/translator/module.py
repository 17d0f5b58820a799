"""The statements of a fabfile outside of functions."""


class Module:
    """Translates the statements of a module."""

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
                value = self.value(node.value)
                self.env.setdefault("vars", {})[target.id] = self.known[target.id] = value
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
        if key in OTHER_ENV:
            raise Unknown(node, f"`env.{key}` has no counterpart")
        found = self.value(value)
        if key == "roledefs" and not isinstance(found, dict):
            raise Unknown(node, "the roles are not literal")
        if env is self.env:
            self.known["env." + key] = found
        if key == "shell" and isinstance(found, str):
            # Fabric's setting has the options of the shell.
            found = found.split()[0] if found.split() else "/bin/sh"
        if key in ENV:
            env[ENV[key]] = found
        else:
            env.setdefault("vars", {})[key] = found
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
