"""Tasks and their decorators."""


class Tasks:
    """Translates functions that are tasks."""

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
