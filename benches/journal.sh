#!/bin/sh
# Measures the cost of the journal, compared with the same program without it. Fails over 10 %:
#
#   sh benches/journal.sh [N]      a deploy of N shell tasks, default 1,000
#
# The script first builds both programs in the profile that `UNFURL_PROFILE` names (default dist).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/program.sh"
cargo build --quiet --profile "$profile" --features without-journal
cp "$folder/unfurl" "$folder/unfurl-without-journal"
cargo build --quiet --profile "$profile"
UNFURL_BIN="$folder/unfurl" exec python3 "$here/bench.py" journal "${1:-1000}" "$folder/unfurl-without-journal"
