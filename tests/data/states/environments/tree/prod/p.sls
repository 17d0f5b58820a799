p-prod: test.nop
