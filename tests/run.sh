#!/bin/sh
# Runs every check of the project: sh tests/run.sh [PART...]
#
# Parts, in this order: format lint supply docs corpus hands patches test fuzz. Without PART all of them
# run, even after a failure. The time of each part is printed when it ends and in a table at the end. The
# last line names the failed parts.
#
# With `test` among the parts, `lint`, `docs` and `patches` run beside `corpus` and `hands`, because a compiler often
# uses only one core. Their output is printed when they end.
#
#   UPDATE=1   rewrites tests/data/corpus-passing.txt with the passing cases, and schemas/*.json
#   CI=true    a missing requirement is a failure; without it, tests that need the requirement are left out
#              and named at the end, with the reason
#   SHARED=    the folder that holds corpus/, default ../shared
#   UNFURL_LOOPS=full   runs the long loops of docs/reliability.md, which takes some hours
#   UNFURL_TESTS_WITHOUT=   requirements that count as missing, to see which tests are left out: "sshd ip"
set -u
cd "$(dirname "$0")/.."

parts="format lint supply docs corpus hands patches test fuzz"
shared=${SHARED:-../shared}
target=${CARGO_TARGET_DIR:-target}
# One profile for all parts. Each build names a test or an example, so that cargo builds the dependencies
# with the features that tests need. One build of the dependencies then serves all parts.
profile=ci
# Lets tests make any system call fail. Released programs lack this feature.
features=fault-injection
failed=
# The requirements that are missing.
without=${UNFURL_TESTS_WITHOUT:-}

say() { printf '\n== %s\n' "$*"; }

die() {
  echo "error: $*" >&2
  exit 1
}

# The requirements besides Rust, one per line: name; the parts that need it; its packages (none if it cannot
# be installed); purpose. Tests use the same names (tests/it/requires.rs).
requirements() {
  cat <<'END'
cc|lint docs corpus hands patches test fuzz|gcc libc6-dev|the git library is compiled from source
c++|fuzz|g++|the fuzzing library is compiled from source
git|corpus hands patches test|git|ensembles live in git repositories
python3|supply corpus hands test|python3|the example webapp runs two Python processes, and runners of checks are Python
python3-yaml|corpus hands|python3-yaml|the runner of the corpus reads the ensembles that unfurl writes
python3-venv|hands test|python3-venv|service templates in Python are converted in a separate Python environment
patch|patches|patch|the examples for contributors are patches
bash|corpus test|bash|the steps of the corpus are bash lines, and bash completes command lines
zsh|test|zsh|zsh completes command lines
fish|test|fish|fish completes command lines
mandoc|test|mandoc|manual pages are checked
sudo|test|sudo|commands run as other users with the real sudo
flock|hands test|util-linux|shared test environments are created only once
unshare|test|util-linux|a Debian for tests runs in namespaces
setsid|test|util-linux|the program runs at a terminal of its own
shellcheck|docs test|shellcheck|commands of models are checked with the real shellcheck
sshd|test|openssh-server|test hosts run a real sshd
ssh|test|openssh-client|results for ssh configuration files are compared with ssh
ssh-keygen|test|openssh-client|hosts and users of tests need keys
ansible-playbook|test|ansible-core|playbooks run with the real Ansible
curl|test|curl|a tool of a project is downloaded
dpkg-query|test|dpkg|a package of the system is a tool of a project
git-lfs|test|git-lfs|locks across machines are checked with the real git-lfs
ip|test|iproute2|test hosts have separate networks
strace|test|strace|the system calls of commands that only read are checked
nc|test|netcat-openbsd|a proxy command of a test is nc
age|test|age|files of age are exchanged with the real age
openssl|test|openssl|a test server needs a TLS certificate
gpg|test|gnupg|state files contain messages for the real GnuPG
cron|test|cron|the real cron runs the crontab of a project
systemd-analyze|test|systemd|units are checked by systemd
msmtp|test|msmtp|mails reach the mail server of a test through a real sendmail
debootstrap|test|debootstrap|states are applied to a Debian for tests
terraform|corpus hands test||ensembles are deployed with the real Terraform, which this command cannot install
root|test||tests create users, networks and file systems
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

# Prints the lines of the table that the given parts need and that are not met.
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
    echo "These packages are missing, and apt-get is not available to install them: $*"
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
  # Unquoted on purpose, here and below: the words are separate arguments.
  $as_root apt-get update -qq || echo "warning: apt-get update failed; using the existing package lists"
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" ||
    echo "apt-get could not install: $*"
}

# Installs the requirements of the parts. In CI, a requirement that is still missing is a failure. Elsewhere it
# is printed and added to `without`, so that the tests that need it are left out.
meet_requirements() {
  missing=$(unmet "$@" | cut -d '|' -f 3 | tr ' ' '\n' | sort -u | tr '\n' ' ')
  [ -z "${missing% }" ] || install $missing
  left=$(unmet "$@")
  [ -n "$left" ] || return 0
  echo "Missing requirements and their purpose:"
  echo "$left" | while IFS='|' read -r name needing packages purpose; do
    echo "  $name: $purpose"
  done
  # Terraform has no package of the system. Its tests are left out in CI, too, and the last lines say so.
  failing=$(echo "$left" | grep -v '^terraform|' || true)
  ! is_ci || [ -z "$failing" ] || die "requirements are missing, which is a failure in CI"
  without="$without $(echo "$left" | cut -d '|' -f 1 | tr '\n' ' ')"
  for name in cc git; do
    ! lacks "$name" || die "$name is missing; no test can run without it"
  done
  echo "Tests that need them are left out and named at the end."
}

is_ci() { [ "${CI:-}" = true ]; }

lacks() {
  case " $without " in
    *" $1 "*) ;;
    *) return 1 ;;
  esac
}

# Whether the requirements of the current part are met. If not, the part is left out.
needs() {
  for name in "$@"; do
    ! lacks "$name" || {
      leave_out "$name is missing"
      return 1
    }
  done
}

# Leaves out the current part, for the given reason.
leave_out() {
  how="left out"
  echo "Left out: $1."
  echo "the part $running: $1" >>"$left_out"
}

# Runs a script that creates a test environment. If it fails outside of CI, the tests that need it are left out.
make_for_tests() {
  sh "$@" && return
  ! is_ci || return 1
  without="$without $1"
}

format() { cargo fmt --check; }

# Checks need no code, so they have a folder of their own and run beside other parts.
lint() {
  CARGO_TARGET_DIR=$checks cargo clippy --locked --all-targets --features $features --profile $profile -- -D warnings
}

# Checks the licences and sources of all crates.
supply() {
  needs python3 || return 0
  python3 tests/supply_chain.py tests/data/licences.txt
}

# The modules are private, so the documentation includes private items. Its examples run as tests.
docs() {
  RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" CARGO_TARGET_DIR=$checks \
    cargo doc --locked --no-deps --document-private-items --lib --examples --features $features --profile $profile &&
    cargo test --locked --doc --features $features --profile $profile
}

# Checks that the examples of docs/contributing/adding.md apply, build and work as described.
patches() { sh tests/patches.sh "$target" $profile; }

# Builds the program together with the integration tests, which are needed later anyway.
build() { cargo build --locked --bin unfurl --test it --features $features --profile $profile; }

# Builds all programs of the tests at the same time, so that their compilers share the cores.
build_tests() { cargo test --no-run --locked --lib --bins --tests --features $features --profile $profile; }

corpus() {
  needs corpus/unfurl corpus/tosca python3 python3-yaml bash || return 0
  runner=$shared/corpus/unfurl/run_corpus.py
  build || return 1
  report=$target/corpus-report.json
  rm -f "$report"
  deviations=
  [ ! -f tests/data/deviations.tsv ] ||
    deviations="--deviations tests/data/deviations.tsv"
  # The runner fails if any case fails. tests/corpus.py then decides by the list of required cases.
  facets=exit,job,tasks,outputs,status,state,attributes,flags,files,records,plan,digests
  python3 "$runner" --bin "$target/$profile/unfurl" --jobs 2 --timeout 60 --json "$report" \
    --facets $facets $deviations >"$target/corpus-report.txt" 2>&1
  [ -f "$report" ] || {
    cat "$target/corpus-report.txt"
    return 1
  }
  required=tests/data/corpus-passing.txt
  if lacks terraform; then
    echo "the part corpus: the cases of Terraform, because terraform is missing" >>"$left_out"
    required=$target/corpus-required.txt
    grep -v '^terraform-' tests/data/corpus-passing.txt >"$required"
  fi
  python3 tests/corpus.py "$report" "$required" || return 1
  # The texts of Unfurl, in the cases that compare no text of other programs.
  texts=$target/unfurl-texts
  printf '#!/bin/sh\nUNFURL_FORMAT=unfurl exec "%s" "$@"\n' \
    "$(cd "$target/$profile" && pwd)/unfurl" >"$texts"
  chmod +x "$texts"
  python3 "$runner" --bin "$texts" --facets stdout --timeout 60 \
    errors-cli query-option starttime status-cmd || return 1
  python3 tests/tosca.py "$target/$profile/unfurl" "$shared/corpus/tosca" \
    tests/data/tosca-deviations.tsv
}

# Checks that ensembles can move from the real Unfurl to this program and back.
hands() {
  needs corpus/unfurl python3 python3-yaml python3-venv flock || return 0
  cases=$shared/corpus/unfurl
  build || return 1
  sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt || return 1
  python3 tests/hands.py "$target/$profile/unfurl" "$target/unfurl-py/bin/python3" "$cases" \
    tests/data/hands-exceptions.tsv
}

unit_and_integration() {
  # Tests create missing environments themselves. Here a failure is reported first and on its own.
  make_for_tests tests/python.sh "$target/py" || return 1
  make_for_tests tests/lfs.sh "$target/lfs-tools" || return 1
  make_for_tests tests/debian.sh "$target/debian" || return 1
  sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt || {
    ! is_ci || return 1
    without="$without target/unfurl-py"
  }
  export UNFURL_TESTS_WITHOUT="$without" UNFURL_TESTS_LEFT_OUT="$left_out"
  # The numbers of random topologies and of runs of a large one. `UNFURL_PROPERTY_CASES=100000` tries more.
  cases=60
  runs=5
  if [ "${UNFURL_LOOPS:-}" = full ]; then
    cases=2000
    runs=100
  fi
  export UNFURL_PROPERTY_CASES="${UNFURL_PROPERTY_CASES:-$cases}"
  export UNFURL_PROPERTY_RUNS="${UNFURL_PROPERTY_RUNS:-$runs}"
  if cargo nextest --version >/dev/null 2>&1; then
    # Twice as many tests as cores, because many tests wait for hosts and processes.
    export NEXTEST_TEST_THREADS="${NEXTEST_TEST_THREADS:-$(($(nproc) * 2))}"
    cargo nextest run --locked --features $features --cargo-profile $profile
  else
    cargo test --locked --features $features --profile $profile --lib --bins --tests
  fi
}

# Runs the same inputs every time, so that no commit fails because of an earlier one.
fuzz() {
  needs c++ || return 0
  cargo fmt --check --manifest-path fuzz/Cargo.toml &&
    sh fuzz/run.sh again
}

# Runs a part and keeps its time and result.
run() {
  running=$1
  part=$1
  [ "$1" != test ] || part=unit_and_integration
  say "$running"
  part_began=$(date +%s)
  how=passed
  "$part" || how=failed
  seconds=$(($(date +%s) - part_began))
  printf '\n%s: %s in %s s\n' "$1" "$how" "$seconds"
  echo "$seconds $how" >"$results/$1"
}

# Runs those of the given parts that are chosen, one after the other.
run_chosen() {
  for name in "$@"; do
    case " $chosen " in
      *" $name "*) run "$name" ;;
    esac
  done
}

# Runs parts beside others, with their output in files.
run_beside() {
  for name in "$@"; do
    run_chosen "$name" >"$results/$name.txt" 2>&1
  done
}

# Prints the output of parts that ran beside others.
print_output() {
  for name in "$@"; do
    [ ! -s "$results/$name.txt" ] || cat "$results/$name.txt"
  done
}

# Runs the chosen parts, `test` among them.
run_all() {
  run_chosen format supply
  build_tests || echo "The parts that need the programs fail for this reason."
  # The macros and the C code of the libraries are then compiled only once.
  sh tests/share_libraries.sh "$target/$profile" "$checks/$profile"
  run_beside lint docs &
  checking=$!
  run_beside patches &
  patching=$!
  run_chosen corpus hands
  wait "$checking" "$patching"
  print_output lint docs patches
  run_chosen test fuzz
}

began=$(date +%s)
for part in "$@"; do
  case " $parts " in
    *" $part "*) ;;
    *) die "\`$part\` is not a part; the parts are: $parts" ;;
  esac
done
[ $# -gt 0 ] ||
  echo "All parts take less than 30 minutes on 2 cores from a clean tree."
meet_requirements ${*:-$parts}
command -v cargo >/dev/null || die "cargo is missing; install Rust from https://rustup.rs"
mkdir -p "$target"
# The tests that are left out, one per line. Tests append to this file from other folders, so the path is absolute.
left_out=$(cd "$target" && pwd)/left-out.txt
: >"$left_out"
# Both wait for the network most of the time, so they start first. The parts that need them wait for them.
case " ${*:-$parts} " in
  *" test "*) sh tests/debian.sh "$target/debian" >"$target/debian.txt" 2>&1 & ;;
esac
case " ${*:-$parts} " in
  *" hands "* | *" test "*)
    lacks python3-venv || sh tests/python.sh "$target/unfurl-py" tests/data/unfurl-packages.txt >"$target/unfurl-py.txt" 2>&1 &
    ;;
esac
# A single build does not need incremental compilation.
! is_ci || export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
chosen=${*:-$parts}
checks=$target/checks
# The results of the parts, one file each: seconds and result.
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
case " $chosen " in
  *" test "*) run_all ;;
  *) run_chosen $parts ;;
esac
wait

printf '\n%-8s %8s\n' part seconds
for part in $chosen; do
  read -r seconds how <"$results/$part" || how=failed
  printf '%-8s %8s  %s\n' "$part" "$seconds" "$how"
  [ "$how" != failed ] || failed="$failed $part"
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
[ ! -s "$left_out" ] || but=", except for the tests that are left out"
printf '\nAll passed in %s s%s: %s\n' "$took" "$but" "${*:-$parts}"
