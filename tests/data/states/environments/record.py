"""Records what Salt makes of state trees in several environments and with several renderers: PYTHON record.py

PYTHON has the package `salt`, of version 3008.3 or 3006.28. The answers to `cases.json` with the trees in `tree` are
written to `answers.json`, each as JSON or as `!` for an error. Those of other versions stay.
"""
import json
import logging
import pathlib
import shutil
import sys
import tempfile

logging.disable(logging.CRITICAL)

import salt.client
import salt.config
import salt.state
import salt.version

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "formulas"))
from record import low_data, plain as json_of

ROOTS = {"base": ["base", "base2"], "dev": ["dev"], "prod": ["prod"]}


def options(case, folder):
    roots = case["options"].get("file_roots", ROOTS)
    opts = salt.config.minion_config(None)
    opts.update(
        file_client="local", root_dir=str(folder), cachedir=str(folder / "cache"), id="golden", grains={"os": "Debian"},
        pki_dir=str(folder / "pki"), sock_dir=str(folder / "sock"), log_file=str(folder / "log"), conf_file=str(folder / "minion"),
        pillar={"tmp": str(folder / "files")}, fileserver_limit_traversal=False, **{**case["options"], "file_roots": {
            env: [str(HERE / "tree" / path) for path in paths] for env, paths in roots.items()}},
    )
    opts["pillar_roots"] = {"base": [str(folder / "pillar")]}
    return opts


def applied(case, opts, folder):
    """Applies the SLS, and returns the results of its states and the files that they wrote."""
    caller = salt.client.Caller(mopts=opts)
    answer = caller.cmd("state.sls", case["sls"], pillar=opts["pillar"])
    rows = sorted(answer.values(), key=lambda row: row["__run_num__"])
    for row in rows:
        row["changes"].pop("pid", None)
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "states": [[row["__id__"], row["result"], row["changes"], row["comment"]] for row in rows],
        "files": {str(path.relative_to(folder)): path.read_text() for path in found},
    }


def compiled(case, opts):
    """Compiles the SLS, or those that the top files choose."""
    with salt.state.HighState(opts, pillar_override=opts["pillar"]) as state:
        if case["sls"]:
            matches = {opts["saltenv"] or "base": [case["sls"]]}
        else:
            matches = state.top_matches(state.get_top())
        if case["call"] == "top":
            return matches
        chunks, errors = low_data(state, matches)
        return "!" if errors else json_of(chunks)


def ask(case):
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        files = folder / "files"
        files.mkdir()
        opts = options(case, folder)
        answer = applied(case, opts, files) if case["call"] == "apply" else compiled(case, opts)
        return json.loads(json.dumps(answer).replace(str(files), "/tmp/files"))
    except Exception:
        return "!"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


target = HERE / "answers.json"
answers = json.loads(target.read_text()) if target.exists() else {}
version = salt.version.__version__.split(".")[0]
answers[version] = {case["name"]: ask(case) for case in json.loads((HERE / "cases.json").read_text())}
lines = []
for version, own in sorted(answers.items()):
    rows = [f"    {json.dumps(name)}: {json.dumps(answer)}" for name, answer in own.items()]
    lines.append(f"  {json.dumps(version)}: {{\n" + ",\n".join(rows) + "\n  }")
target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
