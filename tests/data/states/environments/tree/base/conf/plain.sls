include:
  - conf.own
after:
  test.nop:
    - require:
      - stateconf: conf.own::goal
