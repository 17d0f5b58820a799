db-packages:
  pkg.installed:
    - pkgs: [postgresql]
    - install_recommends: False

/etc/postgresql/15/main/conf.d/site.conf:
  file.managed:
    - contents: |
        listen_addresses = '127.0.0.77'
        port = 15477
        fsync = off
    - user: postgres
    - group: postgres
    - mode: '0644'
    - require: [{pkg: db-packages}]

postgresql:
  service.running:
    - watch: [{file: /etc/postgresql/15/main/conf.d/site.conf}]

{% for name in ['shop', 'blog', 'wiki'] %}
role-{{ name }}:
  cmd.run:
    - name: createuser -p 15477 {{ name }}
    - runas: postgres
    - cwd: /
    - unless: psql -p 15477 -Atc "select 1 from pg_roles where rolname = '{{ name }}'" | grep -q 1
    - require: [{service: postgresql}]

database-{{ name }}:
  cmd.run:
    - name: createdb -p 15477 -O {{ name }} {{ name }}
    - runas: postgres
    - cwd: /
    - unless: psql -p 15477 -Atc "select 1 from pg_database where datname = '{{ name }}'" | grep -q 1
    - require: [{cmd: role-{{ name }}}]
{% endfor %}
