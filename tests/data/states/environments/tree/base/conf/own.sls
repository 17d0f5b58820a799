#!stateconf yaml . jinja

.params:
  stateconf.set:
    - port: 80

# --- end of state config ---

.first:
  test.nop:
    - require:
      - test: .second
.second:
  test.configurable_test_state:
    - comment: port {{ params.port }} in {{ sls_dir }}
plain:
  test.nop:
    - watch_in:
      - test: .first
short: test.nop
