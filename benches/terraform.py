"""The CPU time of a module as an operation, against a script of the same Terraform commands.

The script does what a deploy needs: `init`, `apply -json` and `show -json`. Both begin in an empty folder each time.
"""

import os
import shutil
import statistics
import sys
import tempfile

from measuring import ONE_NODE, measure

MODULE = """variable "word" {}
resource "terraform_data" "x" {
  count = 20
  input = "${var.word}-${count.index}"
}
output "first" { value = terraform_data.x[0].output }
"""
ENSEMBLE = ONE_NODE + """                implementation: Terraform
                inputs:
                  tfvars: {word: hello}
                  main: |
"""
SCRIPT = """terraform init -input=false &&
terraform apply -json -input=false -auto-approve -var word=hello && terraform show -json"""
LIMIT = 1.05


def measured(words, name, text, env):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
        return measure(words, folder, env)[1]


def main():
    pairs = int(sys.argv[1])
    unfurl = os.environ["UNFURL_BIN"]
    if not shutil.which("terraform"):
        sys.exit("error: terraform is missing; install Terraform 1.4 or later")
    indented = "".join(" " * 20 + line + "\n" for line in MODULE.splitlines())
    worst = 0
    for keys, password in (("age", ""), ("vault", "password")):
        env = {"CHECKPOINT_DISABLE": "1", "UNFURL_VAULT_DEFAULT_PASSWORD": password}
        job = [unfurl, "--home", "", "deploy", "--approve"]
        runs = (
            ("script", ["sh", "-c", SCRIPT], "main.tf", MODULE),
            ("unfurl", job, "ensemble.yaml", ENSEMBLE + indented),
        )
        times = {"script": [], "unfurl": []}
        for pair in range(pairs + 1):
            for name, words, file, text in runs:
                value = measured(words, file, text, env)
                if pair:
                    times[name].append(value)
        ratio = statistics.median(a / b for a, b in zip(times["unfurl"], times["script"]))
        medians = ", ".join(f"{name} {statistics.median(all):.3f} s" for name, all in times.items())
        print(f"{keys:6} {medians} CPU; ratio {ratio:6.3f}, median of {pairs}, limit {LIMIT}")
        worst = max(worst, ratio)
    if worst > LIMIT:
        sys.exit(1)


main()
