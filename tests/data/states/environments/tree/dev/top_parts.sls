base:
  '*': [second]
  'g*': [a]
dev:
  '*': [a]
prod:
  '*': [p]
