# Prepares the Debian for the states of main.sls.
set -e
echo old >/proc/sys/kernel/domainname
printf '127.0.0.1\tlocalhost\n# kept\n10.0.0.1 one uno # first\n10.0.0.2\ttwo\n10.0.0.3 three extra\n10.0.0.5 five\n10.0.0.9 nine\n10.0.0.10 nine\n' >/etc/hosts
printf '# set\nkernel.domainname = old\nvm.other = 1\n' >/etc/sysctl.conf
printf '#!/bin/sh\n' | tee /usr/bin/tool-a /usr/bin/tool-b /usr/bin/tool-c >/dev/null
chmod 755 /usr/bin/tool-?
update-alternatives --install /usr/bin/tool tool /usr/bin/tool-a 10 >/dev/null
update-alternatives --install /usr/bin/tool tool /usr/bin/tool-b 20 >/dev/null
update-alternatives --install /usr/bin/gone gone /usr/bin/tool-a 10 >/dev/null
echo Etc/UTC >/etc/timezone
ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime

mkdir -p /srv/mount && cd /srv/mount
mkdir own old entry other regex folder folder2 folder3 gone gone2 fresh
mount -t tmpfs tmpfs old
mount -t tmpfs tmpfs entry
mount -t tmpfs present other
mount -t tmpfs present regex
mount -t tmpfs tmpfs gone
mount -t tmpfs tmpfs gone2
echo none >swap
echo none >swap2
cat >/etc/fstab <<END
# comment
tmpfs  /srv/mount/entry tmpfs size=1m 0 0
tmpfs	/srv/mount/gone tmpfs defaults 0 0
tmpfs	/srv/mount/gone2 tmpfs defaults
bad line
/dev/none4 /srv/mount/folder4 ext4 defaults 0 0
/dev/none5 /srv/mount/folder5 ext4 noatime,rw 0 0
/dev/none6 /srv/mount/folder6 ext4 defaults 0 0
/dev/none8 /srv/mount/folder8 ext4 defaults 0 0
END

mkdir /srv/ini /srv/differs && cd /srv/ini
printf 'top = 1\n; note\nother=2\n\n[first]\nkey = old\n# about kept\nkept=same\nlong = a\n  b\nstrange\n\n[second]\nk : v\n' >app.ini
printf 'top = 1\n[first]\nkey = value\nextra = x\n[second]\na = b\n' >strict.ini
printf '[one]\na:1\n' >colon.ini
printf '[one]\na=1\nb=2\n' >tight.ini
printf '[one]\n# port = 80\n#host = x\nlast = 1\n' >commented.ini
printf '\n[one]\na = 1\n' >known.ini
printf '[one]\na = 1\nb = 2\n[two]\nc = 3\n' >absent.ini
printf 'top = gone\nother = 1\n' >/srv/differs/absent2.ini
printf '[one]\na = 1\n' >/srv/differs/sections.ini
printf 'top = 1\n[one]\na = 1\n# c\n[two]\nb = 2\n' >sections2.ini

useradd -m nobody2
mkdir /srv/known
printf '# hosts\nold.example.test ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIM+Bjnq9M+X/bOBgi5TGw6cFFeh0bVxR9J2iMDjw0wVN\nold.example.test ssh-rsa AAAA\nknown.example.test,10.0.0.9 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIM+Bjnq9M+X/bOBgi5TGw6cFFeh0bVxR9J2iMDjw0wVN\ngone.example.test ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIM+Bjnq9M+X/bOBgi5TGw6cFFeh0bVxR9J2iMDjw0wVN\n' >/srv/known/own

printf 'known known/text string old\npartly partly/one string one\n' | debconf-set-selections

mkdir /srv/tidy && cd /srv/tidy
mkdir -p all/sub match/old.d match/new.d age size full/sub
touch all/a all/sub/b match/a.log match/keep.log match/old match/old.d/x.log match/other
touch -d 2001-01-01 age/old age/small
touch age/new
head -c 200 /dev/zero >age/old && head -c 200 /dev/zero >age/new && touch -d 2001-01-01 age/old
head -c 2000 /dev/zero >size/large && touch size/little && ln -s large size/link
touch full/a full/sub/b
ln -s /srv/tidy/size full/sub/linked

mkdir /srv/decode && cd /srv/decode
echo old >old && echo known >known && chmod 600 old

mkdir -p /srv/patch/folder/sub /srv/patch/folder2/sub && cd /srv/patch
printf 'first\nsecond\nthird\n' | tee one template folder/one folder2/one >/dev/null
printf 'first\nchanged\nthird\n' >done
printf 'a\nb\nc\n' >other
echo two | tee folder/sub/two >folder2/sub/two

printf '# begin\nold\n# end\n' >/srv/block

printf 'nameserver 127.0.0.1\n' >/etc/resolv.conf
echo old.example.test >/etc/hostname
hostname old.example.test

mkdir /srv/wheels && cd /srv/wheels
python3 - <<'END'
import zipfile
def wheel(name, version):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", "")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
for name, version in [("demo", "1.0"), ("known", "1.0"), ("known", "1.5"), ("old_name", "1.0"), ("old_name", "2.0"),
                      ("extra", "0.1"), ("filed", "1.0"), ("required", "3.0"), ("leaving", "1.0"), ("stale", "1.0"), ("stale", "2.0")]:
    wheel(name, version)
END
echo required >/srv/requirements.txt
python3 -m venv --without-pip /srv/venv
printf '[global]\nno-index = true\nfind-links = /srv/wheels\n' >/srv/venv/pip.conf
python3 -m zipfile -e /usr/share/python-wheels/pip-*.whl /srv/venv/lib/python3*/site-packages
/srv/venv/bin/python -m pip -q install --no-index --find-links . known==1.0 old_name==1.0 stale==1.0 leaving
printf '#!/bin/sh\nexec /srv/venv/bin/python -m pip "$@"\n' >/srv/venv/bin/pip
chmod 755 /srv/venv/bin/pip

mkdir /srv/home
groupadd -g 4002 g2 && groupadd g3 && groupadd g5
usermod -a -G g3 games
for name in u2 u3 u7; do useradd -m -d /srv/home/$name -s /bin/sh $name; done
usermod -G games u3
printf '# kept\n7 * * * * echo kept\n# Lines below here are managed by Salt, do not edit\n# SALT_CRON_IDENTIFIER:ID1\n1 * * * * echo old\n1 * * * * echo same\n2 * * * * echo gone\nOLD=1\n' | crontab -

mkdir -p /srv/archive/one/sub && cd /srv/archive
echo a >one/a && echo b >one/sub/b
tar -czf one.tar.gz one
(cd one && tar -cf ../flat.tar a sub)
python3 -m zipfile -c one.zip one/a one/sub
rm -r one

mkdir -p /srv/git/full && cd /srv/git
touch full/file
git config --global user.name own && git config --global user.email own@example.test
git config --global --add safe.directory '*'
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git init -q -b main origin && cd origin
echo 1 >file && git add file && git commit -q -m one && git tag v1
git clone -q /srv/git/origin /srv/git/old
echo 2 >file && git commit -q -a -m two

mkdir /srv/cmd && chmod 777 /srv/cmd

mkdir -p /srv/debs && cd /srv/debs
for name in own two three; do
  mkdir -p $name/DEBIAN
  printf 'Package: %s\nVersion: 1.0\nArchitecture: all\nMaintainer: own <own@example.test>\nDescription: own\n' $name >$name/DEBIAN/control
  dpkg-deb -b $name ${name}_1.0_all.deb >/dev/null
done
dpkg -i two_1.0_all.deb three_1.0_all.deb >/dev/null

echo 'deb http://old.example.test/debian stable main' >/etc/apt/sources.list.d/old.list
echo 'deb http://gone.example.test/debian stable main' >/etc/apt/sources.list.d/gone.list

# Services without a process: a file in /run tells whether a service runs.
# Salt calls two programs that Debian does not have any more.
printf '#!/bin/sh\necho N 2\n' >/usr/sbin/runlevel
printf '#!/bin/sh\n' >/usr/sbin/insserv
chmod 755 /usr/sbin/runlevel /usr/sbin/insserv
mkdir /srv/services /run/sv
for name in stopped off running running-b running-c broken delayed dead dead-b dead-c dead-d stuck enabled enabled-b disabled \
  disabled-b masked watching watching-b watching-c watching-d; do
  cat >/etc/init.d/sv-$name <<END
#!/bin/sh
### BEGIN INIT INFO
# Provides:          sv-$name
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: a service of the tests
### END INIT INFO
[ "\$1" = status ] || echo "$name \$1" >>/srv/services/log
case $name/\$1 in
broken/start) exit 1 ;;
stuck/stop) exit 1 ;;
esac
case \$1 in
start | restart | force-reload) touch /run/sv/$name ;;
stop) rm -f /run/sv/$name ;;
status) [ -e /run/sv/$name ] || exit 3 ;;
esac
END
  chmod 755 /etc/init.d/sv-$name
  case $name in
  running-b | running-c | dead-b | dead-c | enabled-b | disabled | watching*) update-rc.d sv-$name defaults ;;
  *) update-rc.d sv-$name defaults && update-rc.d sv-$name disable ;;
  esac
  case $name in
  running* | dead | dead-b | dead-d | stuck | watching | watching-b | watching-c) touch /run/sv/$name ;;
  esac
done >/dev/null


# A server whose key can be scanned.
mkdir -p /run/sshd && cat >/srv/services/key <<'END'
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACCAh/atdwEyH60wMTPWjJG6FmZCv6vYLaG/4wG7h916sQAAAJA4Wh/6OFof
+gAAAAtzc2gtZWQyNTUxOQAAACCAh/atdwEyH60wMTPWjJG6FmZCv6vYLaG/4wG7h916sQ
AAAEAaCKElID6xukeyqPmFw8gOyvc0h3KN9ldMRva04MXD14CH9q13ATIfrTAxM9aMkboW
ZkK/q9gtob/jAbuH3XqxAAAAB3NjYW5uZWQBAgMEBQY=
-----END OPENSSH PRIVATE KEY-----
END
chmod 600 /srv/services/key
/usr/sbin/sshd -f /dev/null -h /srv/services/key -o UsePAM=no -o ListenAddress=127.0.0.80:20222 -o PidFile=none

mkdir /srv/nodes && cd /srv/nodes
mknod pipe p && mknod zero c 1 5 && chmod 644 pipe zero
echo content >file && sha256sum file >sums
(cd /srv/archive && sha256sum one.tar.gz one.zip | sed '2s/^[^ ]*/0000000000000000000000000000000000000000000000000000000000000000/' >sums)
mkdir -p /srv/backups/named /srv/backups/aged /srv/backups/kept
for day in 20251230 20251231 20260101 20260102 20260131 20260201 20260215 20260301 20260302; do
  touch /srv/backups/named/backup-$day.tar
done
touch /srv/backups/named/README /srv/backups/named/backup-20260230.tar
for time in 2024-05-01T10:00 2024-05-01T10:30 2024-05-02T09:00 2024-05-02T11:00 2025-01-01T00:00 2025-01-01T00:10; do
  touch -d $time /srv/backups/aged/$time /srv/backups/kept/$time
done

# A repository whose packages are copied to the cache of apt, as those of a server are.
mkdir -p /srv/repository/fetched/DEBIAN && cd /srv/repository
printf 'Package: fetched\nVersion: 1.0\nArchitecture: all\nMaintainer: own <own@example.test>\nDescription: own\n' >fetched/DEBIAN/control
dpkg-deb -b fetched fetched_1.0_all.deb >/dev/null
{
  cat fetched/DEBIAN/control
  printf 'Filename: ./fetched_1.0_all.deb\nSize: %s\nSHA256: %s\n' "$(stat -c %s fetched_1.0_all.deb)" "$(sha256sum <fetched_1.0_all.deb | cut -d' ' -f1)"
} >Packages
# The space at the end is that with which Salt writes all files of sources.
echo 'deb [trusted=yes] copy:/srv/repository ./ ' >/etc/apt/sources.list.d/fetched.list
apt-get -qq update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/fetched.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0
