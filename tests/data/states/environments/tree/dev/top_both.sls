base:
  '*': [second]
dev:
  '*': [a]
