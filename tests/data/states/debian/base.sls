{% for name, number in [('ops', 4101), ('dev', 4102), ('audit', 4103)] %}
{{ name }}-group:
  group.present:
    - name: {{ name }}
    - gid: {{ number }}

{{ name }}-user:
  user.present:
    - name: {{ name }}
    - uid: {{ number }}
    - gid: {{ number }}
    - shell: /bin/sh
    - require: [{group: {{ name }}-group}]

{{ name }}-key:
  ssh_auth.present:
    - name: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{{ number }} {{ name }}@example
    - user: {{ name }}
    - require: [{user: {{ name }}-user}]

{{ name }}-job:
  cron.present:
    - name: /bin/true {{ name }}
    - user: {{ name }}
    - identifier: nightly
    - minute: random
    - hour: 3
    - require: [{user: {{ name }}-user}]
{% endfor %}

MAILTO:
  cron.env_present:
    - value: ops

/etc/motd:
  file.managed:
    - contents: Kept by state files.

git-name:
  git.config_set:
    - name: user.name
    - value: Operations
    - global: True

/srv/repository.git:
  git.present

/srv/unpacked:
  archive.extracted:
    - source: salt://site.tar
