#!/bin/sh
# Makes a release on this machine: sh tests/release.sh VERSION
#
# Sets the version, moves the changes under "Unreleased" in CHANGELOG.md to a section of their own, runs
# every check, builds the program with the profile `dist`, and packs it in target/dist/:
#
#   unfurl-VERSION-ARCH-linux.tar.gz   the program, completions, manual pages, README, CHANGELOG, LICENSE
#   unfurl_VERSION_ARCH.deb            the same as a Debian package
#   SHA256SUMS                         the checksums of both
#
# The script ends with a commit and a tag in this clone, and pushes nothing. If a step fails, it restores the
# files of the project.
#
#   RELEASE_PARTS=    the parts of tests/run.sh to run, all of them if not set
#   RELEASE_PROFILE=  the cargo profile to build with, `dist` if not set
set -eu
cd "$(dirname "$0")/.."

die() {
  echo "error: $*" >&2
  exit 1
}

step() { printf '\n== %s\n' "$*"; }

[ $# -eq 1 ] || die "the version is missing; for example: sh tests/release.sh 0.2.0"
version=$1
profile=${RELEASE_PROFILE:-dist}
target=${CARGO_TARGET_DIR:-target}
out=$target/dist
edited="CHANGELOG.md Cargo.toml Cargo.lock"

echo "$version" | grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' ||
  die "\`$version\` is no version such as 0.2.0 or 0.2.0-rc.1"
for program in cargo git gzip tar dpkg-deb sha256sum; do
  command -v "$program" >/dev/null || die "\`$program\` is missing; install it and run this again"
done
[ -z "$(git status --porcelain)" ] || die "the working tree has uncommitted changes; commit them first"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || die "the tag v$version exists already"
grep -q '^## \[Unreleased\]' CHANGELOG.md || die "CHANGELOG.md has no section [Unreleased]"
[ -n "$(sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md | grep '^- ' || true)" ] ||
  die "CHANGELOG.md has no change under [Unreleased]"

# Restores the edited files unless the release was committed.
restore() {
  [ -n "${committed:-}" ] || git checkout -q -- $edited
}
trap restore EXIT
trap 'exit 130' INT TERM

step "version $version"
day=$(date -u +%Y-%m-%d)
sed -i "s/^## \[Unreleased\]/## [Unreleased]\n\n## [$version] - $day/" CHANGELOG.md
# The first `version` of the file is that of the package.
sed -i "0,/^version = \".*\"/s//version = \"$version\"/" Cargo.toml
cargo metadata --format-version 1 --offline >/dev/null || cargo metadata --format-version 1 >/dev/null
git diff --stat

step "checks"
sh tests/run.sh ${RELEASE_PARTS:-}

step "program"
cargo build --locked --profile "$profile" --bin unfurl
# The folder has the name of the profile, except for the profile `dev`.
binary=$target/$profile/unfurl
[ "$("$binary" version | cut -d ' ' -f 3)" = "$version" ] || die "the program does not report version $version"
! grep -qE 'UNFURL_TEST_(FAULT|CLOCK)' "$binary" || die "the program contains the fault injection of the tests; build it without the feature \`fault-injection\`"

step "packages"
machine=$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"; restore' EXIT
mkdir -p "$out" "$work/completions"
install -m 755 "$binary" "$work/unfurl"
strip "$work/unfurl" 2>/dev/null || echo "warning: strip is missing; the packages are larger than necessary"
for shell in bash zsh fish; do
  "$binary" completions "$shell" >"$work/completions/unfurl.$shell"
done
"$binary" man --install "$work/man" >/dev/null
cp README.md CHANGELOG.md LICENSE "$work/"

name=unfurl-$version-$machine-linux
mkdir "$work/$name"
cp -r "$work/unfurl" "$work/completions" "$work/man" README.md CHANGELOG.md LICENSE docs "$work/$name/"
tar -C "$work" --owner=0 --group=0 --sort=name -czf "$out/$name.tar.gz" "$name"

architecture=$(dpkg-deb --version >/dev/null && dpkg --print-architecture)
# A pre-release sorts before its release: 0.2.0~rc.1 < 0.2.0.
debian_version=$(echo "$version" | sed 's/-/~/')
libc=$(grep -ao 'GLIBC_[0-9.]*' "$work/unfurl" | sed 's/GLIBC_//' | sort -uV | tail -1)
root=$work/root
install -D -m 755 "$work/unfurl" "$root/usr/bin/unfurl"
install -D -m 644 "$work/completions/unfurl.bash" "$root/usr/share/bash-completion/completions/unfurl"
install -D -m 644 "$work/completions/unfurl.zsh" "$root/usr/share/zsh/vendor-completions/_unfurl"
install -D -m 644 "$work/completions/unfurl.fish" "$root/usr/share/fish/vendor_completions.d/unfurl.fish"
install -d "$root/usr/share/man" "$root/usr/share/doc/unfurl" "$root/DEBIAN"
cp -r "$work/man/man1" "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/unfurl/changelog.gz"
install -m 644 LICENSE "$root/usr/share/doc/unfurl/copyright"
cat >"$root/DEBIAN/control" <<END
Package: unfurl
Version: $debian_version
Architecture: $architecture
Maintainer: $(git config user.name || echo unfurl) <$(git config user.email || echo unfurl@localhost)>
Depends: libc6 (>= $libc), libgcc-s1
Recommends: git
Suggests: git-lfs, openssh-client
Section: admin
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Description: TOSCA job orchestrator with git-backed ensembles
 Deploys, checks and tears down what a TOSCA model describes, runs commands
 and tasks on many hosts over SSH, applies states in Salt's form, and keeps
 the record beside the model in git.
END
dpkg-deb --root-owner-group --build "$root" "$out/unfurl_${debian_version}_$architecture.deb"
(cd "$out" && sha256sum "$name.tar.gz" "unfurl_${debian_version}_$architecture.deb" >SHA256SUMS)

git commit -q -m "release: $version" -- $edited
git tag -a "v$version" -m "unfurl $version"
committed=yes
step "done"
ls -l "$out/$name.tar.gz" "$out/unfurl_${debian_version}_$architecture.deb" "$out/SHA256SUMS"
echo "The commit and the tag v$version are in this clone only. To publish them:"
echo "  git push origin HEAD v$version"
