hello:
  test.nop
