#!/bin/sh
# Measures how fast a YAML file is refused that would unfold to 10^12 nodes; fails over 100 ms.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/bench.py" alias-bomb
