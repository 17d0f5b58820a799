"""Names of Fabric, and the names of called functions."""

import ast
import json
import posixpath
import shlex
import sys

NAME = sys.argv[1]

# Settings of Fabric's `env` that have the same meaning here: the key of `env`, and whether a step may set it.
ENV = {
    "hosts": "hosts", "roles": "roles", "exclude_hosts": "exclude_hosts", "roledefs": "roledefs",
    "user": "user", "port": "port", "shell": "shell", "parallel": "parallel", "pool_size": "pool_size",
    "warn_only": "warn_only", "skip_bad_hosts": "skip_bad_hosts", "timeout": "timeout",
    "connection_attempts": "connection_attempts", "command_timeout": "command_timeout",
    "keepalive": "keepalive", "forward_agent": "forward_agent", "abort_on_prompts": "abort_on_prompts",
    "dedupe_hosts": "dedupe_hosts", "key_filename": "key_files", "prompts": "prompts",
    "skip_unknown_tasks": "skip_unknown_tasks",
}
SCOPED = set(ENV.values()) - {"hosts", "roles", "exclude_hosts", "roledefs", "parallel", "pool_size", "dedupe_hosts"}
# Settings without an effect here, because the program always acts that way.
IGNORED_ENV = {"use_ssh_config", "disable_known_hosts", "linewise", "colorize_errors", "output_prefix"}
# Settings of Fabric's `env` that a variable of the same name would not replace.
OTHER_ENV = {
    "abort_exception", "all_hosts", "always_use_pty", "combine_stderr", "command_prefixes", "cwd", "default_port",
    "eagerly_disconnect", "effective_roles", "fabfile", "host", "host_string", "key", "lcwd", "local_user", "no_agent",
    "no_keys", "ok_ret_codes", "path_behavior", "rcfile", "reject_unknown_hosts", "remote_interrupt",
    "shell_env", "ssh_config_path", "sudo_prefix", "sudo_prompt", "sudo_user", "system_known_hosts", "tasks",
    "use_exceptions_for", "use_shell",
}
FACTS = {"host": "host", "host_string": "host_string", "user": "user", "port": "port", "hosts": "all_hosts",
         "all_hosts": "all_hosts", "effective_roles": "effective_roles", "command": "task"}
RESULT = {"stdout": "stdout", "stderr": "stderr", "return_code": "return_code", "exited": "return_code",
          "failed": "failed", "succeeded": "succeeded", "ok": "ok", "command": "command"}
HIDDEN = {"running", "stdout", "stderr", "warnings", "user", "output", "commands", "everything"}
ACTIONS = {"run", "sudo", "local", "put", "get", "execute"}


class Unknown(Exception):
    """A construct without a translation."""

    def __init__(self, node, why):
        super().__init__(why)
        self.node = node
        self.why = why


def dotted(node):
    """The dotted name of an expression, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def call_name(node):
    """The name of the called function without the module that it comes from."""
    name = dotted(node.func) if isinstance(node, ast.Call) else dotted(node)
    if name is None:
        return None
    for module in ("fabric.api.", "api.", "fabric.", "fab.", "operations.", "invoke."):
        if name.startswith(module):
            return name[len(module):]
    return name


class Comment(str):
    """A line that marks what has no translation."""
