{% set folder = pillar['folder'] %}
folder:
  file.directory:
    - name: {{ folder }}
    - makedirs: true

page:
  file.managed:
    - name: {{ folder }}/index.html
    - source: salt://site/index.html
    - template: jinja
    - mode: '0644'
    - require:
      - file: folder

current:
  file.symlink:
    - name: {{ folder }}/current
    - target: index.html
    - require:
      - file: page
