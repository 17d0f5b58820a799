base:
  '*':
    - a
    - dev: only
    - nope: x
