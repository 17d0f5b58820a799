include: [.part]
pack: test.nop
