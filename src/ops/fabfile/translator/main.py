"""Translates a fabfile of Fabric 1 or 2 to the text of a tasks.yaml.

The file comes on the standard input and is parsed with `ast`; no part of it runs. The answer is a JSON object with
`text`, `translated` and `marked`, or with `error`, `line` and `column`.
"""


class Translator(Values, Contrib, Module, Tasks, Steps, Blocks):
    """Translates a fabfile."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.tree = ast.parse(text, NAME)
        self.translated = 0
        self.marked = []
        self.env = {}
        self.tasks = {}
        self.comments = []
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        # Names that come from other modules than those of Fabric.
        self.foreign = {alias.asname or alias.name for node in self.tree.body if isinstance(node, ast.ImportFrom)
                        and (node.module or "").partition(".")[0] not in ("fabric", "patchwork") for alias in node.names}
        self.second = any(
            isinstance(node, ast.ImportFrom) and node.module in ("fabric", "fabric.tasks", "invoke")
            and any(name.name in ("task", "Connection", "SerialGroup", "ThreadingGroup", "Group") for name in node.names)
            for node in ast.walk(self.tree)
        )
        self.constants = set()
        # The values of names that the file sets outside of functions.
        self.known = {}
        self.scope = None
        # Steps that come before the statement that is being translated.
        self.before = []
        # How many conditions decide whether the current expression is used.
        self.conditional = 0

    def mark(self, node, why):
        line = getattr(node, "lineno", 0)
        shown = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        if any(word in shown.lower() for word in ("passw", "secret", "token", "passphrase")):
            shown = "(not shown, because it may contain a secret)"
        self.marked.append({"line": line, "text": why})
        return Comment(f"{NAME}:{line}: not translated ({why}): {shown}")


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
    if not translator.second:
        # Fabric 1 runs commands in this shell, and users rely on it.
        translator.env.setdefault("shell", "/bin/bash")
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
