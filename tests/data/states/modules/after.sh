# Prints the results of the states of main.sls.
for file in /etc/hosts /etc/sysctl.conf /etc/sysctl.d/new/50-own.conf /etc/timezone; do
  echo "== $file"
  cat "$file"
done
echo "== links"
readlink /etc/localtime /etc/alternatives/tool /etc/alternatives/gone
cat /proc/sys/kernel/domainname
