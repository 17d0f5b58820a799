network-set:
  network.system:
    - enabled: true
    - hostname: server.example.test
    - apply_hostname: true
    - require_reboot: true
network-kept:
  network.system:
    - hostname: server.example.test
    - require_reboot: true
network-search:
  network.system:
    - enabled: true
    - hostname: other.example.test
    - search: a.test b.test
    - require_reboot: true
network-invalid:
  network.system:
    - enabled: perhaps
    - hostname: other.example.test
