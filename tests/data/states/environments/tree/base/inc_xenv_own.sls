include:
  - _xenv: a
inc: test.nop
