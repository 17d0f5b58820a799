{% from '../../x.jinja' import here %}
a:
  test.nop
