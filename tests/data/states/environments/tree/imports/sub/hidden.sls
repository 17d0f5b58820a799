{% set grains = {'os': 'none'} %}
{% set sls = 'other' %}
{% for x in [1, 2] %}
{% from 'lib.jinja' import y, grain, name %}
loop {{ x }}:
  test.nop:
    - seen: {{ [y, grain, name]|json }}
{% endfor %}
{% macro inside(x) %}{% from 'sub/lib.jinja' import y %}{{ y }}{% endmacro %}
{% macro shared(x) %}{% from 'sub/lib.jinja' import y with context %}{{ y }}{% endmacro %}
macro:
  test.nop:
    - seen: {{ [inside(3), shared(4)]|json }}
