{% set answers = [
  salt['slsutil.renderer']('salt://f.yaml'),
  salt['slsutil.renderer']('salt://f.yaml', saltenv='dev'),
  salt['slsutil.renderer'](string='a: {{ x }}', x=3),
  salt['slsutil.renderer'](string='{{ x }} {{ saltenv }}', default_renderer='jinja', x=3),
  salt['slsutil.renderer'](string='#!json\n{"b": [1, 2]}'),
  salt['slsutil.renderer'](string='c: {{ d }}', default_renderer='yaml', d=1) if false else '',
] %}
renderer:
  test.show_notification:
    - text: '{{ answers | tojson }}'
