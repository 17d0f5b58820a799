g-x-dev: test.nop
