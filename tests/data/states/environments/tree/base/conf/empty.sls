#!stateconf yaml . jinja
