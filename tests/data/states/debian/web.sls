{% set sites = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta'] %}
web-packages:
  pkg.installed:
    - pkgs: [nginx-light]
    - install_recommends: False

/etc/nginx/sites-enabled/default:
  file.absent:
    - require: [{pkg: web-packages}]

{% for site in sites %}
/srv/www/{{ site }}:
  file.directory:
    - makedirs: True
    - user: www-data
    - require: [{pkg: web-packages}]

/srv/www/{{ site }}/index.html:
  file.managed:
    - contents: This is {{ site }}.
    - require: [{file: /srv/www/{{ site }}}]

/etc/nginx/sites-available/{{ site }}:
  file.managed:
    - contents: |
        server {
          listen 127.0.0.77:{{ 18100 + loop.index }};
          root /srv/www/{{ site }};
        }
    - require: [{pkg: web-packages}]
    - watch_in: [{service: nginx}]

/etc/nginx/sites-enabled/{{ site }}:
  file.symlink:
    - target: /etc/nginx/sites-available/{{ site }}
    - require: [{file: /etc/nginx/sites-available/{{ site }}}]
    - watch_in: [{service: nginx}]
{% endfor %}

nginx:
  service.running:
    - enable: True
    - require: [{file: /etc/nginx/sites-enabled/default}]
