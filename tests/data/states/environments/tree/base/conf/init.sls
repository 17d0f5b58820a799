#!stateconf yaml . jinja
.only: test.nop
