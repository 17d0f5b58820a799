h-y-dev: test.nop
