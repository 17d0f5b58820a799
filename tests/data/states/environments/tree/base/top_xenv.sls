base:
  '*': [inc_xenv]
dev:
  '*': [only]
