#!/bin/sh
# Builds the fuzz targets with the stable compiler and runs them, two at a time, from the saved
# seeds:
#
#   sh fuzz/run.sh [SECONDS [TARGET...]]     20 seconds and all targets if not given
#
# What a target finds is an input in target/fuzz/found; give it to the target's program to see it
# fail again. Inputs that take longer than 2 seconds count as found.
set -u
cd "$(dirname "$0")/.."

seconds=${1:-20}
[ $# -eq 0 ] || shift
targets=${*:-yaml tosca expression template lfs}
triple=$(rustc -vV | sed -n 's/^host: //p')
folder=${CARGO_TARGET_DIR:-target}/fuzz
found=$folder/found

# What `cargo fuzz build --sanitizer none` gives the compiler.
passes="-Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
  passes="$passes -Cllvm-args=-sanitizer-coverage-$option"
done
RUSTFLAGS="$passes --cfg fuzzing -Cdebug-assertions" cargo build --bins \
  --manifest-path fuzz/Cargo.toml --target "$triple" --target-dir "$folder" --profile fuzz || exit 1

# Runs one target; its words go into a file.
fuzz() {
  mkdir -p "$found/$1" "$folder/corpus/$1"
  "$folder/$triple/fuzz/$1" -max_total_time="$seconds" -timeout=10 -report_slow_units=2 \
    -rss_limit_mb=2048 -max_len=4096 -artifact_prefix="$found/$1/" -print_final_stats=1 \
    "$folder/corpus/$1" "fuzz/seeds/$1" >"$folder/$1.log" 2>&1
}

# Forgets slow inputs that are fast when they are tried again: then the machine was busy.
forget_fast() {
  for input in "$found/$1"/slow-unit-*; do
    [ -f "$input" ] || continue
    took=$("$folder/$triple/fuzz/$1" -timeout=10 "$input" 2>&1 | sed -n 's/^Executed .* in \([0-9]*\) ms$/\1/p')
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
    echo "$target: ${runs:-an unknown number of} inputs in $seconds s"
  done
done
for target in $failed; do
  echo "$target found something; the end of $folder/$target.log:"
  tail -n 40 "$folder/$target.log"
  ls "$found/$target"
done
[ -z "$failed" ]
