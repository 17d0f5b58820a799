"""Ansible's stdout callback of unfurl: prints one JSON object per line.

Each line begins with the mark `{"unfurl":`, so that other texts on the standard output do not matter. The variable
`UNFURL_ANSIBLE_REPORT` has the names of the values that are wanted of results, and of facts, as JSON.
"""

from __future__ import annotations

import json
import os
import sys

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: unfurl_report
    type: stdout
    short_description: reports the run of a playbook as lines of JSON
    description:
      - Prints one JSON object per line, which unfurl reads.
"""

CENSORED = "the output was hidden, because the task has no_log"
MAX_DIFF = 20000
MAX_TEXT = 4000


def _plain(value):
    """Returns a value that JSON can hold."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    # A plain text, also of a subclass with marks of Ansible.
    return "".join(str(value))


def _short(value):
    text = value if isinstance(value, str) else json.dumps(_plain(value))
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "unfurl_report"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        try:
            wanted = json.loads(os.environ.get("UNFURL_ANSIBLE_REPORT") or "{}")
        except ValueError:
            wanted = {}
        self._keys = wanted.get("keys") or []
        self._facts = wanted.get("facts") or []

    # Printing

    def _emit(self, kind, **fields):
        line = json.dumps(dict(unfurl=kind, **fields), ensure_ascii=True, default=str)
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            pass

    # The parts of results

    @staticmethod
    def _parts(result):
        """Returns the host, the task and the values of a result, of old and of new versions."""
        host = getattr(result, "host", None) or result._host
        task = getattr(result, "task", None) or result._task
        values = getattr(result, "result", None)
        if values is None:
            values = result._result
        return host, task, values

    @staticmethod
    def _is_secret(task, values):
        no_log = getattr(task, "no_log", False)
        return bool(values.get("_ansible_no_log", False)) or no_log is True

    def _result(self, status, result, **more):
        host, task, values = self._parts(result)
        fields = dict(
            status=status,
            host=host.get_name(),
            task=str(task.get_name()).strip(),
            action=str(task.action),
            changed=bool(values.get("changed", False)),
            **more,
        )
        if self._is_secret(task, values):
            fields["secret"] = True
            fields["keys"] = [key for key in values if isinstance(key, str)]
            if status in ("failed", "unreachable"):
                fields["message"] = CENSORED
            self._emit("result", **fields)
            return
        clean = result.clean_copy() if hasattr(result, "clean_copy") else None
        values = self._parts(clean)[2] if clean is not None else values
        kept, ignored = {}, []
        for key, value in values.items():
            name = {
                "returncode": "returncode",
                "msg": "msg",
                "exception": "error",
                "stdout": "stdout",
                "stderr": "stderr",
                "module_stdout": "stdout",
                "module_stderr": "stderr",
            }.get(key, key if key in self._keys else None)
            if name is None:
                ignored.append(str(key))
            else:
                kept[name] = _plain(value)
        facts = values.get("ansible_facts")
        facts = facts if isinstance(facts, dict) else {}
        outputs = {}
        for fact in self._facts:
            if fact in facts:
                outputs[fact] = _plain(facts[fact])
            elif fact in values:
                outputs[fact] = _plain(values[fact])
        fields.update(values=kept, ignored=ignored, facts=outputs)
        if status in ("failed", "unreachable"):
            fields["message"] = self._message(values)
        if status == "skipped":
            reason = values.get("skip_reason") or values.get("skipped_reason")
            if reason:
                fields["message"] = _short(reason)
        diff = self._difference(values)
        if diff:
            fields["diff"] = diff
        self._emit("result", **fields)

    @staticmethod
    def _message(values):
        """Returns the module's own message about a failure."""
        texts = []
        for item in values.get("results") or []:
            if isinstance(item, dict) and item.get("failed"):
                label = item.get("_ansible_item_label", item.get("item"))
                own = item.get("msg") or item.get("stderr") or ""
                texts.append("%s: %s" % (_short(label), _short(own)) if label is not None else _short(own))
        own = values.get("msg")
        if own and not texts:
            texts.append(_short(own))
        for key in ("stderr", "module_stderr", "stdout", "module_stdout"):
            more = values.get(key)
            if isinstance(more, str) and more.strip():
                texts.append(_short(more.strip()))
                break
        if not texts and values.get("exception"):
            texts.append(_short(str(values["exception"]).strip().splitlines()[-1]))
        code = values.get("rc")
        if code is not None and not isinstance(code, bool):
            texts.append("exit code %s" % code)
        return "\n".join(texts)

    def _difference(self, values):
        """Returns the differences that a result reports, as text."""
        if not values.get("changed", False):
            return ""
        found = [values] if values.get("diff") else []
        for item in values.get("results") or []:
            if isinstance(item, dict) and item.get("changed") and item.get("diff"):
                found.append(item)
        texts = []
        for item in found:
            try:
                text = self._get_diff(item["diff"])
            except Exception:  # noqa: BLE001 - a difference is shown where it can be
                text = None
            if text:
                texts.append(str(text).strip("\n"))
        return "\n".join(texts)[:MAX_DIFF]

    # What happens

    def v2_playbook_on_start(self, playbook):
        from ansible.release import __version__ as version

        self._emit("start", version=version)

    def v2_playbook_on_play_start(self, play):
        self._emit("play", name=str(play.get_name()).strip(), check=bool(getattr(play, "check_mode", False)))

    def _task_start(self, task, handler=False):
        self._emit("task", name=str(task.get_name()).strip(), action=str(task.action), handler=handler)

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._task_start(task)

    def v2_playbook_on_cleanup_task_start(self, task):
        self._task_start(task)

    def v2_playbook_on_handler_task_start(self, task):
        self._task_start(task, handler=True)

    def v2_playbook_on_no_hosts_matched(self):
        self._emit("no-hosts-matched")

    def v2_playbook_on_no_hosts_remaining(self):
        self._emit("no-hosts-remaining")

    def v2_runner_on_ok(self, result):
        self._result("ok", result)

    def v2_runner_on_skipped(self, result):
        self._result("skipped", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._result("failed", result, ignored_failure=bool(ignore_errors))

    def v2_runner_on_unreachable(self, result):
        self._result("unreachable", result)

    def v2_playbook_on_stats(self, stats):
        hosts = {}
        for host in sorted(stats.processed):
            hosts[str(host)] = {key: int(value) for key, value in stats.summarize(host).items()}
        self._emit("end", hosts=hosts)
