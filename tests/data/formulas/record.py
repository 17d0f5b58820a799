"""Records how real Salt compiles formulas, for tests/formulas.sh.

Usage: PYTHON record.py DIR [FORMULA...] > low-3008.tsv, where PYTHON has Salt installed and DIR is a folder of
formulas, each a checkout of the commit in `commits.txt`. Prints a line for each SLS: formula, SLS, and the digest of
its low data, or `refused` if Salt does not compile it. Salt 3006 records `low-3006.tsv`. With `DUMP=FOLDER`, the low
data itself is written there.

`unstable.tsv` lists the SLS whose low data differs from one recording to the next, with the version of Salt (`*` for
all) and the reason. They are left out.

Pillar of a formula is its rendered `pillar.example`. Grains are those of `grains.json` beside this script.
"""

import hashlib
import json
import logging
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import salt.config
import salt.state
import salt.template
import salt.version

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_PER_SLS = 90
SKIPPED_FOLDERS = {"test", "tests", "docs", "bin", "_pillar", "pillar", "dev", ".git"}
# The requisites of a chunk that tell who included its file differ between versions of Salt and are not compared.
LEFT_OUT = {"__sls_included_from__"}


def unstable():
    """Returns the pairs of formula and SLS that are left out for this version of Salt."""
    release = salt.version.__version__.split(".")[0]
    lines = (HERE / "unstable.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return {(formula, sls) for formula, sls, version, _ in rows if version in ("*", release)}


def plain(value):
    """Returns a value with only the types of JSON."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items() if key not in LEFT_OUT}
    if isinstance(value, (list, tuple, set)):
        return [plain(inner) for inner in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return str(value)


def digest(chunks):
    text = json.dumps(plain(chunks), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sls_names(root):
    """Returns the names of all SLS files of a formula."""
    names = set()
    for path in sorted(root.rglob("*.sls")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] in SKIPPED_FOLDERS or parts == ("top",) or any("." in part for part in parts):
            continue
        if parts[-1] == "init":
            parts = parts[:-1]
        if parts:
            names.add(".".join(parts))
    return sorted(names)


def options(root, scratch):
    opts = salt.config.minion_config(None)
    opts.update(
        id="minion",
        file_client="local",
        file_roots={"base": [str(root)]},
        pillar_roots={"base": [str(scratch / "no-pillar")]},
        root_dir=str(scratch),
        cachedir=str(scratch / "cache"),
        extension_modules=str(scratch / "ext"),
        grains=json.loads((HERE / "grains.json").read_text()),
        state_events=False,
        fileserver_backend=["roots"],
    )
    return opts


def pillar_of(root, opts):
    path = root / "pillar.example"
    if not path.exists():
        return {}
    import salt.loader

    opts = dict(opts, pillar={})
    functions = salt.loader.minion_mods(opts)
    renderers = salt.loader.render(opts, functions)
    data = salt.template.compile_template(
        str(path), renderers, "jinja|yaml", [], [], saltenv="base", sls="pillar"
    )
    return data if isinstance(data, dict) else {}


def low_data(state, matches):
    """Compiles the SLS files of each environment as a run does, and returns their low data or errors."""
    high, errors = state.render_highstate(matches)
    core = state.state
    high, more = core.reconcile_extend(high)
    errors += more + core.verify_high(high)
    if errors:
        return None, errors
    high, more = core.requisite_in(high)
    errors += more
    high = core.apply_exclude(high)
    if errors:
        return None, errors
    chunks = core.compile_high_data(high)
    if isinstance(chunks, tuple):
        chunks, errors = chunks
    return (None, errors) if errors else (chunks, [])


def in_child(state, name, dump):
    """Compiles in a process of its own, since templates can change the pillar in place."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS_PER_SLS)
        try:
            chunks, errors = low_data(state, {"base": [name]})
            answer = "refused" if chunks is None else digest(chunks)
            if dump:
                shown = errors if chunks is None else plain(chunks)
                (dump / f"{name}.json").write_text(json.dumps(shown, indent=1, sort_keys=True))
        except BaseException as error:  # pylint: disable=broad-except
            answer = "refused"
            if dump:
                (dump / f"{name}.json").write_text(json.dumps([f"{type(error).__name__}: {error}"]))
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read().decode()
    os.waitpid(child, 0)
    return answer or "refused"


def main():
    logging.disable(logging.CRITICAL)
    folder = pathlib.Path(sys.argv[1])
    dump_root = os.environ.get("DUMP")
    only = set(sys.argv[2:])
    left_out = unstable()
    for root in sorted(path for path in folder.iterdir() if path.is_dir()):
        if only and root.name not in only:
            continue
        scratch = pathlib.Path(tempfile.mkdtemp())
        dump = None
        if dump_root:
            dump = pathlib.Path(dump_root) / root.name
            dump.mkdir(parents=True, exist_ok=True)
        try:
            opts = options(root.resolve(), scratch)
            try:
                pillar = pillar_of(root, opts)
            except Exception as error:  # pylint: disable=broad-except
                print(f"{root.name}\t# pillar.example does not render: {str(error).splitlines()[0]}", file=sys.stderr)
                pillar = {}
            if dump:
                (dump / "pillar").write_text(json.dumps(plain(pillar), indent=1))
            state = salt.state.HighState(opts, initial_pillar=pillar)
            state.push_active()
            for name in sls_names(root):
                if (root.name, name) in left_out:
                    continue
                print(root.name, name, in_child(state, name, dump), sep="\t", flush=True)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
