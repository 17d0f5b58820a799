include:
  - dev: only
  - dev: a
  - a
req:
  test.nop:
    - require:
      - sls: only
      - sls: a
