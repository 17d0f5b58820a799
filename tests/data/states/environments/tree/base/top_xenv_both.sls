prod:
  '*': [inc_xenv]
base:
  '*': [a]
dev:
  '*': [a]
