#!/bin/sh
# Measures the refusal of a YAML file that would expand to 10^12 nodes. Fails if it takes over 100 ms.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/bench.py" alias-bomb
