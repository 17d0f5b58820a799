# Prints the results of the states of main.sls.
for file in /etc/hosts /etc/sysctl.conf /etc/sysctl.d/new/50-own.conf /etc/timezone; do
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
  /srv/patch/other /srv/accumulated /srv/accumulated2 /srv/block /etc/hostname /etc/default/networking; do
  echo "== $file"
  stat -c '%a %U' "$file"
  cat "$file"
done
hostname
/srv/venv/bin/python -m pip list --format freeze
