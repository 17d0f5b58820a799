include:
  - _xenv: only
inc: test.nop
