{% set own = 'base' %}
{% set dir = pillar.tmp %}
{% set other = 'dev' if own == 'base' else 'base' %}
plain-{{ own }}:
  file.managed:
    - name: {{ dir }}/plain-{{ own }}
    - source: salt://f.txt
query-{{ own }}:
  file.managed:
    - name: {{ dir }}/query-{{ own }}
    - source: salt://f.txt?saltenv={{ other }}
template-{{ own }}:
  file.managed:
    - name: {{ dir }}/template-{{ own }}
    - source: salt://t.txt
    - template: jinja
template-query-{{ own }}:
  file.managed:
    - name: {{ dir }}/template-query-{{ own }}
    - source: salt://t.txt?saltenv={{ other }}
    - template: jinja
missing-{{ own }}:
  file.managed:
    - name: {{ dir }}/missing-{{ own }}
    - source: salt://missing.txt
missing-query-{{ own }}:
  file.managed:
    - name: {{ dir }}/missing-query-{{ own }}
    - source: salt://missing.txt?saltenv={{ other }}
several-{{ own }}:
  file.managed:
    - name: {{ dir }}/several-{{ own }}
    - source:
      - salt://missing.txt
      - salt://only.sls?saltenv=dev
recurse-{{ own }}:
  file.recurse:
    - name: {{ dir }}/recurse-{{ own }}
    - source: salt://d
recurse-query-{{ own }}:
  file.recurse:
    - name: {{ dir }}/recurse-query-{{ own }}
    - source: salt://d?saltenv={{ other }}
append-{{ own }}:
  file.append:
    - name: {{ dir }}/append-{{ own }}
    - source: salt://f.txt
script-{{ own }}:
  cmd.script:
    - source: salt://s.sh
script-query-{{ own }}:
  cmd.script:
    - source: salt://s.sh?saltenv={{ other }}
