include:
  - dev: dup
dup: test.nop
