# Read by scripts of this folder, which have set `here`: goes to the root of the project and sets `profile` and `folder`,
# the folder of the built program. `UNFURL_PROFILE` names the build profile (default dist).
root=$(cd "$here/.." && pwd)
cd "$root"
profile=${UNFURL_PROFILE:-dist}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
