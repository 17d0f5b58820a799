"""Tasks and their decorators."""


def with_early_returns(body):
    """Puts the statements after an `if` that leaves the function into its other branch."""
    for index, node in enumerate(body):
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Return):
            if node.body[-1].value is not None:
                continue
            rest = with_early_returns(body[index + 1:])
            branches = ast.If(test=node.test, body=node.body[:-1], orelse=rest)
            return body[:index] + [ast.copy_location(branches, node)]
    return body


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
        result = body[-1] if body and isinstance(body[-1], ast.Return) else None
        body = body[:-1] if result else body
        steps = self.steps(body if result and result.value else with_early_returns(body))
        if result and result.value is not None:
            self.before = []
            try:
                task["returns"] = self.value_of_result(result.value)
                steps.extend(self.before)
                self.translated += 1
            except Unknown as unknown:
                steps.extend(self.without_value(result, unknown))
        task["steps"] = steps
        self.scope = None
        name = task.pop("name", node.name)
        self.tasks[name] = task
        self.tasks.update(scope.helpers)

    def without_value(self, node, unknown):
        """The steps for a last statement whose value has no translation."""
        if isinstance(node.value, ast.Call) and (
                self.contrib_name(node.value) or call_name(node.value) in self.functions or self.action(node.value)):
            return self.steps([ast.copy_location(ast.Expr(node.value), node)])
        return [self.mark(node, unknown.why)]

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
                value = self.value(argument)
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
