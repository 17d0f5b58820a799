second: test.nop
