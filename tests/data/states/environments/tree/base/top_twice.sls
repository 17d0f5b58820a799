base:
  '*': [a, second]
  'golden': [second, a]
