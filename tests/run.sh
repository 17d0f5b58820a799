#!/bin/sh
# Runs every check of the project: sh tests/run.sh [PART...]
#
# Parts, in this order: format lint docs corpus hands patches test fuzz. Without PART all of them run,
# also after one failed. The time of each part is printed when it ends and in a table at the end, and
# what failed is named in the last line.
#
#   UPDATE=1   rewrites tests/data/corpus-passing.txt from what passes now, and schemas/*.json
#   CI=true    what is missing of the requirements is a failure; without it, what needs them is left out and
#              named at the end, with the reason
#   SHARED=    the folder that holds corpus/, ../shared if not set
#   UNFURL_LOOPS=full   makes the loops of tests as long as the promises of docs/reliability.md ask: some hours
#   UNFURL_TESTS_WITHOUT=   requirements that count as missing, to see what is left out: "sshd ip"
set -u
cd "$(dirname "$0")/.."

parts="format lint docs corpus hands patches test fuzz"
shared=${SHARED:-../shared}
target=${CARGO_TARGET_DIR:-target}
# One profile for everything, and the dependencies always with the features that the tests' own ask
# for too, so that one build of them serves all parts: cargo takes those features where a test or an
# example is named.
profile=ci
# Released programs lack what lets tests make any call of the system fail.
features=fault-injection
failed=
# The requirements that are missing.
without=${UNFURL_TESTS_WITHOUT:-}
# A line for each part that has ended: its name, its seconds, how it ended.
times=

say() { printf '\n== %s\n' "$*"; }

die() {
  echo "error: $*" >&2
  exit 1
}

# What the checks need beside Rust, a line each: its name; the parts that need it; the packages that have
# it, none if it cannot be installed; what for. Tests name it in the same way (tests/it/requires.rs).
requirements() {
  cat <<'END'
cc|lint docs corpus hands patches test fuzz|gcc libc6-dev|the git library is compiled from source
c++|fuzz|g++|the library that makes up inputs is compiled from source
git|corpus hands patches test|git|ensembles live in git repositories
python3|corpus hands test|python3|the example webapp runs two Python processes, and the runner of the corpus is Python
python3-yaml|corpus hands|python3-yaml|the runner of the corpus reads the ensembles that unfurl wrote
python3-venv|hands test|python3-venv|service templates in Python are converted in a Python environment of its own
patch|patches|patch|the examples for contributors are patches
bash|corpus|bash|the steps of the corpus are lines of bash
sudo|test|sudo|commands run as other users by a real sudo
flock|hands test|util-linux|what tests share is made once
unshare|test|util-linux|a Debian of the tests' own runs in namespaces
sshd|test|openssh-server|hosts of tests are called over a real sshd
ssh|test|openssh-client|files that configure ssh mean what ssh makes of them
ssh-keygen|test|openssh-client|hosts and users of tests have keys
git-lfs|test|git-lfs|locks for all machines are seen by the real git-lfs
ip|test|iproute2|hosts of tests stand in networks of their own
openssl|test|openssl|a server of a test speaks TLS with a certificate that is made for it
debootstrap|test|debootstrap|states are applied to a Debian of the tests' own
root|test||users, networks and file systems are made for tests
corpus/unfurl|corpus hands test||cases of Unfurl
corpus/tosca|corpus||cases of TOSCA
corpus/salt|test||cases of Salt
corpus/fabric|test||answers of Fabric
END
}

# Whether a requirement is met.
has() {
  case $1 in
    root) [ "$(id -u)" -eq 0 ] ;;
    corpus/*) [ -d "$shared/$1" ] ;;
    python3-yaml) python3 -c 'import yaml' 2>/dev/null ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *) (PATH=$PATH:/usr/sbin:/sbin && command -v "$1" >/dev/null) ;;
  esac
}

# The lines of the table that the parts need and that are not met.
unmet() {
  requirements | while IFS='|' read -r name needing packages purpose; do
    for part in "$@"; do
      case " $needing " in
        *" $part "*)
          has "$name" || printf '%s|%s|%s|%s\n' "$name" "$needing" "$packages" "$purpose"
          break
          ;;
      esac
    done
  done
}

install() {
  command -v apt-get >/dev/null || {
    echo "These packages are missing, and there is no apt-get to install them: $*"
    return
  }
  if [ "$(id -u)" -eq 0 ]; then
    as_root=
  elif command -v sudo >/dev/null; then
    as_root=sudo
  else
    echo "These packages are missing, and only root can install them: $*"
    return
  fi
  echo "Installing missing system packages with apt-get: $*"
  # Words are split on purpose here and below.
  $as_root apt-get update -qq || echo "warning: apt-get update failed, going on with the lists at hand"
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" ||
    echo "apt-get could not install: $*"
}

# Installs what the parts need. What is missing then fails the command in CI; elsewhere it is told, and
# named in `without`, so that what needs it is left out.
meet_requirements() {
  missing=$(unmet "$@" | cut -d '|' -f 3 | tr ' ' '\n' | sort -u | tr '\n' ' ')
  [ -z "${missing% }" ] || install $missing
  left=$(unmet "$@")
  [ -n "$left" ] || return 0
  echo "Missing, and what it is needed for:"
  echo "$left" | while IFS='|' read -r name needing packages purpose; do
    echo "  $name: $purpose"
  done
  ! is_ci || die "in CI nothing may be missing"
  without="$without $(echo "$left" | cut -d '|' -f 1 | tr '\n' ' ')"
  for name in cc git; do
    ! lacks "$name" || die "nothing can be tested without $name"
  done
  echo "What needs it is left out, and named at the end."
}

is_ci() { [ "${CI:-}" = true ]; }

lacks() {
  case " $without " in
    *" $1 "*) ;;
    *) return 1 ;;
  esac
}

# Whether a part has what it cannot do without; else it is left out.
needs() {
  for name in "$@"; do
    ! lacks "$name" || {
      leave_out "$name is missing"
      return 1
    }
  done
}

# Leaves out a part.
leave_out() {
  how="left out"
  echo "Left out: $1."
  echo "the part $running: $1" >>"$left_out"
}

# Makes something that tests need by a script: where that fails outside of CI, they are left out.
make_for_tests() {
  sh "$@" && return
  ! is_ci || return 1
  without="$without $1"
}

format() { cargo fmt --check; }

lint() { cargo clippy --locked --all-targets --features $features --profile $profile -- -D warnings; }

# The modules are private, and the documentation is that of private items. Its examples are run.
docs() {
  RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --locked --no-deps --document-private-items --lib --examples \
    --profile $profile &&
    cargo test --locked --doc --features $features --profile $profile
}

# The examples of docs/contributing/adding.md apply, build and do what they say.
patches() { sh tests/patches.sh "$target" $profile; }

# The program, with the tests that need it, which are built sooner or later.
build() { cargo build --locked --bin unfurl --test it --features $features --profile $profile; }

corpus() {
  needs corpus/unfurl corpus/tosca python3 python3-yaml bash || return 0
  runner=$shared/corpus/unfurl/run_corpus.py
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
  needs corpus/unfurl python3 python3-yaml python3-venv flock || return 0
  cases=$shared/corpus/unfurl
  build || return 1
  sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt || return 1
  python3 tests/hands.py "$target/$profile/unfurl" "$target/unfurl-py/bin/python3" "$cases" \
    tests/data/hands-exceptions.tsv
}

unit_and_integration() {
  # Tests make it themselves where it is missing; here its failure comes first and alone.
  make_for_tests tests/python.sh "$target/py" || return 1
  make_for_tests tests/lfs.sh "$target/lfs-tools" || return 1
  make_for_tests tests/debian.sh "$target/debian" || return 1
  sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt || {
    ! is_ci || return 1
    without="$without target/unfurl-py"
  }
  export UNFURL_TESTS_WITHOUT="$without" UNFURL_TESTS_LEFT_OUT="$left_out"
  # Random topologies, and runs of a large one; `UNFURL_PROPERTY_CASES=100000` tries more.
  cases=100
  runs=5
  if [ "${UNFURL_LOOPS:-}" = full ]; then
    cases=2000
    runs=100
  fi
  export UNFURL_PROPERTY_CASES="${UNFURL_PROPERTY_CASES:-$cases}"
  export UNFURL_PROPERTY_RUNS="${UNFURL_PROPERTY_RUNS:-$runs}"
  if cargo nextest --version >/dev/null 2>&1; then
    # Many tests wait for hosts and processes, so that twice as many run as there are cores.
    export NEXTEST_TEST_THREADS="${NEXTEST_TEST_THREADS:-$(($(nproc) * 2))}"
    cargo nextest run --locked --features $features --cargo-profile $profile
  else
    cargo test --locked --features $features --profile $profile --lib --bins --tests
  fi
}

# The same inputs every time, so that a commit is not failed for what an earlier one did.
fuzz() {
  needs c++ || return 0
  cargo fmt --check --manifest-path fuzz/Cargo.toml &&
    sh fuzz/run.sh again
}

run() {
  case $1 in
    format | lint | docs | corpus | hands | patches | fuzz) part=$1 ;;
    test) part=unit_and_integration ;;
    *) die "there is no part \`$1\`; there are: $parts" ;;
  esac
  running=$1
  say "$running"
  part_began=$(date +%s)
  how=passed
  "$part" || {
    how=failed
    failed="$failed $1"
  }
  seconds=$(($(date +%s) - part_began))
  printf '\n%s: %s in %s s\n' "$1" "$how" "$seconds"
  times="$times$1 $seconds $how
"
}

began=$(date +%s)
for part in "$@"; do
  case " $parts " in
    *" $part "*) ;;
    *) die "there is no part \`$part\`; there are: $parts" ;;
  esac
done
[ $# -gt 0 ] ||
  echo "From a clean tree all parts take about 13 minutes on 2 cores, as measured."
meet_requirements ${*:-$parts}
command -v cargo >/dev/null || die "cargo is missing; install Rust from https://rustup.rs"
mkdir -p "$target"
# What is left out, a line each; tests add to it. They run in other folders.
left_out=$(cd "$target" && pwd)/left-out.txt
: >"$left_out"
# Both wait for the network most of the time, so they begin first; the parts that need them wait for their end.
case " ${*:-$parts} " in
  *" test "*) sh tests/debian.sh "$target/debian" >"$target/debian.txt" 2>&1 & ;;
esac
case " ${*:-$parts} " in
  *" hands "* | *" test "*)
    lacks python3-venv || sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt >"$target/unfurl-py.txt" 2>&1 &
    ;;
esac
# What is built once needs nothing that makes the next build faster.
! is_ci || export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
for part in ${*:-$parts}; do
  run "$part"
done
wait

printf '\n%-8s %8s\n' part seconds
printf '%s' "$times" | while read -r part seconds how; do
  printf '%-8s %8s  %s\n' "$part" "$seconds" "$how"
done
if [ -s "$left_out" ]; then
  printf '\nLeft out:\n'
  sort -u "$left_out" | sed 's/^/  /'
fi
took=$(($(date +%s) - began))
if [ -n "$failed" ]; then
  printf '\nFailed after %s s:%s\n' "$took" "$failed"
  exit 1
fi
but=
[ ! -s "$left_out" ] || but=", but for what is left out"
printf '\nAll passed in %s s%s: %s\n' "$took" "$but" "${*:-$parts}"
