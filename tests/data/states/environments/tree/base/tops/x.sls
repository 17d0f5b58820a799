include: [more]
base:
  '*': [second]
  'golden': [a]
