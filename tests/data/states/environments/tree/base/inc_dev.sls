include:
  - dev: only
  - a
inc: test.nop
