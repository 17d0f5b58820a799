# Read by scripts of this folder, which have set `here`: goes to the root of the project and sets `profile` and `folder`,
# the folder of the built program. `UNFURL_PROFILE` names the build profile (default dist).
root=$(cd "$here/.." && pwd)
cd "$root"
profile=${UNFURL_PROFILE:-dist}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")

# Builds the program and sets `UNFURL_BIN` to it, unless that names another binary.
build_program() {
  [ -z "${UNFURL_BIN:-}" ] || return 0
  cargo build --quiet --profile "$profile" --bin unfurl
  UNFURL_BIN=$folder/unfurl
}
