"""Writes files that import each other with prefixes, and measures how long `unfurl validate` takes for them.

    python3 benches/prefixes.py layers LAYERS WIDTH FOLDER     writes layers; the first file is FOLDER/f0_0.yaml
    python3 benches/prefixes.py profile FILES FOLDER           writes a profile; the first file is FOLDER/service.yaml
    python3 benches/prefixes.py measure FILES                  prefixes.sh calls this; README.md describes it
"""

import os
import random
import sys
import tempfile

from measuring import measure

HEADER = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
LAYERS = WIDTH = 8
VERSIONS = 20

# The limits: CPU seconds, and memory in MB.
LAYERED_SECONDS = 1
PROFILE_SECONDS = 10
PROFILE_MEMORY = 1000


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def layers(layers, width, folder):
    """Writes layers of files. Each file imports all files of the next layer, each with a prefix."""
    for layer in range(layers):
        for at in range(width):
            text = HEADER
            base = "tosca.nodes.Root"
            if layer + 1 < layers:
                text += "imports:\n"
                for other in range(width):
                    text += f"  - {{file: f{layer + 1}_{other}.yaml, namespace_prefix: p{other}}}\n"
                base = "p0.T"
            text += f"node_types:\n  T:\n    derived_from: {base}\n    properties: {{v{layer}: {{type: integer, default: 1}}}}\n"
            if (layer, at) == (0, 0):
                text += "topology_template: {node_templates: {a: {type: T}}}\n"
            write(folder, f"f{layer}_{at}.yaml", text)


def profile(files, folder):
    """Writes a profile: resources in versions, where each version imports a handful of others with prefixes."""
    names = [f"Resource{at // VERSIONS}.v1_{at % VERSIONS}_0" for at in range(files)]
    chance = random.Random(1)
    for at, name in enumerate(names):
        # Resources refer to each other in circles. The version before is the base of a version.
        others = {chance.choice(names) for _ in range(5)} - {name}
        base = names[at - 1] if at % VERSIONS else None
        imported = sorted(others | ({base} if base else set()))
        text = HEADER + "imports:\n"
        text += "".join(f"  - {{file: {other}.yaml, namespace_prefix: {other}}}\n" for other in imported)
        resource = name.split(".")[0]
        parent = f"{base}.{resource}" if base else "tosca.nodes.Root"
        text += f"data_types:\n  Status:\n    properties: {{State: {{type: string, required: false}}}}\n"
        text += f"node_types:\n  {resource}:\n    derived_from: {parent}\n    properties:\n"
        text += f"      P{at % VERSIONS}: {{type: Status, required: false}}\n"
        for other in sorted(others):
            text += f"      Of{other.replace('.', '_')}: {{type: {other}.Status, required: false}}\n"
        write(folder, f"{name}.yaml", text)
    text = HEADER + "imports:\n"
    # The service template imports the last version of each resource: all other files follow from these.
    for name in names[VERSIONS - 1 :: VERSIONS]:
        text += f"  - {{file: {name}.yaml, namespace_prefix: {name}}}\n"
    first = names[VERSIONS - 1]
    text += f"topology_template: {{node_templates: {{a: {{type: {first}.{first.split('.')[0]}}}}}}}\n"
    write(folder, "service.yaml", text)


def validate(what, folder, file, most_seconds, most_memory):
    _, cpu, memory = measure([os.environ["UNFURL_BIN"], "validate", file], folder)
    print(f"{what:<40} {cpu:7.2f} s CPU {memory:7.0f} MB", flush=True)
    return cpu <= most_seconds and memory <= most_memory


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        layers(LAYERS, WIDTH, folder)
        fast = validate(f"{LAYERS} layers of {WIDTH} files", folder, "f0_0.yaml", LAYERED_SECONDS, PROFILE_MEMORY)
    with tempfile.TemporaryDirectory() as folder:
        profile(files, folder)
        fast &= validate(f"a profile of {files} files", folder, "service.yaml", PROFILE_SECONDS, PROFILE_MEMORY)
    if not fast:
        sys.exit("error: a limit of benches/README.md is exceeded")


def main():
    match sys.argv[1:]:
        case ["layers", count, width, folder]:
            layers(int(count), int(width), folder)
        case ["profile", files, folder]:
            profile(int(files), folder)
        case ["measure", files]:
            run(int(files))
        case _:
            sys.exit(__doc__)


main()
