{{ saltenv }}:
  '*': [a]
