#!/bin/sh
# Measures imports with `namespace_prefix` (`unfurl validate FILE`): 8 layers of 8 files that each import the whole next
# layer, and a profile of 7,000 files in the style of DMTF's Redfish:
#
#   sh benches/prefixes.sh [FILES]     default 7000
#
# Fails if a limit is exceeded. `UNFURL_PROFILE` names the build profile (default dist), `UNFURL_BIN` another binary.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
build_program
UNFURL_BIN=$UNFURL_BIN exec python3 "$here/prefixes.py" measure "${1:-7000}"
