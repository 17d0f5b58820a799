#!/bin/sh
# Builds the fuzz targets with the stable compiler and runs them, two at a time, from the saved
# seeds:
#
#   sh fuzz/run.sh [SECONDS [TARGET...]]     a search; 20 seconds and all targets if not given
#   sh fuzz/run.sh again [TARGET...]         a fixed set of inputs
#
# A finding is an input in target/fuzz/found. Pass it to the target's program to see it fail again.
# Inputs that take longer than 2 seconds are findings too.
set -u
cd "$(dirname "$0")/.."

seconds=${1:-20}
[ $# -eq 0 ] || shift
targets=${*:-yaml tosca expression template lfs}
target_dir=${CARGO_TARGET_DIR:-target}
folder=$target_dir/fuzz
found=$folder/found

case $seconds in
  again)
    # The same build as in `sh tests/run.sh`, so that only the targets remain to be built.
    programs=$target_dir/ci
    cargo build --locked --workspace --bins --test it --features unfurl/fault-injection --profile ci \
      --target-dir "$target_dir" || exit 1
    ;;
  *[!0-9]* | 0*)
    echo "error: \`$seconds\` is neither a number of seconds nor \`again\`" >&2
    exit 2
    ;;
  *)
    triple=$(rustc -vV | sed -n 's/^host: //p')
    programs=$folder/$triple/fuzz
    # The compiler flags of `cargo fuzz build --sanitizer none`.
    passes="-Cpasses=sancov-module"
    for option in level=4 inline-8bit-counters pc-table trace-compares; do
      passes="$passes -Cllvm-args=-sanitizer-coverage-$option"
    done
    RUSTFLAGS="$passes --cfg fuzzing -Cdebug-assertions" cargo build --locked -p unfurl-fuzz --bins \
      --target "$triple" --target-dir "$folder" --profile fuzz || exit 1
    ;;
esac

# The number of generated inputs of a target under `again`.
inputs() {
  case $1 in
    yaml) echo 100000 ;;
    tosca | expression | template) echo 60000 ;;
    lfs) echo 2000000 ;;
  esac
}

# Runs one target and writes its output to a file.
fuzz() {
  target=$1
  mkdir -p "$found/$target"
  if [ "$seconds" = again ]; then
    # Options that make the run independent of time, addresses, and changes of the folder.
    set -- -seed=1 -runs="$(inputs "$target")" -keep_seed=1 -reload=0 -reduce_inputs=0 -use_cmp=0
  else
    mkdir -p "$folder/corpus/$target"
    set -- -max_total_time="$seconds" "$folder/corpus/$target"
  fi
  "$programs/$target" -timeout=10 -report_slow_units=2 -rss_limit_mb=2048 -max_len=4096 \
    -artifact_prefix="$found/$target/" -print_final_stats=1 "$@" "$(seeds "$target")" \
    >"$folder/$target.log" 2>&1
}

# Prints the folder with the seeds of a target. libFuzzer adds inputs to the first folder on its command line.
# Under `again` that folder is a copy of the seeds.
seeds() {
  if [ "$seconds" = again ]; then
    rm -rf "${folder:?}/again/$1"
    mkdir -p "$folder/again"
    cp -R "fuzz/seeds/$1" "$folder/again/$1"
    echo "$folder/again/$1"
  else
    echo "fuzz/seeds/$1"
  fi
}

# Removes slow inputs that are fast on a second try, because the machine was busy the first time.
forget_fast() {
  for input in "$found/$1"/slow-unit-*; do
    [ -f "$input" ] || continue
    took=$("$programs/$1" -timeout=10 "$input" 2>&1 | sed -n 's/^Executed .* in \([0-9]*\) ms$/\1/p')
    [ "${took:-9999}" -ge 2000 ] || rm "$input"
  done
}

failed=
for target in $targets; do
  rm -rf "${found:?}/$target"
done
set -- $targets
while [ $# -gt 0 ]; do
  first=$1 second=${2:-}
  shift
  fuzz "$first" &
  running=$!
  if [ -n "$second" ]; then
    shift
    fuzz "$second" || failed="$failed $second"
  fi
  wait "$running" || failed="$failed $first"
  for target in $first $second; do
    forget_fast "$target"
    [ -z "$(ls "$found/$target")" ] || case " $failed " in
      *" $target "*) ;;
      *) failed="$failed $target" ;;
    esac
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$target.log")
    took=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$folder/$target.log")
    echo "$target: ${runs:-an unknown number of} inputs in ${took:-?} s"
  done
done
for target in $failed; do
  echo "$target has findings; the end of $folder/$target.log:"
  tail -n 40 "$folder/$target.log"
  ls "$found/$target"
done
[ -z "$failed" ]
