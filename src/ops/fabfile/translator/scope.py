"""The names of a function."""


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
                found[name] = None if default is None else self.translator.value(default)
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
