#!/bin/sh
# Measures deploy, no-op deploy and teardown:
#
#   sh benches/deploy.sh N         N nodes in chains of ten, against N/10 nodes
#   sh benches/deploy.sh chain N   N nodes, each reading an attribute of the previous one, against N independent ones
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = chain ]; then
  exec python3 "$here/bench.py" chain "${2:-10000}"
fi
exec python3 "$here/bench.py" deploy "${1:-1000}"
