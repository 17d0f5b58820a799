# Prints the results of the states of main.sls.
exec 2>&1
export LC_ALL=C.UTF-8
echo '== /etc/hosts'
awk '{ $1 = $1; print }' /etc/hosts
for file in /etc/sysctl.conf /etc/sysctl.d/new/50-own.conf /etc/timezone; do
  echo "== $file"
  cat "$file"
done
echo "== links"
readlink /etc/localtime /etc/alternatives/tool /etc/alternatives/gone
cat /proc/sys/kernel/domainname
echo "== /etc/fstab"
cat /etc/fstab
echo "== mounts"
grep /srv/mount /proc/self/mountinfo | cut -d' ' -f5- | sed 's/ - / /' | cut -d' ' -f1-4
ls -l /srv/mount | cut -d' ' -f1,3,4 | sort | uniq -c
for file in /srv/ini/*; do
  [ -s "$file" ] || continue
  echo "== $file"
  cat "$file"
done
for file in /etc/ssh/ssh_known_hosts /srv/known/* /home/nobody2/.ssh/known_hosts; do
  echo "== $file"
  stat -c '%a %U' "$file"
  sed 's/^|1|[^ ]*/HASH/' "$file"
done
debconf-get-selections | grep -E '^(demo|known|partly|filed)' | sort
echo "== files"
find /srv/tidy /srv/decode /srv/patch | sort
for file in /srv/decode/* /srv/patch/one /srv/patch/template /srv/patch/done /srv/patch/folder*/one /srv/patch/folder*/sub/two \
  /srv/patch/other /srv/accumulated /srv/block /etc/hostname /etc/default/networking; do
  echo "== $file"
  stat -c '%a %U' "$file"
  cat "$file"
done
hostname
/srv/venv/bin/python -m pip list --format freeze
echo "== accounts"
getent group g1 g2 g3 g5
id -Gn g4 2>&1 | head -1
getent passwd u1 u2 u3 u5 u6 u7
getent shadow u1 u5 | cut -d: -f1,2,4-
for user in u1 u2 u3 u4; do id -Gn $user; done
ls /srv/home
crontab -l
crontab -l -u bin
echo "== archives"
find /srv/archive -printf '%M %u %g %P\n' | sort -k4
for folder in new old tag; do git -C /srv/git/$folder log --format='%H %s'; git -C /srv/git/$folder status -sb; done
ls /srv/git /srv/cmd
dpkg-query -W -f '${Package} ${Status}\n' own two three unzip
tail -n +1 /etc/apt/sources.list.d/*
echo "== services"
ls /run/sv
ls /etc/rc?.d | grep sv-
cat /srv/services/log
echo "== nodes"
stat -c '%F %a %U %G %t %T %n' /srv/nodes/* /srv/nodes/new/*
ls /srv/backups/*
find /var/cache/apt -name 'fetched*.deb'
