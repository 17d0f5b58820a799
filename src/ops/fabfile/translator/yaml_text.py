"""The text of a YAML document."""


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
