"""Records the answers of Salt and of Jinja2's native templates in `dialect.tsv`.

Usage: PYTHON record.py, with a Python that has the package `salt` (3008.3 recorded the answers).

Each line of `dialect.tsv` has four fields, separated by tabs: a template, Salt's answer, the native answer and a note. An
answer is a JSON text, `!` for an error, or empty if it was not asked. The script renders the first field
and writes the second and third; it keeps the note, which says why this program gives an error instead.
"""
import collections
import json
import logging
import tempfile
import pathlib
import warnings

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

import jinja2
import jinja2.nativetypes
import salt.config
import salt.loader
import salt.utils.templates

HERE = pathlib.Path(__file__).parent
GRAINS = {
    "os": "Debian",
    "os_family": "Debian",
    "roles": ["web", "db"],
    "nested": {"a": {"b": "deep"}},
}
PILLAR = {
    "app": {
        "port": 80,
        "hosts": ["b", "a"],
        "name": "web",
        "nested": {"x": {"y": 1}},
    }
}
# Templates with one of these words depend on Salt and have no native answer.
SALT_WORDS = ("salt", "{#", "pillar", "grains", "load_", "opts", "odict", "raise(", "\\", "include", "import", "extends")


class Minion:
    def __init__(self, folder):
        self.opts = salt.config.minion_config(None)
        self.opts.update(
            file_client="local",
            root_dir=str(folder),
            cachedir=str(folder),
            file_roots={"base": [str(folder)]},
            grains=GRAINS,
            pillar=PILLAR,
            id="web-1",
        )

    def render(self, template):
        grains, pillar = json.loads(json.dumps(GRAINS)), ordered(PILLAR)
        opts = dict(self.opts, grains=grains, pillar=pillar)
        answer = salt.utils.templates.JINJA(
            template,
            from_str=True,
            to_str=True,
            context={},
            salt=salt.loader.minion_mods(opts, utils=salt.loader.utils(opts)),
            grains=grains,
            pillar=pillar,
            opts=opts,
            saltenv="base",
            sls="main",
            tmplpath="",
        )
        return json.dumps(answer["data"], ensure_ascii=False) if answer["result"] else "!"


def ordered(value):
    """Returns a copy of the value with the maps that the YAML renderer of pillar files makes."""
    return json.loads(json.dumps(value), object_pairs_hook=collections.OrderedDict)


def plain(value):
    """Returns the value as data: a native template gives lists for tuples, and texts for other objects."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(value)


def native(environment, template):
    try:
        return json.dumps(repr(plain(environment.from_string(template).render())), ensure_ascii=False)
    except Exception:
        return "!"


def main():
    environment = jinja2.nativetypes.NativeEnvironment(
        undefined=jinja2.StrictUndefined,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    path = HERE / "dialect.tsv"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        minion = Minion(folder)
        for line in path.read_text().splitlines():
            if line.startswith("# ") or not line:
                lines.append(line)
                continue
            template, _, _, note = (line.split("\t") + ["", "", ""])[:4]
            try:
                answer = minion.render(template)
            except Exception:
                answer = "!"
            only_salt = any(word in template for word in SALT_WORDS)
            other = "" if only_salt else native(environment, template)
            lines.append("\t".join([template, answer, other, note]).rstrip("\t"))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
