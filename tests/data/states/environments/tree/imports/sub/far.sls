{% from 'other/far.jinja' import here as far %}
{% from './near.jinja' import here %}
far:
  test.nop:
    - seen: {{ [far, here]|json }}
