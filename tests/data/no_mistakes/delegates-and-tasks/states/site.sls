hello {{ pillar.name }}:
  test.nop
