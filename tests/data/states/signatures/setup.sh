# Prepares a folder for signatures.sls: sh setup.sh DATA FOLDER
set -eu
cd "$2"
mkdir out && mkdir -m 700 home home/empty
gpg --homedir home --batch --quiet --import "$1/key.asc" 2>home/log
gpg --homedir home/empty --batch --quiet --no-default-keyring --keyring "$PWD/home/own.gpg" --import "$1/key.asc" 2>>home/log
cp "$1/file" "$1/changed" "$1/archive.tar" out
cp out/archive.tar out/other.tar
cp out/file out/existing
printf 'x\n' | tee out/flags2 out/flags3 >/dev/null
chattr +A out/flags3
