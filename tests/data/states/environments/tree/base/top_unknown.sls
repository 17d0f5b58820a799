nope:
  '*': [a]
