{% from 'other/far.jinja' import here with context %}
a:
  test.nop
