nope:
  'other': [a]
base:
  '*': [a]
