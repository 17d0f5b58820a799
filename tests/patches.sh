#!/bin/sh
# Applies the patches of docs/contributing/examples/ to a copy of the project, builds it, and runs the lines
# in the patches: sh tests/patches.sh TARGET PROFILE
#
# The text above the first `diff` of a patch describes the change. Lines of it that begin with `$ ` are shell
# commands. Each command runs in an empty folder with the built program first on the PATH and must exit with 0.
# The lines below a command that begin with `> ` are texts that its output must contain.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
target=$(cd "$1" && pwd)
profile=$2
copy=$target/patched
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The current files of the project, including uncommitted ones.
rm -rf "$copy"
mkdir -p "$copy"
git ls-files --cached --others --exclude-standard | while IFS= read -r file; do
  [ ! -e "$file" ] || printf '%s\n' "$file"
done >"$work/files"
tar -cf - -T "$work/files" | tar -xpf - -C "$copy"

for patch in docs/contributing/examples/*.patch; do
  echo "applying $patch"
  patch -p1 -s -d "$copy" <"$patch" || {
    echo "error: $patch does not apply; update the patch or the code"
    exit 1
  }
done
# The copy has its own target folder and compiles no library again.
build=$target/patched-build
sh tests/share_libraries.sh "$target/$profile" "$build/$profile"
(cd "$copy" && CARGO_TARGET_DIR=$build cargo build --locked --quiet --profile "$profile" --features fault-injection --bin unfurl)

PATH=$build/$profile:$PATH
export PATH
failed=
for patch in docs/contributing/examples/*.patch; do
  sed '/^diff /,$d' "$patch" | grep -E '^(\$|>) ' >"$work/lines" || {
    echo "error: $patch has no line with a command (\`\$ …\`)"
    exit 1
  }
  command=
  number=0
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      '$ '*)
        number=$((number + 1))
        command=${line#??}
        folder=$work/$(basename "$patch" .patch)
        mkdir -p "$folder"
        (cd "$folder" && sh -c "$command") </dev/null >"$work/output" 2>&1 || {
          echo "error: $patch: \`$command\` failed:"
          cat "$work/output"
          failed=yes
        }
        ;;
      *)
        grep -qF -- "${line#??}" "$work/output" || {
          echo "error: $patch: the output of \`$command\` lacks \`${line#??}\`:"
          cat "$work/output"
          failed=yes
        }
        ;;
    esac
  done <"$work/lines"
  echo "$patch: $number commands ran"
done
[ -z "$failed" ]
