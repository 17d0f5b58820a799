{% set one, two = salt['random.get_str'](12), salt['random.get_str'](12) %}
{% set answers = [
  one | length, one != two, salt['random.get_str'](length=9, chars='a'),
  salt['random.get_str'](9, lowercase=False, uppercase=False, punctuation=False) | regex_replace('[0-9]', 'n'),
  salt['random.rand_int'](3, 3), salt['random.shuffle']([3, 1, 2]) | sort, salt['random.sample'](['a'], 1),
  salt['random.str_encode']('a text'), 'sh' | which | regex_replace('.*/', ''),
] %}
random:
  test.show_notification:
    - text: '{{ answers | tojson }}'
