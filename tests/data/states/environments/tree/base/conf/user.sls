#!stateconf yaml . jinja
include:
  - .own
extend:
  conf.own::params:
    stateconf.set:
      - port: 8080
  .own::second:
    test:
      - changes: true
.after:
  test.nop:
    - require:
      - stateconf: conf.own::goal
