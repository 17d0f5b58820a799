#!stateconf -Gs yaml . jinja
.first:
  test.nop: []
second:
  test.nop:
    - name: own name
