#!/usr/bin/env python3
"""Records what `ansible-inventory --list` says of each case of cases.tsv, in answers/NAME.json.

The program comes from PATH. Secrets of the test data, which all contain `hunter2`, are replaced, because
`unfurl hosts` never shows them.
"""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
REDACTED = "<<REDACTED>>"


def without_secrets(value):
    if isinstance(value, dict):
        if "__ansible_vault" in value:
            return REDACTED
        return {key: without_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if isinstance(value, str) and "hunter2" in value:
        return REDACTED
    return value


def main():
    environment = dict(os.environ)
    environment.update(
        ANSIBLE_INVENTORY_ENABLED="host_list,script,auto,yaml,toml,ini",
        ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED="true",
        ANSIBLE_VAULT_PASSWORD_FILE=str(HERE / "vault-password.txt"),
    )
    answers = HERE / "answers"
    answers.mkdir(exist_ok=True)
    for line in (HERE / "cases.tsv").read_text().splitlines():
        name, paths = line.split("\t")
        command = ["ansible-inventory", "--list"]
        for path in paths.split(" "):
            command += ["-i", str(HERE / path)]
        done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{name}: {done.stderr}")
        answer = without_secrets(json.loads(done.stdout))
        text = json.dumps(answer, indent=1, sort_keys=True)
        (answers / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
