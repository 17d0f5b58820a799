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
