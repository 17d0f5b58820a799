include:
  - a
  - .pack
inc: test.nop
