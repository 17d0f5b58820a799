base:
  '*': [a]
  'golden': [second]
dev:
  '*': [only]
