part: test.nop
