#!/bin/sh
# Measures reading, type-checking and resolving a service template (`unfurl validate FILE`):
#
#   sh benches/parse.sh [N]     5,000 nodes against N, default 100,000
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/bench.py" parse "${1:-100000}"
