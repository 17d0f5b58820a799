shadowed: test.nop
