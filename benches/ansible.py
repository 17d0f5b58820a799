"""The CPU time of a playbook as an operation, against `ansible-playbook` with the same playbook and inventory."""

import os
import shutil
import statistics
import sys
import tempfile

from measuring import ONE_NODE, measure

ENSEMBLE = ONE_NODE + """                implementation: Ansible
                inputs: {playbook: site.yml, inventory: inventory.yml, arguments: {word: hello}}
"""
INVENTORY = """all:
  hosts:
    a: {}
    b: {}
  vars: {ansible_connection: local, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
"""
PLAYBOOK = """- hosts: all
  gather_facts: false
  tasks:
"""
TASK = """    - {name: say %d, command: "echo {{ word }}", changed_when: false}
"""
TASKS = 20
LIMIT = 1.05


def main():
    pairs = int(sys.argv[1])
    unfurl = os.environ["UNFURL_BIN"]
    ansible = shutil.which("ansible-playbook")
    if not ansible:
        sys.exit("error: ansible-playbook is missing; install ansible-core")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (
            ("ensemble.yaml", ENSEMBLE),
            ("inventory.yml", INVENTORY),
            ("site.yml", PLAYBOOK + "".join(TASK % number for number in range(TASKS))),
        ):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        plain = [ansible, "-i", "inventory.yml", "-e", "word=hello", "site.yml"]
        job = [unfurl, "--home", "", "deploy", "--approve", "--force"]
        measure(plain, folder)
        measure(job, folder)
        times = {"ansible-playbook": [], "unfurl": []}
        for _ in range(pairs):
            times["ansible-playbook"].append(measure(plain, folder)[1])
            times["unfurl"].append(measure(job, folder)[1])
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:20} {value:6.2f} s CPU, median of {pairs}")
    ratio = medians["unfurl"] / medians["ansible-playbook"]
    print(f"ratio                {ratio:6.3f}, limit {LIMIT}")
    if ratio > LIMIT:
        sys.exit(1)


main()
