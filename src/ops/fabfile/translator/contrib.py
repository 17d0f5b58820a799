"""Functions of `fabric.contrib` and `patchwork`, and of `os.path`."""

# The function's name: its parameters in order.
CONTRIB = {
    "exists": ("path", "use_sudo", "verbose"),
    "is_link": ("path", "use_sudo", "verbose"),
    "contains": ("filename", "text", "exact", "use_sudo", "escape", "shell", "case_sensitive"),
    "append": ("filename", "text", "use_sudo", "partial", "escape", "shell"),
    "sed": ("filename", "before", "after", "limit", "use_sudo", "backup", "flags", "shell"),
    "upload_template": ("filename", "destination", "context", "use_jinja", "template_dir", "use_sudo", "backup",
                        "mirror_local_mode", "mode"),
    "rsync_project": ("remote_dir", "local_dir", "exclude", "delete", "extra_opts", "ssh_opts", "capture", "upload"),
    "confirm": ("question", "default"),
}
# The number of parameters that have no default.
REQUIRED = {"exists": 1, "is_link": 1, "contains": 2, "append": 2, "sed": 3, "upload_template": 2, "rsync_project": 1,
            "confirm": 1}
# The counterparts of functions that are not translated.
INSTEAD = {
    "comment": "use a state file with `file.comment`",
    "uncomment": "use a state file with `file.uncomment`",
    "first": "run `test -e` for each path",
    "upload_project": "use the step `put` with a folder",
    "require": "variables are checked before anything runs",
    "reboot": "use `unfurl reboot`",
    "open_shell": "use `unfurl shell`",
    "disconnect_all": "connections end with the program",
}
COLORS = {"blue", "cyan", "green", "magenta", "red", "white", "yellow"}
PLAIN_WORD = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@:,=%~")


class Contrib:
    """Translates calls of functions that test or change files."""

    def contrib_name(self, node):
        """The name of a function of `fabric.contrib`, unless the file has a function of that name."""
        name = (call_name(node) or "").rpartition(".")
        owner = name[0].rpartition(".")[2]
        is_known = owner in ("", "files", "console", "project") and name[2] not in self.functions
        is_known = is_known and (owner or name[2] not in self.foreign)
        return name[2] if is_known and (name[2] in CONTRIB or name[2] in INSTEAD) else None

    def parameters(self, name, call):
        arguments = call.args
        if arguments and self.scope and self.scope.context and dotted(arguments[0]) == self.scope.context:
            arguments = arguments[1:]
        names = CONTRIB[name]
        given = dict(zip(names, arguments))
        given.update({item.arg: item.value for item in call.keywords})
        unknown = [key for key in given if key not in names]
        if unknown or len(arguments) > len(names):
            raise Unknown(call, f"`{unknown[0] or '**'}` of `{name}` has no counterpart" if unknown
                          else "its arguments have no counterpart")
        missing = [key for key in names[:REQUIRED[name]] if key not in given]
        if missing:
            raise Unknown(call, f"`{missing[0]}` of `{name}` is missing")
        return given

    def set_flag(self, given, key, default=False):
        return self.flag(given[key]) if key in given else default

    def word(self, node):
        """A path as a word of a shell, which expands `~` and patterns, as in Fabric."""
        text = self.text(node)
        return text if text and set(text) <= PLAIN_WORD else f'"$(echo {text})"'

    def quoted_word(self, node):
        """A text as a word of a shell."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.literal(shlex.quote(node.value))
        return "{{ " + self.expression(node, True) + " | quote }}"

    def own_step(self, given, command):
        return {"sudo" if self.set_flag(given, "use_sudo") else "run": command}

    def probe(self, name, node):
        """The expression for a test of a file. A step before the statement makes the test."""
        given = self.parameters(name, node)
        if name == "contains":
            is_exact, is_escaped = self.set_flag(given, "exact"), self.set_flag(given, "escape", True)
            options = "-q" + ("F" if is_escaped else "E") + ("x" if is_exact else "")
            if not self.set_flag(given, "case_sensitive", True):
                options += "i"
            command = f"grep {options} -- {self.quoted_word(given['text'])} {self.word(given['filename'])}"
        else:
            command = f"test {'-e' if name == 'exists' else '-L'} {self.word(given['path'])}"
        step = self.own_step(given, command)
        step.update(hide="everything", warn_only=True)
        return self.lift(node, step, name) + ".ok"

    def question(self, node):
        """The expression for the answer to a question with yes or no."""
        given = self.parameters("confirm", node)
        is_yes = self.set_flag(given, "default", True)
        if self.conditional:
            raise Unknown(node, "a question in the second part of a condition")
        prompt = {"text": self.text(given["question"]) + (" [Y/n]" if is_yes else " [y/N]"),
                  "default": "y" if is_yes else "n", "validate": "(?i)y|yes|n|no"}
        return "(" + self.lift(node, {"prompt": prompt}, "answer") + " | lower in ['y', 'yes'])"

    def lift(self, node, step, word):
        """Puts a step before the statement that is being translated, and returns the name of its result."""
        if self.scope is None:
            raise Unknown(node, "statements outside of tasks have no counterpart")
        name = f"{word}_{node.lineno}"
        while name in self.scope.names or name in self.scope.results:
            name += "_"
        step["register"] = name
        self.scope.names.add(name)
        self.before.append(step)
        return name

    def file_steps(self, name, call):
        """The steps for a call that changes files."""
        given = self.parameters(name, call)
        if name == "append":
            return self.append(call, given)
        if name == "sed":
            return [self.own_step(given, self.sed(call, given))]
        if name == "upload_template":
            return self.upload_template(call, given)
        if name == "rsync_project":
            return [self.rsync_project(call, given)]
        raise Unknown(call, "its result is not used")

    def append(self, call, given):
        if self.set_flag(given, "partial") or not self.set_flag(given, "escape", True):
            raise Unknown(call, "use a state file with `file.append`")
        lines, path = given["text"], self.word(given["filename"])
        lines = lines.elts if isinstance(lines, (ast.List, ast.Tuple)) else [lines]
        steps = []
        for line in lines:
            line = self.quoted_word(line)
            command = f"grep -qxF -- {line} {path} 2>/dev/null || printf '%s\\n' {line} >> {path}"
            steps.append(self.own_step(given, command))
        return steps

    def sed(self, call, given):
        before, after = self.constant(given["before"]), self.constant(given["after"])
        limit = self.constant(given["limit"]) if "limit" in given else ""
        flags = self.constant(given["flags"]) if "flags" in given else ""
        backup = self.constant(given["backup"]) if "backup" in given else ".bak"
        if not all(isinstance(it, str) for it in (before, after, limit, flags, backup)) or "'" in before + after + limit:
            raise Unknown(call, "use a state file with `file.replace`")
        before, after = before.replace("/", "\\/"), after.replace("/", "\\/")
        for sign in "()":
            after = after.replace(sign, "\\" + sign)
        limit = f"/{limit}/ " if limit else ""
        script = self.literal(f"'{limit}s/{before}/{after}/{flags}g'")
        return f"sed -i{self.literal(backup)} -r -e {script} {self.word(given['filename'])}"

    def upload_template(self, call, given):
        context = given.get("context")
        source, target = self.text(given["filename"]), self.text(given["destination"])
        if "template_dir" in given:
            source = self.text(given["template_dir"]) + "/" + source
        step = {"src": source, "dest": target}
        if "mode" in given:
            mode = self.constant(given["mode"])
            step["mode"] = f"{mode:04o}" if isinstance(mode, int) else str(mode)
        is_sudo = self.set_flag(given, "use_sudo")
        if is_sudo:
            step["sudo"] = True
        is_jinja = self.set_flag(given, "use_jinja")
        if context is not None and not is_jinja:
            raise Unknown(call, "write its `%(name)s` as `{{ name }}` and use the step `template`")
        found = {"template" if is_jinja else "put": step}
        if isinstance(context, ast.Dict):
            found["settings"] = {"vars": self.value(context)}
        elif context is not None and dotted(context) != "env":
            raise Unknown(call, "its values are not literal: use the step `template`, which knows all variables")
        if not self.set_flag(given, "backup", True):
            return [found]
        path = self.word(given["destination"])
        return [self.own_step(given, f"[ ! -f {path} ] || cp -p {path} {path}.bak"), found]

    def rsync_project(self, call, given):
        target = self.text(given["remote_dir"])
        is_put = "local_dir" in given and not set(given) - {"remote_dir", "local_dir", "delete"}
        is_deleting = self.set_flag(given, "delete")
        if is_put:
            source = self.text(given["local_dir"])
            if not source.endswith("/"):
                source = source.rstrip("/")
                target = target.rstrip("/") + "/" + source.rpartition("/")[2]
                if "{{" in target.rpartition("/")[2] or source in (".", ".."):
                    raise Unknown(call, "use the step `put` with the target's whole path")
            step = {"src": source.rstrip("/") or "/", "dest": target}
            if is_deleting:
                step["mirror"] = True
            return {"put": step}
        return {"local": self.rsync(call, given, target, is_deleting)}

    def rsync(self, call, given, target, is_deleting):
        """The command that Fabric runs."""
        if "capture" in given or "ssh_opts" in given:
            raise Unknown(call, "use the step `local` with `rsync`")
        words = ["rsync", "-pthrvz"]
        if is_deleting:
            words.insert(1, "--delete")
        if "exclude" in given:
            excluded = self.constant(given["exclude"])
            excluded = [excluded] if isinstance(excluded, str) else excluded
            if not isinstance(excluded, (list, tuple)) or not all(isinstance(item, str) for item in excluded):
                raise Unknown(call, "`exclude` is no list of texts")
            words.extend("--exclude " + self.literal(shlex.quote(item)) for item in excluded)
        if "extra_opts" in given:
            words.append(self.text(given["extra_opts"]))
        local = self.text(given["local_dir"]) if "local_dir" in given else '"$PWD"'
        remote = "{{ user }}@{{ host }}:" + target
        words.append("-e 'ssh -p {{ port }}'")
        words.extend([local, remote] if self.set_flag(given, "upload", True) else [remote, local])
        return " ".join(words)
