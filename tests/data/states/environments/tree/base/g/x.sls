g-x-base: test.nop
