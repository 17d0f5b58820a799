"""Steps with steps in them: `with`, `if`, `for` and `try`."""


class Blocks:
    """Translates compound statements."""

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
