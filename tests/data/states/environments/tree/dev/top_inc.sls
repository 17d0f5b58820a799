include: ['pack.t']
dev:
  '*': [a]
