{% set key1 = 'AAAAC3NzaC1lZDI1NTE5AAAAIM+Bjnq9M+X/bOBgi5TGw6cFFeh0bVxR9J2iMDjw0wVN' %}
{% set key2 = 'AAAAC3NzaC1lZDI1NTE5AAAAICpNmB3M77WRUaVEPCIJfuMOfJe4ZDTI65lUGo92p5yD' %}
{% set print1 = 'f1:7d:23:a9:c4:7c:b9:6e:77:a6:fd:d4:20:ea:91:5a:14:e2:d1:96:30:15:8b:2d:80:ea:bc:f7:b7:b7:e1:73' %}
{% set print2 = 'ca:52:20:a8:cf:38:a1:16:86:72:29:04:ba:c7:23:63' %}
known-new:
  ssh_known_hosts.present:
    - name: new.example.test
    - key: {{ key1 }}
    - enc: ssh-ed25519
    - hash_known_hosts: false
known-hashed:
  ssh_known_hosts.present:
    - name: hashed.example.test
    - config: /srv/known/hashed
    - key: {{ key1 }}
    - enc: ssh-ed25519
known-port:
  ssh_known_hosts.present:
    - name: port.example.test
    - config: /srv/known/port
    - key: {{ key1 }}
    - enc: ssh-ed25519
    - port: 2222
    - hash_known_hosts: false
known-port-hashed:
  ssh_known_hosts.present:
    - name: port.example.test
    - config: /srv/known/port
    - key: {{ key1 }}
    - enc: ssh-ed25519
    - port: 2223
known-changed:
  ssh_known_hosts.present:
    - name: old.example.test
    - config: /srv/known/own
    - key: {{ key2 }}
    - enc: ssh-ed25519
    - hash_known_hosts: false
known-already:
  ssh_known_hosts.present:
    - name: known.example.test
    - config: /srv/known/own
    - key: {{ key1 }}
    - enc: ssh-ed25519
known-fingerprint:
  ssh_known_hosts.present:
    - name: known.example.test
    - config: /srv/known/own
    - fingerprint: {{ print1 }}
known-md5:
  ssh_known_hosts.present:
    - name: known.example.test
    - config: /srv/known/own
    - fingerprint: {{ print2 }}
    - fingerprint_hash_type: md5
known-unreachable:
  ssh_known_hosts.present:
    - name: 127.0.0.79
    - config: /srv/known/own
    - fingerprint: {{ print1 }}
    - timeout: 1
known-user:
  ssh_known_hosts.present:
    - name: user.example.test
    - user: nobody2
    - key: {{ key1 }}
    - enc: ssh-ed25519
    - hash_known_hosts: false
known-no-user:
  ssh_known_hosts.present:
    - name: user.example.test
    - user: nosuchuser
    - key: {{ key1 }}
    - enc: ssh-ed25519
known-relative:
  ssh_known_hosts.present:
    - name: user.example.test
    - config: own
    - key: {{ key1 }}
    - enc: ssh-ed25519
known-both:
  ssh_known_hosts.present:
    - name: both.example.test
    - config: /srv/known/both
    - key: {{ key1 }}
    - enc: ssh-ed25519
    - fingerprint: {{ print1 }}
    - hash_known_hosts: false
known-no-enc:
  ssh_known_hosts.present:
    - name: enc.example.test
    - config: /srv/differs/enc
    - key: {{ key1 }}
    - hash_known_hosts: false
known-absent:
  ssh_known_hosts.absent:
    - name: gone.example.test
    - config: /srv/known/own
known-absent-already:
  ssh_known_hosts.absent:
    - name: missing.example.test
    - config: /srv/known/own
known-absent-relative:
  ssh_known_hosts.absent:
    - name: missing.example.test
    - config: own
known-scanned:
  ssh_known_hosts.present:
    - name: 127.0.0.80
    - port: 20222
    - config: /srv/known/scanned
    - hash_known_hosts: false
known-scanned-fingerprint:
  ssh_known_hosts.present:
    - name: 127.0.0.80
    - port: 20222
    - config: /srv/known/scanned2
    - enc: ssh-ed25519
    - fingerprint: 55:be:3f:c2:40:db:d0:3e:87:e8:ff:25:a3:45:fb:f2:f5:83:0d:49:20:ec:ac:85:a3:65:0d:bf:50:cb:fe:0b
    - hash_known_hosts: false
known-scanned-md5:
  ssh_known_hosts.present:
    - name: 127.0.0.80
    - port: 20222
    - config: /srv/known/scanned3
    - fingerprint: bc:7a:d3:a9:56:25:9a:94:32:65:bc:31:89:71:6e:8b
    - fingerprint_hash_type: md5
    - hash_known_hosts: false
known-scanned-other:
  ssh_known_hosts.present:
    - name: 127.0.0.80
    - port: 20222
    - config: /srv/known/scanned4
    - fingerprint: {{ print1 }}
    - hash_known_hosts: false
known-scanned-hashed:
  ssh_known_hosts.present:
    - name: 127.0.0.80
    - port: 20222
    - config: /srv/known/scanned5
