base:
  '*': [inc_xenv_own]
dev:
  '*': [a]
