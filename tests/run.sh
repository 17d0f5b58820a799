#!/bin/sh
# Runs every check of the project: sh tests/run.sh [PART...]
#
# Parts, in this order: format lint docs doctest corpus hands test fuzz. Without PART all of them run,
# also after one failed, and what failed is named in the last line.
#
#   UPDATE=1   rewrites tests/data/corpus-passing.txt from what passes now, and schemas/*.json
#   CI=true    a corpus that is missing is a failure
#   SHARED=    the folder that holds corpus/, ../shared if not set
set -u
cd "$(dirname "$0")/.."

parts="format lint docs doctest corpus hands test fuzz"
shared=${SHARED:-../shared}
target=${CARGO_TARGET_DIR:-target}
# One profile for everything, and the dependencies always with the features that the tests' own ask
# for too, so that one build of them serves all parts: cargo takes those features where a test or an
# example is named.
profile=ci
failed=

say() { printf '\n== %s\n' "$*"; }

die() {
  echo "error: $*" >&2
  exit 1
}

# The system packages that tests need, each with what it is for.
install_packages() {
  missing=
  # The git library is compiled from source.
  command -v cc >/dev/null || missing="$missing gcc libc6-dev"
  # So is the library that makes up inputs, from C++.
  command -v c++ >/dev/null || missing="$missing g++"
  # Ensembles live in git repositories; some tests make one.
  command -v git >/dev/null || missing="$missing git"
  # The webapp example runs two Python processes; the corpus runner is Python.
  command -v python3 >/dev/null || missing="$missing python3"
  # The corpus runner reads the ensembles that unfurl wrote.
  python3 -c 'import yaml' 2>/dev/null || missing="$missing python3-yaml"
  # Service templates in Python are converted in a Python environment of its own.
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
  # Commands run as other users by a real sudo.
  command -v sudo >/dev/null || missing="$missing sudo"
  command -v flock >/dev/null || missing="$missing util-linux"
  # Locks for all machines are taken from a server that a real sshd calls, and seen by the real git-lfs.
  PATH=$PATH:/usr/sbin command -v sshd >/dev/null || missing="$missing openssh-server"
  command -v ssh >/dev/null || missing="$missing openssh-client"
  command -v git-lfs >/dev/null || missing="$missing git-lfs"
  # Hosts of tests stand in networks of their own.
  PATH=$PATH:/usr/sbin:/sbin command -v ip >/dev/null || missing="$missing iproute2"
  # A server of a test speaks TLS with a certificate that is made for it.
  command -v openssl >/dev/null || missing="$missing openssl"
  # States are applied to a Debian of the tests' own.
  PATH=$PATH:/usr/sbin:/sbin command -v debootstrap >/dev/null || missing="$missing debootstrap"
  # The steps of the corpus are lines of bash.
  command -v bash >/dev/null || missing="$missing bash"
  [ -n "$missing" ] || return 0

  command -v apt-get >/dev/null ||
    die "these packages are missing, and there is no apt-get to install them:$missing"
  if [ "$(id -u)" -eq 0 ]; then
    as_root=
  elif command -v sudo >/dev/null; then
    as_root=sudo
  else
    die "these packages are missing, and only root can install them:$missing"
  fi
  echo "Installing missing system packages with apt-get:$missing"
  # Words are split on purpose here and below.
  $as_root apt-get update -qq || echo "warning: apt-get update failed, going on with the lists at hand"
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing ||
    die "apt-get could not install:$missing"
}

format() { cargo fmt --check; }

lint() { cargo clippy --locked --all-targets --profile $profile -- -D warnings; }

docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items --lib --examples \
    --profile $profile
}

# The program, with the tests that need it, which are built sooner or later.
build() { cargo build --locked --bin unfurl --test it --profile $profile; }

doctest() { cargo test --locked --doc --profile $profile; }

corpus() {
  runner=$shared/corpus/unfurl/run_corpus.py
  if [ ! -f "$runner" ]; then
    echo "The corpus is not at $shared/corpus, so its cases are passed over."
    [ "${CI:-}" != true ]
    return
  fi
  build || return 1
  report=$target/corpus-report.json
  rm -f "$report"
  deviations=
  [ ! -f tests/data/deviations.tsv ] ||
    deviations="--deviations tests/data/deviations.tsv"
  # The runner fails when any case fails; which ones may fail is for the list to say.
  facets=exit,job,tasks,outputs,status,state,attributes,flags,files,records,plan,digests
  python3 "$runner" --bin "$target/$profile/unfurl" --jobs 2 --timeout 60 --json "$report" \
    --facets $facets $deviations >"$target/corpus-report.txt" 2>&1
  [ -f "$report" ] || {
    cat "$target/corpus-report.txt"
    return 1
  }
  python3 tests/corpus.py "$report" tests/data/corpus-passing.txt || return 1
  python3 tests/tosca.py "$target/$profile/unfurl" "$shared/corpus/tosca" \
    tests/data/tosca-deviations.tsv
}

# Ensembles go from the real Unfurl to this program and back.
hands() {
  cases=$shared/corpus/unfurl
  if [ ! -d "$cases" ]; then
    echo "The corpus is not at $shared/corpus, so no ensemble changes hands."
    [ "${CI:-}" != true ]
    return
  fi
  build || return 1
  sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt || return 1
  python3 tests/hands.py "$target/$profile/unfurl" "$target/unfurl-py/bin/python3" "$cases" \
    tests/data/hands-exceptions.tsv
}

unit_and_integration() {
  # Tests make it themselves where it is missing; here its failure comes first and alone.
  sh tests/python.sh "$target/py" || return 1
  sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt || return 1
  sh tests/lfs.sh "$target/lfs-tools" || return 1
  sh tests/debian.sh "$target/debian" || return 1
  # Random topologies, and runs of a large one: `UNFURL_PROPERTY_CASES=100000` tries more.
  export UNFURL_PROPERTY_CASES="${UNFURL_PROPERTY_CASES:-2000}"
  export UNFURL_PROPERTY_RUNS="${UNFURL_PROPERTY_RUNS:-100}"
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --locked --cargo-profile $profile
  else
    cargo test --locked --profile $profile --lib --bins --tests
  fi
}

# The same inputs every time, so that a commit is not failed for what an earlier one did.
fuzz() {
  cargo fmt --check --manifest-path fuzz/Cargo.toml &&
    sh fuzz/run.sh again
}

run() {
  case $1 in
    format | lint | docs | doctest | corpus | hands | fuzz) part=$1 ;;
    test) part=unit_and_integration ;;
    *) die "there is no part \`$1\`; there are: $parts" ;;
  esac
  say "$1"
  "$part" || failed="$failed $1"
}

began=$(date +%s)
for part in "$@"; do
  case " $parts " in
    *" $part "*) ;;
    *) die "there is no part \`$part\`; there are: $parts" ;;
  esac
done
install_packages
command -v cargo >/dev/null || die "cargo is missing; install Rust from https://rustup.rs"
case " ${*:-$parts} " in
  *" test "*)
    # It waits for the network most of the time, so it begins first; the tests wait for its end.
    mkdir -p "$target"
    sh tests/debian.sh "$target/debian" >"$target/debian.txt" 2>&1 &
    ;;
esac
for part in ${*:-$parts}; do
  run "$part"
done
wait

took=$(($(date +%s) - began))
if [ -n "$failed" ]; then
  printf '\nFailed after %s s:%s\n' "$took" "$failed"
  exit 1
fi
printf '\nAll passed in %s s: %s\n' "$took" "${*:-$parts}"
