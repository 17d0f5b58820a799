{% set a = 1 %}
{% include 'sub/setting.jinja' %}
{% for i in [1, 2] -%}
{% include ['sub/none.jinja', 'sub/setting.jinja'] %}
{%- endfor %}
{% include 'sub/none.jinja' ignore missing %}
included:
  test.nop:
    - a: {{ a }}
    - b: {{ b is defined }}
