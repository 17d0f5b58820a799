"""Filters of unfurl for playbooks: give the values that unfurl has evaluated before the playbook runs."""

from __future__ import annotations

import json

from ansible.errors import AnsibleFilterError

try:
    from jinja2 import pass_context
except ImportError:  # Jinja 2
    from jinja2 import contextfilter as pass_context

TABLES = ("unfurl_expressions", "unfurl_secret_expressions")
NAMES = ("eval", "ref", "get_dir", "abspath", "get_env")


def _filter(name):
    @pass_context
    def evaluated(context, value, *args, **options):
        key = json.dumps([name, value, list(args)], sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
        for table in TABLES:
            found = (context.get(table) or {}).get(key)
            if found is None:
                continue
            if "error" in found:
                raise AnsibleFilterError("unfurl cannot evaluate %r: %s" % (value, found["error"]))
            return found["value"]
        raise AnsibleFilterError(
            "unfurl does not know the value of %r, because its text is not written in the playbook; "
            "the filter `%s` takes a text in quotes here, or use `arguments` of the operation" % (value, name)
        )

    return evaluated


class FilterModule(object):
    def filters(self):
        return {name: _filter(name) for name in NAMES}
