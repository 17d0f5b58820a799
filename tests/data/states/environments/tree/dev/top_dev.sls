dev:
  '*': [only]
base:
  '*': [a]
