only-dev: test.nop
