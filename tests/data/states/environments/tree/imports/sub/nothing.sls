{% from 'lib.jinja' import nothing %}
a:
  test.nop:
    - v: {{ nothing is defined }}
