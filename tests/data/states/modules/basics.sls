sysctl-changed:
  sysctl.present:
    - name: kernel.domainname
    - value: example.test
sysctl-file:
  sysctl.present:
    - name: kernel.domainname
    - value: example.test
    - config: /etc/sysctl.d/new/50-own.conf
sysctl-unknown:
  sysctl.present:
    - name: kernel.no_such_parameter
    - value: 1
    - config: /etc/sysctl.d/unknown.conf
host-new:
  host.present:
    - name: four
    - ip: 10.0.0.4
host-more:
  host.present:
    - name: deux
    - ip: [10.0.0.2]
    - comment: second
    - require:
      - host: host-new
host-known:
  host.present:
    - name: five
    - ip: 10.0.0.5
host-clean:
  host.present:
    - name: nine
    - ip: 10.0.0.9
    - clean: true
host-absent:
  host.absent:
    - name: extra
    - ip: 10.0.0.3
host-absent-unknown:
  host.absent:
    - name: nobody
    - ip: 10.0.0.3
host-only:
  host.only:
    - name: 10.0.0.1
    - hostnames: [one, only]
alternatives-new:
  alternatives.install:
    - name: tool
    - link: /usr/bin/tool
    - path: /usr/bin/tool-c
    - priority: 5
alternatives-known:
  alternatives.install:
    - name: tool
    - link: /usr/bin/tool
    - path: /usr/bin/tool-a
    - priority: 10
alternatives-set:
  alternatives.set:
    - name: tool
    - path: /usr/bin/tool-a
alternatives-set-unknown:
  alternatives.set:
    - name: tool
    - path: /usr/bin/nope
alternatives-remove:
  alternatives.remove:
    - name: tool
    - path: /usr/bin/tool-b
alternatives-remove-last:
  alternatives.remove:
    - name: gone
    - path: /usr/bin/tool-a
alternatives-auto:
  alternatives.auto:
    - name: tool
timezone-set:
  timezone.system:
    - name: Europe/Berlin
locale-known:
  locale.present:
    - name: C.UTF-8
