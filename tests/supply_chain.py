"""Checks the licences and the sources of all crates that the program, its tests and its fuzz targets use.

    supply_chain.py LICENCES.txt            asks cargo for the crates of Cargo.lock
    supply_chain.py LICENCES.txt METADATA   reads an answer of `cargo metadata` from a file
    supply_chain.py --sbom                  prints a bill of materials of the program as CycloneDX 1.5 instead

A crate passes if LICENCES.txt accepts its licence, it comes from the index of crates, and no folder or git
repository outside of this workspace replaces it. The script prints every problem and fails if there is one.
"""

import json
import os
import re
import subprocess
import sys

COMMAND = ["metadata", "--locked", "--format-version", "1"]
# The index of crates, as Cargo.lock names it.
INDEX = re.compile(r"registry\+https://[^/]+/rust-lang/crates\.io-index")
WORD = re.compile(r"\s*(\(|\)|/|[^\s()/]+)")


def read_list(path):
    """Returns the accepted licences, and the crates with a licence of their own by name."""
    licences, crates = set(), {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.partition("#")[0].strip()
            name, colon, licence = line.partition(":")
            if colon:
                crates[name.strip()] = licence.strip()
            elif line:
                licences.add(line)
    return licences, crates


def is_accepted(expression, licences):
    """Evaluates an SPDX expression: `OR` needs one accepted side, `AND` both. `/` is an old form of `OR`."""
    words = WORD.findall(expression)
    place = 0

    def peek():
        return words[place] if place < len(words) else None

    def take():
        nonlocal place
        place += 1
        return words[place - 1]

    def alternatives():
        accepted = conjunction()
        while peek() in ("OR", "/"):
            take()
            accepted = conjunction() or accepted
        return accepted

    def conjunction():
        accepted = licence()
        while peek() == "AND":
            take()
            accepted = licence() and accepted
        return accepted

    def licence():
        if peek() in (None, ")", "/", "OR", "AND", "WITH"):
            raise ValueError(expression)
        if peek() == "(":
            take()
            accepted = alternatives()
            if peek() != ")":
                raise ValueError(expression)
            take()
            return accepted
        name = take()
        if peek() == "WITH":
            take()
            if peek() is None:
                raise ValueError(expression)
            name = f"{name} WITH {take()}"
        return name in licences

    accepted = alternatives()
    if place != len(words):
        raise ValueError(expression)
    return accepted


def problems(metadata, licences, crates):
    """Yields a message for each crate that does not pass, and for each outdated line of the list."""
    members = set(metadata["workspace_members"])
    seen = set()
    for crate in metadata["packages"]:
        title = f"{crate['name']} {crate['version']}"
        source = crate["source"]
        if source is None:
            if crate["id"] not in members:
                yield f"{title} comes from the folder {os.path.dirname(crate['manifest_path'])}: only members of this workspace may"
            continue
        if not INDEX.fullmatch(source):
            yield f"{title} comes from {source}: only the index of crates is allowed"
        licence = crate["license"]
        if crate["name"] in crates:
            seen.add(crate["name"])
            licence = licence or crate["license_file"] and f"file {os.path.basename(crate['license_file'])}"
            if licence != crates[crate["name"]]:
                yield f"{title} has the licence `{licence}`, and the list says `{crates[crate['name']]}`: read it and change the list"
        elif not licence:
            yield f"{title} names no licence: read its licence file and add a line `{crate['name']}: file NAME` to the list"
        else:
            try:
                accepted = is_accepted(licence, licences)
            except ValueError:
                yield f"{title} has the licence `{licence}`, which is not a valid expression"
                continue
            if not accepted:
                yield f"{title} has the licence `{licence}`, which the list does not accept"
    for name in sorted(set(crates) - seen):
        yield f"the list names the crate {name}, which nothing uses: remove its line"


def ask_cargo():
    cargo = os.environ.get("CARGO", "cargo")
    answer = subprocess.run([cargo, *COMMAND], stdout=subprocess.PIPE, check=False)
    if answer.returncode != 0:
        sys.exit("cargo metadata failed")
    return json.loads(answer.stdout)


def bill_of_materials(metadata):
    """Lists the crates that are compiled into the program or build it, without those of tests alone."""
    crates = {crate["id"]: crate for crate in metadata["packages"]}
    needs = {
        node["id"]: [
            dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    root = next(name for name in metadata["workspace_members"] if crates[name]["name"] == "unfurl")
    reached, waiting = set(), [root]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(needs[name])

    def component(crate):
        licence = crate["license"] or f"LicenseRef-{crate['name']}"
        purl = f"pkg:cargo/{crate['name']}@{crate['version']}"
        return {
            "type": "application" if crate["id"] == root else "library",
            "bom-ref": purl,
            "name": crate["name"],
            "version": crate["version"],
            "purl": purl,
            "licenses": [{"expression": licence.replace("/", " OR ")}],
        }

    listed = sorted((crates[name] for name in reached - {root}), key=lambda it: (it["name"], it["version"]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(crates[root])},
        "components": [component(crate) for crate in listed],
    }


def main(listing, path=None):
    if listing == "--sbom":
        print(json.dumps(bill_of_materials(ask_cargo()), indent=1))
        return None
    if path is None:
        metadata = ask_cargo()
    else:
        with open(path, encoding="utf-8") as file:
            metadata = json.load(file)
    found = list(problems(metadata, *read_list(listing)))
    for problem in found:
        print(f"error: {problem}")
    if found:
        return f"{len(found)} problems with crates; the list is {listing}"
    print(f"Licences and sources of {len(metadata['packages'])} crates are accepted.")
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
