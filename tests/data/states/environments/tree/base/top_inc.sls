include: ['tops.*']
base:
  '*': [a]
