{% from './near.jinja' import here as first %}
{% from 'other/far.jinja' import here as far, below %}
{% from './near.jinja' import here as second %}
live:
  test.nop:
    - seen: {{ [first, far, below, second]|json }}
