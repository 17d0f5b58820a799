"""Values: texts, templates and literals."""


class Values:
    """Translates expressions."""

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
        if isinstance(node, ast.Call) and call_name(node) in COLORS - set(self.functions) and node.args:
            return self.text(node.args[0])
        if self.scope is None and self.is_join(node):
            return posixpath.join(*(self.text(argument) for argument in node.args))
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
                if named is None and self.scope is None:
                    out.append(self.literal(str(self.known_value(ast.parse("env." + key, mode="eval").body))))
                elif named is None:
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

    def known_value(self, node):
        """The value of a name that the file has set to a literal. Outside of tasks, templates do not work."""
        name = dotted(node)
        if name in self.known:
            return self.known[name]
        raise Unknown(node, "its value is not a literal")

    def template(self, node):
        if self.scope is None and not isinstance(node, ast.Constant):
            return self.literal(str(self.known_value(node)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.literal(node.value)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return str(node.value)
        return "{{ " + self.expression(node, as_text=True) + " }}"

    def env_name(self, node, key):
        if key in FACTS:
            return FACTS[key]
        if key in ENV or key in IGNORED_ENV or key in OTHER_ENV or key in ("password", "passwords", "gateway"):
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
            if isinstance(node.value, ast.Call) and node.attr in RESULT and self.scope and self.action(node.value):
                return f"{self.lifted_action(node.value)}.{RESULT[node.attr]}"
            if isinstance(node.value, ast.Name) and self.scope:
                if node.value.id in self.scope.results:
                    if node.attr in RESULT:
                        return f"{self.scope.results[node.value.id]}.{RESULT[node.attr]}"
                elif node.value.id == self.scope.context and node.attr == "host":
                    return "host"
            raise Unknown(node, f"`.{node.attr}` has no counterpart")
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
            ends = [self.expression(end) if end else "" for end in (node.slice.lower, node.slice.upper)]
            return f"{self.expression(node.value, True)}[{ends[0]}:{ends[1]}]"
        if isinstance(node, ast.IfExp):
            test = self.truth(node.test)
            self.conditional += 1
            try:
                return f"({self.expression(node.body, as_text)} if {test} else {self.expression(node.orelse, as_text)})"
            finally:
                self.conditional -= 1
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
            parts = [self.truth(node.values[0])]
            self.conditional += 1
            try:
                parts.extend(self.truth(value) for value in node.values[1:])
            finally:
                self.conditional -= 1
            return "(" + word.join(parts) + ")"
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
        if isinstance(node, ast.Call) and self.scope:
            contrib = self.contrib_name(node)
            if contrib in ("exists", "is_link", "contains"):
                return self.probe(contrib, node)
            if contrib == "confirm":
                return self.question(node)
            if self.action(node):
                return self.lifted_action(node) + (".stdout" if as_text else "")
        if isinstance(node, ast.Call) and not node.keywords:
            name = call_name(node)
            if name in COLORS and name not in self.functions and node.args:
                return self.expression(node.args[0], as_text)
            args = [self.expression(arg, True) for arg in node.args]
            if name in ("len", "int", "str", "float", "list") and len(args) == 1:
                word = {"len": "length", "str": "string"}.get(name, name)
                return f"({args[0]} | {word})"
            if self.is_join(node):
                return f"([{', '.join(args)}] | path_join)"
            if name in ("os.path.dirname", "path.dirname", "dirname", "os.path.basename", "path.basename",
                        "basename") and name not in self.functions and len(args) == 1:
                return f"({args[0]} | {name.rpartition('.')[2]})"
            if name == "range":
                return f"range({', '.join(args)})"
            methods = {"strip", "split", "splitlines", "startswith", "endswith", "lower", "upper", "replace",
                       "lstrip", "rstrip", "join", "keys", "values", "items", "get"}
            if isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                return f"{self.expression(node.func.value, True)}.{node.func.attr}({', '.join(args)})"
        raise Unknown(node, "its expression has no counterpart")

    def truth(self, node):
        """A condition. A result of a command stands for its output, as in Fabric 1; in Fabric 2, for its success."""
        if isinstance(node, ast.Name) and self.scope and node.id in self.scope.results:
            part = "ok" if self.second else "stdout"
            return f"{self.scope.results[node.id]}.{part}"
        if isinstance(node, ast.Call) and self.scope and self.action(node):
            return f"{self.lifted_action(node)}.{'ok' if self.second else 'stdout'}"
        return self.expression(node, True)

    def is_join(self, node):
        """True if an expression joins paths."""
        name = call_name(node) if isinstance(node, ast.Call) and node.args and not node.keywords else None
        return name in ("os.path.join", "path.join", "join") and name not in self.functions

    def lifted_action(self, call):
        """The name of the result of an action in an expression. The action becomes a step before the statement."""
        kind, connection = self.action(call)
        if self.conditional:
            raise Unknown(call, "a command in the second part of a condition")
        if connection is not None or kind not in ("run", "sudo", "local"):
            raise Unknown(call, f"`{kind}` in an expression")
        step = self.command(kind, call)
        name = self.lift(call, step, "result")
        self.scope.results[name] = name
        return name

    def value(self, node):
        """A literal, or a template."""
        try:
            return self.constant(node)
        except Unknown:
            if isinstance(node, (ast.List, ast.Tuple)):
                return [self.value(item) for item in node.elts]
            if isinstance(node, ast.Dict) and all(node.keys):
                return {str(self.constant(key)): self.value(value) for key, value in zip(node.keys, node.values)}
            if self.scope is None and dotted(node) in self.known:
                return self.known[dotted(node)]
            return self.text(node)
