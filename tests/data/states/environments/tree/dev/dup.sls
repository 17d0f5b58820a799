dup: test.nop
