#!/bin/sh
# Gives another target folder the libraries that are already built: sh tests/share_libraries.sh FROM TO
#
# FROM and TO are folders of a profile, such as target/ci and target/checks/ci. TO receives hard links, so that
# cargo compiles no library again there. The lock and the files of the project itself are not linked, because
# cargo writes to them, and a change in one folder would then cause a new build in the other.
# A TO that exists stays as it is.
set -eu
from=$1
to=$2
[ -d "$from" ] || exit 0
[ ! -e "$to" ] || exit 0
mkdir -p "$to"
for folder in .fingerprint build deps; do
  cp -al "$from/$folder" "$to/$folder"
done
find "$to" -depth \( -name 'unfurl-*' -o -name 'libunfurl-*' -o -name 'it-*' \) -exec rm -r {} +
