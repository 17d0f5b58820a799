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
