g-y-dev: test.nop
