#!/bin/sh
# Measures how fast a service template is read, type-checked and resolved (`unfurl validate FILE`):
#
#   sh benches/parse.sh [N]     5,000 nodes against N, 100,000 if not given
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/bench.py" parse "${1:-100000}"
